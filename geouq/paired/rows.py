"""Several forecasts of the same truth beside the first of them: differences of all numbers, on the same draws."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from geouq.config import Intervals, Variable
from geouq.inference import Difference, ForecastSample, difference_row, draw_together, finite, judged, paired_difference
from geouq.inference.differences import Key, Uncertain
from geouq.metrics import Value, change, unit_of
from geouq.tables.rows import Row

METHOD = "paired"


def paired_rows(
    of: Mapping[str, Any], sides: Mapping[str, ForecastSample], variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    """Return a row for every number of every side but the first, and whether all count the same pixels.

    of : level and name of the pool. sides : by their names, of one variable; `variable` gives its units. In a row,
    `run` names the side, `better` the one that is, empty where neither is, and `claim` is what the difference says of
    that side if it is significant.
    """
    drawn = draw_together(of["name"], list(sides.values()), settings)
    counts = {name: int(side.whole.n) for name, side in sides.items()}
    numbers = dict(zip(sides, drawn.sides, strict=True))
    return list(rows_of_drawn(of, numbers, counts, variable, settings.level)), drawn.same_pixels


def rows_of_drawn(
    of: Mapping[str, Any],
    numbers: Mapping[str, Mapping[Key, Uncertain]],
    counts: Mapping[str, int],
    variable: Variable,
    level: float,
) -> Iterator[Row]:
    """Return a row for every number of every side but the first, of sides that were drawn together.

    Parameters are as those of `paired_rows`; `numbers` and `counts` of pixels are by the name of the side.
    """
    (baseline, first), *others = numbers.items()
    for name, own in others:
        labels = {1: name, -1: baseline, 0: ""}
        for key, number in own.items():
            if key not in first:
                continue
            found, value = paired_difference(number, first[key], level), number.value
            yield {
                **of,
                "variable": variable.name,
                "metric": value.name,
                "bins": value.bins,
                "group": value.group,
                "units": unit_of(value.metric, variable.units),
                "run": name,
                "value": finite(value),
                "baseline": finite(first[key].value),
                **difference_row(found, level, METHOD),
                "better": labels[found.better],
                "claim": _claim(value, found),
                "n": counts[name],
                "n_baseline": counts[baseline],
            }


def uneven(variable: str, pool: str, sides: Mapping[str, ForecastSample], compared: str) -> str:
    """Return a note that sides do not count the same pixels. compared : what they are, such as `runs`."""
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
    >>> verdict({"difference": 0.5, "significant": "yes", "better": "", "claim": "wider", "run": "b"})
    'wider'
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
