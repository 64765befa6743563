"""Failures that cost one item: each is recorded with its exception and its place, and the work goes on.

An item is whatever a reader may miss: the numbers of a variable in a region, a map, a figure, a page. Code that makes
one says so, and needs no other error handling:

    with isolated("figures", "pit of height in west"):
        save_figure(draw(...), path)

Within `collecting` an exception there becomes a `Failure`. Outside, as in tests and notebooks, it is raised. Errors
that the user can repair, and errors of the file system, always end the work: every later item would meet them too.
"""

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path

from geouq.core.errors import GeouqError
from geouq.core.redaction import without_secrets
from geouq.core.usage import advice_on

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Failure:
    """What could not be done.

    Parameters
    ----------
    tile : str
        Name of the tile that could not be evaluated; empty where single items are missing.
    stage : str
        Stage of the run, such as "sweep", "numbers" or "figures".
    error, message : str
        Type and message of the exception.
    item : str
        What is missing from the output; empty where that is a tile.
    where : str
        Innermost line of geouq that raised it, such as "maps/scales.py:128 in _round"; empty for expected errors.
    trace : str
        Whole traceback, for `--verbose` only; never saved.
    """

    tile: str
    stage: str
    error: str
    message: str
    item: str = ""
    where: str = ""
    trace: str = field(default="", repr=False, compare=False)

    @property
    def row(self) -> dict[str, str]:
        """Return the fields that are saved."""
        return {name: value for name, value in vars(self).items() if name != "trace"}

    @property
    def subject(self) -> str:
        """Return what failed, for a line of text."""
        return self.item or f"tile {self.tile}"

    def __str__(self) -> str:
        """Return one line for people."""
        where = f" ({self.where})" if self.where else ""
        kind = f"{self.error}: " if self.where else ""
        return f"{self.subject} ({self.stage}): {kind}{self.message}{where}"


def failure_of(error: BaseException, stage: str, *, tile: str = "", item: str = "") -> Failure:
    """Return the record of an exception; where it was raised is part of it unless users cause such errors."""
    said = without_secrets(str(error))
    advice = advice_on(said)
    message = said if advice in said else f"{said}{advice}"
    if isinstance(error, GeouqError | OSError):
        return Failure(tile, stage, type(error).__name__, message, item)
    trace = "".join(traceback.format_exception(error))
    return Failure(tile, stage, type(error).__name__, " ".join(message.split()), item, _place(error), trace)


@contextmanager
def collecting(earlier: Iterable[Failure] = ()) -> Iterator[list[Failure]]:
    """Collect the failures of all items in the block, in their order, after those that were found earlier."""
    found = list(earlier)
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


class isolated:  # noqa: N801  read as a function, and entered hundreds of times for each variable of a region
    """Let an exception in the block cost this item only; raise it where nothing collects failures.

    Blocks may be nested: the outer item names the place of the inner one. The block must not yield. `outputs` are the
    files that the block writes: those of an earlier run must not stand for what is missing.
    """

    __slots__ = ("_item", "_outputs", "_stage", "_token")

    def __init__(self, stage: str, item: str, *, outputs: Iterable[Path] = ()) -> None:
        self._stage, self._item, self._outputs = stage, item, outputs

    def __enter__(self) -> None:
        self._token = _items.set((self._item, *_items.get()))

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        try:
            return isinstance(error, Exception) and self._keep(error)
        finally:
            _items.reset(self._token)

    def _keep(self, error: Exception) -> bool:
        """Keep the failure; return False where the exception is to be raised."""
        if _collected.get() is None or ends_the_work(error):
            return False
        for path in self._outputs:
            path.unlink(missing_ok=True)
        record(failure_of(error, self._stage, item=", ".join(_items.get())), error)
        return True


_collected: ContextVar[list[Failure] | None] = ContextVar("collected", default=None)
_items: ContextVar[tuple[str, ...]] = ContextVar("items", default=())


def record(failure: Failure, error: Exception) -> None:  # noqa: ARG001  tests raise it
    """Keep a failure of an item once, however often it is met."""
    found = _collected.get()
    if found is not None and failure not in found:
        found.append(failure)


def are_collected() -> bool:
    """Return whether exceptions of items become failures here."""
    return _collected.get() is not None


def record_again(failures: Iterable[Failure]) -> None:
    """Keep failures that another process recorded, below the items of this one."""
    around = _items.get()
    for failure in failures:
        record(replace(failure, item=", ".join((failure.item, *around))), RuntimeError(failure.trace or str(failure)))


def ends_the_work(error: Exception) -> bool:
    """Return whether later items would fail alike: rasterio's errors are OSErrors too, but have no number."""
    return isinstance(error, GeouqError) or (isinstance(error, OSError) and error.errno is not None)


def _place(error: BaseException) -> str:
    """Return file, line and function of the innermost frame within the package."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if PACKAGE in Path(frame.filename).parents and frame.filename != __file__]
    if not own:
        return ""
    frame = own[-1]
    return f"{Path(frame.filename).relative_to(PACKAGE).as_posix()}:{frame.lineno} in {frame.name}"
