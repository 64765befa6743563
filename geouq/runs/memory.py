"""What this process takes of the machine's memory and time."""

import ctypes
import os
import resource
import sys
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may take


def peak_memory_mib() -> float:
    """Largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def machine_memory() -> int:
    """Bytes that this machine, or the share of it that the process may have, holds."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError):  # none, or "max"
        return whole


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
