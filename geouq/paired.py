"""Several forecasts of the same truth beside the first of them: differences of all numbers, on the same draws."""

from collections.abc import Mapping
from typing import Any

from geouq.config import Intervals, Variable
from geouq.inference import Side, difference_row, draw_together, finite, paired_difference
from geouq.metrics import unit_of
from geouq.tables import Row

METHOD = "paired"


def paired_rows(
    of: Mapping[str, Any], sides: Mapping[str, Side], variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    """A row for every number of every side but the first, and whether all count the same pixels.

    of : level and name of the pool. sides : by their names, of one variable; `variable` gives its units. In a row,
    `run` names the side and `better` the one that is, empty where neither is.
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
                    **counts,
                }
            )
    return rows, drawn.same_pixels
