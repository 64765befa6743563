"""What predictions that are given as quantiles are worth; quantiles that cross are put in order first."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.metrics.form_curves import QUANTILE_CURVE, Curve, curves_of
from geouq.metrics.form_sums import mean_of, sums_of
from geouq.metrics.record import IN_DIFFERENCES, NOT_NEGATIVE, SHARE, metric
from geouq.metrics.sources import DEFINITION, GNEITING, KULESHOV
from geouq.summary import Summary
from geouq.summary.form import Form

Floats = NDArray[np.float64]


@metric(
    "pinball",
    unit="unit",
    ideal="small",
    above="worse",
    source="Koenker and Bassett 1978",
    forms=("quantiles",),
    choice="quantile",
    bounds=NOT_NEGATIVE,
)
def pinball(summary: Summary, level: float) -> Floats:
    """Mean of (level - 1{y < q})(y - q), the loss that a quantile minimises; the variable's unit, small is good.

    Koenker and Bassett 1978.
    """
    place = _place(summary, level)
    return _pinballs(summary)[..., place]


@metric(
    "pinball",
    unit="unit",
    ideal="small",
    above="worse",
    source="Koenker and Bassett 1978",
    forms=("quantiles",),
    bounds=NOT_NEGATIVE,
    heading="pinball loss",
    shown=("recalibration", "corrections"),
)
def pinball_mean(summary: Summary) -> Floats:
    """Mean pinball loss over all quantiles; the variable's unit, small is good."""
    return _pinballs(summary).mean(-1)


@metric(
    "2 x pinball",
    unit="unit",
    ideal="small",
    above="worse",
    source="Gneiting and Ranjan 2011",
    forms=("quantiles",),
    bounds=NOT_NEGATIVE,
    heading="2 x mean pinball",
    rank=30,
    shown=(*IN_DIFFERENCES, "cell sums", "cell map"),
    label="2 x mean pinball",
)
def crps_quantiles(summary: Summary) -> Floats:
    """Twice the mean pinball loss over all quantiles; the variable's unit, small is good.

    It is a proper score of these quantiles, but not the CRPS, which it nears only where quantiles are many and spread
    evenly over the levels: of the levels 0.05, 0.5 and 0.95 it is some 30 % below it. Gneiting and Ranjan 2011.
    """
    return 2 * pinball_mean(summary)


@metric(
    "CRPS_i",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    forms=("quantiles",),
    bounds=NOT_NEGATIVE,
    heading="CRPS by integration",
    rank=31,
    shown=("table", "summary", "cell sums"),
)
def crps_integral(summary: Summary) -> Floats:
    """Integral of (F - 1{y <= x})^2, F linear between quantiles; the variable's unit, small is good.

    The tails are exponential, with the density that F has beside them, so that the score grows with the distance of a
    truth that lies far outside. Missing where there is one quantile alone.
    """
    found = mean_of(summary, "quantiles", "integral")
    return found if len(_form(summary).quantile_levels) > 1 else found * np.nan


