"""The verdict of a region and variable: bias, spread and shape, each from its own interval and test.

Pages, `results.json` and figures all use `verdict_of`, so that they cannot disagree.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

from geouq.config import Variable
from geouq.core.failures import isolated
from geouq.core.gaussian import half_width
from geouq.core.sending import Sendable
from geouq.core.wording import digits_from, for_people
from geouq.metrics import heading_of, ideal_value, named
from geouq.metrics.record import usual_of

Row = Mapping[str, Any]
Place = tuple[str, str, str, str]  # level, name, variable, model

BIASED, OVER, UNDER, SHAPE = "biased", "over-confident", "under-confident", "badly shaped"
NOT_DETECTED, INCONCLUSIVE = "no miscalibration detected", "inconclusive"
UNTESTED, NO_PIXELS = "cannot be tested", "no pixels"
NARROW = 1.25  # factor either way within which an interval of the std of z shows calibration
NARROW_MEAN = 0.75  # mean of z that alone makes the root mean square of z 1.25
NARROW_MEDIAN = (
    NormalDist().cdf(-NARROW_MEAN),
    NormalDist().cdf(NARROW_MEAN),
)  # the same as a share of the truth below the median
NARROW_GAP = 0.05  # between the confidence in classes and the accuracy, and between shares of a class
MEAN_OF_Z = "z_mean"
MEDIAN = 0.5  # quantile whose coverage tells the bias where there is no std
NOT_ADJUSTED = "an interval excludes its ideal, but not after the adjustment for the number of regions"
RULE = (
    "Each region is tested against a perfect forecaster, and p is adjusted for the number of regions (Benjamini and "
    "Hochberg). Biased: the mean of z differs from 0. Over-confident (under-confident): the standard deviation of z "
    "about its own mean is above (below) 1. Badly shaped: neither, but the PIT or the coverage of a level differs "
    "from its ideal, after p is multiplied by the number of these tests. No miscalibration detected: all intervals "
    "hold the ideal and are narrow (the std of z within a factor of 1.25 of 1, the mean of z within 0.75 of 0). "
    "Without a std, the coverage takes the place of the std of z; of classes, the confidence less the accuracy "
    "(narrow: within 0.05 of 0), and the predicted less the observed share of each class takes the place of the mean "
    "of z (p times the number of classes; narrow: within 0.05 of 0). "
    "Inconclusive: they hold it but are wider, or a part cannot be tested. Cannot be tested: there is no interval; "
    "the estimate is shown all the same."
)


def place_of(name: str, variable: Variable) -> Place:
    """Return the place of a variable in the whole, which is named all, or in a region."""
    return "all" if name == "all" else "region", name, variable.variable, variable.model


def place_of_row(row: Row) -> Place:
    """Return the place that a row of a table describes."""
    return row["level"], row["name"], row["variable"], row["model"]


@dataclass(frozen=True)
class Part(Sendable):
    """One part of a verdict and the number that it rests on.

    finding : what the test found, empty where it found nothing. p_adjusted : accounts for the number of regions, and
    that of the shape also for the number of its tests; None where there is no test. reason : why there is none.
    """

    metric: str
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_level: float | None = None
    p_adjusted: float | None = None
    finding: str = ""
    reason: str = ""

    @property
    def exists(self) -> bool:
        """Return whether the form of the forecast has this part."""
        return bool(self.metric)

    @cached_property
    def ideal(self) -> float:
        """Return the value of a perfect forecaster."""
        found = named(self.metric)
        return (ideal_value(*found) if found else None) or 0.0

    @property
    def is_tested(self) -> bool:
        """Return whether there is a test."""
        return self.p_adjusted is not None

    @property
    def is_significant(self) -> bool:
        """Return whether the adjusted interval excludes the ideal."""
        return self.p_adjusted is not None and self.p_adjusted < 1 - (self.ci_level or 0.95)

    @property
    def holds_ideal(self) -> bool:
        """Return whether the interval holds the ideal, before it is adjusted for the number of regions."""
        return self.ci_low is not None and self.ci_high is not None and self.ci_low <= self.ideal <= self.ci_high

    def lies_within(self, low: float, high: float) -> bool:
        """Return whether the interval lies between two limits."""
        return self.ci_low is not None and self.ci_high is not None and low <= self.ci_low <= self.ci_high <= high


@dataclass(frozen=True)
class Verdict(Sendable):
    """The findings in words, the parts that they rest on, and the size of the effect.

    Parameters
    ----------
    inside : Part
        Share of the truth inside the central intervals of the level nearest to the usual one, with the smallest p that
        the shape takes from it.
    n : int or None
        Number of valid pixels; None where it is not known.
    """

    findings: tuple[str, ...]
    bias: Part
    spread: Part
    shape: Part
    inside: Part = Part("")
    n: int | None = None

    @cached_property
    def coverage_level(self) -> float | None:
        """Return the level of the intervals whose coverage is shown; None without intervals."""
        found = named(self.inside.metric)
        return found[1] if found else None

    @property
    def coverage(self) -> float | None:
        """Return the share of the truth inside the intervals of that level; None where it is missing."""
        return self.inside.value

    @property
    def coverage_limits(self) -> tuple[float, float] | None:
        """Return the interval of that share; None where there is none."""
        low, high = self.inside.ci_low, self.inside.ci_high
        return None if low is None or high is None else (low, high)

    @property
    def word(self) -> str:
        """Return the verdict in words."""
        return " and ".join(self.findings)

    @property
    def tone(self) -> str:
        """Return the finding that gives the verdict its colour: the finding of the spread first."""
        return self.findings[-1]

    @property
    def is_empty(self) -> bool:
        """Return whether no pixel was evaluated, so that there is nothing to judge."""
        return self.findings == (NO_PIXELS,)

    @property
    def std_factor(self) -> float | None:
        """Return the factor by which the predicted std is too small; below 1, it is too large."""
        return None if self.gap is not None else self.spread.value

    @cached_property
    def gap(self) -> float | None:
        """Return by how much the confidence in classes exceeds the accuracy; None for forecasts without classes."""
        return self.spread.value if self.spread.exists and self.spread.ideal == 0 else None

    @cached_property
    def severity(self) -> float | None:
        """Return the largest effect in multiples of the effect that matters; None where no effect is known.

        Bias, spread and coverage each have their own limit, those of a narrow interval. They are not combined: a mean
        of z far from 0 and a small std of z can give a mean square of z of 1.
        """
        effects = (_effect_of_spread(self.spread), _effect_of_bias(self.bias), self._effect_of_coverage)
        return max((abs(effect) for effect in effects if effect is not None), default=None)

    @property
    def _effect_of_coverage(self) -> float | None:
        if self.coverage is None or self.coverage_level is None:
            return None
        inside = min(max(self.coverage, 0.001), 0.999)
        return math.log(half_width(self.coverage_level) / half_width(inside)) / math.log(NARROW)

    @cached_property
    def is_narrow(self) -> bool:
        """Return whether the intervals of bias and spread are narrow: they exclude large effects."""
        return _is_narrow_bias(self.bias) and _is_narrow_spread(self.spread, self.inside)

    @property
    def is_certain(self) -> bool:
        """Return whether the verdict is a significant finding of miscalibration."""
        return any(part.finding for part in self.parts.values())

    @property
    def effect(self) -> str:
        """Return the size of the effect in words."""
        words = [self.covered] if self.covered else []
        if self.std_factor is not None:
            words.append(f"std of z {_with_limits(self.spread)}")
        if self.gap is not None:
            words.append(f"confidence less accuracy {_with_limits(self.spread)}")
        if self.bias.value is not None:
            name = "mean of z" if self.bias.metric == MEAN_OF_Z else heading_of(self.bias.metric)
            name = "truth below the median" if _is_median(self.bias.metric) else name
            words.append(f"{name} {_with_limits(self.bias)}")
        return "; ".join(words)

    @property
    def covered(self) -> str:
        """Return the coverage with its interval in words; empty if it is missing."""
        if self.coverage is None or self.coverage_level is None:
            return ""
        limits, level, digits = "", 100 * self.coverage_level, 1
        if self.coverage_limits is not None:
            low, high = (100 * end for end in self.coverage_limits)
            digits = digits_from(digits, level, [low, high])
            limits = f" ({low:.{digits}f} to {high:.{digits}f} %)"
        return f"{level:g} % intervals cover {100 * self.coverage:.{digits}f} %{limits}"

    @property
    def why(self) -> str:
        """Return why a part cannot be tested, or why nothing is concluded; empty where neither is so."""
        own = {name: part for name, part in self.parts.items() if part.exists} or self.parts
        reasons = {name: part.reason for name, part in own.items() if part.reason}
        if len(reasons) == len(own) and len(set(reasons.values())) == 1:
            return next(iter(reasons.values()))
        if reasons:
            return "; ".join(f"{name} not tested: {reason}" for name, reason in reasons.items())
        if self.findings != (INCONCLUSIVE,):
            return ""
        return "too uncertain" if _hold_ideals(self.bias, self.spread) else NOT_ADJUSTED

    @property
    def parts(self) -> dict[str, Part]:
        """Return the parts by name."""
        return {"bias": self.bias, "spread": self.spread, "shape": self.shape}

    def as_record(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        return {
            "verdict": self.word,
            "findings": list(self.findings),
            "effect": {
                "coverage_level": self.coverage_level,
                "coverage": self.coverage,
                "std_too_small_factor": self.std_factor,
                "z_mean": self.bias.value if self.bias.metric == MEAN_OF_Z else None,
            },
            "parts": {name: asdict(part) for name, part in self.parts.items()},
            "reason": self.why,
        }


def verdict_of(rows: Iterable[Row], tests: Iterable[Row]) -> Verdict:
    """Return the verdict of a variable of a region.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of the table of metrics of this variable and region.
    tests : iterable of mapping
        Rows of the table of tests of the same, with `p_adjusted`.

    Examples
    --------
    >>> z = {"bins": "", "group": "", "n": 9, "ci_level": 0.95, "ci_method": "bca"}
    >>> rows = [
    ...     z | {"metric": "z_mean", "value": 1.19, "ci_low": 1.0, "ci_high": 1.4},
    ...     z | {"metric": "z_std", "value": 1.0, "ci_low": 0.84, "ci_high": 1.22},
    ... ]
    >>> tests = [{"metric": "z_mean", "p_adjusted": 0.001}, {"metric": "z_std", "p_adjusted": 0.9}]
    >>> verdict_of(rows, tests).word
    'biased'
    """
    numbers = {row["metric"]: row for row in rows if not row.get("bins") and not row.get("group")}
    p_values = {row["metric"]: row["p_adjusted"] for row in tests if not row.get("bins")}
    bias, spread, inside = _bias(numbers, p_values), _spread(numbers, p_values), _usual_coverage(numbers, p_values)
    shape = _shape(numbers, p_values) if spread.exists else _shape_without_std(numbers, p_values, inside)
    if shape.finding == SHAPE and (bias.finding or spread.finding):
        shape = replace(shape, finding="")
    n = max((row["n"] for row in numbers.values() if row["n"]), default=0)
    findings = _findings(bias, spread, shape, inside) if n else (NO_PIXELS,)
    return Verdict(findings, bias, spread, shape, inside, n)


def verdicts_of(rows: Iterable[Row], tests: Iterable[Row]) -> dict[Place, Verdict]:
    """Return the verdict of each level, name, variable and model in the tables; single tiles have none."""
    numbers = _by_place(row for row in rows if row["level"] != "tile")
    of_place = _by_place(tests)
    found: dict[Place, Verdict] = {}
    for place, own in numbers.items():
        _, name, variable, model = place
        with isolated("verdicts", f"{variable} ({model}) in {name}" if model else f"{variable} in {name}"):
            found[place] = verdict_of(own, of_place.get(place, ()))
    return found


def are_empty(verdicts: Mapping[Place, Verdict]) -> bool:
    """Return whether no variable of the whole has a pixel; False where there are no verdicts."""
    whole = [verdict for (level, *_), verdict in verdicts.items() if level == "all"]
    return bool(whole) and all(verdict.is_empty for verdict in whole)


def _by_place(rows: Iterable[Row]) -> dict[Place, Sequence[Row]]:
    found: dict[Place, list[Row]] = {}
    for row in rows:
        found.setdefault(place_of_row(row), []).append(row)
    return dict(found)


def _findings(bias: Part, spread: Part, shape: Part, inside: Part) -> tuple[str, ...]:
    if found := tuple(part.finding for part in (bias, spread, shape) if part.finding):
        return found
    if not any(part.is_tested for part in (bias, spread, shape)):
        return (UNTESTED,)
    known = [part for part in (bias, spread, shape) if part.exists]
    is_narrow = _is_narrow_bias(bias) and _is_narrow_spread(spread, inside)
    is_fine = is_narrow and all(part.is_tested for part in known) and _hold_ideals(bias, spread)
    return (NOT_DETECTED,) if is_fine else (INCONCLUSIVE,)


def _is_narrow_bias(bias: Part) -> bool:
    """Return whether the interval of the bias is narrow; without one, nothing is left open."""
    if not bias.exists:
        return True
    if _is_median(bias.metric):
        return bias.lies_within(*NARROW_MEDIAN)
    return bias.lies_within(-limit_of_bias(bias), limit_of_bias(bias))


def limit_of_bias(bias: Part) -> float:
    """Return the limit of a narrow interval of the mean of z, or of the share of a class."""
    return NARROW_GAP if is_share(bias.metric) else NARROW_MEAN


def _is_narrow_spread(spread: Part, inside: Part) -> bool:
    """Return whether the interval of the spread is narrow; without a std, the interval of the coverage."""
    if not spread.exists:
        found = named(inside.metric)
        return found is not None and found[1] is not None and inside.lies_within(*narrow_coverage(found[1]))
    limits = (-NARROW_GAP, NARROW_GAP) if spread.ideal == 0 else (1 / NARROW, NARROW)
    return spread.lies_within(*limits)


def narrow_coverage(level: float) -> tuple[float, float]:
    """Return the coverage of intervals of a normal distribution that are too narrow, or too wide, by `NARROW`.

    >>> [round(share, 2) for share in narrow_coverage(0.9)]
    [0.81, 0.96]
    """
    low, high = (2 * NormalDist().cdf(half_width(level) * factor) - 1 for factor in (1 / NARROW, NARROW))
    return low, high


def _hold_ideals(bias: Part, spread: Part) -> bool:
    """Return whether the intervals hold the ideals also before they are adjusted for the number of regions."""
    return all(part.holds_ideal for part in (bias, spread) if part.exists)


def _bias(numbers: Mapping[str, Row], p_values: Mapping[str, float]) -> Part:
    """Return the part of the bias: the mean of z or, of quantiles, the share of truth below the median.

    Of classes, it is the share of the one class that decides.
    """
    if shares := [name for name in numbers if is_share(name)]:
        return _bias_of_shares([_part(numbers[name], p_values.get(name)) for name in shares])
    name = next((name for name in numbers if _part_of(name) == "bias"), "") or next(filter(_is_median, numbers), "")
    if not name:
        return Part("", reason="the forecast has neither a std nor a median")
    part = _part(numbers[name], p_values.get(name))
    return replace(part, finding=BIASED) if part.is_significant else part


def _bias_of_shares(parts: Sequence[Part]) -> Part:
    """Return the part of the class that decides: the largest significant one, or else that which leaves most open."""
    tested = [
        replace(part, p_adjusted=min(1.0, part.p_adjusted * len(parts)))
        for part in parts
        if part.p_adjusted is not None
    ]
    if found := [part for part in tested if part.is_significant]:
        return replace(max(found, key=lambda part: abs(part.value or 0.0)), finding=BIASED)
    untested = [part for part in parts if not part.is_tested]
    return max(untested or tested, key=lambda part: (not part.holds_ideal, _reach(part)))


def _reach(part: Part) -> float:
    """Return how far the interval of a part, or its value without an interval, lies from the ideal."""
    ends = (part.value, part.ci_low, part.ci_high)
    return max((abs(end - part.ideal) for end in ends if end is not None and not math.isnan(end)), default=0.0)


def is_share(name: str) -> bool:
    """Return whether a number is the predicted less the observed share of a class."""
    found = named(name)
    return found is not None and found[0].choice == "class" and found[0].part == "bias"


def _spread(numbers: Mapping[str, Row], p_values: Mapping[str, float]) -> Part:
    name = next((name for name in numbers if _part_of(name) == "spread"), "")
    if not name:
        return Part("", reason="the forecast has no std")
    part = _part(numbers[name], p_values.get(name))
    if not part.is_significant or part.value is None:
        return part
    return replace(part, finding=OVER if part.value > part.ideal else UNDER)


def _shape(numbers: Mapping[str, Row], p_values: Mapping[str, float]) -> Part:
    """Return the part of the shape: the test of PIT and coverage with the least p, times the number of these."""
    tested = _tested_shapes(numbers, p_values)
    if not tested:
        reasons = (numbers[name].get("ci_method") for name in _shapes(numbers))
        return Part("", reason=next(filter(None, reasons), "the forecast has neither PIT nor intervals"))
    least = min(tested, key=lambda name: p_values[name])
    part = _part(numbers[least], min(1.0, p_values[least] * len(tested)))
    return replace(part, finding=SHAPE) if part.is_significant else part


def _shape_without_std(numbers: Mapping[str, Row], p_values: Mapping[str, float], inside: Part) -> Part:
    """Return the part of the shape of a forecast without a std, whose coverage shows over- and under-confidence."""
    if not inside.is_significant or inside.value is None:
        return _shape(numbers, p_values)
    return replace(inside, finding=OVER if inside.value < inside.ideal else UNDER)


def _shapes(numbers: Mapping[str, Row]) -> list[str]:
    return [name for name in numbers if _part_of(name) in ("shape", "coverage")]


def _tested_shapes(numbers: Mapping[str, Row], p_values: Mapping[str, float]) -> list[str]:
    return [name for name in _shapes(numbers) if name in p_values]


def _part(row: Row, p: float | None) -> Part:
    reason = "" if p is not None else str(row.get("ci_method") or "no test")
    limits = (row.get("ci_low"), row.get("ci_high"), row.get("ci_level"))
    return Part(row["metric"], row["value"], *limits, p_adjusted=p, reason=reason)


def _part_of(name: str) -> str:
    """Return the part of the verdict that a number decides.

    >>> [_part_of(name) for name in ("z_mean", "coverage_68.27", "quantile_coverage_5", "coverage_above_90")]
    ['bias', 'coverage', 'shape', '']
    """
    found = named(name)
    return found[0].part if found else ""


def _is_median(name: str) -> bool:
    """Return whether a number is the share of truth below the median."""
    found = named(name)
    return found is not None and found[0].choice == "quantile" and found[1] == MEDIAN and bool(found[0].part)


def _effect_of_spread(spread: Part) -> float | None:
    """Return the effect of the spread in multiples of its limit."""
    if spread.value is None or not spread.exists:
        return None
    if spread.ideal == 0:
        return spread.value / NARROW_GAP
    return math.log(spread.value) / math.log(NARROW) if 0 < spread.value < math.inf else None


def _effect_of_bias(bias: Part) -> float | None:
    """Return the effect of the bias in multiples of its limit."""
    if bias.value is None or not bias.exists:
        return None
    if _is_median(bias.metric):
        return (bias.value - MEDIAN) / (NARROW_MEDIAN[1] - MEDIAN)
    return bias.value / limit_of_bias(bias)


def _usual_coverage(numbers: Mapping[str, Row], p_values: Mapping[str, float]) -> Part:
    """Return the coverage of the level nearest to the usual one."""
    found = {name: named(name) for name in numbers if _part_of(name) == "coverage"}
    levels = {one[1]: name for name, one in found.items() if one and one[1] is not None}
    if not levels:
        return Part("")
    name = levels[usual_of(levels)]
    p = p_values.get(name)
    return _part(numbers[name], None if p is None else min(1.0, p * len(_tested_shapes(numbers, p_values))))


def _with_limits(part: Part) -> str:
    limits = f" ({for_people(part.ci_low)} to {for_people(part.ci_high)})" if part.ci_low is not None else ""
    return f"{for_people(part.value)}{limits}"
