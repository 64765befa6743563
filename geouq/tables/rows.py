"""Summaries as tidy rows, and rows as CSV."""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme, Experiment, Groups, Variable, preferred_first
from geouq.core.atomic import atomic_write
from geouq.core.failures import Failure, isolated
from geouq.core.validity import CLASS_NOT_MAPPED, NOT_A_DISTRIBUTION, REASONS, VARIANCE_NOT_POSITIVE
from geouq.metrics import (
    LEFT_OUT,
    MetricOptions,
    Value,
    bin_edges,
    binned,
    calibration_curve,
    evaluate_metrics,
    form_curves,
    group_coverage,
    group_places,
    interval_curve,
    level_name,
    oracle_curve,
    sparsification_curve,
    unit_of,
)
from geouq.metrics.ordering import UNRESOLVED
from geouq.regions import EvaluationUnit
from geouq.summary import Summary, TileWholes
from geouq.summary.form import GAUSSIAN, Form
from geouq.tables.columns import COLUMNS
from geouq.tables.packed import PackedRows

if TYPE_CHECKING:
    import pandas as pd

HEAVY_BIN = 0.95
OVERFLOW = "overflow"
OUTSIDE = "a truth lies where the distribution has no density"
OF_NORMAL = "of normal forecasts alone"
NOT_RESOLVED = "not resolved: one class holds nearly all errors"
NO_GROUPS = Groups(by=())
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WARNINGS = 6
_ODD = {
    REASONS[NOT_A_DISTRIBUTION]: "hold probabilities that are negative or do not sum to 1 (are these percentages?)",
    REASONS[CLASS_NOT_MAPPED]: "hold a code in the truth that is none of class_codes",
    REASONS[
        VARIANCE_NOT_POSITIVE
    ]: "have no variance above 0 (all members of an ensemble agree): they are left out, so "
    "that ranks, scores and coverage are those of the others",
}
ODD_SHARE = {REASONS[VARIANCE_NOT_POSITIVE]: 0.01}  # of the pixels, from which a reason is reported; else a half

Row = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """Named columns and rows, in the order in which they are written."""

    columns: tuple[str, ...]
    rows: Sequence[Row]

    def values(self) -> Iterable[Sequence[Any]]:
        """Return the values of each row in the order of the columns; None where a row has none."""
        if isinstance(self.rows, PackedRows):
            return self.rows.values()
        return ([row.get(column) for column in self.columns] for row in self.rows)

    def without_tiles(self) -> Sequence[Row]:
        """Return the rows of the whole and of regions, without unpacking the rows of thousands of tiles.

        Of many regions, each row is made when it is read.
        """
        if isinstance(self.rows, PackedRows):
            return self.rows.first
        return [row for row in self.rows if row.get("level") != "tile"]


def metric_options_for(
    experiment: Experiment, variable: Variable, whole: Summary | None, form: Form = GAUSSIAN
) -> MetricOptions:
    """Return the metric options of a variable.

    Parameters
    ----------
    whole : Summary or None
        Summary whose bin edges all evaluation units share. With None each has its own edges.
    form : Form
        Form of the forecast. Without a variance there are no bins and groups.
    """
    if not form.has_variance:
        return MetricOptions(experiment.levels, (), variable.reference_mean, form=form, groups=NO_GROUPS)
    shared = None
    if whole is not None:
        shared = {scheme.name: bin_edges(whole.variance, scheme) for scheme in experiment.bins.schemes}
    return MetricOptions(
        experiment.levels,
        preferred_first(experiment.bins.schemes),
        variable.reference_mean,
        shared,
        experiment.calibration_levels,
        experiment.calibration_weights,
        experiment.groups,
        experiment.ordering,
        variable.thresholds,
        experiment.data.groupings,
        form,
    )


def metric_rows(
    unit: EvaluationUnit, variables: Sequence[Variable], metric_options: Mapping[str, MetricOptions]
) -> list[Row]:
    """Return every metric of every variable of an evaluation unit.

    A metric over no pixel is missing, and one that overflows, which `ci_method` then says.
    """
    return [
        _of(unit, variable)
        | {
            "metric": value.name,
            "value": _number(value.value),
            "units": unit_of(value.metric, variable.units),
            "bins": value.bins,
            "null": _null_of(value, metric_options[variable.name]),
            "resolution": _resolution_of(value, unit.variables[variable.name]),
            "group": value.group,
            **_why_missing(value, unit.variables[variable.name]),
            "n": int(unit.variables[variable.name].n),
        }
        for variable in variables
        for value in evaluate_metrics(unit.variables[variable.name], metric_options[variable.name])
    ]