@metric("CRPS_i/s", unit="1", ideal="small", above="worse", source=GNEITING, forms=("quantiles",), bounds=NOT_NEGATIVE)
def crps_integral_normalized(summary: Summary) -> Floats:
    """The integrated CRPS by the standard deviation of the truth of all these pixels; unit 1, small is good."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(crps_integral(summary) / np.sqrt(summary.moments.product("truth", "truth")))


@metric(
    "WIS",
    unit="unit",
    ideal="small",
    above="worse",
    source="Bracher et al. 2021",
    forms=("quantiles",),
    bounds=NOT_NEGATIVE,
    heading="WIS",
    rank=32,
    shown=(*IN_DIFFERENCES, "cell sums"),
)
def wis(summary: Summary) -> Floats:
    """Weighted interval score of all central intervals and the median; the unit, small is good (Bracher et al. 2021).

    (|y - median| / 2 + sum_a a / 2 IS_a) / (intervals + 1/2), without its halves where there is no median.
    """
    form, losses = _form(summary), _pinballs(summary)
    total = sum((losses[..., low] + losses[..., high] for low, high in form.pairs.values()), np.zeros(summary.n.shape))
    if 0.5 not in form.quantile_levels:
        return np.asarray(total / (len(form.pairs) or np.nan))
    median = losses[..., form.quantile_levels.index(0.5)]
    return np.asarray((total + median) / (len(form.pairs) + 0.5))


@metric(
    "P(y <= q)",
    unit="1",
    ideal="level",
    above="too high",
    source=KULESHOV,
    forms=("quantiles",),
    choice="quantile",
    bounds=SHARE,
    is_tested=True,
    part="shape",
)
def quantile_coverage(summary: Summary, level: float) -> Floats:
    """Share of truth that does not lie above a quantile; unit 1, ideal level (Kuleshov et al. 2018)."""
    return mean_of(summary, "quantiles", "at_most")[..., _place(summary, level)]


@metric(
    "coverage",
    name="coverage",
    unit="1",
    ideal="level",
    above="covers too much",
    source=DEFINITION,
    forms=("quantiles",),
    choice="pair",
    bounds=SHARE,
    is_tested=True,
    part="coverage",
    heading="coverage",
    percent="%",
    rank=10,
    shown=(*IN_DIFFERENCES, "recalibration", "cell sums"),
)
def pair_coverage(summary: Summary, level: float) -> Floats:
    """Share of truth within the closed interval between two quantiles; unit 1, ideal level."""
    low, high = _pair(summary, level)
    below, at_most = (mean_of(summary, "quantiles", name) for name in ("below", "at_most"))
    return at_most[..., high] - below[..., low]


def quantile_calibration(summary: Summary, level: float) -> Floats:
    """Return the level of a quantile as observed: the share of truth below it, up to that at most it.

    Where truth equals the quantile, as discrete truth does, the quantile claims that its level is from the share below
    it to the share at most it: the number is the level if it is, and the nearer share if not. Unit 1, ideal level.
    """
    below, at_most = (mean_of(summary, "quantiles", name)[..., _place(summary, level)] for name in ("below", "at_most"))
    return np.asarray(np.clip(level, below, at_most))


@metric(
    "above",
    name="coverage_above",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes upwards",
    source=DEFINITION,
    forms=("quantiles",),
    choice="pair",
    bounds=SHARE,
)
def pair_coverage_above(summary: Summary, level: float) -> Floats:
    """Share of truth above the interval between two quantiles; unit 1, ideal (1 - level) / 2."""
    return 1 - mean_of(summary, "quantiles", "at_most")[..., _pair(summary, level)[1]]


@metric(
    "below",
    name="coverage_below",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes downwards",
    source=DEFINITION,
    forms=("quantiles",),
    choice="pair",
    bounds=SHARE,
)
def pair_coverage_below(summary: Summary, level: float) -> Floats:
    """Share of truth below the interval between two quantiles; unit 1, ideal (1 - level) / 2."""
    return mean_of(summary, "quantiles", "below")[..., _pair(summary, level)[0]]


@metric(
    "width",
    name="width",
    unit="unit",
    ideal="small",
    above="wide",
    source=DEFINITION,
    forms=("quantiles",),
    choice="pair",
    bounds=NOT_NEGATIVE,
    is_judged=False,
    shown=("cell sums",),
    heading="width",
)
def pair_width(summary: Summary, level: float) -> Floats:
    """Mean width of the interval between two quantiles; the variable's unit, small is sharp."""
    low, high = _pair(summary, level)
    above = mean_of(summary, "quantiles", "above")
    return above[..., low] - above[..., high]


@metric(
    "IS",
    name="interval_score",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    forms=("quantiles",),
    choice="pair",
    bounds=NOT_NEGATIVE,
)
def pair_interval_score(summary: Summary, level: float) -> Floats:
    """Mean interval score between two quantiles; the variable's unit, small is good (Gneiting and Raftery 2007)."""
    low, high = _pair(summary, level)
    losses = _pinballs(summary)
    return 2 / (1 - level) * (losses[..., low] + losses[..., high])


@metric(
    "crossing",
    unit="1",
    ideal="0",
    above="quantiles out of order",
    source=DEFINITION,
    forms=("quantiles",),
    bounds=SHARE,
    heading="crossing",
    percent="%",
    rank=33,
    shown=("page", "table", "summary", "regions", "cell sums"),
)
def crossing(summary: Summary) -> Floats:
    """Share of pixels whose quantiles cross; unit 1, ideal 0."""
    return mean_of(summary, "quantiles", "crossing")


def _pinballs(summary: Summary) -> Floats:
    """Mean loss of each quantile: level times what the truth lies above it, and what it lies above the truth."""
    above, over = (mean_of(summary, "quantiles", name) for name in ("above", "over"))
    return np.array(_form(summary).quantile_levels) * above + over


@curves_of("quantiles", "level of the quantile (1)", "truth at most the quantile (share, 1)", of_many=True)
def quantile_curves(summary: Summary) -> Iterator[Curve]:
    """Yield the share of truth at most each quantile."""
    levels = _form(summary).quantile_levels
    yield QUANTILE_CURVE, np.array(levels), np.stack([quantile_calibration(summary, one) for one in levels], axis=-1)


def _form(summary: Summary) -> Form:
    return sums_of(summary, "quantiles").form


def _place(summary: Summary, level: float) -> int:
    """Place of a quantile; SummaryError where it is not given."""
    levels = _form(summary).quantile_levels
    if level not in levels:
        kept = ", ".join(f"{one:g}" for one in levels)
        raise SummaryError(f"the quantile {level:g} is not given; those of this summary are {kept}")
    return levels.index(level)


def _pair(summary: Summary, level: float) -> tuple[int, int]:
    """Return the places of the quantiles around a level; SummaryError where the two are not given."""
    pairs = _form(summary).pairs
    if round(level, 12) not in pairs:
        kept = ", ".join(f"{one:g}" for one in pairs) or "none"
        raise SummaryError(f"no two quantiles have the level {level:g} between them; such levels are {kept}")
    return pairs[round(level, 12)]
