"""What a run gives to Python, and results.json: whether it succeeded, and its main numbers, for programs to read."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geouq.core.atomic import atomic_write
from geouq.core.failures import Failure
from geouq.core.wording import counted
from geouq.numbers.gates import GateResult
from geouq.runs.provenance import RunRecord
from geouq.tables.rows import Row, Table, as_frame
from geouq.verdict import Place, Verdict, are_empty

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "geouq results 1"


@dataclass(frozen=True, repr=False)
class Results:
    """What a run gives: the folder written to, its tables by name, verdicts, gates, and what the user should know.

    warnings : those about the input, which are the `input_warnings`, then notes on the numbers.
    files : gates, tables, maps, figures and pages, that is all that is written but summaries and what they came from.
    failures : of tiles, and of every other item that is missing.
    """

    folder: Path
    record: RunRecord
    tables: Mapping[str, Table]
    verdicts: Mapping[Place, Verdict]
    gates: tuple[GateResult, ...]
    warnings: tuple[str, ...]
    files: tuple[Path, ...] = ()
    input_warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    def __repr__(self) -> str:
        """Return the folder and the verdict of each variable of the whole."""
        whole = (
            f"{variable}{f' ({model})' if model else ''}: {one.word}"
            for (level, _, variable, model), one in self.verdicts.items()
            if level == "all"
        )
        failed = f", {counted(len(self.failures), 'failure')}" if self.failures else ""
        head = f"<Results of {self.folder}: {counted(len(self.record.tiles), 'tile')}{failed}>"
        return "\n".join((head, *(f"  {line}" for line in whole)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the warnings that are not about the input."""
        return self.warnings[len(self.input_warnings) :]

    @property
    def is_empty(self) -> bool:
        """Return whether no pixel of any variable was evaluated."""
        return are_empty(self.verdicts)

    @property
    def findings(self) -> tuple[str, ...]:
        """Return what the input checks found."""
        return self.record.findings

    @cached_property
    def frames(self) -> Mapping[str, "pd.DataFrame"]:
        """Return every table as a pandas table, by name."""
        return {name: as_frame(table) for name, table in self.tables.items()}

    @property
    def metrics(self) -> "pd.DataFrame":
        """Return the table of metrics: a row a number, with level, name of the region or tile, variable and n."""
        return self.frames["metrics"]

    @property
    def gates_passed(self) -> bool:
        """Return whether all gates passed."""
        return all(gate.passed for gate in self.gates)

    @property
    def success(self) -> bool:
        """Return whether all gates passed and nothing failed."""
        return self.gates_passed and not self.failures

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """Return an entry of results.json for each bound of a gate."""
        return [entry for gate in self.gates for entry in _bounds(gate)]

    @property
    def outcome(self) -> dict[str, Any]:
        """Return the content of results.json.

        `success` is true if all gates passed and nothing failed, neither a tile nor any other item, as when `geouq
        run` without `--strict` ends with code 0. `warnings` are about the input and put the numbers in question;
        `notes` are about the numbers. `verdicts` has one entry for each variable of the whole and of each region.
        """
        return _head_of(self) | {"numbers": list(_numbers_of(self))}


def write_outcome(results: Results) -> Path:
    """Write results.json as strict JSON with null for a missing number, and one number a line; return its path."""
    path = results.folder / "results.json"
    with atomic_write(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_as_json(_head_of(results), indent=1).removesuffix("\n}"))
        file.write(',\n "numbers": [')
        for number, row in enumerate(_numbers_of(results)):
            file.write(f"{',' if number else ''}\n  {_as_json(row)}")
        file.write("\n ]\n}\n")
    return path


def _head_of(results: Results) -> dict[str, Any]:
    """Return the content of results.json without the `numbers`, which are many."""
    record = results.record
    return {
        "format": FORMAT,
        "success": results.success,
        "gates_passed": results.gates_passed,
        "gates": results.bounds,
        "failures": [failure.row for failure in results.failures],
        "warnings": list(results.input_warnings),
        "notes": list(results.notes),
        "name": record.name,
        "config_sha256": record.config_sha256,
        "versions": dict(record.versions),
        "variables": [{"name": v.variable, "model": v.model, "units": v.units} for v in record.variables],
        "tiles": len(record.tiles),
        "verdicts": [
            {"level": level, "name": name, "variable": variable, "model": model, **verdict.as_record()}
            for (level, name, variable, model), verdict in results.verdicts.items()
        ],
    }


def _numbers_of(results: Results) -> Iterator[Row]:
    """Yield the numbers of the whole and of regions, one at a time."""
    metrics = results.tables["metrics"]
    return ({name: row.get(name) for name in metrics.columns} for row in metrics.without_tiles())


def _as_json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def log_results(results: Results) -> None:
    """Pass warnings, notes, failures and failed gates to the logger `geouq.results`."""
    log = logging.getLogger("geouq.results")
    for warning in results.input_warnings:
        log.warning("%s", warning)
    for note in results.notes:
        log.info("%s", note)
    for failure in results.failures:
        log.error("%s", failure)
    for gate in results.gates:
        if not gate.passed:
            log.error("gate failed: %s", gate)


def _bounds(gate: GateResult) -> Iterator[dict[str, Any]]:
    """Yield an entry for each bound of a gate; its value is the end of the interval if the interval was judged."""
    model, share = f" ({gate.model})" if gate.model else "", f" {gate.share}" if gate.share else ""
    judged = {">=": (gate.min, gate.low), "<=": (gate.max, gate.high)}
    for operator, (limit, end) in judged.items():
        if limit is None:
            continue
        value = gate.value if gate.on == "estimate" else end
        kept = value is not None and (value >= limit if operator == ">=" else value <= limit)
        yield {
            "name": f"{gate.metric} of {gate.variable}{share}{model} in {gate.region} {operator} {limit:g}",
            "metric": gate.metric,
            "variable": gate.variable,
            "model": gate.model,
            "region": gate.region,
            "bins": gate.bins,
            "areas": gate.areas,
            "share": gate.share,
            "on": gate.on,
            "op": operator,
            "limit": limit,
            "value": value,
            "passed": kept,
            "reason": gate.reason,
        }
