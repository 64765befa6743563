"""What this process takes of the machine's memory and time."""

import ctypes
import sys
from pathlib import Path

from geouq.usage import peak_memory, physical_memory, processor_seconds

CGROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may take


def peak_memory_mib() -> float:
    """Return the largest resident memory of this process so far; 0 if the system does not say."""
    return round(peak_memory() / (1 << 20), 1)


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the share of it that the process may have."""
    whole = physical_memory()
    try:
        return min(whole, int(CGROUP.read_text(encoding="ascii")))
    except (OSError, ValueError):  # none, or "max"
        return whole


def resources(seconds: float) -> str:
    """Return what the work of so many seconds has taken, in words."""
    busy = processor_seconds()
    return f"took {seconds:.1f} s, {busy:.1f} s of processors, {peak_memory_mib():.0f} MiB of memory at most"


def give_back() -> None:
    """Return memory that is free to the system, where the C library would keep it for later."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
        if trim is not None:
            trim(0)
