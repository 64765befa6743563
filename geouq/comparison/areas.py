"""Forecasts compared by their means of areas, and by shares of areas: each with the first, where all have them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geouq.aggregates import (
    Aggregates,
    Areas,
    BlockMeans,
    ScaleDifference,
    Share,
    differences_of_scale,
    has_areas,
    scales_of,
    shares_of,
    sides_of,
)
from geouq.aggregates.rows import JACKKNIFE
from geouq.aggregates.shares import MEAN
from geouq.comparison.runs import Restricted
from geouq.config import Intervals, Variable
from geouq.core.overflow import overflow_is_missing
from geouq.inference import difference_row
from geouq.metrics.aggregate_names import has_units
from geouq.numbers.differences import with_verdicts
from geouq.tables.columns import COLUMNS, COMPARED_AREAS
from geouq.tables.rows import Row, Table

Scales = Mapping[tuple[str, int], BlockMeans]  # by kind and side in cells
Of = float | str | None  # what is compared: None for means, a threshold or a class for the share of areas
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
        for row in _rows({one.model: _scales(aggregates[one.name]) for one in own}, own[0], levels, interval)
    ]
    return {BY_AREAS: Table(COLUMNS[BY_AREAS], tuple(with_verdicts(rows, interval)))} if rows else {}


def _scales(aggregates: Aggregates) -> dict[Of, Scales]:
    return {
        (share.of if share else None): {key: areas for key, (areas, _) in own.scales.items()}
        for share, own in aggregates.by_share()
    }


def have_areas(runs: Sequence[Restricted]) -> bool:
    """Return whether runs can be compared by means or shares of areas: none leaves them out, and all have them."""
    return all(run.experiment.aggregates != "none" and has_areas(run.summaries.form()) for run in runs)


def sizes_of(runs: Sequence[Restricted]) -> list[str]:
    """Return the sizes of areas of runs as `areas` of a gate names them: sides in cells, then tile and region."""
    return [*map(str, sides_of(tuple(runs[0].summaries.places()))), "tile", "region"]


def runs_by_areas(runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals) -> Table:
    """Return the table of the differences of runs from the first, without rows if means of areas are not known."""
    rows: list[Row] = []
    if have_areas(runs):
        with overflow_is_missing():
            for variable in variables:
                found = {run.run.label: _scales_of_run(run, variable) for run in runs}
                own = _rows(found, variable, runs[0].experiment.levels, settings.level)
                rows += [row | {"variable": variable.name} for row in own]
    return Table(COMPARED_AREAS.columns, tuple(with_verdicts(rows, settings.level)))


def compared_shares(run: Restricted, variable: Variable) -> dict[Of, Share | None]:
    """Return what runs are compared by: means, with None, and the shares that a run has of a variable of all runs."""
    form, own = run.summaries.form(), run.run.variables[variable.name]
    shares = (
        share for share in shares_of(form, own.thresholds) if not own.thresholds or share.of in variable.thresholds
    )
    means: dict[Of, Share | None] = {None: None} if form.has_variance else {}
    return means | {share.of: share for share in shares}


def share_text(of: Of) -> str:
    """Return what a share of areas is of as text; "" for means.

    >>> share_text(100.0), share_text("forest"), share_text(None)
    ('100', 'forest', '')
    """
    return "" if of is None else of if isinstance(of, str) else f"{of:g}"


def _scales_of_run(run: Restricted, variable: Variable) -> dict[Of, Scales]:
    areas, name = _areas(run), run.names[variable.name]
    return {of: scales_of(areas, name, share) for of, share in compared_shares(run, variable).items()}


def _areas(run: Restricted) -> Areas:
    return Areas(run.summaries, tuple(run.summaries.places()), run.experiment.tile_lists, run.zones)


def _rows(
    forecasts: Mapping[str, Mapping[Of, Scales]], variable: Variable, levels: Sequence[float], interval: float
) -> Iterator[Row]:
    """Yield a row for every number of every forecast but the first, of means and then of each share that all have."""
    every = list(forecasts.values())
    for of in every[0]:
        if all(of in own for own in every):
            units = (variable.units or "1") if of is None else "1"
            columns = MEAN if of is None else Share(of, 0).columns
            found = _rows_by_size({name: own[of] for name, own in forecasts.items()}, units, levels, interval)
            yield from (row | columns for row in found)


def _rows_by_size(
    forecasts: Mapping[str, Scales], units: str, levels: Sequence[float], interval: float
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
                    yield {**of, **better, **_numbers(one, units, interval)}


def _numbers(one: ScaleDifference, units: str, interval: float) -> Row:
    return {
        "side_metres": _known(one.side),
        "n_areas": one.areas,
        "metric": one.metric,
        "units": units if has_units(one.metric) else "1",
        "value": _known(one.value),
        "baseline": _known(one.baseline),
        **difference_row(one.difference, interval, JACKKNIFE),
        "claim": {1: "better", -1: "worse", 0: ""}[one.difference.better],
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
