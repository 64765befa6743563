"""How narrow the predictions are, whatever the truth says, and how far the mean lies from the truth.

Of two calibrated maps the sharper one is better. Error is mean - truth: a bias above 0 is over-prediction.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.core.gaussian import half_width
from geouq.metrics.form_sums import counted
from geouq.metrics.record import IN_COMPARISONS, IN_DIFFERENCES, NOT_NEGATIVE, Around, Span, metric
from geouq.metrics.sources import DEFINITION, KULESHOV, LEVI
from geouq.summary import Summary

Floats = NDArray[np.float64]


@metric(
    "C_v",
    unit="1",
    ideal="large",
    above="the std differs between pixels",
    source=LEVI,
    bounds=NOT_NEGATIVE,
    is_judged=False,
    rank=6,
    shown=("table",),
)
def cv(summary: Summary) -> Floats:
    """Dispersion C_v of the predicted std, std(s, n - 1) / mean(s); unit 1.

    A constant prediction of the std can be calibrated and has 0: it says nothing of where the map is wrong. Levi et
    al. 2019, arXiv 1905.11659. Missing for fewer than 2 pixels.
    """
    unbiased = np.where(summary.n > 1, summary.n / np.where(summary.n > 1, summary.n - 1, 1), np.nan)
    return np.sqrt(summary.moments.product("std", "std") * unbiased) / mean_std(summary)


@metric("MV", unit="unit^2", ideal="small", above="wide", source=KULESHOV, bounds=NOT_NEGATIVE, is_judged=False)
def sharpness(summary: Summary) -> Floats:
    """Mean predicted variance; in the unit squared, small is sharp (Kuleshov et al. 2018, arXiv 1807.00263)."""
    return summary.moments.mean("variance")


@metric(
    "RMV",
    unit="unit",
    ideal="small",
    above="wide",
    source=KULESHOV,
    bounds=NOT_NEGATIVE,
    is_judged=False,
    heading="RMV",
    rank=5,
    shown=(*IN_COMPARISONS, "corrections", "cell sums"),
)
def sharpness_rms(summary: Summary) -> Floats:
    """Root of the mean predicted variance; in the variable's unit, small is sharp."""
    return np.sqrt(sharpness(summary))


@metric("mean s", unit="unit", ideal="small", above="wide", source=DEFINITION, bounds=NOT_NEGATIVE, is_judged=False)
def mean_std(summary: Summary) -> Floats:
    """Mean predicted standard deviation; in the variable's unit, small is sharp."""
    return summary.moments.mean("std")


@metric(
    "width",
    unit="unit",
    ideal="small",
    above="wide",
    source=DEFINITION,
    choice="level",
    bounds=NOT_NEGATIVE,
    is_judged=False,
    heading="mean width of intervals",
    shown=("corrections",),
)
def width(summary: Summary, level: float) -> Floats:
    """Mean width of the central interval of that level; in the variable's unit, small is sharp."""
    if level == summary.given:
        return summary.moments.mean("given_width")
    if summary.widths is not None:
        return summary.widths.sums[..., summary.level_index(level)] / counted(summary)
    return 2 * half_width(level) * mean_std(summary)


def _as_large_as_errors(whole: Summary) -> Floats:
    return rmse(whole)


@metric(
    "bias",
    unit="unit",
    ideal="0",
    above="over-prediction",
    source=DEFINITION,
    scale=Around(_as_large_as_errors),
    heading="bias",
    rank=1,
    shown=(*IN_DIFFERENCES, "corrections", "cell sums"),
)
def bias(summary: Summary) -> Floats:
    """Mean error; in the variable's unit, ideal 0, above 0 is over-prediction."""
    return summary.moments.mean("error")


@metric("MAE", unit="unit", ideal="0", above="inaccurate", source=DEFINITION, bounds=NOT_NEGATIVE)
def mae(summary: Summary) -> Floats:
    """Mean absolute error; in the variable's unit, ideal 0."""
    return summary.moments.mean("abs_error")


@metric(
    "RMSE",
    unit="unit",
    ideal="0",
    above="inaccurate",
    source=DEFINITION,
    bounds=NOT_NEGATIVE,
    heading="RMSE",
    rank=2,
    shown=(*IN_DIFFERENCES, "recalibration", "corrections", "cell sums"),
)
def rmse(summary: Summary) -> Floats:
    """Root mean squared error; in the variable's unit, ideal 0."""
    return np.sqrt(summary.moments.mean_square("error"))


@metric(
    "bias/ref",
    unit="1",
    ideal="0",
    above="over-prediction",
    source=DEFINITION,
    choice="reference_mean",
    scale=Around(0.5),
)
def nbias(summary: Summary, reference_mean: float | None = None) -> Floats:
    """Bias divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(bias(summary), summary, reference_mean)


@metric(
    "MAE/ref", unit="1", ideal="0", above="inaccurate", source=DEFINITION, choice="reference_mean", bounds=NOT_NEGATIVE
)
def nmae(summary: Summary, reference_mean: float | None = None) -> Floats:
    """MAE divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(mae(summary), summary, reference_mean)


@metric(
    "RMSE/ref",
    unit="1",
    ideal="0",
    above="inaccurate",
    source=DEFINITION,
    choice="reference_mean",
    bounds=NOT_NEGATIVE,
    rank=3,
    shown=("table",),
)
def nrmse(summary: Summary, reference_mean: float | None = None) -> Floats:
    """RMSE divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(rmse(summary), summary, reference_mean)


@metric(
    "R2",
    unit="1",
    ideal="1",
    above="never",
    source=DEFINITION,
    bounds=(-np.inf, 1.0),
    part="skill",
    scale=Span(0.0, 1.0),
    rank=4,
    heading="R²",
    shown=("table", "cell sums"),
)
def r2(summary: Summary) -> Floats:
    """Coefficient of determination 1 - MSE / var(truth); unit 1, ideal 1, missing if the truth is constant."""
    spread = summary.moments.product("truth", "truth")
    return 1 - summary.moments.mean_square("error") / _positive(spread)


@metric(
    "corr(|e|, s)",
    unit="1",
    ideal="large",
    above="std follows error",
    source=DEFINITION,
    scale=Span(-1.0, 1.0, is_signed=True),
)
def error_width_corr(summary: Summary) -> Floats:
    """Pearson correlation of |error| and predicted std; unit 1, large is good, missing if either is constant."""
    moments = summary.moments
    width, size = moments.product("std", "std"), moments.product("abs_error", "abs_error")
    # the rounding of n equal values is no spread
    constant = width <= 1e-24 * moments.mean("std") ** 2
    return np.where(constant, np.nan, moments.product("std", "abs_error") / np.sqrt(_positive(width * size)))


def _relative(value: Floats, summary: Summary, reference_mean: float | None) -> Floats:
    reference = summary.moments.mean("truth") if reference_mean is None else np.float64(reference_mean)
    return value / np.where(reference == 0, np.nan, reference)


def _positive(divisor: NDArray[np.floating] | NDArray[np.int64]) -> Floats:
    return np.where(divisor > 0, divisor, np.nan)
