"""Compile functions with numba, once per machine.

A function is compiled at its first call. A function with declared argument types can be compiled earlier by
`compile_ahead`, in an idle process. Each function has its own lock, so that processes compile different functions at
the same time, and no function twice.

numba compiles a function again if its file changes, but not if it calls functions or uses constants of another file
that changes. Therefore the name of the cache folder is a digest of all these files. After an update of any of them,
the folder is a new one, and all functions are compiled again.

numba is imported when the first function is called, as many commands call none.
"""

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, update_wrapper, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from filelock import FileLock

F = TypeVar("F", bound=Callable[..., object])

SOURCES = (
    "core/compiled.py",
    "core/distribution.py",
    "core/gaussian.py",
    "core/grid.py",
    "core/validity.py",
    "kernel/*.py",
    "rasters/outlines.py",
    "summary/*.py",
    "zones/*.py",
)
COMPLETE = "complete"  # file in the folder of compiled functions
FUSED = {"contract"}
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
LEVEL, HIGHEST_LEVEL = 1, 3  # of LLVM's optimisation: a higher one takes a sixth longer, and helps few functions
PLAIN: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
PART: dict[str, Any] = PLAIN | {"forceinline": True, "_nrt": False}

_making = threading.RLock()
_unknown: list[tuple[Callable[..., object], Mapping[str, Any]]] = []  # inlined functions that numba does not know yet
_declared: "list[tuple[_Compiled, str]]" = []  # functions, and the types of the arguments they are called with


class _Compiled:
    """A function that is compiled at its first call, from Python or from another compiled function."""

    def __init__(self, function: Callable[..., object], options: Mapping[str, Any], level: int = LEVEL) -> None:
        update_wrapper(self, function)
        self._function, self._options, self._level = function, options, level
        self._made: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        made = self._made
        return (self._compiler() if made is None else made)(*arguments)

    def compile_for(self, types: str) -> None:
        """Compile the function for these types of arguments, or load what is kept."""
        self._compiler().compile(arguments_of(types))

    @property
    def _numba_type_(self) -> Any:
        """Return the type of the function, for which numba asks where another one calls it."""
        return self._compiler()._numba_type_

    def _compiler(self) -> Any:
        """Return numba's dispatcher of the function, which compiles for the types of a call."""
        with _making:
            if self._made is None:
                self._made = _made(self._function, "njit", self._options, self._level)
            return self._made


def compiled(function: F) -> F:
    """Return the function, compiled at its first call without the GIL; sums keep the order of the source."""
    return cast("F", _Compiled(function, PLAIN))


def compiled_for(types: str) -> Callable[[F], F]:
    """Return a decorator like `compiled`, for a function that `compile_ahead` can compile before it is called.

    types : of the arguments of its calls, as numba writes them, such as "f8[:,::1], i8[::1], f8".
    """

    def declared(function: F) -> F:
        """Return the compiled function."""
        made = _Compiled(function, PLAIN)
        _declared.append((made, types))
        return cast("F", made)

    return declared


def arguments_of(types: str) -> tuple[Any, ...]:
    """Return numba's types of the arguments of a call; numba keeps what is compiled by these, not by their names."""
    from numba.core import sigutils

    normalize: Any = sigutils.normalize_signature
    arguments, _ = normalize(f"({types},)")
    return cast("tuple[Any, ...]", arguments)


def compile_ahead() -> None:
    """Compile the functions of all imported modules whose types are declared, in the order of the modules."""
    for function, types in tuple(_declared):
        function.compile_for(types)


def entry(function: F) -> F:
    """Return the same for a function that allocates nothing, so that no reference to an array need be counted."""
    return cast("F", _Compiled(function, PLAIN | {"_nrt": False}))


def entry_optimized(function: F) -> F:
    """Return the same, compiled with all optimisation, for long formulas."""
    return cast("F", _Compiled(function, PLAIN | {"_nrt": False}, HIGHEST_LEVEL))


def inlined(function: F) -> F:
    """Return a function that is inlined into compiled ones and allocates nothing; from Python it is plain Python."""
    return _inlined(function, PART)


def inlined_fused(function: F) -> F:
    """Return the same, free to round a product and a sum together, as processors do in one step."""
    return _inlined(function, PART | {"fastmath": FUSED})


def inlined_reordered(function: F) -> F:
    """Return the same, free to reorder sums so that they use vector lanes; NaN and inf are still recognised."""
    return _inlined(function, PART | {"fastmath": REORDERED})


