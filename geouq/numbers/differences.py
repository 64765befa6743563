"""Differences between forecasts: models or runs on the same truth, and pixels in and out of the training distribution.

Forecasts of the same pixels are compared on the same draws (paired); the two sides of a split have no pixel in common.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from geouq.config import IN, OUT, Experiment, Intervals, Variable
from geouq.core.failures import isolated
from geouq.inference import (
    Difference,
    ForecastSample,
    difference_row,
    draw_together,
    finite,
    judged,
    paired_difference,
    unpaired_difference,
)
from geouq.inference.differences import Key, Uncertain
from geouq.metrics import Value, change, deviation, ideal_value, is_judged, named, unit_of
from geouq.regions import EvaluationUnit
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Row, Table, by_model, sorted_table


@dataclass
class Differences:
    """What is compared within a run: models with the first of them, and pixels in and out of the distribution."""

    experiment: Experiment
    variables: Sequence[Variable]
    models: list[Row] = field(default_factory=list)
    uneven: list[str] = field(default_factory=list)
    splits: dict[str, Mapping[str, ForecastSample]] = field(default_factory=dict)

    def add(self, unit: EvaluationUnit, sides: Mapping[str, ForecastSample]) -> None:
        """Add an evaluation unit with its forecasts by variable."""
        if unit.name in (self.experiment.splits or ()):
            self.splits[unit.name] = sides
        by_variable: dict[str, list[Variable]] = {}
        for variable in self.variables:
            by_variable.setdefault(variable.variable, []).append(variable)
        of = {"level": unit.level, "name": unit.name}
        for labels in by_variable.values():
            if len(labels) > 1:
                self._compare(of, labels, sides)

    def _compare(self, of: Mapping[str, str], labels: Sequence[Variable], sides: Mapping[str, ForecastSample]) -> None:
        """Add the differences of the models of a variable from the first of them."""
        variable = labels[0].variable
        with isolated("numbers", f"models of {variable} compared in {of['name']}"):
            of_models = {label.model: sides[label.name] for label in labels}
            rows, same = paired_rows(of, of_models, labels[0], self.experiment.intervals)
            if not same:
                self.uneven.append(uneven(variable, of["name"], of_models, "models"))
            plain = {"variable": variable, "against": labels[0].model}
            self.models += [row | plain | {"model": row["run"]} for row in rows]

    def tables(self) -> dict[str, Table]:
        """Return the tables of what there is to be compared."""
        found, settings = {}, self.experiment.intervals
        if self.models:
            with isolated("numbers", "comparison of models"):
                found["comparison"] = sorted_table("comparison", with_verdicts(self.models, settings.level))
        if self.splits:
            with isolated("numbers", "shift between splits"):
                apart = {v.name: (self.splits[IN][v.name], self.splits[OUT][v.name]) for v in self.variables}
                shift = shift_table(apart, self.variables, settings)
                found["shift"] = by_model(shift, self.variables, self.experiment.compare_on)
        return found


def paired_rows(
    of: Mapping[str, Any], sides: Mapping[str, ForecastSample], variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    """Return a row for every number of every forecast but the first, and whether all count the same pixels.

    In a row, `run` names the forecast, `better` the better one ("" if neither is), and `claim` says what a significant
    difference means.

    Parameters
    ----------
    of : mapping
        Level and name of the evaluation unit.
    sides : mapping
        Forecasts of a variable by name.
    variable : Variable
        Gives the unit.
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
                **difference_row(found, level, "paired"),
                "better": labels[found.better],
                "claim": _claim(value, found),
                "n": counts[name],
                "n_baseline": counts[baseline],
            }


def uneven(variable: str, unit: str, sides: Mapping[str, ForecastSample], compared: str) -> str:
    """Return a note that forecasts do not count the same pixels. compared : what they are, such as `runs`."""
    counts = ", ".join(f"{int(side.whole.n)} in {name}" for name, side in sides.items())
    return f"{variable}, {unit}: {compared} do not count the same pixels: {counts}"


def with_verdicts(rows: Sequence[Row], level: float) -> list[Row]:
    """Return the rows of a whole table with `p_adjusted`, `significant` and the `verdict` in words."""
    return [row | {"verdict": verdict(row)} for row in judged(rows, level)]


def verdict(row: Row) -> str:
    """Return in words how the run of a row compares with the first, or why that is unknown.

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
        return _apart(str(row["metric"])) if apart else "not significant"
    return str(row["claim"])


def _apart(metric: str) -> str:
    """Return why a difference whose interval excludes 0 is not significant: coverage may be wrong on either side."""
    found = named(metric)
    if found is not None and found[0].ideal in ("small", "large"):
        return "not significant after the adjustment for the number of tests"
    return "differs, which is better is not certain"


def _claim(value: Value, found: Difference) -> str:
    if found.better:
        return "better" if found.better > 0 else "worse"
    return change(value.metric, found.value) if found.value else ""


def shift_table(
    sides: Mapping[str, tuple[ForecastSample, ForecastSample]], variables: Sequence[Variable], settings: Intervals
) -> Table:
    """Return every number of each variable in and out, from the two sides by the name of the variable.

    Both are drawn for themselves, as they have no pixel in common.
    """
    found = [(variable, *one) for variable in variables for one in _differences(*sides[variable.name], settings)]
    rows = judged(
        [_shift_row(variable, here, there, one, settings) for variable, here, there, one in found], settings.level
    )
    verdicts = [
        _shift_verdict(there, one, row["significant"]) for (_, _, there, one), row in zip(found, rows, strict=True)
    ]
    counts = {name: {"n_in": int(one.whole.n), "n_out": int(two.whole.n)} for name, (one, two) in sides.items()}
    judged_rows = (
        row | counts[row["variable"]] | {"verdict": verdict} for row, verdict in zip(rows, verdicts, strict=True)
    )
    return Table(COLUMNS["shift"], tuple(judged_rows))


def _differences(
    inside: ForecastSample, outside: ForecastSample, settings: Intervals
) -> Iterator[tuple[Value, Value, Difference]]:
    (here,) = draw_together(IN, [inside], settings).sides
    (there,) = draw_together(OUT, [outside], settings).sides
    for key, number in there.items():
        yield here[key].value, number.value, unpaired_difference(number, here[key], settings.level)


def _shift_row(variable: Variable, here: Value, there: Value, found: Difference, settings: Intervals) -> Row:
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


def _shift_verdict(value: Value, found: Difference, significant: str) -> str:
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
