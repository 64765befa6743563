"""A metric in every cell of some tiles, from their saved summaries."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.figures import TileCells
from geouq.metrics import METRICS, Metric, level_name, unit_of
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import Summary

Floats = NDArray[np.float64]


def cells_of_tiles(
    summaries: SavedSummaries, parts: Sequence[Part], variable: str, metric: str, scheme: BinScheme
) -> list[TileCells]:
    """The cells of each part that holds a pixel. metric : one of `cell_metrics`."""
    function = _function(metric, scheme)
    found = [_tile(summaries, part, variable, function) for part in parts]
    return [tile for tile in found if tile.n]


def cell_metrics(levels: Sequence[float]) -> list[str]:
    """Names of the metrics of which there is a map of cells: all but those that cells keep too little for."""
    names = [metric.name for metric in METRICS if metric.choice in ("none", "bins")]
    return [*names, *(level_name("coverage", level) for level in levels)]


def unit_of_cells(metric: str, units: str) -> str:
    """Unit of a metric of cells of a variable in `units`."""
    return unit_of(_known(metric), units)


def _known(metric: str) -> Metric:
    return next(one for one in METRICS if metric in (one.name, f"{one.name}_{metric.rpartition('_')[2]}"))


def _function(metric: str, scheme: BinScheme) -> Callable[[Summary], Floats]:
    known = _known(metric)
    if known.choice == "level":
        return partial(known.function, level=float(metric.rpartition("_")[2]) / 100)
    return partial(known.function, bins=scheme) if known.choice == "bins" else known.function


def _tile(summaries: SavedSummaries, part: Part, variable: str, function: Callable[[Summary], Floats]) -> TileCells:
    place = summaries.place(part)
    grid, n = place.cell_grid, 0
    values = np.full(grid.pixels, np.nan)
    for numbers, cells in summaries.cells_of(part, variable):
        first = 0
        for summary in cells.summaries():
            values[numbers[first : first + len(summary.n)]] = np.where(summary.n > 0, function(summary), np.nan)
            first, n = first + len(summary.n), n + int(summary.n.sum())
    down, across = (length / place.cell_size for length in place.grid.shape)
    return TileCells(part.tile, grid, values.reshape(grid.shape), n, (down, across))
