"""results.json: whether a run succeeded, and its numbers of the whole and of regions, for programs to read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geouq.atomic import atomic_write
from geouq.failures import Failure
from geouq.numbers.gates import GateResult
from geouq.runs.provenance import RunRecord
from geouq.tables.rows import Table
from geouq.verdict import Place, Verdict

FORMAT = "geouq results 1"


@dataclass(frozen=True)
class Warnings:
    """What the user should know: of the input, which puts the numbers in question, and of the numbers."""

    input: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


NO_WARNINGS = Warnings()


def write_outcome(  # noqa: PLR0917  what results.json holds
    record: RunRecord,
    gates: Sequence[GateResult],
    tables: Mapping[str, Table],
    verdicts: Mapping[Place, Verdict],
    path: Path,
    failures: Sequence[Failure],
    warnings: Warnings = NO_WARNINGS,
) -> Path:
    """Write what `outcome_of` returns as strict JSON: a number that is missing is null."""
    found = outcome_of(record, gates, tables, verdicts, failures, warnings)
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
    return path


def outcome_of(  # noqa: PLR0917  what results.json holds
    record: RunRecord,
    gates: Sequence[GateResult],
    tables: Mapping[str, Table],
    verdicts: Mapping[Place, Verdict],
    failures: Sequence[Failure],
    warnings: Warnings = NO_WARNINGS,
) -> dict[str, Any]:
    """Return the content of results.json.

    `success` is true if all gates passed and nothing failed, neither a tile nor any other item, as when `geouq run`
    without `--strict` ends with code 0. `warnings` are about the input and put the numbers in question; `notes` are
    about the numbers. `verdicts` has one entry for each variable of the whole and of each region.
    """
    passed = all(gate.passed for gate in gates)
    return {
        "format": FORMAT,
        "success": passed and not failures,
        "gates_passed": passed,
        "gates": [entry for gate in gates for entry in _bounds(gate)],
        "failures": [failure.row for failure in failures],
        "warnings": list(warnings.input),
        "notes": list(warnings.numbers),
        "name": record.name,
        "config_sha256": record.config_sha256,
        "versions": dict(record.versions),
        "variables": [{"name": v.variable, "model": v.model, "units": v.units} for v in record.variables],
        "tiles": len(record.tiles),
        "verdicts": list(_verdicts(verdicts)),
        "numbers": [row for row in tables["metrics"].rows if row["level"] != "tile"],
    }


def _verdicts(verdicts: Mapping[Place, Verdict]) -> Iterator[dict[str, Any]]:
    for (level, name, variable, model), verdict in verdicts.items():
        yield {"level": level, "name": name, "variable": variable, "model": model, **verdict.as_record()}


def _bounds(gate: GateResult) -> Iterator[dict[str, Any]]:
    """Yield an entry for each bound of a gate; its value is the end of the interval if the interval was judged."""
    model = f" ({gate.model})" if gate.model else ""
    judged = {">=": (gate.min, gate.low), "<=": (gate.max, gate.high)}
    for operator, (limit, end) in judged.items():
        if limit is None:
            continue
        value = gate.value if gate.on == "estimate" else end
        kept = value is not None and (value >= limit if operator == ">=" else value <= limit)
        yield {
            "name": f"{gate.metric} of {gate.variable}{model} in {gate.region} {operator} {limit:g}",
            "metric": gate.metric,
            "variable": gate.variable,
            "model": gate.model,
            "region": gate.region,
            "bins": gate.bins,
            "on": gate.on,
            "op": operator,
            "limit": limit,
            "value": value,
            "passed": kept,
            "reason": gate.reason,
        }
