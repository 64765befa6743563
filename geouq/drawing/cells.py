"""A metric in every cell of some tiles, from their saved summaries."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.figures import TileCells
from geouq.metrics import Metric, level_name, metrics_of, shown_in, unit_of
from geouq.metrics.record import OF_LEVELS
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import CellSummaries, Summary, TilePlace
from geouq.summary.form import GAUSSIAN, Form

Floats = NDArray[np.float64]


def cells_of_tiles(
    summaries: SavedSummaries, parts: Sequence[Part], variable: str, metric: str, scheme: BinScheme
) -> list[TileCells]:
    """Return the cells of each part that holds a pixel. metric : one of `cell_metrics`."""
    function = function_of_cells(metric, scheme, summaries.form())
    found = [_tile(summaries, part, variable, function) for part in parts]
    return [tile for tile in found if tile.n]


def usual_metric(form: Form) -> str:
    """Return the metric that a map of cells shows by default."""
    own = metrics_of(form)
    return next(metric.name for metric in shown_in("cell map") if metric in own)


def cell_metrics(form: Form, levels: Sequence[float]) -> list[str]:
    """Return the names of the metrics with a map of cells: all that follow from what cells keep."""
    metrics = metrics_of(form)
    names = [
        one.name
        for one in metrics
        if one.choice in ("none", "bins") and ("joint" in form.fields or one.of_pairs is None)
    ]
    own: dict[str, Iterable[float]] = {"level": levels, "quantile": form.quantile_levels, "pair": form.pairs}
    shown = (one for one in metrics if one.choice in own and (form != GAUSSIAN or one.part == "coverage"))
    return [*names, *(level_name(one.name, level) for one in shown for level in own[one.choice])]


def unit_of_cells(metric: str, units: str, form: Form = GAUSSIAN) -> str:
    """Return the unit of a metric of cells of a variable in `units`."""
    return unit_of(_known(metric, form), units)


def _known(metric: str, form: Form) -> Metric:
    return next(one for one in metrics_of(form) if metric in (one.name, f"{one.name}_{metric.rpartition('_')[2]}"))


def function_of_cells(metric: str, scheme: BinScheme, form: Form) -> Callable[[Summary], Floats]:
    """Return the function that gives a metric, by its name in the tables, of summaries."""
    known = _known(metric, form)
    if known.choice in OF_LEVELS:
        return partial(known.function, level=round(float(metric.rpartition("_")[2]) / 100, 12))
    return partial(known.function, bins=scheme) if known.choice == "bins" else known.function


def _tile(summaries: SavedSummaries, part: Part, variable: str, function: Callable[[Summary], Floats]) -> TileCells:
    return values_of_cells(summaries.place(part), summaries.cells_of(part, variable), function)


def values_of_cells(
    place: TilePlace, parts: Iterable[tuple[NDArray[np.int64], CellSummaries]], function: Callable[[Summary], Floats]
) -> TileCells:
    """Return a number of every cell of a tile; cells are read some at a time."""
    grid, n = place.cell_grid, 0
    values = np.full(grid.pixels, np.nan)
    for numbers, cells in parts:
        first = 0
        for summary in cells.summaries():
            found = function(summary)
            values[numbers[first : first + len(summary.n)]] = np.where(
                (summary.n > 0) & np.isfinite(found), found, np.nan
            )
            first, n = first + len(summary.n), n + int(summary.n.sum())
    down, across = (length / place.cell_size for length in place.grid.shape)
    return TileCells(place.tile, grid, values.reshape(grid.shape), n, (down, across))
