"""Several forecasts of the same truth beside the first of them: differences of all numbers, on the same draws."""

from collections.abc import Mapping, Sequence
from typing import Any

from geouq.config import Intervals, Variable
from geouq.inference import Difference, Side, difference_row, draw_together, finite, judged, paired_difference
from geouq.metrics import Value, change, unit_of
from geouq.tables.rows import Row

METHOD = "paired"


def paired_rows(
    of: Mapping[str, Any], sides: Mapping[str, Side], variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    """A row for every number of every side but the first, and whether all count the same pixels.

    of : level and name of the pool. sides : by their names, of one variable; `variable` gives its units. In a row,
    `run` names the side, `better` the one that is, empty where neither is, and `claim` is what the difference says of
    that side if it is significant.
    """
    drawn = draw_together(of["name"], list(sides.values()), settings)
    (first, *others), names = drawn.sides, list(sides)
    rows = []
    for name, numbers in zip(names[1:], others, strict=True):
        labels = {1: name, -1: names[0], 0: ""}
        counts = {"n": int(sides[name].whole.n), "n_baseline": int(sides[names[0]].whole.n)}
        for key, number in numbers.items():
            if key not in first:
                continue
            found, value = paired_difference(number, first[key], settings.level), number.value
            rows.append(
                {
                    **of,
                    "variable": variable.name,
                    "metric": value.name,
                    "bins": value.bins,
                    "group": value.group,
                    "units": unit_of(value.metric, variable.units),
                    "run": name,
                    "value": finite(value),
                    "baseline": finite(first[key].value),
                    **difference_row(found, settings.level, METHOD),
                    "better": labels[found.better],
                    "claim": _claim(value, found),
                    **counts,
                }
            )
    return rows, drawn.same_pixels


def uneven(variable: str, pool: str, sides: Mapping[str, Side], compared: str) -> str:
    """A note that sides do not count the same pixels. compared : what they are, such as `runs`."""
    counts = ", ".join(f"{int(side.whole.n)} in {name}" for name, side in sides.items())
    return f"{variable}, {pool}: {compared} do not count the same pixels: {counts}"


def with_verdicts(rows: Sequence[Row], level: float) -> list[Row]:
    """Rows of a whole table with `p_adjusted`, `significant` and the `verdict` in words."""
    return [row | {"verdict": verdict(row)} for row in judged(rows, level)]


def verdict(row: Row) -> str:
    """In words what a row says of its run beside the first, or why nothing can be said.

    Coverage that is too low in one run and too high in another may surely differ, and neither be surely better.

    >>> verdict({"difference": 0.0, "significant": "no", "better": "", "run": "b"})
    'no difference'
    """
    if row["difference"] is None:
        return "no value"
    if row["difference"] == 0:
        return "no difference"
    if not row["significant"]:
        return f"not tested: {row['ci_method']}"
    if row["significant"] == "no":
        apart = row["better"] and (row["ci_low"] > 0 or row["ci_high"] < 0)
        return "differs, which is better is not certain" if apart else "not significant"
    return str(row["claim"])


def _claim(value: Value, found: Difference) -> str:
    if found.better:
        return "better" if found.better > 0 else "worse"
    return change(value.metric, found.value) if found.value else ""
