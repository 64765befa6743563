"""The metrics of the cells of a tile: every one of the registry that follows from what cells keep."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from geouq.config import CELLS, EQUAL_COUNT_10, Variable
from geouq.core.errors import SummaryError
from geouq.core.failures import isolated
from geouq.maps.geotiff import BandLabel
from geouq.maps.scales import Scale, cell_scale, count_scale
from geouq.metrics import MetricOptions, Value, evaluate_metric, metrics_of, unit_of
from geouq.metrics.record import usual_of
from geouq.summary import CellSummaries, Summary, TilePlace

Cells = tuple[NDArray[np.int64], CellSummaries]

NOT_BY_CELL = ("group", "ordering", "threshold")
PIXELS = "n"
TOGETHER = 2048  # cells of whole tiles that are measured together
OPENING = ("coverage", "spread")  # parts of the verdict on which maps of cells open, if there are numbers of them


@dataclass(frozen=True)
class Measured:
    """A tile, a label for each band, and the values of its cells (bands, rows, columns), NaN if missing."""

    place: TilePlace
    bands: list[BandLabel]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Cellwise:
    """What maps of the cells of a variable are made of.

    cells_of : gives the cells of a tile, some at a time, with their numbers, in any order; asked once for each tile.
    names : metrics wanted, `cells` for all. choices : of the experiment; binned metrics use ten equal-count bins of the
    compact profile of each cell. whole : of all pixels, which limits of colours follow from.
    """

    variable: Variable
    cells_of: Callable[[str], Iterable[Cells]]
    names: Collection[str]
    metric_options: MetricOptions
    whole: Summary

    def measured(self, places: Iterable[TilePlace]) -> Iterator[Measured]:
        """Yield the metrics of all cells of each tile; those of small tiles are measured together."""
        waiting: list[tuple[TilePlace, CellSummaries]] = []
        for place in places:
            parts = iter(self.cells_of(place.tile))
            numbers, cells = next(parts)
            if len(numbers) != math.prod(place.cell_grid.shape) or len(numbers) > TOGETHER:
                yield from self._together(waiting)
                waiting.clear()
                yield self._measured([place], chain([(numbers, cells)], parts))[0]
                continue
            waiting.append((place, cells))
            if sum(len(own) for _, own in waiting) > TOGETHER:
                yield from self._together(waiting)
                waiting.clear()
        yield from self._together(waiting)

    def _together(self, waiting: Sequence[tuple[TilePlace, CellSummaries]]) -> Sequence[Measured]:
        """Return the metrics of the cells of whole tiles."""
        if not waiting:
            return ()
        cells = CellSummaries.joined([own for _, own in waiting])
        return self._measured([place for place, _ in waiting], [(np.arange(len(cells)), cells)])

    def _measured(self, places: Sequence[TilePlace], parts: Iterable[Cells]) -> list[Measured]:
        """Return the metrics of all cells of some tiles, whose numbers go on from tile to tile."""
        ends = np.cumsum([math.prod(place.cell_grid.shape) for place in places])
        labels: list[BandLabel] = []
        values = np.empty((0, 0), np.float32)
        for numbers, part in parts:
            first = 0
            for summary in part.summaries():
                found = list(self._values(summary))
                if not labels:
                    labels = [label for label, _ in found]
                    values = np.full((len(labels), ends[-1]), np.nan, np.float32)
                here = numbers[first : first + len(summary.n)]
                values[:, here] = [np.where((summary.n > 0) & np.isfinite(each), each, np.nan) for _, each in found]
                first += len(summary.n)
        return [
            Measured(place, labels, own.reshape(len(labels), *place.cell_grid.shape))
            for place, own in zip(places, np.split(values, ends[:-1], axis=1), strict=True)
        ]

    def scales(self, most: int) -> dict[str, Scale]:
        """Scale of each band, by its name; cells hold at most that many pixels."""
        found = {}
        for value in self._wanted(self.whole):
            with isolated("maps", f"colours of {value.name}"):
                found[value.name] = cell_scale(value, self.whole)
        return found | ({PIXELS: count_scale(most)} if self._wants(PIXELS) else {})

    @property
    def opening(self) -> str:
        """Return the name of the metric on which maps open; empty if no metric is wanted."""
        return opening_of(list(self._wanted(self.whole)))

    def _values(self, summary: Summary) -> Iterator[tuple[BandLabel, NDArray[np.float64]]]:
        for value in self._wanted(summary):
            metric = value.metric
            yield BandLabel(value.name, unit_of(metric, self.variable.units), metric.claim), value.value
        if self._wants(PIXELS):
            yield BandLabel(PIXELS, "1", "Number of valid pixels."), summary.n.astype(np.float64)

    def _wanted(self, summary: Summary) -> Iterator[Value]:
        return (value for value in kept_by_cell(summary, self.metric_options) if self._wants(value.name))

    def _wants(self, name: str) -> bool:
        return CELLS in self.names or name in self.names


def scale_of_cells(name: str, whole: Summary, metric_options: MetricOptions) -> Scale:
    """Return the colours of a metric of cells, by its name in the tables: the same in all maps, figures and pages.

    whole : of all pixels of the run.
    """
    return next(cell_scale(value, whole) for value in kept_by_cell(whole, metric_options) if value.name == name)


def opening_of(values: Sequence[Value]) -> str:
    """Return the name of the number on which maps of cells open, on pages and in GIS programs; empty without numbers.

    It is the coverage of the level nearest to the usual one. Without intervals it is the spread, and else the first
    number of the pages.
    """
    ranked = sorted(values, key=lambda value: ("cell sums" not in value.metric.shown, value.metric.rank))
    for part in OPENING:
        if own := [value for value in ranked if value.metric.part == part]:
            return usual_among(own).name
    return ranked[0].name if ranked else ""


def usual_among(values: Sequence[Value]) -> Value:
    """Return the number of one metric at the usual level, or at the level nearest to it."""
    of_level = {value.level: value for value in values if value.level is not None}
    return of_level[usual_of(of_level)] if of_level else values[0]


def kept_by_cell(summary: Summary, metric_options: MetricOptions) -> Iterator[Value]:
    """Yield all metrics but those that cells keep too little for."""
    own = replace(metric_options, schemes=(EQUAL_COUNT_10,), shared_edges=None)
    for metric in metrics_of(metric_options.form):
        if metric.choice not in NOT_BY_CELL:
            with suppress(SummaryError):  # a curve at levels of its own, or the joint log-loss of pixels
                yield from list(evaluate_metric(metric, summary, own))
