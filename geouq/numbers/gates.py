"""Bounds that a run must keep: `gates` of the configuration, judged on the table of metrics."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from geouq.config import Experiment, Gate, Variable, config_error, suggestion
from geouq.core.atomic import write_text
from geouq.forms.classes import Classes
from geouq.inference import LOWEST, why_never
from geouq.metrics import METRICS, Metric, MetricOptions, evaluate_metrics, metrics_of, named
from geouq.metrics.aggregate_names import SPREAD_SKILL, aggregate_names
from geouq.metrics.ensemble import ONE_VARIANCE
from geouq.metrics.record import ANY, SHARE
from geouq.rasters.catalog import Catalog
from geouq.regions import EvaluationUnit
from geouq.summary import Summary, TilePlace, empty_summary
from geouq.summary.form import GAUSSIAN, Form, no_sums
from geouq.summary.threshold_sums import no_thresholds
from geouq.tables.rows import Row, Table, by_model, metric_options_for, metric_rows, sorted_table
from geouq.zones import TileZones

ENOUGH = "or see that there are enough tiles, cells (`cell_size`) and blocks (`block` of `intervals`)"
MEAN: Row = {"threshold": None, "class": ""}  # columns of means of the variable itself


@dataclass(frozen=True)
class GateResult:
    """A gate, the value that it judged, and whether it passed; what is missing does not pass.

    on : estimate, or interval, of which `low` and `high` are the ends. reason : why what was to be judged is missing.
    share : "> threshold" or "= class" if the gate is on the area above a threshold or of a class.
    """

    metric: str
    variable: str
    model: str
    region: str
    bins: str
    min: float | None
    max: float | None
    value: float | None
    on: str
    low: float | None
    high: float | None
    passed: bool
    reason: str
    areas: str = ""
    share: str = ""

    def __str__(self) -> str:
        name = f"{self.variable} {self.share}".rstrip()
        of = f"{name} ({self.model})" if self.model else name
        where = f"of {self.areas}" if self.areas else f"in {self.region}"
        said = f"{self.metric} of {of} {where} is {_shown(self.value)}"
        if self.reason:
            said += f", and there is no {'interval' if self.on == 'interval' else 'value'}: {self.reason}"
        elif self.on == "interval":
            said += f" with the interval {_shown(self.low)} to {_shown(self.high)}"
        bounds = {"min": self.min, "max": self.max}
        return f"{said} ({', '.join(f'{key} {bound}' for key, bound in bounds.items() if bound is not None)})"


def _shown(value: float | None) -> str:
    return "missing" if value is None else f"{value:.6g}"


def require_known(
    experiment: Experiment, variables: Sequence[Variable], regions: Iterable[str], form: Form = GAUSSIAN
) -> None:
    """Raise ConfigError where a gate asks for a number that the run will not give; called before the work begins.

    regions : names of all regions. form : form of the prediction.
    """
    if not experiment.gates:
        return
    metric_options = {variable.name: metric_options_for(experiment, variable, None, form) for variable in variables}
    nothing = {variable.name: _nothing(variable, metric_options[variable.name]) for variable in variables}
    rows = metric_rows(EvaluationUnit("all", "all", (), nothing), variables, metric_options)
    for region in regions:
        rows += metric_rows(EvaluationUnit("region", region, (), nothing), variables, metric_options)
    _require_possible_bounds(experiment)
    metrics = by_model(sorted_table("metrics", rows), variables, experiment.compare_on)
    judge(experiment, metrics, _aggregates_of_nothing(experiment, variables, form))


def _require_possible_bounds(experiment: Experiment) -> None:
    """Raise ConfigError where no value of the metric can keep a bound, such as a share in per cent."""
    problems = []
    for index, gate in enumerate(experiment.gates):
        found = named(gate.metric)
        low, high = found[0].bounds if found else ANY
        for key, bound, is_kept in (("min", gate.min, high), ("max", gate.max, low)):
            if bound is None or (bound <= is_kept if key == "min" else bound >= is_kept):
                continue
            hint = f"; write {bound / 100:g}?" if (low, high) == SHARE and 1 < bound <= 100 else ""
            message = f"{gate.metric} lies between {low:g} and {high:g}: no value can pass{hint}"
            problems.append(experiment.problem("gates", index, key, message=message))
    if problems:
        raise config_error(problems)


def _aggregates_of_nothing(experiment: Experiment, variables: Sequence[Variable], form: Form) -> list[Row]:
    """Return the rows of means of areas that a run may give; it may turn out that there is no area of such a size."""
    if experiment.aggregates == "none":
        return []
    wanted = dict.fromkeys(_size_of(gate.areas) for gate in experiment.gates if gate.areas is not None)
    names = aggregate_names(experiment.levels, form)
    return [
        {"variable": variable.variable, "model": variable.model, "metric": metric, "value": None, **size, **share}
        for variable in variables
        for share in _shares(variable, form)
        for metric in names
        if metric != SPREAD_SKILL or share == MEAN
        for size in map(dict, wanted)
    ]


def _shares(variable: Variable, form: Form) -> list[Row]:
    """Return the columns that tell what a mean is of: of a variable, of areas above its thresholds, or of classes."""
    if isinstance(form, Classes):
        return [{"threshold": None, "class": name} for name in form.names]
    above = [{"threshold": threshold, "class": ""} for threshold in variable.thresholds]
    return [MEAN, *above] if form.has_variance else []


def _size_of(areas: int | str) -> tuple[tuple[str, object], ...]:
    """Return the columns of the table of means that tell the size of areas, and their values."""
    return ("kind", "block" if isinstance(areas, int) else areas), ("side_cells", _side_of(areas))


def _side_of(areas: int | str) -> int | None:
    return areas if isinstance(areas, int) else None


def require_possible(experiment: Experiment, catalog: Catalog, zones: Mapping[str, TileZones], cell_size: int) -> None:
    """Raise ConfigError where a gate is on an interval that there cannot be; called before the work begins.

    zones : the regions of each tile. Names are known, as `require_known` tells. Where tiles have failed already,
    nothing is said, as the others are evaluated all the same.
    """
    if catalog.failures:
        return
    problems = []
    for index, gate in enumerate(experiment.gates):
        if gate.on != "interval" or gate.areas is not None:
            continue
        if reason := _why_never(gate, experiment, catalog, zones, cell_size):
            message = f"{gate.metric} of region {gate.region} can have no interval: {reason}; write `on: estimate`"
            more = "" if reason == LOWEST else f", {ENOUGH}"
            problems.append(experiment.problem("gates", index, "on", message=message + more))
    if problems:
        raise config_error(problems)


def _why_never(
    gate: Gate, experiment: Experiment, catalog: Catalog, zones: Mapping[str, TileZones], cell_size: int
) -> str:
    variable = next(variable for variable in catalog.variables if variable.variable == gate.variable)
    metric_options = metric_options_for(experiment, variable, None, catalog.tiles[0].form)
    metric = metrics_by_name(variable, metric_options)[gate.metric]
    tiles = [tile for tile in catalog.tiles if gate.region in zones[tile.name].names]
    places = [TilePlace(tile.name, tile.grid, cell_size) for tile in tiles]
    return why_never(metric, metric_options, places, experiment.intervals)


def metrics_by_name(variable: Variable, metric_options: MetricOptions) -> dict[str, Metric]:
    """Return the metrics that there are of a variable, by the names of their values, such as coverage_90."""
    return {value.name: value.metric for value in evaluate_metrics(_nothing(variable, metric_options), metric_options)}


def _needs_two_variances(metric: str, known: Iterable[str]) -> bool:
    """Return whether a metric of pairs of pixels is requested of forecasts with one variance."""
    of_pairs = any(one.name == metric and one.of_pairs is not None for one in METRICS)
    return of_pairs and not {one.name for one in metrics_of(GAUSSIAN)}.isdisjoint(known)


def _nothing(variable: Variable, metric_options: MetricOptions) -> Summary:
    """Return what no pixel of a variable gives."""
    thresholds, form = no_thresholds(variable.thresholds), no_sums(metric_options.form)
    return empty_summary(tuple(metric_options.levels)).having(thresholds=thresholds, form=form)


def judge(experiment: Experiment, metrics: Table, aggregates: Sequence[Row]) -> list[GateResult]:
    """Judge every gate; raise ConfigError if the tables lack the number of a gate.

    aggregates : rows of the table of means of areas. A gate on areas of a size that there is not has no value.
    """
    results, problems = [], []
    for index, gate in enumerate(experiment.gates):
        of_areas = gate.areas is not None
        rows = _rows_of_areas(gate, aggregates) if of_areas else _rows_of(gate, metrics.rows)
        if len(rows) == 1:
            results.append(_judged(gate, rows[0]))
        elif of_areas and not rows and (others := _of_other_sizes(gate, aggregates)):
            reason = f"there are only areas of {_sizes_in_words(others)}"
            results.append(_judged(gate, {"value": None, "ci_method": reason, "class": others[0]["class"]}))
        elif rows:
            key = "model" if len({row["model"] for row in rows}) > 1 else "group" if rows[0].get("group") else "bins"
            each = ", ".join(dict.fromkeys(row[key] for row in rows))
            message = f"{gate.metric} is given more than once; add one of {key}: {each}"
            problems.append(experiment.problem("gates", index, "metric", message=message))
        else:
            known = sorted({row["metric"] for row in (aggregates if of_areas else metrics.rows)})
            where = f"for variable {gate.variable} and region {gate.region}"
            why = f": {ONE_VARIANCE}" if _needs_two_variances(gate.metric, known) else suggestion(gate.metric, known)
            if of_areas and (known_of := _of_all_sizes(gate, aggregates)):
                where, why = _without_share(gate, known_of), ""
            message = f"there is no {gate.metric} {where}{why}"
            problems.append(experiment.problem("gates", index, message=message))
    if problems:
        raise config_error(problems)
    return results


def _rows_of(gate: Gate, rows: Iterable[Row]) -> list[Row]:
    level = "all" if gate.region == "all" else "region"
    wanted = {"level": level, "name": gate.region, "variable": gate.variable, "metric": gate.metric}
    wanted |= {key: value for key in ("model", "bins", "group") if (value := getattr(gate, key)) is not None}
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def _rows_of_areas(gate: Gate, rows: Iterable[Row]) -> list[Row]:
    wanted = {"variable": gate.variable, "metric": gate.metric, **dict(_size_of(gate.areas or 1))}
    if gate.model is not None:
        wanted["model"] = gate.model
    own = (row for row in rows if all(row[column] == value for column, value in wanted.items()))
    return [row for row in own if _is_of_share(gate, row)]


def _is_of_share(gate: Gate, row: Row) -> bool:
    """Return whether a row is of the share of areas that a gate is on, or of means if it is on none."""
    known = _share_of_row(row)
    if gate.share is None or known is None or isinstance(known, str):
        return gate.share == known
    try:
        return float(gate.share) == known
    except ValueError:
        return False


def _share_of_row(row: Row) -> float | str | None:
    """Return the class or the threshold of a row; None of a mean."""
    return row["class"] or row["threshold"]


def _of_other_sizes(gate: Gate, rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the number of a gate, of all sizes of areas."""
    return [row for row in _of_all_sizes(gate, rows) if _is_of_share(gate, row)]


