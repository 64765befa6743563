"""Intervals, tests and blocks as rows of tables."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from geouq.inference.differences import Difference
from geouq.inference.intervals import Inference
from geouq.inference.limits import false_discovery_adjusted
from geouq.metrics import Value

Row = dict[str, Any]
Of = Mapping[str, Any]


def with_intervals(rows: Iterable[Row], inferred: Mapping[str, Inference]) -> Iterator[Row]:
    """Yield the rows of metrics of an evaluation unit with their intervals; `ci_method` says why one is missing."""
    intervals = {
        (variable, each.metric, each.bins, each.group): (each, one)
        for variable, one in inferred.items()
        for each in one.intervals
    }
    for row in rows:
        interval, one = intervals[row["variable"], row["metric"], row["bins"], row["group"]]
        yield row | {
            "ci_low": interval.low,
            "ci_high": interval.high,
            "ci_level": None if interval.reason else one.level,
            "ci_method": row.get("ci_method") or interval.reason or interval.method,
            "n_cells": one.blocks.cells if one.blocks else 0,
            "n_effective": interval.effective,
        }


def test_rows(of: Of, inference: Inference) -> list[Row]:
    """Return a row for each test of a variable of an evaluation unit."""
    return [
        {
            **of,
            "metric": t.metric,
            "bins": t.bins,
            "value": t.value,
            "ideal": t.ideal,
            "p_value": t.p_value,
            "n_effective": t.effective,
        }
        for t in inference.tests
    ]


def adjusted(rows: Iterable[Row], pixels: Mapping[tuple[str, str, str], int]) -> list[Row]:
    """Return the rows of tests with `p_adjusted`, which accounts for as many regions as were tested.

    Each variable and metric is a family of its own, and so are the regions on one hand and the whole on the other.
    Regions of the same pixels count once, with the p-value of the first of them. The others have the same `p_adjusted`,
    but none below their own p-value: resamples follow from the name of a region, so that these differ a little.

    Parameters
    ----------
    pixels : mapping
        Number of valid pixels by level, name and variable.
    """
    tests = list(rows)
    same = _same_pixels(tests, pixels)
    families: dict[tuple[str, ...], dict[Hashable, float]] = {}
    for row in tests:
        families.setdefault(_family(row), {}).setdefault(same[_place(row)], row["p_value"])
    found = {
        family: dict(zip(own, false_discovery_adjusted(list(own.values())).tolist(), strict=True))
        for family, own in families.items()
    }
    return [row | {"p_adjusted": max(row["p_value"], found[_family(row)][same[_place(row)]])} for row in tests]


def _family(row: Row) -> tuple[str, ...]:
    """Return what tests that are adjusted together have in common."""
    return tuple(row[key] for key in ("level", "variable", "metric", "bins"))


def _place(row: Row) -> tuple[str, str, str]:
    return row["level"], row["name"], row["variable"]


def _same_pixels(
    tests: Sequence[Row], pixels: Mapping[tuple[str, str, str], int]
) -> dict[tuple[str, str, str], Hashable]:
    """Return a key of the pixels of each level, name and variable: their number, and all numbers tested.

    Sums over the same tiles in another order differ in the last digits, so the numbers are rounded.
    """
    found: dict[tuple[str, str, str], list[Hashable]] = {}
    for row in tests:
        place = _place(row)
        found.setdefault(place, [pixels[place]]).append((row["metric"], row["bins"], f"{row['value']:.9g}"))
    return {place: tuple(key) for place, key in found.items()}


def difference_row(difference: Difference, level: float, method: str) -> Row:
    """Return a difference and its interval; `ci_method` tells why there is none."""
    return {
        "difference": difference.value,
        "ci_low": difference.low,
        "ci_high": difference.high,
        "ci_level": None if difference.reason else level,
        "ci_method": difference.reason or method,
        "p_value": difference.p_value,
    }


def finite(value: Value) -> float | None:
    """Return the number of a value; None where it is missing."""
    return _number(float(value.value))


def judged(rows: Sequence[Row], level: float) -> list[Row]:
    """Rows with `p_adjusted` for as many as have a p-value, and `significant` where that is below 1 - level."""
    p_values = false_discovery_adjusted([row["p_value"] for row in rows if row["p_value"] is not None])
    left = iter(p_values.tolist())
    judged_rows = []
    for row in rows:
        p = None if row["p_value"] is None else next(left)
        judged_rows.append(
            row | {"p_adjusted": p, "significant": "" if p is None else "yes" if p < 1 - level else "no"}
        )
    return judged_rows


def correlogram_rows(of: Of, inference: Inference) -> list[Row]:
    """Return a row for each lag between cells of a variable of an evaluation unit at which pairs are enough."""
    blocks = inference.blocks
    if blocks is None:
        return []
    return [
        {
            **of,
            "residual": name,
            "lag_pixels": int(lag) * blocks.cell_pixels,
            "lag_metres": _number(lag * blocks.cell_metres),
            "correlation": float(correlation),
            "pairs": int(pairs),
        }
        for name, correlation_range in blocks.correlation_ranges.items()
        for lag, correlation, pairs in zip(
            correlation_range.correlogram.lags,
            correlation_range.correlogram.correlation,
            correlation_range.correlogram.pairs,
            strict=True,
        )
        if np.isfinite(correlation)
    ]


def block_rows(of: Of, inference: Inference) -> list[Row]:
    """Return a row for each residual of a variable: its blocks, correlation range and effective cells."""
    blocks = inference.blocks
    if blocks is None:
        return []
    side = blocks.side
    return [
        {
            **of,
            "residual": name,
            "range_pixels": correlation_range.correlogram.correlation_range * blocks.cell_pixels,
            "range_metres": _number(correlation_range.correlogram.correlation_range * blocks.cell_metres),
            "n_cells": blocks.cells,
            "n_effective": correlation_range.effective,
            "n_blocks": blocks.count,
            "block_pixels": side * blocks.cell_pixels if side else None,
            "block_metres": _number(side * blocks.cell_metres) if side else None,
            "capped": str(blocks.capped).lower(),
            "widening": correlation_range.widening(inference.level),
        }
        for name, correlation_range in blocks.correlation_ranges.items()
    ]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
