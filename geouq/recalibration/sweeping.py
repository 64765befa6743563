"""Pixels of tiles, read once more, as all corrections of their variables make them: the exact numbers of each.

Cells are those of the run, so that numbers before and after are of the same blocks of the same pixels.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from geouq.failures import Failure
from geouq.rasters.catalog import Tile
from geouq.rasters.raster import Raster, gdal_options, unchanged
from geouq.reading.cutting import Piece, Reading
from geouq.recalibration.projection import Projection, RecalibratedReader
from geouq.summary import TileSummary
from geouq.sweep.accumulate import PieceSum
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, TileSum, Visit, place_of_variance, sweep_windows
from geouq.sweep.tiles import added_up, tasks_of
from geouq.sweep.workers import Task, in_order
from geouq.zones import Zones

TOGETHER = 6  # views of a window that are summed up at once: more take more memory, fewer decode more often


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
    """Summaries of tiles, whose variables are labels of views, or why there is none."""
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
    labels: dict[str, tuple[float, ...]] = dict.fromkeys(one.views, ())
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
            thresholds=[() for _ in views],
            weighted=one.tile.weighted,
        )


def _visits(views: list[Projection], piece: Piece) -> list[Visit]:
    """All windows for some views of a variable, then for the next."""
    by_variable: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        by_variable.setdefault(view.variable, []).append(i)
    return [
        (own[first : first + TOGETHER], piece.windows)
        for own in by_variable.values()
        for first in range(0, len(own), TOGETHER)
    ]
