"""In and out of the distribution of the training data: each number on either side, and whether it has shifted."""

from collections.abc import Iterator, Mapping, Sequence

from geouq.config import IN, OUT, Variable
from geouq.inference import (
    Difference,
    ForecastSample,
    Intervals,
    difference_row,
    draw_together,
    finite,
    judged,
    unpaired_difference,
)
from geouq.metrics import Value, change, deviation, ideal_value, is_judged, unit_of
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Row, Table


def shift_table(
    sides: Mapping[str, tuple[ForecastSample, ForecastSample]], variables: Sequence[Variable], settings: Intervals
) -> Table:
    """Every number of each variable in and out, from the two sides by the name of the variable.

    Both are drawn for themselves, as they have no pixel in common.
    """
    found = [(variable, *one) for variable in variables for one in _differences(*sides[variable.name], settings)]
    rows = judged([_row(variable, here, there, one, settings) for variable, here, there, one in found], settings.level)
    verdicts = [_verdict(there, one, row["significant"]) for (_, _, there, one), row in zip(found, rows, strict=True)]
    counts = {name: {"n_in": int(one.whole.n), "n_out": int(two.whole.n)} for name, (one, two) in sides.items()}
    told = (row | counts[row["variable"]] | {"verdict": verdict} for row, verdict in zip(rows, verdicts, strict=True))
    return Table(COLUMNS["shift"], tuple(told))


def _differences(
    inside: ForecastSample, outside: ForecastSample, settings: Intervals
) -> Iterator[tuple[Value, Value, Difference]]:
    (here,) = draw_together(IN, [inside], settings).sides
    (there,) = draw_together(OUT, [outside], settings).sides
    for key, number in there.items():
        yield here[key].value, number.value, unpaired_difference(number, here[key], settings.level)


def _row(variable: Variable, here: Value, there: Value, found: Difference, settings: Intervals) -> Row:
    return {
        "variable": variable.name,
        "model": variable.model,
        "metric": there.name,
        "bins": there.bins,
        "group": there.group,
        "units": unit_of(there.metric, variable.units),
        "in": finite(here),
        "out": finite(there),
        **difference_row(found, settings.level, "unpaired"),
    }


def _verdict(value: Value, found: Difference, significant: str) -> str:
    """In plain words what has happened to a number, whose value is that out of distribution."""
    if found.value is None:
        return "no value"
    if not significant:
        return f"not tested: {found.reason}"
    if significant == "no":
        apart = found.better and ((found.low or 0) > 0 or (found.high or 0) < 0)
        return "differs, whether it is worse is not certain" if apart else "no significant shift"
    if not is_judged(value.metric):
        return f"{change(value.metric, found.value)} out of distribution"
    return f"{_worse(value) if found.better < 0 else 'better'} out of distribution"


def _worse(value: Value) -> str:
    """Return what a number that is farther from its ideal than before means: over-confident, for example, or worse."""
    ideal = ideal_value(value.metric, value.level)
    return (ideal is not None and deviation(value.metric, is_above=float(value.value) > ideal)) or "worse"
