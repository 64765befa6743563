"""Compile functions with numba, once per machine.

numba's own cache notices a change of the file that holds a function, but not of the functions and constants that it
takes from other files. Here the cache's folder bears a digest of all files that matter, so that an update of any of
them compiles anew.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from filelock import FileLock
from numba.extending import register_jitable
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])

SOURCES = ("core/compiled.py", "core/gaussian.py", "core/validity.py", "kernel/*.py", "summary/*.py", "zones/*.py")
FUSED = {"contract"}
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
PLAIN: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
PART: dict[str, Any] = PLAIN | {"forceinline": True, "_nrt": False}


def compiled(function: F) -> F:
    """Return the function, compiled at its first call without the GIL; sums keep the order of the source."""
    return _compile(function, numba.njit, **PLAIN)


def entry(function: F) -> F:
    """Return the same for a function that allocates nothing, so that no reference to an array need be counted."""
    return _compile(function, numba.njit, _nrt=False, **PLAIN)


def inlined(function: F) -> F:
    """Return a function that is inlined into compiled ones and allocates nothing; from Python it is plain Python."""
    made: Any = register_jitable(**PART)(function)
    return cast("F", made)


def inlined_fused(function: F) -> F:
    """Return the same, free to round a product and a sum together, as processors do in one step."""
    made: Any = register_jitable(fastmath=FUSED, **PART)(function)
    return cast("F", made)


def inlined_reordered(function: F) -> F:
    """Return the same, free to reorder sums so that they use vector lanes; NaN and inf are still recognised."""
    made: Any = register_jitable(fastmath=REORDERED, **PART)(function)
    return cast("F", made)


def elementwise(function: Callable[[float], float]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function of a number for arrays of any shape, compiled at its first call."""

    @cache
    def made() -> Any:
        """Compile the function at the first call."""
        return _compile(function, numba.vectorize, ["float64(float64)"])

    @wraps(function)
    def called(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the compiled function."""
        return cast("NDArray[np.float64]", made()(values))

    return cast("Any", called)


def is_kept() -> bool:
    """Whether what is compiled is kept for the next process; where no folder can be written, each compiles anew."""
    return bool(_cache_folder())


def is_compiled() -> bool:
    """Return whether the folder holds compiled code; otherwise this process compiles, which takes up to a minute."""
    return is_kept() and any(Path(_cache_folder()).rglob("*.nbi"))


def _compile(function: F, compiler: Callable[..., Any], *signatures: list[str], **options: Any) -> F:
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = _cache_folder()
    try:
        with _alone() if signatures else nullcontext():  # without signatures nothing is compiled or loaded yet
            made = compiler(*signatures, cache=is_kept(), **options)(function)
    finally:
        config.CACHE_DIR = before
    if hasattr(made, "compile"):
        made.compile = _one_at_a_time(made.compile)
    return cast("F", made)


def _one_at_a_time(compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, or load what is kept, while no other process does: numba's files are not made for two at once."""

    @wraps(compile_for)
    def alone(*arguments: Any) -> Any:
        """Compile for these argument types under the lock."""
        with _alone():
            return compile_for(*arguments)

    return alone


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of the folder of compiled functions, where there is one and its file system knows locks."""
    with ExitStack() as stack:
        if is_kept():
            with suppress(OSError, NotImplementedError):
                stack.enter_context(_lock())
        yield


@cache
def _lock() -> FileLock:
    return FileLock(Path(_cache_folder()) / "lock")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock.cache_clear)  # a lock refuses to be used by two processes


@cache
def digest_of_sources() -> str:
    """Return the digest of all that the compiled functions are made of: what they give can change only when it does."""
    package = Path(__file__).parents[1]
    files = sorted(path for pattern in SOURCES for path in package.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


@cache
def _cache_folder() -> str:
    """Folder for this version of the sources, in numba's if that is set, or the user's; '' if none can be written."""
    config: Any = numba.config
    try:
        folder = (Path(config.CACHE_DIR) if config.CACHE_DIR else _user_cache() / "geouq") / digest_of_sources()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the user has no home
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"
