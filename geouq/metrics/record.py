"""The record of each metric: its function, and all that tables, intervals, maps, figures and docs know of it.

A metric is a function of a Summary with the decorator `metric`. Nothing else names it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import wrong_type
from geouq.core.units import squared_unit
from geouq.metrics.norms import NormKind
from geouq.summary import Binned, Summary
from geouq.summary.form import Form

Floats = NDArray[np.float64]
Number = TypeVar("Number", bound=Callable[..., Floats])
Norm = Callable[[Floats, Floats], Floats]
Unit = Literal["1", "unit", "unit^2"]
Choice = Literal[
    "none",
    "bins",
    "level",
    "group",
    "ordering",
    "threshold",
    "calibration",
    "calibration_weights",
    "reference_mean",
    "quantile",
    "pair",
    "class",
]
Place = Literal[
    "page",
    "table",
    "summary",
    "comparison",
    "regions",
    "differences",
    "recalibration",
    "corrections",
    "cell sums",
    "cell map",
]
# places of the numbers that are compared, and of those whose difference is judged too
IN_COMPARISONS: tuple[Place, ...] = ("page", "table", "summary", "comparison")
IN_DIFFERENCES: tuple[Place, ...] = (*IN_COMPARISONS, "regions", "differences")
Part = Literal["", "bias", "spread", "shape", "coverage", "skill"]
Percent = Literal["", "%", "percentage points"]

OF_VARIANCE = ("variance",)  # every form of a forecast that has a variance
ANY, NOT_NEGATIVE, SHARE = (-np.inf, np.inf), (0.0, np.inf), (0.0, 1.0)
OF_LEVELS = ("level", "group", "quantile", "pair")
SUFFIXES = {**dict.fromkeys(OF_LEVELS, "_<level>"), "threshold": "_<t>", "class": "_<class>"}  # of names in the docs
USUAL_LEVEL = 0.9  # whose coverage stands for all levels where there is room for one
# in which metrics are listed; those of other modules come last
FAMILIES = (
    *("calibration", "accuracy", "coverage", "curve", "groups", "ordering", "scores"),
    *("ensemble", "quantiles", "classes"),
)


@dataclass(frozen=True)
class VarianceGaps:
    """Gaps log(MSE / MV) of bins of the predicted variance; their norm adds weight x |(MSE / MV)^power - 1|.

    weight : of the bins. is_mean : whether the weights of the bins that have a gap are divided by their number.
    """

    power: float
    weight: Callable[[Binned], Floats]
    is_mean: bool = False

    def shares(self, gaps: Floats, weight: Floats) -> Floats:
        """Return what each of the bins counts for."""
        return weight / np.maximum(np.isfinite(gaps).sum(-1, keepdims=True), 1) if self.is_mean else weight


@dataclass(frozen=True)
class CurveGaps:
    """Gaps of a curve of levels from the diagonal.

    curve : of a summary and levels. norm : of gaps.
    """

    curve: Callable[..., Floats]
    norm: NormKind


@dataclass(frozen=True)
class GroupGaps:
    """Gaps between the coverage of groups and the level."""

    norm: NormKind


@dataclass(frozen=True)
class ProbabilityGaps:
    """Gaps between the probability of exceeding a threshold and the frequency, in bins of the probability."""


Gaps = VarianceGaps | CurveGaps | GroupGaps | ProbabilityGaps


@dataclass(frozen=True)
class Ratio:
    """Colours from 1 / factor to factor, in equal ratios."""

    factor: float


@dataclass(frozen=True)
class Around:
    """Colours that reach as far below the ideal (0 without one) as above it.

    reach : a number, or a function of the summary of the whole.
    """

    reach: float | Callable[[Summary], Floats]


@dataclass(frozen=True)
class AroundValue:
    """Colours as far below the value of the whole as above it."""

    reach: float


@dataclass(frozen=True)
class Span:
    """Colours between two limits; is_signed : whether they meet in the middle."""

    low: float
    high: float
    is_signed: bool = False


Scale = Ratio | Around | AroundValue | Span


@dataclass(frozen=True)
class Metric:
    """A number and what one must know to read it.

    Parameters
    ----------
    name : str
        As in the tables; the number of a level ends in that level, as coverage_90.
    function : callable
        Returns the number of a Summary, and of what `choice` names.
    symbol : str
        In formulas.
    unit : {"1", "unit", "unit^2"}
        1, or the variable's unit, or its square.
    ideal : str
        The value of a perfect forecaster, or small, large, none.
    above : str
        What a value above the ideal (or a large value) means.
    source : str
        Paper.
    forms : tuple of str
        Forms of the forecast that have it.
    choice : str
        Its arguments besides the summary: calibration is the levels of the curve, calibration_weights these too.
    on_effective : bool
        Whether it also takes the number of independent pixels that each bin is worth.
    resolution : callable, optional
        Returns its largest expected error of a summary without leading dimensions; None where it is exact.
    bounds : tuple of float
        Lowest and highest value that it can have.
    gaps : optional
        The gaps, if the metric is a norm of gaps.
    in_probability_bins : bool
        Whether it is summed over bins of a probability.
    is_judged : bool
        Whether one value is better than another; False also where the ideal is none.
    is_tested : bool
        Whether it is tested against its ideal.
    of_pairs : callable, optional
        Returns the number of each pair of pixels, from the losses of each number of observations; None where the number
        is no mean over pairs.
    part : str
        The part of the verdict that it decides; coverage is of the shape, and the size of the effect. Skill decides
        nothing and is shown next to the verdict.
    scale : optional
        Colours of maps of cells; None for those that follow from its ideal.
    heading : str
        On pages.
    percent : str
        Unit in which pages show a share (%) or a difference of shares (percentage points), in place of 1.
    label : str
        In tables and figures for people, where its name would mislead.
    is_guarded : bool
        Whether a recalibration that worsens it is refused.
    rank : int
        Its place among those that people see first.
    shown : tuple of str
        Where it is shown without a request.
    """

    name: str
    function: Callable[..., Floats]
    symbol: str
    unit: Unit
    ideal: str
    above: str
    source: str
    forms: tuple[str, ...] = OF_VARIANCE
    choice: Choice = "none"
    on_effective: bool = False
    resolution: Callable[[Summary], Floats] | None = None
    bounds: tuple[float, float] = ANY
    gaps: Gaps | None = None
    in_probability_bins: bool = False
    is_judged: bool = True
    is_tested: bool = False
    of_pairs: Callable[[Mapping[int, Floats]], Floats] | None = None
    part: Part = ""
    scale: Scale | None = None
    heading: str = ""
    percent: Percent = ""
    label: str = ""
    is_guarded: bool = False
    rank: int = 0
    shown: tuple[Place, ...] = ()

    @property
    def claim(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").split("\n", 1)[0]

    @property
    def is_coverage(self) -> bool:
        """Return whether it is the share of the truth inside an interval, or beyond one of its ends."""
        return self.ideal in ("level", "(1-level)/2") and self.choice in ("level", "pair")

    @property
    def family(self) -> str:
        """Return the name of the module of its function."""
        return self.function.__module__.rpartition(".")[2]


METRICS: list[Metric] = []
_NAMED: dict[str, tuple[Metric, float | None] | None] = {}  # what `named` found since a metric was listed


def has(form: Form, forms: Sequence[str]) -> bool:
    """Return whether a forecast of this form has the metric or map whose record lists `forms`."""
    return form.metrics_as in forms or (form.has_variance and tuple(forms) == OF_VARIANCE)


def metric(symbol: str, *, name: str = "", **record: Any) -> Callable[[Number], Number]:
    """Return a decorator that lists a function of a Summary as a metric.

    Parameters
    ----------
    symbol : str
        In formulas.
    name : str, optional
        Name in the tables; by default the name of the function.
    **record
        The other fields of `Metric`.
    """

    def listed(function: Number) -> Number:
        """List the function as a metric."""
        checked = cast("Number", _of_summary(function))
        METRICS.append(Metric(name or function.__name__, checked, symbol, **record))
        METRICS.sort(key=_place_of_family)
        _NAMED.clear()
        return checked

    return listed


def _of_summary(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a message for callers who give arrays instead of a Summary."""

    @wraps(function)
    def checked(summary: Summary, *args: Any, **options: Any) -> Any:
        """Return the metric of a Summary; raise ArgumentError for arrays."""
        if not isinstance(summary, Summary):
            name = function.__name__
            raise wrong_type("summary", summary, f"give a Summary; geouq.{name}(mean, variance, truth) takes arrays")
        return function(summary, *args, **options)

    return checked


