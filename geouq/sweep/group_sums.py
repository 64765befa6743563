"""What one variable adds up to in one group: arrays of a thread that the kernel fills, window by window."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.core.distribution import NORMAL, Distribution
from geouq.core.errors import DataError
from geouq.core.grid import COLUMN, Places, Window
from geouq.core.validity import Nodata
from geouq.kernel import (
    CellSums,
    GatheredPixels,
    Pixels,
    Sampled,
    Scratch,
    Totals,
    add_grouped,
    add_interval,
    collect_all,
    collect_by_cell,
    errors_of,
    gather_valid,
    new_cells,
    new_sampled,
    new_scratch,
    new_totals,
    pixels_of_cells,
    runs_of_places,
    sweep_boxes,
    sweep_gathered,
)
from geouq.kernel.distributions import Scoring, scoring_of
from geouq.kernel.places import gather, tile_places
from geouq.kernel.z_lattice import ZLattice, pit_lattice, z_lattice
from geouq.reading.form_pixels import NO_LAYERS, add_form, taken
from geouq.reading.variable_window import VariableWindow
from geouq.summary.form import GAUSSIAN
from geouq.summary.pixel_statistic import PIXEL_STATISTICS, ValidPixels
from geouq.summary.statistic import Statistic
from geouq.summary.swept_pixels import SweptPixels
from geouq.summary.tail_pixels import FEW
from geouq.sweep.accumulate import Every, VariablePart, take_part
from geouq.sweep.settings import Settings

Ints = NDArray[np.int64]
Box = tuple[int, int, int, int]  # first row and column in the window, and those behind the last

IDLE = 64  # sums of groups that a thread keeps to use again


@lru_cache(maxsize=8)
def lattice_of(levels: tuple[float, ...], *, of_pit: bool = False) -> ZLattice:
    """Return the lattice of these levels, made once; of_pit : for distributions other than the normal one."""
    return pit_lattice(levels) if of_pit else z_lattice(levels)


@dataclass(frozen=True)
class Read:
    """One variable in one window, and its pixels as the kernel takes them.

    places : int32 (rows, columns), where pixels of another window, `source`, are gathered in it: their places there.
    """

    window: Window
    found: VariableWindow
    pixels: Pixels
    places: Places | None = None
    source: Window | None = None

    def tile_places(self, place: Ints) -> Ints:
        """Return the places in the tile, row << 32 | column, of pixels that are at such places in the window."""
        if self.places is None or self.source is None:
            return place
        source = self.source
        corner = self.window.row, self.window.column
        return tile_places(place, corner, self.places, source.width, (source.row, source.column))


def gathered(read: Read, places: Places, corner: tuple[int, int]) -> Read:
    """Return the pixels at these places as a new window with that corner; a pixel that lies nowhere is `OUTSIDE`."""
    pixels = Pixels(*gather(read.pixels, places.ravel()))
    found = replace(
        read.found,
        variance=pixels.variance.reshape(places.shape),
        bounds=tuple(end.ravel()[places] for end in read.found.bounds),
        groups=tuple(values.ravel()[places] for values in read.found.groups),
        truth_variance=_at(read.found.truth_variance, places),
        layers=None if read.found.layers is None else taken(read.found.layers, places.ravel()),
    )
    return Read(Window(*corner, *places.shape), found, pixels, places, read.window)


def _at(values: NDArray[np.float64], places: Places) -> NDArray[np.float64]:
    return values.ravel()[places] if values.size else values


class FewPixels:
    """Every pixel of a group as long as they are few, and their places; nothing once there are more."""

    def __init__(self, *, wanted: bool) -> None:
        self.parts: list[Every] | None = [] if wanted else None

    def add(self, read: Read, box: Box, n: int) -> None:
        """Keep the pixels of a box of a window; all windows that were added to the group have n of them."""
        if self.parts is None or n > FEW:
            self.parts = None
            return
        if n > sum(len(place) for _, place in self.parts):
            own, window = read.pixels, read.window
            found, place = collect_all(own, window.width, read.found.nodata, box, window.row, window.column)
            self.parts.append((found, read.tile_places(place)))


class AddedStatistics:
    """Statistics of the cells of a group that numpy computes, by name."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._kinds = {name: PIXEL_STATISTICS[name] for name in names}
        self.found: dict[str, Statistic] = {}

    def add(
        self,
        part: tuple[Pixels, int, Nodata, Box],
        in_group: tuple[int, int, int],
        cells: int,
        truth_variance: NDArray[np.float64],
    ) -> None:
        """Add the pixels of a box of a window to a group that has so many cells; truth_variance : of the window."""
        if not self._kinds:
            return
        (mean, variance, truth, weight), cell, place = collect_by_cell(*part, *in_group)
        noise = truth_variance.ravel()[place] if truth_variance.size else np.zeros(len(truth))
        pixels = ValidPixels(mean, variance, truth, weight, cell, noise)
        for name, kind in self._kinds.items():
            own: Statistic = kind.of_pixels(pixels, cells)
            self.found[name] = self.found[name] + own if name in self.found else own


