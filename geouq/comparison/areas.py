"""Forecasts compared by their means of areas: each with the first, over the areas that all have."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geouq.aggregates import Aggregates, ScaleDifference, differences_of_scale
from geouq.aggregates.rows import JACKKNIFE
from geouq.config import Variable
from geouq.inference import difference_row
from geouq.metrics.aggregate_names import RMSE
from geouq.numbers.differences import with_verdicts
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Row, Table

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
        for row in rows_by_areas({one.model: aggregates[one.name] for one in own}, own[0], levels, interval)
    ]
    return {BY_AREAS: Table(COLUMNS[BY_AREAS], tuple(with_verdicts(rows, interval)))} if rows else {}


def rows_by_areas(
    forecasts: Mapping[str, Aggregates], variable: Variable, levels: Sequence[float], interval: float
) -> Iterator[Row]:
    """Yield a row for every number of every forecast but the first, by the size of the area; `run` names the forecast.

    forecasts : of a variable, by their names. variable : gives the unit. Other arguments as of `models_by_areas`.
    """
    baseline, *others = forecasts
    scales = [own.scales for own in forecasts.values()]
    for kind, side in scales[0]:
        if all((kind, side) in own for own in scales):
            means = [own[kind, side][0] for own in scales]
            for name, differences in zip(others, differences_of_scale(means, levels, interval), strict=True):
                for one in differences:
                    labels = {1: name, -1: baseline, 0: ""}
                    yield {
                        "kind": kind,
                        "side_cells": side or None,
                        "run": name,
                        "better": labels[one.difference.better],
                        **_numbers(one, variable, interval),
                    }


def _numbers(one: ScaleDifference, variable: Variable, interval: float) -> Row:
    return {
        "side_metres": _known(one.side),
        "n_areas": one.areas,
        "metric": one.metric,
        "units": (variable.units or "1") if one.metric == RMSE else "1",
        "value": _known(one.value),
        "baseline": _known(one.baseline),
        **difference_row(one.difference, interval, JACKKNIFE),
        "claim": {1: "better", -1: "worse", 0: ""}[one.difference.better],
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
