"""Closed forms for one pixel whose forecast is Normal(mean, variance).

Every function takes numpy arrays (or numbers) that broadcast, works in float64 and gives float64. Error is mean - truth
and z is (truth - mean) / std: they have opposite signs, so that bias > 0 is over-prediction while PIT > 1/2 is truth
above the mean.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.compiled import elementwise

Floats = NDArray[np.float64]

SQRT_HALF = math.sqrt(0.5)
LOG_2PI = math.log(2 * math.pi)
INV_SQRT_PI = 1 / math.sqrt(math.pi)
INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)


def quantile(probability: float) -> float:
    """Return the standard normal quantile q_p, exactly antisymmetric about p = 1/2.

    >>> round(quantile(0.95), 12)
    1.644853626951
    >>> quantile(0.05) == -quantile(0.95)
    True
    """
    if probability < 0.5:
        return -quantile(1 - probability)
    return NormalDist().inv_cdf(probability)


def half_width(level: float) -> float:
    """Half width h_p, in standard deviations, of the central interval of that level.

    >>> round(half_width(0.9), 12)
    1.644853626951
    """
    return quantile(round((1 + level) / 2, 12))


@elementwise
def _cdf(z: float) -> float:
    return 0.5 * math.erfc(-z * SQRT_HALF)


def cdf(z: ArrayLike) -> Floats:
    """Return the distribution function of the standard normal, Phi(z).

    >>> float(cdf(0.0))
    0.5
    """
    return np.asarray(_cdf(np.asarray(z, np.float64)))


def density(z: ArrayLike) -> Floats:
    """Return the density of the standard normal, phi(z)."""
    z = np.asarray(z, np.float64)
    return np.asarray(np.exp(-0.5 * z * z) * INV_SQRT_2PI)


def error(mean: ArrayLike, truth: ArrayLike) -> Floats:
    """Raise Error mean - truth, in the variable's unit; above 0 is over-prediction."""
    return np.subtract(mean, truth, dtype=np.float64)


def z_score(mean: ArrayLike, variance: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the standardised deviation of the truth, (truth - mean) / std; unit 1.

    >>> float(z_score(1.0, 0.01, 1.5))
    5.0
    """
    return np.asarray(np.subtract(truth, mean, dtype=np.float64) / np.sqrt(np.asarray(variance, np.float64)))


def pit(mean: ArrayLike, variance: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the probability integral transform Phi(z); uniform on [0, 1] when calibrated."""
    return cdf(z_score(mean, variance, truth))


def nll(mean: ArrayLike, variance: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the negative log-likelihood 1/2 log(2 pi v) + e^2 / (2 v); lower is better."""
    z = z_score(mean, variance, truth)
    return np.asarray(0.5 * (LOG_2PI + np.log(np.asarray(variance, np.float64)) + z * z))


def crps(mean: ArrayLike, variance: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the continuous ranked probability score, in the variable's unit; lower is better.

    s [ z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi) ], Gneiting and Raftery 2007, eq. 21 (negated).

    >>> round(float(crps(0.0, 1.0, 0.0)), 12)
    0.233694977255
    """
    return np.asarray(np.sqrt(np.asarray(variance, np.float64)) * standard_crps(z_score(mean, variance, truth)))


def standard_crps(z: ArrayLike) -> Floats:
    """Return the CRPS of the standard normal for an outcome z."""
    z = np.asarray(z, np.float64)
    return np.asarray(z * (2 * cdf(z) - 1) + 2 * density(z) - INV_SQRT_PI)


def interval_score(mean: ArrayLike, variance: ArrayLike, truth: ArrayLike, level: float) -> Floats:
    """Return the interval score of the central interval: width + 2 / (1 - level) times what the truth lies outside it.

    Gneiting and Raftery 2007, eq. 43; in the variable's unit, lower is better.

    >>> round(float(interval_score(0.0, 1.0, 0.0, 0.9)), 6)
    3.289707
    """
    half = half_width(level) * np.sqrt(np.asarray(variance, np.float64))
    outside = np.maximum(np.abs(error(mean, truth)) - half, 0)
    return np.asarray(2 * half + 2 / (1 - level) * outside)