def shown_in(place: Place) -> list[Metric]:
    """Return the metrics that are shown in a place without a request, by rank."""
    return sorted((one for one in METRICS if place in one.shown), key=lambda one: one.rank)


def level_name(metric: str, level: float) -> str:
    """Return the name of a metric of a level.

    >>> level_name("coverage", 0.9), level_name("coverage", 0.6827)
    ('coverage_90', 'coverage_68.27')
    """
    return f"{metric}_{round(100 * level, 10):g}"


def usual_of(levels: Iterable[float]) -> float:
    """Return the level nearest to the usual one; of two that are equally near, the first.

    >>> usual_of([0.5, 0.8, 0.95]), usual_of([0.5, 0.9])
    (0.95, 0.9)
    """
    return min(levels, key=lambda level: abs(level - USUAL_LEVEL))


def usual_name(metric: Metric) -> str:
    """Return the name in tables of a metric, with the usual level if it has one.

    >>> [usual_name(one) for one in METRICS if one.name in ("zms", "width") and one.forms == OF_VARIANCE]
    ['zms', 'width_90']
    """
    return level_name(metric.name, USUAL_LEVEL) if metric.choice in OF_LEVELS else metric.name


def usual_heading(metric: Metric) -> str:
    """Return the heading of a metric on pages, with the usual level if it has one."""
    return heading_at(metric, USUAL_LEVEL if metric.choice in OF_LEVELS else None)