def elementwise(function: Callable[[float], float]) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function of a number for arrays of any shape, compiled at its first call."""
    ready: list[Any] = []

    def make_ready() -> None:
        """Compile the function in one thread; no lock except those of `_alone` is held."""
        with _alone(_name_of(function)):
            if not ready:
                found = _made(function, "vectorize", {})
                found.add("float64(float64)")
                ready.append(found)

    @wraps(function)
    def called(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the compiled function."""
        if not ready:
            make_ready()
        return cast("NDArray[np.float64]", ready[0](values))

    return cast("Any", called)


def is_kept() -> bool:
    """Return whether compiled code is kept for the next process; without a folder, each process compiles."""
    return bool(_cache_folder())


def is_compiled() -> bool:
    """Return whether a run has compiled all that it calls; otherwise a run compiles, which takes half a minute."""
    return is_kept() and Path(_cache_folder(), COMPLETE).exists()


def mark_compiled() -> None:
    """Record that a run has ended, so that all that runs call is compiled."""
    if is_kept():
        with suppress(OSError):
            Path(_cache_folder(), COMPLETE).touch()


def _inlined(function: F, options: Mapping[str, Any]) -> F:
    """Return the function, which numba is to know before it compiles one that calls it."""
    _unknown.append((function, options))
    return function


def _numba() -> Any:
    """Return numba, which then knows all inlined functions."""
    import numba
    from numba.extending import register_jitable

    with _making:
        while _unknown:
            function, options = _unknown.pop()
            register_jitable(**options)(function)
    return numba


def _made(function: Callable[..., object], compiler: str, options: Mapping[str, Any], level: int = LEVEL) -> Any:
    """Return what a decorator of numba makes of a function; nothing is compiled or loaded yet."""
    with _making:
        numba = _numba()
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = _cache_folder()
        try:
            made = getattr(numba, compiler)(cache=is_kept(), **options)(function)
        finally:
            numba.config.CACHE_DIR = before
    if hasattr(made, "compile"):
        made.compile = _one_at_a_time(_name_of(function), made.compile, level)
    return made


def _name_of(function: Callable[..., object]) -> str:
    return re.sub(r"[^\w.]", "_", f"{function.__module__}.{function.__qualname__}")


def _one_at_a_time(name: str, compile_for: Callable[..., Any], level: int) -> Callable[..., Any]:
    """Compile a function, or load it from the cache, in one process at a time: numba does not lock its cache files."""

    @wraps(compile_for)
    def alone(*arguments: Any) -> Any:
        """Compile for these argument types under the lock."""
        with _alone(name), _optimized(level):
            return compile_for(*arguments)

    return alone


@contextmanager
def _optimized(level: int) -> Iterator[None]:
    """Compile with this level of optimisation, unless the environment gives one; the lock of numba is held."""
    config = _numba().config
    before = config.OPT
    if "NUMBA_OPT" not in os.environ:
        config.OPT = type(before)(level)
    try:
        yield
    finally:
        config.OPT = before


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Hold the lock of a function, if there is a cache folder and its file system supports locks.

    While a function is compiled that calls others, its lock is held, and the locks of the others are taken. No function
    calls itself through others, so processes do not wait for each other in a circle. numba's lock for threads is taken
    before the lock of the function; in the other order, two threads could wait for each other.
    """
    with _making:  # an import of numba fails if another thread imports it at the same time
        from numba.core.compiler_lock import global_compiler_lock

    with ExitStack() as stack:
        stack.enter_context(global_compiler_lock)
        if is_kept():
            with suppress(OSError, NotImplementedError):
                stack.enter_context(_lock(name))
        yield


@cache
def _lock(name: str) -> "FileLock":
    from filelock import FileLock  # here, as a command that compiles nothing does not need it

    return FileLock(Path(_cache_folder()) / f"{name}.lock")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock.cache_clear)  # a FileLock works in the process that made it alone


@cache
def digest_of_sources() -> str:
    """Return the digest of all files that compiled functions depend on; their results can change only if it does."""
    package = Path(__file__).parents[1]
    files = sorted(path for pattern in SOURCES for path in package.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


@cache
def _cache_folder() -> str:
    """Return the cache folder of this version of the sources, in NUMBA_CACHE_DIR if set; '' if none can be written."""
    config: Any = _numba().config
    try:
        folder = (Path(config.CACHE_DIR) if config.CACHE_DIR else _user_cache() / "geouq") / digest_of_sources()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the user has no home
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


def _user_cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"
