"""One variable of one pool, how each figure is drawn of it, and which figures a run draws by default."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from matplotlib.figure import Figure

from geouq.config import BinScheme, Variable
from geouq.drawing.cells import cells_of_tiles, unit_of_cells, usual_metric
from geouq.figures import (
    Curve,
    calibration_figure,
    cell_map,
    correlogram_figure,
    error_by_std_figure,
    group_coverage_figure,
    pit_histogram,
    ranks_figure,
    region_figure,
    reliability_diagram,
    shares_figure,
    shift_figure,
    sparsification_figure,
    std_figure,
)
from geouq.figures.calibration import shares_of
from geouq.figures.regions import region_panels
from geouq.inference import Inference
from geouq.metrics import MetricOptions
from geouq.regions import EvaluationUnit
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import Summary
from geouq.tables.rows import Row
from geouq.verdict import Place, Verdict

OF_PARTS = frozenset({"regions", "shift", "cells"})  # figures of other places than the pool as a whole


@dataclass(frozen=True)
class Source:
    """What the figures of a run are drawn from.

    scheme : of the bins shown. shown : the whole, then the regions that are set beside each other. inferred : what is
    inferred of a variable of a pool, computed when it is asked for.
    rows : of the tables `metrics` and `shift`. verdicts : those that could be reached. zones : the parts of each zone.
    """

    scheme: BinScheme
    choices: Mapping[str, MetricOptions]
    shown: Sequence[EvaluationUnit]
    inferred: Callable[[EvaluationUnit, str], Inference]
    rows: Mapping[str, Sequence[Row]]
    verdicts: Mapping[Place, Verdict]
    summaries: SavedSummaries
    zones: Mapping[str, Sequence[Part]]

    def parts(self, pool: EvaluationUnit) -> Sequence[Part]:
        """Where the pixels of a pool are."""
        return self.zones[pool.name] if pool.zone else [self.summaries.part(tile) for tile in pool.tiles]


@dataclass(frozen=True)
class Case:
    """One variable of one pool of a run; metric : of the map of cells, empty for the usual one."""

    source: Source
    pool: EvaluationUnit
    variable: Variable
    metric: str = ""

    @property
    def summary(self) -> Summary:
        """The summary of the variable in the pool."""
        return self.pool.variables[self.variable.name]

    @property
    def choices(self) -> MetricOptions:
        """What is asked of the variable."""
        return self.source.choices[self.variable.name]

    @property
    def inference(self) -> Inference:
        """What is inferred of the variable in the pool."""
        return self.source.inferred(self.pool, self.variable.name)

    @property
    def title(self) -> str:
        """Variable and pool."""
        return f"{self.variable.name}, {self.pool.name}"

    @property
    def beside(self) -> Sequence[EvaluationUnit]:
        """The pools that are set beside each other: all that are shown, of the whole; the pool alone, of a region."""
        return [pool for pool in self.source.shown if pool.level != "tile"] if self.pool.level == "all" else [self.pool]

    @property
    def verdict(self) -> str:
        """Return the verdict in words, as pages show it; empty where there is none, as of a single tile."""
        place = self.pool.level, self.pool.name, self.variable.variable, self.variable.model
        return self.source.verdicts[place].word if place in self.source.verdicts else ""

    def rows(self, table: str) -> list[Row]:
        """Rows of a table that tell of the variable."""
        own = self.variable.variable, self.variable.model
        return [row for row in self.source.rows.get(table, ()) if (row["variable"], row["model"]) == own]


def draw(name: str, case: Case) -> Figure | None:
    """Return the figure of that name; None if the case has nothing to show in it.

    Raises OverflowError if the figure shows sums with weights, and these exceed the largest float.
    """
    if case.summary.n and np.isnan(case.summary.moments.weight) and name not in OF_PARTS:
        raise OverflowError("the weights add up to more than the largest float; divide them by a constant")
    drawers = DRAWERS if case.choices.form.has_variance else WITHOUT_VARIANCE
    return drawers[name](case) if case.summary.n and name in drawers else None


def _reliability(case: Case) -> Figure:
    scheme = case.source.scheme
    edges = (case.choices.shared_edges or {}).get(scheme.name)
    return reliability_diagram(
        case.summary, scheme, title=case.title, units=case.variable.units, edges=edges, bands=case.inference.bands
    )


def _shares(case: Case) -> Figure:
    """Of quantiles the calibration curve, of probabilities a reliability diagram of each class."""
    curves, predicted, observed = shares_of(case.summary)
    return shares_figure(curves, int(case.summary.n), title=case.title, predicted=predicted, observed=observed)


def _calibration(case: Case) -> Figure:
    name = case.variable.name
    curves = {
        pool.name: Curve(pool.variables[name], case.source.inferred(pool, name).bands)
        for pool in case.beside
        if pool.variables[name].n
    }
    return calibration_figure(curves, title=case.title, levels=case.choices.calibration_levels)


def _pit(case: Case) -> Figure:
    return pit_histogram(case.summary, title=case.title, bands=case.inference.bands, verdict=case.verdict)


def _ranks(case: Case) -> Figure | None:
    return ranks_figure(case.summary, title=case.title) if "ranks" in case.choices.form.fields else None


def _error_by_std(case: Case) -> Figure | None:
    if case.summary.ordering is None:
        return None
    return error_by_std_figure(case.summary, title=case.title, units=case.variable.units)


def _sparsification(case: Case) -> Figure | None:
    if case.summary.ordering is None:
        return None
    return sparsification_figure(case.summary, title=case.title, units=case.variable.units)


def _group_coverage(case: Case) -> Figure | None:
    groupings, levels, count = case.choices.groupings, case.choices.levels, case.choices.groups.count
    if not groupings:
        return None
    return group_coverage_figure(case.summary, title=case.title, groupings=groupings, levels=levels, groups=count)


def _std(case: Case) -> Figure:
    regions = {pool.name: pool.variables[case.variable.name] for pool in case.beside}
    return std_figure(regions, title=case.title, units=case.variable.units)


def _regions(case: Case) -> Figure | None:
    if case.pool.level != "all":
        return None
    names = {pool.name for pool in case.beside}
    bins = ("", case.source.scheme.name)
    rows = [
        row
        for metric in region_panels()
        for row in case.rows("metrics")
        if row["metric"] == metric and row["level"] != "tile" and row["name"] in names and row["bins"] in bins
    ]
    return region_figure(rows, title=case.variable.name) if len({row["name"] for row in rows}) > 1 else None


def _shift(case: Case) -> Figure | None:
    rows = [row for row in case.rows("shift") if row["bins"] in ("", case.source.scheme.name)]
    return shift_figure(rows, title=case.variable.name) if case.pool.level == "all" and rows else None


def _cells(case: Case) -> Figure | None:
    source, form = case.source, case.choices.form
    metric = case.metric or usual_metric(form)
    tiles = cells_of_tiles(source.summaries, source.parts(case.pool), case.variable.name, metric, source.scheme)
    if not tiles:
        return None
    units = unit_of_cells(metric, case.variable.units, form)
    return cell_map(tiles, metric, title=f"{case.title}: {metric}", units=units)


def _correlogram(case: Case) -> Figure | None:
    blocks = case.inference.blocks
    if blocks is None or len(blocks.reaches["error"].correlogram.lags) < 3:
        return None
    return correlogram_figure(blocks, title=case.title)


DRAWERS: Mapping[str, Callable[[Case], Figure | None]] = {
    "reliability": _reliability,
    "calibration": _calibration,
    "pit": _pit,
    "ranks": _ranks,
    "error_by_std": _error_by_std,
    "sparsification": _sparsification,
    "group_coverage": _group_coverage,
    "std": _std,
    "regions": _regions,
    "shift": _shift,
    "cells": _cells,
    "correlogram": _correlogram,
}
WITHOUT_VARIANCE: Mapping[str, Callable[[Case], Figure | None]] = {
    "calibration": _shares,
    "regions": _regions,
    "shift": _shift,
    "cells": _cells,
    "correlogram": _correlogram,
}

OF_REGIONS = ("reliability", "pit", "ranks", "calibration", "correlogram", "error_by_std")
MOST = 240  # figures: a minute or two


@dataclass(frozen=True)
class Wanted:
    """One figure of one variable of one pool."""

    pool: EvaluationUnit
    variable: Variable
    figure: str


def by_default(
    shown: Sequence[EvaluationUnit], variables: Sequence[Variable], figures: Collection[str]
) -> tuple[list[Wanted], int]:
    """Return the figures to draw, the whole first, then one kind after the other of the regions; and how many not.

    figures : those that the experiment asks for.
    """
    everything = [one for one in _in_order(shown, variables) if one.figure in figures]
    chosen = list(islice(everything, MOST))
    return chosen, len(everything) - len(chosen)


def _in_order(shown: Sequence[EvaluationUnit], variables: Sequence[Variable]) -> Iterator[Wanted]:
    wholes = [pool for pool in shown if pool.level == "all"]
    yield from (Wanted(pool, variable, figure) for figure in DRAWERS for pool in wholes for variable in variables)
    regions = [pool for pool in shown if pool.level != "all"]
    yield from (Wanted(pool, variable, figure) for figure in OF_REGIONS for pool in regions for variable in variables)