@dataclass(frozen=True)
class GroupSum:
    """What one variable adds up to in one group; `kind` tells for which its totals serve, and `room` its cells."""

    distribution: Distribution
    group: Window
    across: int
    weighted: bool
    kind: tuple[Any, ...]
    room: tuple[int, int]
    cells: CellSums
    totals: Totals
    sampled: Sampled
    few: FewPixels
    added: AddedStatistics
    swept: list[SweptPixels] | None = None


_of_thread = threading.local()


def new_group_sum(
    group: Window,
    settings: Settings,
    thresholds: tuple[float, ...],
    *,
    weighted: bool,
    swept: bool = False,
    distribution: Distribution = NORMAL,
) -> GroupSum:
    """Return an empty sum, in arrays of this thread that were used before if there are any: fresh memory costs time.

    swept : whether all pixels are kept in the order of the sweep, instead of sums by key of the variance.
    """
    scored, size = not distribution.is_normal, settings.cell_size
    lattice = lattice_of(settings.levels, of_pit=scored)
    down, across = -(-group.height // size), -(-group.width // size)
    kind = settings.tail, swept, weighted, thresholds, settings, distribution  # what differs most often comes first
    room = down * across, group.height * group.width
    form, width = settings.form, settings.form.width
    of_cells: dict[str, Any] = {"weighted": weighted, "form": width, "scored": scored, "thresholds": len(thresholds)}
    idle: list[GroupSum] = _of_thread.__dict__.setdefault("idle", [])
    alike = [i for i, candidate in enumerate(idle) if candidate.kind == kind]
    if alike:
        candidate = idle.pop(next((i for i in alike if idle[i].room == room), alike[0]))
        candidate.totals.kept_state[:] = settings.tail, 0
        cells = candidate.cells if candidate.room == room else new_cells(*room, lattice, **of_cells)
        few, added = FewPixels(wanted=settings.keeps_few and not swept), AddedStatistics(settings.added)
        pixels: list[SweptPixels] | None = [] if swept else None
        return replace(
            candidate, group=group, across=across, room=room, cells=cells, few=few, added=added, swept=pixels
        )
    cells = new_cells(*room, lattice, **of_cells)
    groups, ordering = len(settings.groups), settings.ordering
    kinds = {"ordering": ordering, "weighted": weighted, "profiled": not swept}
    totals = new_totals(lattice, settings.tail, groups, thresholds, **kinds)
    sampled = new_sampled(form.sampled_members)
    few, added = FewPixels(wanted=settings.keeps_few and not swept), AddedStatistics(settings.added)
    pixels = [] if swept else None
    return GroupSum(distribution, group, across, weighted, kind, room, cells, totals, sampled, few, added, pixels)


def emptied(group: GroupSum) -> VariablePart:
    """Return what a group holds; its arrays are free for another."""
    swept = None if group.swept is None else SweptPixels.joined(group.swept)
    part = take_part(group.cells, group.totals, group.sampled, group.few.parts, group.added.found, swept=swept)
    _of_thread.idle.append(group)
    del _of_thread.idle[:-IDLE]
    return part


def add_box(read: Read, box: Window, group: GroupSum, settings: Settings) -> None:
    """Add a box of a window, which begins where a cell of the group does, to that group; 256 rows at most."""
    place = (*_place_in(read.window, box), box.row - group.group.row)
    add_boxes(read, boxes_in(group, np.array([place], np.int64), box.column), group, settings)


def boxes_in(group: GroupSum, boxes: Ints, column: int) -> Ints:
    """Return boxes as `add_boxes` takes them.

    boxes : int64 (boxes, 5), of a window, and the row of the group in which its cells begin. column : in the tile.
    """
    found = boxes.copy()
    found[:, 4] = boxes[:, 4] * group.across + column - group.group.column  # its rows of cells stand side by side
    return found


def add_boxes(read: Read, boxes: Ints, group: GroupSum, settings: Settings) -> None:
    """Add boxes of a window, one after the other; `boxes` as of `sweep_boxes`."""
    form, layers, size = settings.form, read.found.layers, settings.cell_size
    pixels, columns, nodata = read.pixels, read.window.width, read.found.nodata
    if form.has_variance:
        sweep_boxes(
            pixels, columns, nodata, boxes, group.across, size, _lattice(settings, group),
            _scratch(settings, pixels.truth.dtype, group), group.cells, group.totals, _scoring(settings, group),
        )  # fmt: skip
    if not (settings.added or read.found.bounds or read.found.groups or form != GAUSSIAN):
        return
    for *box, column in boxes.tolist():
        part, in_group = (pixels, columns, nodata, tuple(box)), (column, group.across, size)
        if form.has_variance:
            group.added.add(part, in_group, len(group.cells.n), read.found.truth_variance)
        if form != GAUSSIAN and (layers is not None or not form.has_variance):
            add_form(form, layers or NO_LAYERS, part, in_group, (group.cells, group.totals, group.sampled))
        _add_auxiliary(read.found, part, column, group, settings)


def keep_few(boxes: Sequence[tuple[Read, Window]], group: GroupSum) -> None:
    """Keep the pixels of boxes that were added to a group, as long as the group has few."""
    if group.few.parts is not None:
        n = int(group.cells.n.sum())
        for read, box in boxes:
            group.few.add(read, _place_in(read.window, box), n)


class GatheredSquare(NamedTuple):
    """Valid pixels of a zone in a square of a window.

    window : of the tile, in which the places of the pixels are. column : of the tile, where the square begins.
    refusal : why its first negative variance is refused, None if it has none.
    """

    window: Window
    column: int
    pixels: GatheredPixels
    refusal: str | None

    @classmethod
    def of(cls, read: Read, strips: tuple[Places, Ints], column: int, size: int, name: str) -> Self:
        """Return the pixels at some places of a window; name : place of the variance, for a message."""
        pixels = gather_valid(read.pixels, read.found.nodata, *strips, size)
        return cls(read.window, column, pixels, _negative(name, read, pixels.negative) if pixels.negative[0] else None)

    def swept(self) -> SweptPixels:
        """Return the pixels in the order of the sweep."""
        own, window = self.pixels, self.window
        runs = runs_of_places(own.place, window.width, window.row, window.column)
        return SweptPixels(own.variance.copy(), *errors_of(own.mean, own.truth), runs, pixels_of_cells(own.slabs))

    def every(self) -> Every:
        """Return variance and squared error of each pixel, and its place in the tile."""
        pixels = self.swept()
        return pixels.pixels(), pixels.places()


def add_squares(squares: Sequence[GatheredSquare], group: GroupSum, settings: Settings) -> None:
    """Add squares to a group, one after the other; raise DataError where a negative variance is refused."""
    for square in squares:
        sweep_gathered(
            square.pixels, square.column - group.group.column, group.across, settings.cell_size,
            _lattice(settings, group), _scratch(settings, square.pixels.truth.dtype, group), group.cells, group.totals,
            _scoring(settings, group),
        )  # fmt: skip
        if square.refusal is not None and settings.negative == "error":
            raise DataError(square.refusal)


def keep_squares(squares: Sequence[GatheredSquare], group: GroupSum) -> None:
    """Keep the pixels of squares that were added to a group: all, or as long as the group has few."""
    if group.swept is not None:
        group.swept.extend(square.swept() for square in squares if len(square.pixels.variance))
    elif group.few.parts is not None:
        few = int(group.cells.n.sum()) <= FEW
        group.few.parts = [*group.few.parts, *(square.every() for square in squares)] if few else None


def _place_in(window: Window, box: Window) -> Box:
    top, left = box.row - window.row, box.column - window.column
    return top, left, top + box.height, left + box.width


def _add_auxiliary(
    found: VariableWindow, part: tuple[Pixels, int, Nodata, Box], column: int, group: GroupSum, settings: Settings
) -> None:
    """Add the given interval, and what the pixels are grouped by in other rasters."""
    if found.bounds:
        lower, upper = (end.ravel() for end in found.bounds)
        add_interval(*part, column, group.across, settings.cell_size, (lower, upper), group.cells)
    for i, values in enumerate(found.groups, len(settings.groups) - len(found.groups)):
        are_codes = settings.groups[i] in settings.classes
        lattice, scoring = _lattice(settings, group), _scoring(settings, group)
        add_grouped(*part, values.ravel(), are_codes, i, lattice, group.totals, scoring)


def _lattice(settings: Settings, group: GroupSum) -> ZLattice:
    return lattice_of(settings.levels, of_pit=not group.distribution.is_normal)


def _scoring(settings: Settings, group: GroupSum) -> Scoring | None:
    return scoring_of(group.distribution, settings.levels)


def _scratch(settings: Settings, dtype: DTypeLike, group: GroupSum) -> Scratch:
    """Return the buffers of this thread."""
    weighted, scored = group.weighted, not group.distribution.is_normal
    wanted = (settings.levels, settings.groups, dtype, weighted, scored)
    if getattr(_of_thread, "wanted", None) != wanted:
        lattice = _lattice(settings, group)
        _of_thread.scratch = new_scratch(lattice, dtype, settings.groups, weighted=weighted, scored=scored)
        _of_thread.wanted = wanted
    scratch: Scratch = _of_thread.scratch
    return scratch


def refuse_negative(name: str, read: Read, group: GroupSum) -> None:
    """Raise DataError that names the first pixel whose variance was negative, if there was one."""
    if group.totals.negative[0] > 0:
        raise DataError(_negative(name, read, group.totals.negative))


def _negative(name: str, read: Read, negative: Ints) -> str:
    found, window = read.found, read.window
    count, place = (int(number) for number in negative)
    row, column = divmod(place, window.width)
    variance = float(found.variance[row, column])
    what = f"std is {-math.sqrt(abs(variance)):.6g}" if found.is_std else f"variance is {variance:.6g}"
    what, kind = f"the predicted {what}", "negative values"
    if found.bounds:
        low, high = (end[row, column] for end in found.bounds)
        what, kind = f"the upper end {high:.6g} lies below the lower {low:.6g}", "such pixels"
    (in_tile,) = read.tile_places(np.array([(window.row + row) << 32 | (window.column + column)])).tolist()
    where = f"row {in_tile >> 32}, column {in_tile & COLUMN}"
    return (
        f"{name}: {what} at {where} ({count} {kind} in this window); repair the file, or leave them out with "
        "'variance: {negative: exclude}'"
    )
