"""Bounds that a run must keep: `gates` of the configuration, judged on the table of metrics."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from geouq.atomic import written_whole
from geouq.config import Experiment, Gate, Variable, config_error, suggestion
from geouq.regions import Pool
from geouq.summary import empty_summary
from geouq.summary.threshold_sums import no_thresholds
from geouq.tables import Row, Table, by_model, choices_for, metric_rows, sorted_table


@dataclass(frozen=True)
class GateResult:
    """A gate, the value that it judged, and whether it passed; what is missing does not pass.

    on : estimate, or interval, of which `low` and `high` are the ends.
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


def require_known(experiment: Experiment, variables: Sequence[Variable], regions: Iterable[str]) -> None:
    """Raise ConfigError where a gate asks for a number that the run will not give; called before the work begins.

    regions : names of all regions.
    """
    if not experiment.gates:
        return
    nothing = {
        v.name: replace(empty_summary(experiment.levels), thresholds=no_thresholds(v.thresholds)) for v in variables
    }
    choices = {variable.name: choices_for(experiment, variable, None) for variable in variables}
    rows = metric_rows(Pool("all", "all", (), nothing), variables, choices)
    for region in regions:
        rows += metric_rows(Pool("region", region, (), nothing), variables, choices)
    judge(experiment, by_model(sorted_table("metrics", rows), variables, experiment.compare_on))


def judge(experiment: Experiment, metrics: Table) -> list[GateResult]:
    """Judge every gate; ConfigError where one asks for a number that the table does not hold."""
    results, faults = [], []
    for index, gate in enumerate(experiment.gates):
        rows = _rows_of(gate, metrics.rows)
        if len(rows) == 1:
            results.append(_judged(gate, rows[0]))
        elif rows:
            key = "model" if len({row["model"] for row in rows}) > 1 else "group" if rows[0]["group"] else "bins"
            each = ", ".join(dict.fromkeys(row[key] for row in rows))
            message = f"{gate.metric} is given more than once; add one of {key}: {each}"
            faults.append(experiment.fault("gates", index, "metric", message=message))
        else:
            known = sorted({row["metric"] for row in metrics.rows})
            where = f"for variable {gate.variable} and region {gate.region}"
            message = f"there is no {gate.metric} {where}{suggestion(gate.metric, known)}"
            faults.append(experiment.fault("gates", index, message=message))
    if faults:
        raise config_error(faults)
    return results


def _rows_of(gate: Gate, rows: Iterable[Row]) -> list[Row]:
    level = "all" if gate.region == "all" else "region"
    wanted = {"level": level, "name": gate.region, "variable": gate.variable, "metric": gate.metric}
    wanted |= {key: value for key in ("model", "bins", "group") if (value := getattr(gate, key)) is not None}
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def _judged(gate: Gate, row: Row) -> GateResult:
    value, low, high = row["value"], row.get("ci_low"), row.get("ci_high")
    least, greatest = (value, value) if gate.on == "estimate" else (low, high)
    passed = least is not None and greatest is not None
    if least is not None and greatest is not None:
        passed = (gate.min is None or least >= gate.min) and (gate.max is None or greatest <= gate.max)
    return GateResult(
        gate.metric,
        gate.variable,
        row["model"],
        gate.region,
        row["bins"],
        gate.min,
        gate.max,
        value,
        gate.on,
        low,
        high,
        passed,
    )


def save_gates(results: Iterable[GateResult], path: Path) -> None:
    """Write gates.json: a list of what each gate judged."""
    with written_whole(path) as part:
        part.write_text(json.dumps([asdict(gate) for gate in results], indent=1, ensure_ascii=False) + "\n", "utf-8")