def heading_at(metric: Metric, level: float | None) -> str:
    """Return the heading of a metric at a level, None if it has no level.

    >>> heading_at(*named("coverage_68.27")), heading_at(*named("zms"))
    ('coverage of 68.27 %', 'mean z²')
    """
    return metric.heading if level is None else f"{metric.heading} of {round(100 * level, 10):g} %"


def heading_of(name: str) -> str:
    """Return the heading of a number, by its name in tables, with its level or class; the name where there is none.

    >>> heading_of("coverage_68.27"), heading_of("share_bias_open forest")
    ('coverage of 68.27 %', 'predicted minus observed share of open forest')
    """
    found = named(name)
    if found is None or not found[0].heading:
        return name
    of_class = class_in(name)
    return f"{found[0].heading} of {of_class}" if of_class else heading_at(*found)


def class_in(name: str) -> str:
    """Return the class of a number, by its name in tables; empty where it is of no class.

    >>> class_in("share_bias_open forest"), class_in("zms")
    ('open forest', '')
    """
    found = named(name)
    return name.removeprefix(f"{found[0].name}_") if found and found[0].choice == "class" else ""


def metric_label(name: str) -> str:
    """Return what a number, by its name in tables, is called in tables, figures and pages for people.

    >>> metric_label("crps_quantiles"), metric_label("wis")
    ('2 x mean pinball', 'wis')
    """
    found = named(name)
    return (found[0].label if found else "") or name


def named(name: str, metrics: Iterable[Metric] | None = None) -> tuple[Metric, float | None] | None:
    """Return the metric of a name in tables and its level, None where it has none; None where no metric has the name.

    >>> [(one.name, level) for one, level in (named("zms"), named("coverage_68.27"))]
    [('zms', None), ('coverage', 0.6827)]
    >>> named("coverage")
    """
    if metrics is not None:
        return _found(name, metrics)
    if name not in _NAMED:
        _NAMED[name] = _found(name, METRICS)
    return _NAMED[name]


def _found(name: str, metrics: Iterable[Metric]) -> tuple[Metric, float | None] | None:
    base, _, percent = name.rpartition("_")
    for one in metrics:
        if one.choice not in OF_LEVELS and one.name == name:
            return one, None
        if one.choice == "class" and name.startswith(f"{one.name}_"):
            return one, None
        if one.choice in OF_LEVELS and one.name == base and percent.replace(".", "", 1).isdecimal():
            return one, round(float(percent) / 100, 12)
    return None


def as_markdown(metrics: Iterable[Metric]) -> str:
    """Return a list of metrics as a Markdown table."""
    lines = ["| name | what | unit | ideal | above means | source |", "|---|---|---|---|---|---|"]
    for metric in metrics:
        what = metric.claim.split(";")[0].rstrip(".").replace("|", "\\|")
        name = metric.name + SUFFIXES.get(metric.choice, "")
        lines.append(f"| `{name}` | {what} | {metric.unit} | {metric.ideal} | {metric.above} | {metric.source} |")
    return "\n".join(lines) + "\n"


def unit_of(metric: Metric, units: str) -> str:
    """Return the unit of a metric of a variable in `units`.

    >>> unit_of(METRICS[0], "Mg ha-1")
    '(Mg ha-1)^2'
    """
    if metric.unit == "1" or units in ("", "1"):
        return "1" if metric.unit == "1" or units == "1" else ""
    return units if metric.unit == "unit" else squared_unit(units)


def _place_of_family(one: Metric) -> int:
    return FAMILIES.index(one.family) if one.family in FAMILIES else len(FAMILIES)