def _null_of(value: Value, metric_options: MetricOptions) -> str:
    """Return what the null of ENCE takes pixels as, `effective` or `independent`; empty for other numbers."""
    if not value.metric.on_effective:
        return ""
    return "effective" if value.bins in metric_options.effective else "independent"


def _resolution_of(value: Value, summary: Summary) -> float | None:
    """Return the largest expected error of a number that follows from classes of pixels; None where it is exact."""
    found: float | None = None
    if value.metric.resolution is not None and np.isfinite(value.value):
        with isolated("numbers", f"resolution of {value.name}"):
            found = _number(value.metric.resolution(summary)) or None
    return found


def bin_rows(
    unit: EvaluationUnit, variables: Sequence[Variable], metric_options: Mapping[str, MetricOptions]
) -> list[Row]:
    """Return every bin of every variable. `edges` says whether the edges are exact or placed on the profile."""
    return [
        _of(unit, variable) | row
        for variable in variables
        for scheme in metric_options[variable.name].schemes
        for row in _bins_of(unit.variables[variable.name], scheme, metric_options[variable.name])
    ]


def curve_rows(
    unit: EvaluationUnit, variables: Sequence[Variable], metric_options: Mapping[str, MetricOptions]
) -> list[Row]:
    """PIT histograms (density at the middle of 20 bins), calibration curves, coverage by group; none without pixels.

    The x of a group is the middle of the share of pixels that it holds, in the order of what they are grouped by; that
    of a class is its code.
    """
    return [
        _of(unit, variable) | {"curve": curve, "x": x, "y": y}
        for variable in variables
        if unit.variables[variable.name].n
        for curve, x, y in _points(unit.variables[variable.name], metric_options[variable.name])
    ]


def sorted_table(name: str, rows: Iterable[Row]) -> Table:
    """Return the rows with the whole first, then the regions, then the tiles, in the order in which they came."""
    order = {"all": 0, "region": 1, "tile": 2}
    return Table(COLUMNS[name], tuple(sorted(rows, key=lambda row: order[row["level"]])))


def excluded_rows(tile: TileWholes) -> list[Row]:
    """Return how many pixels of each variable of a tile do not count, by their first reason, where there are any."""
    return [
        {"tile": tile.tile, "variable": variable, "reason": reason, "n": int(n)}
        for variable, part in tile.variables.items()
        for reason, n in zip(REASONS, part.excluded, strict=True)
        if n > 0
    ]


def excluded_table(rows: Iterable[Row]) -> Table:
    """Return the rows of tiles, as `excluded_rows` gives them, in the order in which they came."""
    return Table(COLUMNS["excluded"], tuple(rows))


def failure_table(failures: Iterable[Failure]) -> Table:
    """Return what could not be evaluated."""
    return Table(COLUMNS["failures"], tuple(failure.row for failure in failures))


def by_model(table: Table, variables: Sequence[Variable], compare_on: str) -> Table:
    """Return the same table with the names of variables that all models share, each followed by its model.

    compare_on : of the experiment, which metrics tell where there are models.
    """
    if "model" not in table.columns:
        return table
    own = {v.name: {"variable": v.variable, "model": v.model} for v in variables}
    if "compare_on" in table.columns:
        own = {name: row | {"compare_on": compare_on if row["model"] else ""} for name, row in own.items()}
    return Table(table.columns, tuple(row | own[row["variable"]] for row in table.rows))


def heavy_bins(bins: Table) -> list[str]:
    """Return the warnings for the whole and regions where one bin holds nearly all pixels, so that UCE says little."""
    found = [
        f"{_of_model(row)}, {row['name']}: bin {row['bin']} of {row['bins']} holds {row['share']:.1%} of the pixels; "
        "read equal-count bins instead"
        for row in bins.without_tiles()
        if row["share"] is not None and row["share"] > HEAVY_BIN and not row["bins"].startswith("equal-count")
    ]
    more = len(found) - WARNINGS
    return found if more < 2 else [*found[:WARNINGS], f"the same of {more} more bins, see bins.csv"]


def mostly_odd(metrics: Table, excluded: Table) -> list[str]:
    """Return warnings about reasons for which many pixels do not count: `ODD_SHARE` of them, or more than do count."""
    counts = {_of_model(row): row["n"] for row in metrics.without_tiles() if row["level"] == "all"}
    lost = Counter[tuple[str, str]]()
    for row in excluded.rows:
        lost[_of_model(row), row["reason"]] += row["n"]
    return [
        f"{name}: {n} pixels {_ODD[reason]}, and {counts.get(name, 0)} count"
        for (name, reason), n in lost.items()
        if reason in _ODD and n > ODD_SHARE.get(reason, 0.5) * (n + counts.get(name, 0))
    ]


