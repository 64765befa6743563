"""How far the predicted mean lies from the truth. Error is mean - truth: a bias above 0 is over-prediction."""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.record import NOT_NEGATIVE, Around, Span, metric
from geouq.metrics.sources import DEFINITION
from geouq.summary import Summary

Floats = NDArray[np.float64]


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
    shown=("page", "table", "summary", "comparison", "regions", "differences", "corrections"),
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
    shown=("page", "table", "summary", "comparison", "regions", "differences", "recalibration", "corrections"),
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
    scale=Span(0.0, 1.0),
    rank=4,
    shown=("table",),
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
