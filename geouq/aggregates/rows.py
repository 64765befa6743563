"""The aggregates of a run as rows of tables, and the fitted models as JSON."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geouq.aggregates.blocks import BlockMeans
from geouq.aggregates.evaluation import Aggregates
from geouq.aggregates.means import AreaMean, per_area
from geouq.aggregates.members import MemberMeans
from geouq.aggregates.parameters import line_by_distance
from geouq.aggregates.shares import MEAN, Share
from geouq.config import Variable
from geouq.core.atomic import write_text
from geouq.metrics.aggregate_names import has_units
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Row, Table, by_model

HECTARE = "ha", 1e4  # unit of a share of the area, and its square metres
JACKKNIFE, STUDENT = "jackknife", "student"
TABLES = ("areas", "aggregates", "error_correlation", "error_correlogram", "member_ranks")


def tables_of_aggregates(
    aggregates: Mapping[str, Aggregates], variables: Sequence[Variable], level: float
) -> dict[str, Table]:
    """Return the tables of all variables; none without aggregates.

    Parameters
    ----------
    aggregates : mapping of str to Aggregates
        By the name of the variable.
    variables : sequence of Variable
        Of the run.
    level : float
        Of the intervals of all numbers but means.
    """
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    for variable in variables:
        if (own := aggregates.get(variable.name)) is not None:
            rows["member_ranks"] += _rank_rows(own, variable.name)
            for share, each in own.by_share():
                rows["aggregates"] += scale_rows(each, variable, level, share)
                of = {"variable": variable.name, **(MEAN if share is None else share.columns)}
                rows["areas"] += area_rows(each.means, variable, share)
                rows["error_correlation"] += _parameter_rows(each, of, level)
                rows["error_correlogram"] += _correlogram_rows(each, of)
    return {name: by_model(Table(COLUMNS[name], own), variables, "") for name, own in rows.items() if own}


def area_rows(means: Mapping[str, AreaMean], variable: Variable, share: Share | None = None) -> list[Row]:
    """Return the rows of areas.csv of a variable, or of a share of areas."""
    units, square_metres = per_area(variable.units) if share is None else HECTARE
    return [
        {
            "level": "all" if name == "all" else "region",
            "name": name,
            "variable": variable.name,
            **(MEAN if share is None else share.columns),
            "units": (variable.units or "1") if share is None else "1",
            **_of_mean(mean),
            **_total(mean, mean.area / square_metres, units),
        }
        for name, mean in means.items()
    ]


def _of_mean(mean: AreaMean) -> Row:
    numbers = ("std", "std_independent", "std_fitted", "std_full", "freedom", "n_independent")
    return {name: _known(getattr(mean, name)) for name in numbers} | {
        "mean": _known(mean.mean),
        "mean_error": _known(mean.error),
        "n": mean.n,
        "area": _known(mean.area),
        **_interval(mean.low, mean.high, mean.level, mean.reason or STUDENT),
    }


def _total(mean: AreaMean, area: float, units: str) -> Row:
    if not np.isfinite(area):
        return {}
    total = {"total": mean.mean, "total_low": mean.low, "total_high": mean.high}
    return {name: _known(value * area) for name, value in total.items()} | {"total_units": units}


def scale_rows(aggregates: Aggregates, variable: Variable, level: float, share: Share | None = None) -> list[Row]:
    """Return the rows of aggregates.csv of a variable, or of a share of areas."""
    units = (variable.units or "1") if share is None else "1"
    of_members = {key: (own, [own.spread_skill(level)]) for key, own in aggregates.members.items()}
    return [
        {
            **_size(variable.name, key, areas),
            **(MEAN if share is None else share.columns),
            "metric": number.metric,
            "units": units if has_units(number.metric) else "1",
            "value": _known(number.value),
            **_interval(number.low, number.high, level, number.reason or JACKKNIFE),
        }
        for found in (aggregates.scales, of_members)
        for key, (areas, numbers) in found.items()
        for number in numbers
    ]


def _rank_rows(aggregates: Aggregates, variable: str) -> list[Row]:
    """Return the rows of member_ranks.csv of a variable."""
    return [
        {**_size(variable, key, areas), "rank": rank, "share": share, "ideal": 1 / len(areas.rank_shares)}
        for key, areas in aggregates.members.items()
        for rank, share in enumerate(areas.rank_shares.tolist())
    ]


def _size(variable: str, key: tuple[str, int], areas: BlockMeans | MemberMeans) -> Row:
    """Return the columns that tell of which areas a number is."""
    kind, side = key
    size = {"side_cells": side or None, "side_metres": _known(areas.side), "n_areas": len(areas)}
    return {"variable": variable, "kind": kind, **size}


def _parameter_rows(aggregates: Aggregates, of: Row, level: float) -> list[Row]:
    return [
        {
            **of,
            "parameter": one.name,
            "value": _known(one.value),
            "units": one.units,
            **_interval(one.low, one.high, level, one.reason or JACKKNIFE),
        }
        for one in aggregates.parameters
    ]


def _correlogram_rows(aggregates: Aggregates, of: Row) -> list[Row]:
    if aggregates.correlation is None:
        return []
    found, (fitted, error) = aggregates.correlation.correlogram, line_by_distance(aggregates.correlation)
    return [
        {
            **of,
            "same_tile": "yes" if found.same[k] else "no",
            "distance": float(found.distance[k]),
            "correlation": float(found.correlation[k]),
            "standard_error": float(np.sqrt(aggregates.correlation.noise[k])),
            "fitted": float(fitted[k]),
            "fitted_error": float(error[k]),
            "pairs": int(found.pairs[k]),
        }
        for k in np.flatnonzero(np.isfinite(found.correlation))
    ]


def _interval(low: float, high: float, level: float, method: str) -> Row:
    known = np.isfinite(low) and np.isfinite(high)
    limits = {"ci_low": float(low), "ci_high": float(high), "ci_level": level} if known else {}
    return limits | {"ci_method": method}


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def models_as_json(aggregates: Mapping[str, Aggregates], variables: Sequence[Variable]) -> dict[str, Any]:
    """Return the fitted model of each variable, and of each share of its area, as plain values."""
    return {
        correlation_name(variable.name, share): {"units": variable.units, **each.known.as_json()}
        for variable in variables
        if (own := aggregates.get(variable.name)) is not None
        for share, each in own.by_share()
        if each.known is not None
    }


def correlation_name(variable: str, share: Share | None = None) -> str:
    """Return the name of a model in the file of correlations.

    >>> correlation_name("AGB"), correlation_name("AGB", Share(100.0, 0)), correlation_name("cover", Share("forest", 1))
    ('AGB', 'AGB > 100', 'cover = forest')
    """
    return variable if share is None else f"{variable} {share}"


def write_models(aggregates: Mapping[str, Aggregates], variables: Sequence[Variable], path: Path) -> list[Path]:
    """Write the fitted models as JSON; return the files. Without a model, the file of an earlier run is removed."""
    models = models_as_json(aggregates, variables)
    if not models:
        path.unlink(missing_ok=True)
        return []
    write_text(path, json.dumps(models, indent=1, ensure_ascii=False) + "\n")
    return [path]
