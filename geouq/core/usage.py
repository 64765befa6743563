"""What the system lets this process use, and what it has used; some systems do not say."""

import atexit
import ctypes
import errno
import gc
import os
import sys
import time
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    HAS_RESOURCE = False
else:
    HAS_RESOURCE = True

FILES_OF_WINDOWS = 512  # of the C library
_REMEDIES = {
    code: remedy
    for name, remedy in (
        ("ENOSPC", "free space"),
        ("EDQUOT", "raise the quota or free space"),
        ("EFBIG", "raise the largest size of a file (ulimit -f)"),
    )
    if (code := getattr(errno, name, None))
}
NEW_OBJECTS, ROUNDS = 100_000, 20  # before garbage is collected; older objects after so many rounds
CGROUP = Path("/sys/fs/cgroup/memory.max")  # what a container may take
# matrices are small here: a second thread of OpenBLAS or MKL waits in a loop for longer than it computes
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
ASSUMED_MEMORY = 8 << 30  # bytes; `--memory` gives another limit


def open_files_allowed() -> float:
    """Return how many files the process may have open; infinity if there is no limit."""
    if not HAS_RESOURCE:
        return FILES_OF_WINDOWS
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return float("inf") if allowed == resource.RLIM_INFINITY else allowed


def advice_on(message: str) -> str:
    """Return what to do about an error message that names a limit of the system; '' for another message.

    >>> advice_on(f"{os.strerror(errno.ENOSPC)}: 'a1.nc'")
    '; free space, and give the same command again: what is complete is kept'
    """
    if os.strerror(errno.EMFILE) in message:
        limit = f"the process may have {open_files_allowed():.0f} files open"
        return f"; {limit}: raise this limit (ulimit -n), or give fewer --workers"
    remedy = next((remedy for code, remedy in _REMEDIES.items() if os.strerror(code) in message), "")
    return f"; {remedy}, and give the same command again: what is complete is kept" if remedy else ""


def physical_memory() -> int:
    """Return the bytes of memory of the machine; `ASSUMED_MEMORY` if the system does not say."""
    if not hasattr(os, "sysconf"):  # Windows
        return ASSUMED_MEMORY
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def peak_memory() -> int:
    """Return the largest resident memory of this process so far in bytes; 0 if the system does not say."""
    if not HAS_RESOURCE:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def processor_seconds() -> float:
    """Return the time of processors that this process and the children that have ended took."""
    if not HAS_RESOURCE:
        return time.process_time()
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


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


def collect_rarely() -> None:
    """Let Python look for cycles of garbage after more new objects than usual: a run makes many, and few cycles."""
    gc.set_threshold(NEW_OBJECTS, ROUNDS, ROUNDS)


def keep_what_is_imported() -> None:
    """Let no garbage collection look through what is there now, such as imported modules: that takes 0.2 s."""
    gc.freeze()


def compute_matrices_in_one_thread() -> None:
    """Let numpy, which must not be imported yet, start no threads of its own; what the user has set stays."""
    for name, threads in ONE_THREAD.items():
        os.environ.setdefault(name, threads)


def end_quickly() -> None:
    """End Python without a last garbage collection, as the system frees the memory anyway.

    In a process that has imported numba and matplotlib, this collection takes half a second.
    """
    atexit.register(gc.freeze)


def give_back() -> None:
    """Return memory that is free to the system, where the C library would keep it for later."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc alone
        if trim is not None:
            trim(0)
