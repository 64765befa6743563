"""What this process takes of the machine's memory and time."""

import ctypes
import resource
import sys


def peak_memory_mib() -> float:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def resources(seconds: float) -> str:
    """What the work of so many seconds has taken, in words."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    busy = sum(usage.ru_utime + usage.ru_stime for usage in both)
    return f"took {seconds:.1f} s, {busy:.1f} s of processors, {peak_memory_mib():.0f} MiB of memory at most"


def give_back() -> None:
    """Return memory that is free to the system, where the C library would keep it for later."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
        if trim is not None:
            trim(0)
