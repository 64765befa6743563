"""The rows of a comparison: each number of each run beside that of the first run, and how certain the difference is."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from geouq.comparison.runs import Restricted
from geouq.config import Variable
from geouq.inference import Difference, Intervals, Side, draw_together, false_discovery_adjusted, paired_difference
from geouq.metrics import Value, unit_of
from geouq.progress import Reporter
from geouq.regions import Pool
from geouq.store import Part
from geouq.tables import Row

METHOD = "paired"
COLUMNS = (
    *("level", "name", "variable", "metric", "bins", "group", "units", "run", "value", "baseline", "difference"),
    *("ci_low", "ci_high", "ci_level", "ci_method", "p_value", "p_adjusted", "better", "significant", "n"),
    "n_baseline",
)
Parts = Sequence[tuple[Pool, Sequence[Part]]]


def comparison_rows(
    runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals, reporter: Reporter
) -> tuple[list[Row], list[str]]:
    """Rows of every number of every run but the first, and a note wherever runs do not count the same pixels."""
    rows, notes = [], []
    names = [variable.name for variable in variables]
    reporter.stage("comparison", 1 + len(runs[0].experiment.tile_lists) + len(runs[0].zones))
    for pools in zip(*(run.pools(names) for run in runs), strict=True):
        for variable in variables:
            found, same = _rows_of(runs, pools, variable, settings)
            rows += found
            if not same:
                counts = ", ".join(
                    f"{int(pool.variables[variable.name].n)} in {run.run.label}"
                    for run, (pool, _) in zip(runs, pools, strict=True)
                )
                notes.append(f"{variable.name}, {pools[0][0].name}: runs do not count the same pixels: {counts}")
        reporter.advance(pools[0][0].name)
    return judged(rows, settings.level), notes


def judged(rows: Sequence[Row], level: float) -> list[Row]:
    """Rows with `p_adjusted` for as many as there are, and `significant` where that is below 1 - level."""
    tested = [row for row in rows if row["p_value"] is not None]
    adjusted = iter(false_discovery_adjusted([row["p_value"] for row in tested]))
    found = []
    for row in rows:
        p = None if row["p_value"] is None else float(next(adjusted))
        found.append(row | {"p_adjusted": p, "significant": "" if p is None else "yes" if p < 1 - level else "no"})
    return found


def _rows_of(
    runs: Sequence[Restricted], pools: Parts, variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    pool = pools[0][0]
    sides = [_side(run, *of, variable.name) for run, of in zip(runs, pools, strict=True)]
    drawn = draw_together(pool.name, sides, settings)
    base, rows = drawn.sides[0], []
    for run, side, numbers in zip(runs[1:], sides[1:], drawn.sides[1:], strict=True):
        of = {"level": pool.level, "name": pool.name, "variable": variable.name}
        labels = {1: run.run.label, -1: runs[0].run.label, 0: ""}
        counts = {"n": int(side.whole.n), "n_baseline": int(sides[0].whole.n)}
        for key, number in numbers.items():
            if key in base:
                found = paired_difference(number, base[key], settings.level)
                values = {"run": run.run.label, "value": _number(number.value), "baseline": _number(base[key].value)}
                rows.append(of | _named(number.value, variable) | values | _told(found, settings, labels) | counts)
    return rows, drawn.same_pixels


def _side(run: Restricted, pool: Pool, parts: Sequence[Part], variable: str) -> Side:
    of_tile = {part.tile: part for part in parts}
    places = [run.summaries.place(part) for part in parts]
    cells_of = partial(_cells_of, run, of_tile, variable)
    return Side(pool.variables[variable], run.choices[variable], places, cells_of)


def _cells_of(run: Restricted, parts: Mapping[str, Part], variable: str, tile: str) -> Iterator[Any]:
    return run.summaries.cells_of(parts[tile], variable)


def _named(value: Value, variable: Variable) -> Row:
    units = unit_of(value.metric, variable.units)
    return {"metric": value.name, "bins": value.bins, "group": value.group, "units": units}


def _told(found: Difference, settings: Intervals, labels: Mapping[int, str]) -> Row:
    return {
        "difference": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "ci_level": None if found.reason else settings.level,
        "ci_method": found.reason or METHOD,
        "p_value": found.p_value,
        "better": labels[found.better],
    }


def _number(value: Value) -> float | None:
    number = float(value.value)
    return number if abs(number) < float("inf") else None
