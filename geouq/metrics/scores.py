"""Proper scores: a forecaster does best by saying what it believes. All are means over pixels; lower is better.

Brier scores judge the forecasts that the truth exceeds a threshold: for normal ones, P(y > t) = Phi((mean - t) / std).
"""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.record import NOT_NEGATIVE, SHARE, AroundValue, ProbabilityGaps, metric
from geouq.metrics.sources import BRIER, GNEITING, MURPHY, STEPHENSON
from geouq.summary import Summary
from geouq.summary.threshold_sums import FIELDS

Floats = NDArray[np.float64]
N, P, PP, HIT, PH = range(len(FIELDS))


@metric("BS", unit="1", ideal="small", above="worse", source=BRIER, choice="threshold", bounds=SHARE)
def threshold_brier(summary: Summary, threshold: float) -> Floats:
    """Brier score of exceeding a threshold, mean of (P(y > t) - 1{y > t})^2; unit 1, small is good (Brier 1950)."""
    parts, weight = _scaled(summary, threshold)
    sums = parts.sum(-2)
    return (sums[..., PP] - 2 * sums[..., PH] + sums[..., HIT]) / weight


@metric(
    "REL",
    unit="1",
    ideal="0",
    above="probabilities mislead",
    source=MURPHY,
    choice="threshold",
    gaps=ProbabilityGaps(),
    in_probability_bins=True,
)
def threshold_reliability(summary: Summary, threshold: float) -> Floats:
    """Part of the Brier score by which probabilities and frequencies differ in ten bins of P; unit 1, ideal 0.

    The score is reliability - resolution + uncertainty + within, exactly. Murphy 1973; Stephenson et al. 2008.
    """
    sums, weight = _scaled(summary, threshold)
    n, gap = _used(sums), sums[..., P] - sums[..., HIT]
    return np.nansum(gap**2 / n, axis=-1) / weight


@metric(
    "RES",
    unit="1",
    ideal="large",
    above="forecasts separate cases",
    source=MURPHY,
    choice="threshold",
    bounds=SHARE,
    in_probability_bins=True,
)
def threshold_resolution(summary: Summary, threshold: float) -> Floats:
    """Part of the Brier score by which frequencies differ between the bins; unit 1, large is good (Murphy 1973)."""
    sums, weight = _scaled(summary, threshold)
    n = _used(sums)
    away = sums[..., HIT] / n - (sums[..., HIT].sum(-1) / weight)[..., np.newaxis]
    return np.nansum(n * away**2, axis=-1) / weight


@metric(
    "UNC",
    unit="1",
    ideal="none",
    above="truth is variable",
    source=MURPHY,
    choice="threshold",
    bounds=SHARE,
    is_judged=False,
)
def threshold_uncertainty(summary: Summary, threshold: float) -> Floats:
    """Part of the Brier score that no forecast can reduce, f (1 - f) of the frequency f; unit 1 (Murphy 1973)."""
    sums, weight = _scaled(summary, threshold)
    frequency = sums[..., HIT].sum(-1) / weight
    return frequency * (1 - frequency)


@metric(
    "WB",
    unit="1",
    ideal="none",
    above="bins are coarse",
    source=STEPHENSON,
    choice="threshold",
    in_probability_bins=True,
    is_judged=False,
)
def threshold_within(summary: Summary, threshold: float) -> Floats:
    """Variance of P within the bins less twice its covariance with the truth there; unit 1 (Stephenson et al. 2008)."""
    sums, weight = _scaled(summary, threshold)
    n = _used(sums)
    variance = sums[..., PP] - sums[..., P] ** 2 / n
    covariance = sums[..., PH] - sums[..., P] * sums[..., HIT] / n
    return np.nansum(variance - 2 * covariance, axis=-1) / weight


def _used(sums: Floats) -> Floats:
    """Return the weight of each bin; NaN where it is empty."""
    return np.where(sums[..., N] > 0, sums[..., N], np.nan)


def _scaled(summary: Summary, threshold: float) -> tuple[Floats, Floats]:
    """Return the sums of a threshold and the weight (NaN without pixels), divided by a power of two.

    The weight is then near 1, so that no product of sums overflows, and no digit changes.
    """
    weight = np.where(summary.n > 0, summary.moments.weight, np.nan)
    exponent = -np.frexp(weight)[1]
    return np.ldexp(summary.thresholds.of(threshold), exponent[..., np.newaxis, np.newaxis]), np.ldexp(weight, exponent)


@metric(
    "NLL",
    unit="1",
    ideal="small",
    above="worse",
    source=GNEITING,
    scale=AroundValue(2.0),
    rank=15,
    shown=("table", "comparison", "corrections"),
    is_guarded=True,
)
def nll(summary: Summary) -> Floats:
    """Negative log-likelihood; unit 1 (of log density), lower is better.

    For normal forecasts, 1/2 log(2 pi v) + e^2 / (2 v); infinite if another distribution excludes the truth.
    """
    return summary.moments.mean("nll")


@metric(
    "CRPS",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    bounds=NOT_NEGATIVE,
    heading="CRPS",
    rank=14,
    shown=("page", "table", "comparison", "regions", "differences", "recalibration", "corrections", "cell sums"),
)
def crps(summary: Summary) -> Floats:
    """Continuous ranked probability score; in the variable's unit, lower is better.

    Gneiting and Raftery 2007; sums for normal forecasts are accurate to 5e-9 of the std at each pixel. Missing if it
    is not above 0, as rounding makes it for log-normal forecasts whose std is larger than the mean by many digits.
    """
    mean = summary.moments.mean("crps")
    return np.where(mean > 0, mean, np.nan)


@metric(
    "IS",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    choice="level",
    bounds=NOT_NEGATIVE,
    shown=("corrections",),
    is_guarded=True,
)
def interval_score(summary: Summary, level: float) -> Floats:
    """Width plus 2 / (1 - level) times what the truth lies outside; in the variable's unit, lower is better.

    Gneiting and Raftery 2007, eq. 43.
    """
    if level == summary.given:
        return summary.moments.mean("given_width") + 2 / (1 - level) * summary.moments.mean("given_miss")
    total = summary.interval_scores[..., summary.level_index(level)]
    return total / np.where(summary.n > 0, summary.moments.weight, np.nan)
