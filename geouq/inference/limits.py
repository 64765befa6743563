"""Ends of intervals from replicates of a number, and p-values.

`widening` is the factor by which the replicates of blocks are too close to the estimate, from the long-run variance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.gaussian import SQRT_HALF, quantile
from geouq.inference.compiled_limits import Bounds, Spread, half_reaching, limits_of_replicates, widened_limits

Floats = NDArray[np.float64]
STEPS = 20  # halvings; 2^-20 of the interval is left


@dataclass(frozen=True)
class Replicates:
    """Replicates of a number, and how its limits follow: bias-corrected and accelerated, or percentiles.

    Parameters
    ----------
    ordered : ndarray of float64, shape (R,)
        Sorted replicates, all finite.
    bias, acceleration : float
        0 of percentile limits.

    References
    ----------
    Efron 1987, Journal of the American Statistical Association 82, 171.
    """

    ordered: Floats
    bias: float = 0.0
    acceleration: float = 0.0

    @classmethod
    def corrected(cls, estimate: float, replicates: Floats, left_out: Floats) -> Self:
        """Return those of an estimate with both corrections. left_out : the number without each group of blocks."""
        ordered, count = np.sort(replicates), len(replicates)
        below = (ordered.searchsorted(estimate) + ordered.searchsorted(estimate, "right")) / 2
        bias = quantile(min(max(below, 0.5), count - 0.5) / count)
        scaled = _near_one(left_out)
        away = _near_one(scaled.mean() - scaled)
        size = (away**2).sum()
        acceleration = (away**3).sum() / (6 * size**1.5) if size > 0 else 0.0
        return cls(ordered, bias, float(acceleration))

    @property
    def parts(self) -> tuple[Floats, float, float]:
        """Return what the compiled limits take."""
        return self.ordered, self.bias, self.acceleration

    def limits(self, level: float) -> tuple[float, float]:
        """Return the limits of a level."""
        return limits_of_replicates(self.parts, quantile((1 + level) / 2))

    def p_value(self, ideal: float, estimate: float, spread: Spread, bounds: Bounds, least: float) -> float:
        """1 less the highest level at which the limits, widened by the spread, leave an ideal out; `least` at least."""
        half = half_reaching(ideal, estimate, quantile(1 - least / 2), self.parts, spread, bounds)
        return max(math.erfc(half * SQRT_HALF), least)


def _near_one(values: Floats) -> Floats:
    """Return the values times a power of 2 that brings the largest near 1: no square overflows, no digit changes."""
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent)


def widened(
    estimate: float, limits: tuple[float, float], widening: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Limits that much farther from the estimate: of what has bounds, on the scale on which these are infinitely far.

    >>> widened(2.0, (1.0, 4.0), 2.0, bounds=(0.0, np.inf))
    (0.5, 8.0)
    """
    return widened_limits(estimate, limits, widening, bounds)


def p_value(leaves_out: Callable[[float], bool], level: float, least: float) -> float:
    """1 less the highest level at which an interval leaves an ideal out, `least` at least and 1 at most.

    leaves_out : whether the interval of a level does. The value is below 1 - level exactly where the interval of that
    level does, as long as `least` is.

    >>> round(p_value(lambda level: level < 0.9, 0.95, 0.001), 6)
    0.1
    """
    low, high = (0.0, 1 - level) if leaves_out(level) else (1 - level, 1.0)
    if low < least and leaves_out(1 - least):
        return least
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if leaves_out(1 - middle) else (middle, high)
    return 1.0 if high == 1 else max(low, least)


def false_discovery_adjusted(p_values: ArrayLike) -> Floats:
    """Return adjusted p-values: rejecting those below q lets at most a share q of the rejections be false.

    Benjamini and Hochberg 1995, Journal of the Royal Statistical Society B 57, 289.

    >>> false_discovery_adjusted([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1)
    return adjusted


def rounded(limits: tuple[float, float]) -> tuple[float, float]:
    """Return limits to 12 digits: logarithms have other last digits on other machines."""
    low, high = (float(f"{limit:.12g}") for limit in limits)
    return low, high
