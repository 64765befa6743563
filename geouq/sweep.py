"""Windows to summaries: the only room that decides what runs where.

A tile is cut into windows of 512 pixels a side (they stay in cache), and these, in rows from the top left, into
groups of 16, the unit of work. The cut depends on the tile's shape alone and groups are added in their order, so
results have the same bits whatever the number of threads.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from affine import Affine
from numpy.typing import ArrayLike, NDArray

from geouq.catalog import Failure, Tile
from geouq.errors import ConfigError, DataError
from geouq.grid import Grid, Window
from geouq.kernel import collect_keys, new_cells, new_scratch, new_totals, sweep_window
from geouq.parts import VariablePart, joined, part_of
from geouq.raster import gdal_options
from geouq.reader import NO_STATUS, VariableWindow, read_window
from geouq.summary import KeptPixels, TileSummary, VariableSummary
from geouq.validity import Nodata
from geouq.z_lattice import ZLattice, z_lattice

Ints = NDArray[np.int64]
Read = Callable[[Window], Iterator[VariableWindow]]

WINDOW = 512
PATIENCE = 10.0  # seconds
GROUP = 16
SMALLEST_CELL, LARGEST_CELL, CELLS_IN_TILE = 16, 256, 64


@dataclass(frozen=True)
class Settings:
    """What a sweep measures; anything here that changes makes new summaries.

    tail : number of equal-width bins to be exact, 0 for none; negative : "error" or "exclude", what to do with a
        negative variance.
    """

    levels: tuple[float, ...]
    cell_size: int
    tail: int = 10
    negative: str = "error"


@dataclass(frozen=True)
class Task:
    """One of the `count` pieces of work that a tile asks for, `place` in their order."""

    tile: Tile
    place: int
    count: int
    work: Callable[[], Any]


@dataclass
class _Progress:
    """What has come back of a tile so far, by place; `missing` is 0 when all has, or when the tile has failed."""

    missing: int
    parts: dict[int, Any] = field(default_factory=dict)


def cell_size_for(grids: Iterable[Grid]) -> int:
    """Largest power of two from 16 to 256 that leaves the median tile at least 64 cells.

    >>> cell_size_for([Grid((232, 410), Affine.identity(), "")])
    32
    """
    shapes = sorted((grid.shape for grid in grids), key=lambda shape: shape[0] * shape[1])
    rows, columns = shapes[len(shapes) // 2] if shapes else (0, 0)
    size = LARGEST_CELL
    while size > SMALLEST_CELL and -(-rows // size) * -(-columns // size) < CELLS_IN_TILE:
        size //= 2
    return size


def groups_of(grid: Grid) -> list[list[Window]]:
    """Windows of a grid in groups, in the order in which their results are added."""
    windows = list(grid.windows(WINDOW))
    return [windows[i : i + GROUP] for i in range(0, len(windows), GROUP)]


@contextmanager
def workers(count: int, scheduler: str | None = None) -> Iterator[Executor]:
    """Threads of this machine, or the workers of a running dask scheduler (needs the extra `cluster`)."""
    if scheduler is None:
        with ThreadPoolExecutor(count, "geouq") as pool:
            yield pool
        return
    try:
        from distributed import Client  # noqa: PLC0415  an optional dependency
    except ImportError:
        raise ConfigError("--scheduler needs the package distributed; install geouq[cluster]") from None
    try:
        client = Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--scheduler: no dask scheduler answers at {scheduler}: {error}") from None
    with client, client.get_executor() as pool:
        yield pool


def sweep_tiles(
    tiles: Iterable[Tile], settings: Settings, pool: Executor, in_flight: int
) -> Iterator[TileSummary | Failure]:
    """Summaries of tiles as they are completed, or why there is none; at most `in_flight` groups at once."""
    tasks = (
        Task(tile, i, len(groups), partial(_sweep_group_of_tile, tile, windows, settings))
        for tile in tiles
        for groups in [groups_of(tile.grid)]
        for i, windows in enumerate(groups)
    )
    for tile, outcome in _run(tasks, "sweep", pool, in_flight):
        yield outcome if isinstance(outcome, Failure) else _tile_summary(tile, outcome, settings)


def for_each_tile(
    tiles: Iterable[Tile], work: Callable[[Tile], Any], stage: str, pool: Executor, in_flight: int
) -> Iterator[tuple[Tile, Any]]:
    """What `work` gives for each tile, or a Failure, as they are completed."""
    tasks = (Task(tile, 0, 1, partial(_with_gdal_options, work, tile)) for tile in tiles)
    for tile, outcome in _run(tasks, stage, pool, in_flight):
        yield tile, outcome if isinstance(outcome, Failure) else outcome[0]


def collect_pixels(
    wanted: Iterable[tuple[Tile, Mapping[str, Ints]]], settings: Settings, pool: Executor, in_flight: int
) -> Iterator[tuple[Tile, dict[str, KeptPixels] | Failure]]:
    """Second sweep: every pixel of the wanted keys, for each tile and variable."""
    tasks = (
        Task(tile, i, len(groups), partial(_collect_group, tile, windows, keys, settings))
        for tile, keys in wanted
        for groups in [groups_of(tile.grid)]
        for i, windows in enumerate(groups)
    )
    for tile, outcome in _run(tasks, "exact bins", pool, in_flight):
        yield tile, outcome if isinstance(outcome, Failure) else _kept(outcome)


def summarize_arrays(
    mean: ArrayLike,
    variance: ArrayLike,
    truth: ArrayLike,
    levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
    *,
    cell_size: int | None = None,
    tail: int = 10,
) -> VariableSummary:
    """Summary of one variable in memory, arrays (rows, columns), with the bits that a sweep of the same pixels gives.

    A pixel that is not finite in any of the three, or has no positive variance, is excluded. Raises DataError for a
    negative variance.
    """
    m, v, y = (np.atleast_2d(_as_float(array)) for array in (mean, variance, truth))
    if not m.shape == v.shape == y.shape:
        raise DataError(f"mean, variance and truth have the shapes {m.shape}, {v.shape} and {y.shape}; give one shape")
    grid = Grid(m.shape, Affine.identity(), "")
    settings = Settings(tuple(levels), cell_size or cell_size_for([grid]), tail)

    def read(window: Window) -> Iterator[VariableWindow]:
        yield VariableWindow(
            np.ascontiguousarray(m[window.slices]),
            np.ascontiguousarray(v[window.slices]),
            np.ascontiguousarray(y[window.slices]),
            NO_STATUS,
            Nodata.of(None, None, None),
        )

    parts = [sweep_group(read, windows, settings, ["array"])[0] for windows in groups_of(grid)]
    return joined(parts, grid, settings.cell_size, settings.levels)


def sweep_group(read: Read, windows: Sequence[Window], settings: Settings, names: Sequence[str]) -> list[VariablePart]:
    """What a group of windows adds up to, for each variable; DataError names the first negative variance."""
    lattice = z_lattice_of(settings.levels)
    totals = [new_totals(lattice.fine_bins, settings.tail) for _ in names]
    cells: list[list[tuple[Window, Any]]] = [[] for _ in names]
    for window in windows:
        _stop_if_asked()
        for i, pixels in enumerate(read(window)):
            found = new_cells(*_cells_and_pixels(window, settings.cell_size), lattice)
            sweep_window(
                pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata, settings.cell_size, lattice,
                _scratch(len(lattice.bin_of)), found, totals[i],
            )  # fmt: skip
            if settings.negative == "error" and totals[i].negative[0] > 0:
                raise DataError(_negative(names[i], pixels, window, totals[i].negative))
            cells[i].append((window, found))
    return [part_of(*pair) for pair in zip(cells, totals, strict=True)]


@lru_cache(maxsize=8)
def z_lattice_of(levels: tuple[float, ...]) -> ZLattice:
    """The lattice of these levels, made once."""
    return z_lattice(levels)


_of_thread = threading.local()
_stopping = threading.Event()


class _StoppedError(Exception):
    """The sweep was interrupted."""


def _stop_if_asked() -> None:
    if _stopping.is_set():
        raise _StoppedError


def _scratch(buckets: int) -> Any:
    held = getattr(_of_thread, "scratch", None)
    if held is None or len(held.buckets) != buckets:
        held = _of_thread.scratch = new_scratch(buckets)
    return held


def _cells_and_pixels(window: Window, cell_size: int) -> tuple[int, int]:
    rows, columns = -(-window.height // cell_size), -(-window.width // cell_size)
    return rows * columns, window.height * window.width


def _as_float(array: ArrayLike) -> NDArray[np.floating]:
    values = np.asarray(array)
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _negative(name: str, pixels: VariableWindow, window: Window, negative: Ints) -> str:
    count, row, column = (int(number) for number in negative)
    value = pixels.variance[row, column]
    place = f"row {window.row + row}, column {window.column + column}"
    return (
        f"{name}: the predicted variance is {value:.6g} at {place} ({count} negative values in this window); "
        "mend the file, or leave such pixels out with 'variance: {negative: exclude}'"
    )


def _sweep_group_of_tile(tile: Tile, windows: Sequence[Window], settings: Settings) -> list[VariablePart]:
    names = [f"{tile.variance.path}, {variable.name}" for variable in tile.variables]
    with gdal_options():
        return sweep_group(partial(read_window, tile), windows, settings, names)


def _with_gdal_options(work: Callable[[Tile], Any], tile: Tile) -> Any:
    _stop_if_asked()
    with gdal_options():
        return work(tile)


def _collect_group(
    tile: Tile, windows: Sequence[Window], wanted: Mapping[str, Ints], settings: Settings
) -> dict[str, KeptPixels]:
    found: dict[str, list[Any]] = {variable.name: [] for variable in tile.variables}
    with gdal_options():
        for window in windows:
            _stop_if_asked()
            for variable, pixels in zip(tile.variables, read_window(tile, window), strict=True):
                keys = wanted.get(variable.name, np.empty(0, np.int64))
                found[variable.name].append(
                    collect_keys(pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata, keys)
                )
    return {
        name: KeptPixels.ordered(
            settings.tail,
            wanted.get(name, np.empty(0, np.int64)),
            *(np.concatenate(column) for column in zip(*parts, strict=True)),
        )
        for name, parts in found.items()
    }


def _kept(parts: Sequence[Mapping[str, KeptPixels]]) -> dict[str, KeptPixels]:
    return {
        name: KeptPixels.ordered(
            first.tail,
            first.wanted,
            np.concatenate([part[name].variance for part in parts]),
            np.concatenate([part[name].squared_error for part in parts]),
        )
        for name, first in parts[0].items()
    }


def _tile_summary(tile: Tile, parts: Sequence[Sequence[VariablePart]], settings: Settings) -> TileSummary:
    variables = {
        variable.name: joined([part[i] for part in parts], tile.grid, settings.cell_size, settings.levels)
        for i, variable in enumerate(tile.variables)
    }
    return TileSummary(tile.name, tile.grid, settings.cell_size, variables)


def _run(tasks: Iterator[Task], stage: str, pool: Executor, in_flight: int) -> Iterator[tuple[Tile, Any]]:
    """Run tasks, a bounded number at a time; of each tile the results in their order, or a Failure."""
    progress: dict[str, _Progress] = {}
    running: dict[Future[Any], Task] = {}
    try:
        while True:
            while len(running) < in_flight and (task := _next_task(tasks, progress)):
                running[pool.submit(task.work)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                outcome = _arrived(task, future, progress, stage)
                if outcome is not None:
                    yield task.tile, outcome
    except BaseException:
        _stop(running)
        raise


def _stop(running: Iterable[Future[Any]]) -> None:
    """Let what waits be forgotten, and what is under way end at its next window."""
    _stopping.set()
    wait([future for future in running if not future.cancel()], timeout=PATIENCE)
    _stopping.clear()


def _next_task(tasks: Iterator[Task], progress: dict[str, _Progress]) -> Task | None:
    """The next task of a tile that has not failed."""
    for task in tasks:
        if progress.setdefault(task.tile.name, _Progress(task.count)).missing > 0:
            return task
    return None


def _arrived(task: Task, future: Future[Any], progress: dict[str, _Progress], stage: str) -> Any:
    """Take in one result; what is to be said of the tile if that settles it, None if it does not."""
    state = progress[task.tile.name]
    if state.missing == 0:
        return None
    try:
        state.parts[task.place] = future.result()
    except Exception as error:  # noqa: BLE001  whatever a tile does, the others go on, and the table of failures tells
        state.missing, state.parts = 0, {}
        return Failure(task.tile.name, stage, type(error).__name__, str(error))
    state.missing -= 1
    if state.missing > 0:
        return None
    return [state.parts.pop(place) for place in range(task.count)]
