"""Pixels of tiles, read once more, as all corrections of their variables make them: the exact numbers of each.

Cells are those of the run, so that numbers before and after are of the same blocks of the same pixels.

A normal forecast has one view, its mean and variance. One that is not normal is looked at in several: its mean and
variance with the interval of one level, each level in turn, and its PIT (as if the truth were the normal score of its
PIT, and the forecast standard normal). Values are rounded to float32, as they are where they are written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.core.failures import Failure
from geouq.core.grid import Window
from geouq.core.validity import Nodata, classify
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import Raster, unchanged
from geouq.reading.cutting import Piece, Reading
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow
from geouq.recalibration.corrections import (
    ByGroup,
    Conformal,
    Isotonic,
    Single,
    corrected_moments,
    corrected_quantile,
    parts_of,
    singles_of,
)
from geouq.recalibration.recalibrator import NO_GROUP, SMALLEST
from geouq.summary import TileSummary
from geouq.sweep.accumulate import PieceSum
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, TileSum, Visit, place_of_variance, sweep_windows
from geouq.sweep.tiles import added_up, tasks_of
from geouq.sweep.workers import Task, in_order
from geouq.zones import Zones
from geouq.zones.masks import within

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Correcting = Single | ByGroup
NOTHING_DECLARED = Nodata.of(None, None, None)
TOGETHER = 6  # views of a window that are summed up at once: more take more memory, fewer decode more often


@dataclass(frozen=True)
class Projection:
    """One way to look at a corrected forecast of a variable: as it is, in its interval of a level, or as its PIT.

    thresholds : of a normal forecast, of whose areas above them sums are kept.
    """

    variable: int
    correction: Correcting
    level: float | None = None
    pit: bool = False
    thresholds: tuple[float, ...] = ()


def views_of(method: Correcting, levels: Sequence[float]) -> tuple[tuple[float | None, bool], ...]:
    """Level and whether it is of PIT, of each view that a correction needs; the first tells its mean and variance."""
    kinds = {type(one) for one in singles_of(method)}
    by_level = tuple((level, False) for level in levels)
    if Isotonic in kinds:
        return (*by_level, (None, True))
    return by_level if Conformal in kinds else ((None, False),)


class RecalibratedReader:
    """Reads windows of a tile, for one thread, and gives the views of them."""

    def __init__(self, tile: Tile, views: Sequence[Projection], zones: Zones | None) -> None:
        self._reader, self._tile, self._views, self._zones = TileReader(tile, reuse=True), tile, views, zones
        self._place: tuple[int, Window] | None = None
        self._found: _Valid | VariableWindow | None = None

    def read(self, i: int, window: Window) -> VariableWindow:
        """Return the view of that number."""
        view = self._views[i]
        if self._place != (view.variable, window):
            found = self._reader.read(self._tile.variables[view.variable], window)
            self._found, self._place = _valid(found) if found.read else found, (view.variable, window)
        if not isinstance(self._found, _Valid):
            return replace(self._reader.read(self._tile.variables[view.variable], window), groups=())
        names = tuple(view.correction.groups) if isinstance(view.correction, ByGroup) else ()
        places = places_of(self._zones, names, window)[self._found.valid] if names else None
        return _seen(self._found, view, places)


@dataclass(frozen=True)
class _Valid:
    """A window, which of its pixels count, their mean, variance and truth, and why the others do not."""

    window: VariableWindow
    valid: NDArray[np.bool_]
    mean: Floats
    variance: Floats
    truth: Floats
    status: NDArray[np.uint8]


def _valid(found: VariableWindow) -> _Valid:
    reasons = classify(found.mean, found.variance, found.truth, found.status, found.nodata)
    valid = reasons < 0
    m, v, y = (layer[valid].astype(np.float64) for layer in (found.mean, found.variance, found.truth))
    return _Valid(found, valid, m, v, y, (reasons + 1).astype(np.uint8))


def _seen(found: _Valid, view: Projection, places: Places | None) -> VariableWindow:
    plain = replace(found.window, status=found.status, nodata=NOTHING_DECLARED, bounds=(), groups=())
    if view.pit:
        score = _scores(found, view.correction, places)
        nothing, one = np.zeros(found.valid.shape), np.ones(found.valid.shape)
        return replace(plain, mean=nothing, variance=one, truth=_spread(score, found.valid, nothing))
    mean, variance = corrected_moments(view.correction, found.mean, found.variance, places)
    changed = _spread(np.maximum(variance, SMALLEST).astype(np.float32), found.valid, found.window.variance)
    plain = replace(plain, variance=changed)
    if view.correction.moves_mean:
        plain = replace(plain, mean=_spread(mean.astype(np.float32), found.valid, found.window.mean))
    if view.level is None:
        return plain
    ends = (
        corrected_quantile(view.correction, (1 + side * view.level) / 2, found.mean, found.variance, places)
        for side in (-1, 1)
    )
    nothing = np.zeros(found.valid.shape)
    rounded = (end.astype(np.float32).astype(np.float64) for end in ends)
    return replace(plain, bounds=tuple(_spread(end, found.valid, nothing) for end in rounded))


def _scores(found: _Valid, correction: Correcting, places: Places | None) -> Floats:
    """Return the standard normal quantile of the PIT of the corrected forecast."""
    z = (found.truth - found.mean) / np.sqrt(found.variance)
    for own, place in parts_of(correction, places):
        if isinstance(own, Isotonic):
            z[place] = own.scores_of(z[place])
    return z


def _spread(values: Any, valid: NDArray[np.bool_], elsewhere: NDArray[np.floating]) -> Any:
    """Return the values of the pixels that count, and what was there of the others, of the type of the values."""
    with np.errstate(over="ignore"):  # of pixels that do not count
        found = elsewhere.astype(values.dtype)
    found[valid] = values
    return found


def places_of(zones: Zones | None, names: Sequence[str], window: Window) -> Places:
    """Place among `names` of the zone of each pixel of a window, the first that holds it; negative where none does."""
    found = np.full((window.height, window.width), NO_GROUP, np.int64)
    for part in zones.zones_in(window) if zones is not None else ():
        name = zones.names[part.zone] if zones is not None else ""
        if name in names:
            box = found[within(part.box, window)]
            box[part.mask & (box == NO_GROUP)] = names.index(name)
    return found


@dataclass(frozen=True)
class Judged:
    """A tile, the views of it that are summed up, by their labels, and the zones that corrections by group need."""

    tile: Tile
    views: Mapping[str, Projection]
    zones: Zones | None = None


def sweep_judged(
    tiles: Iterable[Judged],
    settings: Settings,
    pool: Executor,
    in_flight: int,
    *,
    reading_of: Callable[[Tile], Reading],
    store_for: Callable[[Tile], EntryStore],
) -> Iterator[TileSummary | Failure]:
    """Yield the summaries of tiles, whose variables are labels of views, or why there is none."""
    judged: dict[str, Judged] = {}

    def tasks() -> Iterator[Task]:
        """Yield the pieces of all tiles."""
        for one in tiles:
            judged[one.tile.name] = one
            yield from tasks_of(one.tile, reading_of(one.tile), partial(_sweep_piece, settings, one))

    def begin(tile: Tile) -> TileSum:
        """Return the empty sums of a tile."""
        return _empty(judged[tile.name], settings, store_for(tile))

    yield from added_up(in_order(tasks(), "recalibration", pool, in_flight), begin)


def _empty(one: Judged, settings: Settings, store: EntryStore) -> TileSum:
    given = {label: view.level for label, view in one.views.items() if view.level is not None}
    labels = {label: view.thresholds for label, view in one.views.items()}
    tile = one.tile
    return TileSum.empty(tile.name, tile.grid, labels, settings, store, weighted=tile.weighted, given=given)


def _rasters(one: Judged) -> list[Raster]:
    return [*one.tile.rasters.values(), *(one.zones.rasters if one.zones else ())]


def _sweep_piece(settings: Settings, one: Judged, piece: Piece, reading: Reading) -> PieceSum:
    views = list(one.views.values())
    windows = RecalibratedReader(one.tile, views, one.zones)
    names = [place_of_variance(one.tile, one.tile.variables[view.variable]) for view in views]
    with gdal_options(reading.cache), unchanged(_rasters(one)):
        return sweep_windows(
            windows.read,
            piece,
            _visits(views, piece),
            settings,
            names,
            thresholds=[view.thresholds for view in views],
            weighted=one.tile.weighted,
        )


def _visits(views: list[Projection], piece: Piece) -> list[Visit]:
    """Return all windows for some views of a variable, then for the next."""
    by_variable: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        by_variable.setdefault(view.variable, []).append(i)
    return [
        (own[first : first + TOGETHER], piece.windows)
        for own in by_variable.values()
        for first in range(0, len(own), TOGETHER)
    ]
