"""Forecasts compared by their means of areas: each with the first, over the areas that all have."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geouq.aggregates import Aggregates, Areas, BlockMeans, ScaleDifference, differences_of_scale, scales_of, sides_of
from geouq.aggregates.rows import JACKKNIFE
from geouq.comparison.runs import Restricted
from geouq.config import Intervals, Variable
from geouq.core.overflow import overflow_is_missing
from geouq.inference import difference_row
from geouq.metrics.aggregate_names import has_units
from geouq.numbers.differences import with_verdicts
from geouq.tables.columns import COLUMNS, COMPARED_AREAS
from geouq.tables.rows import Row, Table

Scales = Mapping[tuple[str, int], BlockMeans]  # by kind and side in cells
BY_AREAS = "aggregate_comparison"  # name of the table


def models_by_areas(
    aggregates: Mapping[str, Aggregates], variables: Sequence[Variable], levels: Sequence[float], interval: float
) -> dict[str, Table]:
    """Return the table of the differences between the models of a run; none without several models.

    Parameters
    ----------
    aggregates : mapping of str to Aggregates
        By the name of the variable.
    variables : sequence of Variable
        Of the run: each of each model. The first model of a variable is the one that others are compared with.
    levels : sequence of float
        Of the intervals of means whose coverage is compared.
    interval : float
        Level of the intervals of differences.
    """
    by_variable: dict[str, list[Variable]] = {}
    for variable in variables:
        if variable.name in aggregates:
            by_variable.setdefault(variable.variable, []).append(variable)
    rows = [
        row | {"variable": name, "model": row["run"], "against": own[0].model}
        for name, own in by_variable.items()
        for row in _rows({one.model: _means(aggregates[one.name]) for one in own}, own[0], levels, interval)
    ]
    return {BY_AREAS: Table(COLUMNS[BY_AREAS], tuple(with_verdicts(rows, interval)))} if rows else {}


def _means(aggregates: Aggregates) -> Scales:
    return {key: areas for key, (areas, _) in aggregates.scales.items()}


def have_areas(runs: Sequence[Restricted]) -> bool:
    """Return whether runs can be compared by means of areas: none leaves them out, and all predict a variance."""
    return all(run.experiment.aggregates != "none" and run.summaries.form().has_variance for run in runs)


def sizes_of(runs: Sequence[Restricted]) -> list[str]:
    """Return the sizes of areas of runs as `areas` of a gate names them: sides in cells, then tile and region."""
    return [*map(str, sides_of(tuple(runs[0].summaries.places()))), "tile", "region"]


def runs_by_areas(runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals) -> Table:
    """Return the table of the differences of runs from the first, without rows if means of areas are not known."""
    rows: list[Row] = []
    if have_areas(runs):
        with overflow_is_missing():
            for variable in variables:
                found = {run.run.label: scales_of(_areas(run), run.names[variable.name]) for run in runs}
                own = _rows(found, variable, runs[0].experiment.levels, settings.level)
                rows += [row | {"variable": variable.name} for row in own]
    return Table(COMPARED_AREAS.columns, tuple(with_verdicts(rows, settings.level)))


def _areas(run: Restricted) -> Areas:
    return Areas(run.summaries, tuple(run.summaries.places()), run.experiment.tile_lists, run.zones)


def _rows(
    forecasts: Mapping[str, Scales], variable: Variable, levels: Sequence[float], interval: float
) -> Iterator[Row]:
    """Yield a row for every number of every forecast but the first, by the size of the area.

    `run` names the forecast. `name` is the size as in `areas` of a gate. forecasts : of a variable, by their names.
    """
    baseline, *others = forecasts
    scales = list(forecasts.values())
    for kind, side in scales[0]:
        if all((kind, side) in own for own in scales):
            means = [own[kind, side] for own in scales]
            of = {"name": str(side or kind), "bins": "", "group": "", "kind": kind, "side_cells": side or None}
            for name, differences in zip(others, differences_of_scale(means, levels, interval), strict=True):
                labels = {1: name, -1: baseline, 0: ""}
                for one in differences:
                    better = {"run": name, "better": labels[one.difference.better]}
                    yield {**of, **better, **_numbers(one, variable, interval)}


def _numbers(one: ScaleDifference, variable: Variable, interval: float) -> Row:
    return {
        "side_metres": _known(one.side),
        "n_areas": one.areas,
        "metric": one.metric,
        "units": (variable.units or "1") if has_units(one.metric) else "1",
        "value": _known(one.value),
        "baseline": _known(one.baseline),
        **difference_row(one.difference, interval, JACKKNIFE),
        "claim": {1: "better", -1: "worse", 0: ""}[one.difference.better],
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
