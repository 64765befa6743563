"""Compile functions with numba, once per machine.

numba's own cache notices a change of the file that holds a function, but not of the functions and constants that it
takes from other files. Here the cache's folder bears a digest of all files that matter, so that an update of any of
them compiles anew.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])

SOURCES = ("compiled.py", "gaussian.py", "validity.py", "z_lattice.py", "kernel/*.py", "summary/*.py")
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: F) -> F:
    """The function compiled at its first call, released from the GIL; sums keep the order in which they are written."""
    return _compile(function, fastmath=False)


def inlined(function: F) -> F:
    """The same as a part of its callers; it can allocate nothing, and so no reference to an array need be counted."""
    return _compile(function, fastmath=False, forceinline=True, _nrt=False)


def inlined_reordered(function: F) -> F:
    """The same, free to reorder sums so that they use the processor's lanes; NaN and inf are still told apart."""
    return _compile(function, fastmath=REORDERED, forceinline=True, _nrt=False)


def _compile(function: F, **options: Any) -> F:
    config: Any = numba.config
    before = config.CACHE_DIR
    config.CACHE_DIR = before or _cache_folder()
    try:
        made: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = before
    return cast("F", made)


@cache
def digest_of_sources() -> str:
    """Digest of all that the compiled functions are made of: what they give can change only when it does."""
    package = Path(__file__).parent
    files = sorted(path for pattern in SOURCES for path in package.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


@cache
def _cache_folder() -> str:
    """Folder for this version of the sources; '' (numba's own choice) where the user's cache cannot be written."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(user) / "geouq" / digest_of_sources()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""
