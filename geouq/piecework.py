"""What a piece of a tile adds up to: its windows are read once, and given to the kernel group by group."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.catalog import Tile
from geouq.cutting import Piece, Reading, overlap
from geouq.errors import DataError
from geouq.grid import Window
from geouq.kernel import (
    CellSums,
    Pixels,
    Scratch,
    Totals,
    add_grouped,
    add_interval,
    new_cells,
    new_scratch,
    new_totals,
    sweep_box,
)
from geouq.parts import PieceSum, VariablePart, take_part
from geouq.raster import gdal_options
from geouq.reader import TileReader, VariableWindow
from geouq.settings import Settings
from geouq.validity import TRUTH_NODATA, Nodata
from geouq.workers import stop_if_asked
from geouq.z_lattice import ZLattice, z_lattice

Ints = NDArray[np.int64]
Read = Callable[[int, Window], VariableWindow]
Box = tuple[int, int, int, int]  # first row and column in the window, and those behind the last
Visit = tuple[Sequence[int], Sequence[Window]]  # variables, windows: all variables of a window, then the next window

IDLE = 12  # sums of groups that a thread keeps to use again


def sweep_piece(settings: Settings, tile: Tile, piece: Piece, reading: Reading) -> PieceSum:
    """What a piece of a tile adds up to; DataError names the first negative variance."""
    reader = TileReader(tile, reuse=True)
    names = [f"{tile.variance.path}, {variable.name}" for variable in tile.variables]

    def read(i: int, window: Window) -> VariableWindow:
        return reader.read(tile.variables[i], window)

    with gdal_options(reading.cache):
        thresholds = [variable.thresholds for variable in tile.variables]
        return sweep_windows(
            read,
            piece,
            visits_of(tile, piece),
            settings,
            names,
            thresholds=thresholds,
            weighted=tile.weighted,
        )


def visits_of(tile: Tile, piece: Piece) -> list[Visit]:
    """Order of reading: all windows of a variable, then the next; but all of a window where bands are interleaved."""
    variables = range(len(tile.variables))
    if any(raster.interleaved for raster in tile.rasters.values()):
        return [(variables, piece.windows)]
    return [([i], piece.windows) for i in variables]


def sweep_windows(
    read: Read,
    piece: Piece,
    visits: Iterable[Visit],
    settings: Settings,
    names: Sequence[str],
    *,
    thresholds: Sequence[tuple[float, ...]],
    weighted: bool,
) -> PieceSum:
    """Read windows of variables in the order of `visits`, and add them up by group: for each, a part a variable."""
    parts: dict[int, list[VariablePart]] = {}
    for variables, windows in visits:
        sums = {
            i: [_group_sum(group, settings, thresholds[i], weighted=weighted) for group in piece.groups]
            for i in variables
        }
        for window in windows:
            for i in variables:
                stop_if_asked()
                _add_window(read(i, window), window, sums[i], settings, names[i])
        parts |= {i: [_emptied(group) for group in groups] for i, groups in sums.items()}
    return [(group, [parts[i][g] for i in range(len(names))]) for g, group in enumerate(piece.groups)]


@lru_cache(maxsize=8)
def z_lattice_of(levels: tuple[float, ...]) -> ZLattice:
    """The lattice of these levels, made once."""
    return z_lattice(levels)


@dataclass(frozen=True)
class _GroupSum:
    """What one variable adds up to in one group; `room` tells for which groups its arrays are of the right size."""

    group: Window
    across: int
    weighted: bool
    room: tuple[Any, ...]
    cells: CellSums
    totals: Totals


_of_thread = threading.local()


def _group_sum(group: Window, settings: Settings, thresholds: tuple[float, ...], *, weighted: bool) -> _GroupSum:
    """An empty sum, in arrays of this thread that were used before if there are any: fresh memory costs time."""
    lattice, size = z_lattice_of(settings.levels), settings.cell_size
    down, across = -(-group.height // size), -(-group.width // size)
    room = settings, thresholds, weighted, down * across, group.height * group.width
    idle: list[_GroupSum] = _of_thread.__dict__.setdefault("idle", [])
    for i, candidate in enumerate(idle):
        if candidate.room == room:
            del idle[i]
            candidate.totals.kept_state[:] = settings.tail, 0
            return replace(candidate, group=group, across=across)
    cells = new_cells(down * across, group.height * group.width, lattice, weighted=weighted)
    groups, ordering = len(settings.groups), settings.ordering
    totals = new_totals(lattice, settings.tail, groups, thresholds, ordering=ordering, weighted=weighted)
    return _GroupSum(group, across, weighted, room, cells, totals)


def _emptied(group: _GroupSum) -> VariablePart:
    """What a group holds; its arrays are free for another."""
    part = take_part(group.cells, group.totals)
    _of_thread.idle.append(group)
    del _of_thread.idle[:-IDLE]
    return part


def _add_window(
    found: VariableWindow, window: Window, groups: Sequence[_GroupSum], settings: Settings, name: str
) -> None:
    """Add the boxes of a window to the groups in which they lie."""
    lattice, pixels = z_lattice_of(settings.levels), None if found.absent else found.pixels
    for group in groups:
        box = overlap(window, group.group)
        if box.height <= 0 or box.width <= 0:
            continue
        if pixels is None:
            group.totals.excluded[TRUTH_NODATA] += box.height * box.width
            continue
        top, left, column = box.row - window.row, box.column - window.column, box.column - group.group.column
        part = pixels, window.width, found.nodata, (top, left, top + box.height, left + box.width)
        sweep_box(
            *part, column, group.across, settings.cell_size, lattice,
            _scratch(settings, pixels.truth.dtype, weighted=group.weighted), group.cells, group.totals,
        )  # fmt: skip
        _add_beside(found, part, column, group, settings)
        if settings.negative == "error" and group.totals.negative[0] > 0:
            raise DataError(_negative(name, found, window, group.totals.negative))


def _add_beside(
    found: VariableWindow, part: tuple[Pixels, int, Nodata, Box], column: int, group: _GroupSum, settings: Settings
) -> None:
    """Add the given interval, and what the pixels are grouped by in other rasters."""
    if found.bounds:
        lower, upper = (end.ravel() for end in found.bounds)
        add_interval(*part, column, group.across, settings.cell_size, (lower, upper), group.cells)
    for i, values in enumerate(found.groups, len(settings.groups) - len(found.groups)):
        are_codes = settings.groups[i] in settings.classes
        add_grouped(*part, values.ravel(), are_codes, i, z_lattice_of(settings.levels), group.totals)


def _scratch(settings: Settings, dtype: DTypeLike, *, weighted: bool) -> Scratch:
    """Buffers of this thread."""
    wanted = (settings.levels, settings.groups, dtype, weighted)
    if getattr(_of_thread, "wanted", None) != wanted:
        lattice = z_lattice_of(settings.levels)
        _of_thread.scratch = new_scratch(lattice, dtype, settings.groups, weighted=weighted)
        _of_thread.wanted = wanted
    scratch: Scratch = _of_thread.scratch
    return scratch


def _negative(name: str, found: VariableWindow, window: Window, negative: Ints) -> str:
    count, place = (int(number) for number in negative)
    row, column = divmod(place, window.width)
    what, kind = f"the predicted variance is {found.variance[row, column]:.6g}", "negative values"
    if found.bounds:
        low, high = (end[row, column] for end in found.bounds)
        what, kind = f"the upper end {high:.6g} lies below the lower {low:.6g}", "such pixels"
    where = f"row {window.row + row}, column {window.column + column}"
    return (
        f"{name}: {what} at {where} ({count} {kind} in this window); mend the file, or leave them out with "
        "'variance: {negative: exclude}'"
    )
