"""How far the predicted mean lies from the truth. Error is mean - truth: a bias above 0 is over-prediction."""

import numpy as np
from numpy.typing import NDArray

from geouq.summary import Summary

Floats = NDArray[np.float64]


def bias(summary: Summary) -> Floats:
    """Mean error; in the variable's unit, ideal 0, above 0 is over-prediction."""
    return summary.moments.mean("error")


def mae(summary: Summary) -> Floats:
    """Mean absolute error; in the variable's unit, ideal 0."""
    return summary.moments.mean("abs_error")


def rmse(summary: Summary) -> Floats:
    """Root mean squared error; in the variable's unit, ideal 0."""
    return np.sqrt(summary.moments.mean_square("error"))


def nbias(summary: Summary, reference_mean: float | None = None) -> Floats:
    """Bias divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(bias(summary), summary, reference_mean)


def nmae(summary: Summary, reference_mean: float | None = None) -> Floats:
    """MAE divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(mae(summary), summary, reference_mean)


def nrmse(summary: Summary, reference_mean: float | None = None) -> Floats:
    """RMSE divided by the reference mean, or by the mean truth; unit 1, ideal 0."""
    return _relative(rmse(summary), summary, reference_mean)


def r2(summary: Summary) -> Floats:
    """Coefficient of determination 1 - MSE / var(truth); unit 1, ideal 1, missing if the truth is constant."""
    spread = summary.moments.product("truth", "truth")
    return 1 - summary.moments.mean_square("error") / _positive(spread)


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