def _of_model(row: Row) -> str:
    return f"{row['variable']} ({row['model']})" if row["model"] else row["variable"]


def write_csv(table: Table, path: Path) -> None:
    """Write rows as UTF-8 CSV; numbers as repr, missing ones as empty, and text so that no spreadsheet computes it."""
    with atomic_write(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        _write_lines(table, file)


def as_csv(table: Table) -> str:
    """Return the rows as CSV text.

    >>> print(as_csv(Table(("a", "b"), ({"a": 0.1, "b": None},))), end="")
    a,b
    0.1,
    """
    text = io.StringIO()
    _write_lines(table, text)
    return text.getvalue()


def _write_lines(table: Table, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(value) for value in values] for values in table.values())


def as_frame(table: Table) -> "pd.DataFrame":
    """Return the rows as a pandas table; what is missing is NaN."""
    import pandas as pd  # noqa: PLC0415  large, and the sweep needs the memory

    known = [{name: value for name, value in row.items() if value is not None} for row in table.rows]
    return pd.DataFrame(known, columns=list(table.columns))


def _of(unit: EvaluationUnit, variable: Variable) -> Row:
    return {"level": unit.level, "name": unit.name, "variable": variable.name, "model": variable.model}


def _bins_of(summary: Summary, scheme: BinScheme, metric_options: MetricOptions) -> Iterator[Row]:
    if not summary.n:
        return
    per_bin = binned(summary, scheme, (metric_options.shared_edges or {}).get(scheme.name))
    for k in range(scheme.count):
        yield {
            "bins": scheme.name,
            "bin": k + 1,
            "lower": _number(per_bin.edges[k]),
            "upper": _number(per_bin.edges[k + 1]),
            "n": int(per_bin.n[k]),
            "mean_variance": _number(per_bin.mean_variance[k]),
            "mse": _number(per_bin.mse[k]),
            "share": _number(per_bin.share[k]),
            "edges": "exact" if per_bin.exact else "profile",
        }


def _points(summary: Summary, metric_options: MetricOptions) -> Iterator[tuple[str, float, float]]:
    """Name, x and y of each point of the curves of a variable."""
    yield from (point for curve in form_curves(summary) for point in _curve(*curve))
    if not metric_options.form.has_variance:
        return
    levels = metric_options.calibration_levels
    middles = (np.arange(20) + 0.5) / 20
    yield from _curve("pit_histogram", middles, 20 * summary.z.regular(20) / summary.moments.weight)
    yield from _curve("calibration", levels, calibration_curve(summary, levels))
    yield from _curve("calibration_interval", levels, interval_curve(summary, levels))
    if metric_options.ordering:
        yield from _curve("sparsification", LEFT_OUT, sparsification_curve(summary))
        yield from _curve("sparsification_oracle", LEFT_OUT, oracle_curve(summary))
    groups = metric_options.groups.count
    for by, level in product(metric_options.groupings, metric_options.levels):
        name = f"{level_name('coverage', level)}_by_{by}"
        yield from _curve(name, group_places(summary, by, groups), group_coverage(summary, level, by, groups))


def _curve(name: str, x: Iterable[float], y: Iterable[float]) -> Iterator[tuple[str, float, float]]:
    """Return the points of one curve, but where it is missing."""
    return ((name, float(a), float(b)) for a, b in zip(x, y, strict=True) if np.isfinite(b))


def _number(value: Any) -> float | None:
    number = float(np.asarray(value))
    return number if math.isfinite(number) else None


def _why_missing(value: Value, summary: Summary) -> Row:
    """Return the reason of a number that is missing: a sum leaves the range of floats, or classes hold too much."""
    number = value.value
    if np.isfinite(number):
        return {}
    if summary.n and not summary.distribution.is_normal and (np.isinf(number) or value.metric.on_effective):
        return {"ci_method": OUTSIDE if np.isinf(number) else OF_NORMAL}
    if np.isnan(number) and value.metric.resolution and value.metric.resolution(summary) >= UNRESOLVED:
        return {"ci_method": NOT_RESOLVED}
    lost = summary.overflows or (value.metric.on_effective and summary.variance.loses_squares)
    return {} if not summary.n or not (np.isinf(number) or lost) else {"ci_method": OVERFLOW}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if _is_formula(value) else value
    return repr(value) if isinstance(value, float) else str(value)


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a text for a formula; a number is none, nor is a sign alone.

    What OWASP says of CSV injection: such a text is to begin with an apostrophe.
    """
    return len(text) > 1 and text[0] in "=+-@\t\r\n" and not NUMBER.fullmatch(text)