def _sizes_in_words(own: Iterable[Row]) -> str:
    return ", ".join(dict.fromkeys(size_in_words(row["kind"], row["side_cells"]) for row in own))


def _of_all_sizes(gate: Gate, rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the number of a gate, of all sizes and shares of areas."""
    return [row for row in rows if (row["variable"], row["metric"]) == (gate.variable, gate.metric)]


def _without_share(gate: Gate, rows: Iterable[Row]) -> str:
    """Say that there is no such number of means, or of a share, and of which shares there is one."""
    shares = dict.fromkeys(_share_of_row(row) for row in rows)
    each = ", ".join(share if isinstance(share, str) else f"{share:g}" for share in shares if share is not None)
    if gate.share is None:
        return f"of means for variable {gate.variable}; add one of share: {each}"
    known = f"it is known of share: {each}" if each else "it has neither thresholds nor classes"
    return f"of share {gate.share} for variable {gate.variable}; {known}"


def size_in_words(kind: str, side: int | None) -> str:
    """Return the size of areas in words; side : of a square, in cells."""
    return f"{side} x {side} cells" if side else f"{kind}s"


def _judged(gate: Gate, row: Row) -> GateResult:
    value, low, high = row["value"], row.get("ci_low"), row.get("ci_high")
    least, greatest = (value, value) if gate.on == "estimate" else (low, high)
    passed, reason = False, str(row.get("ci_method") or "no value")
    if least is not None and greatest is not None:
        passed, reason = (gate.min is None or least >= gate.min) and (gate.max is None or greatest <= gate.max), ""
    areas = "" if gate.areas is None else size_in_words(str(gate.areas), _side_of(gate.areas))
    return GateResult(
        gate.metric,
        gate.variable,
        row.get("model", ""),
        gate.region,
        row.get("bins", ""),
        gate.min,
        gate.max,
        value,
        gate.on,
        low,
        high,
        passed,
        reason,
        areas,
        "" if gate.share is None else f"= {gate.share}" if row.get("class") else f"> {gate.share}",
    )


def save_gates(results: Sequence[GateResult], path: Path) -> list[Path]:
    """Write a list of what each gate judged; return the files written. Without a gate, that of an earlier run goes."""
    if not results:
        path.unlink(missing_ok=True)
        return []
    write_text(path, json.dumps([asdict(gate) for gate in results], indent=1, ensure_ascii=False) + "\n")
    return [path]
