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

Floats = NDArray[np.float64]
STEPS = 20  # halvings; 2^-20 of the interval is left
LARGEST_EXPONENT = math.log(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Percentiles:
    """Percentile limits of a number.

    Parameters
    ----------
    replicates : ndarray of float64, shape (R,)
        Sorted replicates, all finite.
    """

    replicates: Floats

    def limits(self, level: float) -> tuple[float, float]:
        """Return the quantiles of the replicates that leave out (1 - level) / 2 on either side."""
        return self.between((1 - level) / 2, (1 + level) / 2)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """Return two quantiles of the replicates, as `numpy.quantile` does, which would sort them each time."""
        return self._quantile(low), self._quantile(high)

    def _quantile(self, probability: float) -> float:
        place = probability * (len(self.replicates) - 1)
        before = min(max(math.floor(place), 0), len(self.replicates) - 1)
        low, high = float(self.replicates[before]), float(self.replicates[min(before + 1, len(self.replicates) - 1)])
        share, step = place - before, high - low
        return high - step * (1 - share) if share >= 0.5 else low + step * share  # as numpy rounds


@dataclass(frozen=True)
class Bca:
    """Bias-corrected and accelerated limits of a number.

    References
    ----------
    Efron 1987, Journal of the American Statistical Association 82, 171.
    """

    percentiles: Percentiles
    bias: float
    acceleration: float

    @classmethod
    def of(cls, estimate: float, replicates: Floats, left_out: Floats) -> Self:
        """Return the limits of an estimate. left_out : the number without each group of blocks."""
        count = len(replicates)
        below = (np.count_nonzero(replicates < estimate) + np.count_nonzero(replicates <= estimate)) / 2
        bias = quantile(float(np.clip(below, 0.5, count - 0.5) / count))
        scaled = _near_one(left_out)
        away = _near_one(scaled.mean() - scaled)
        size = (away**2).sum()
        acceleration = (away**3).sum() / (6 * size**1.5) if size > 0 else 0.0
        return cls(Percentiles(np.sort(replicates)), bias, float(acceleration))

    def limits(self, level: float) -> tuple[float, float]:
        """Return the limits of a level."""
        half = quantile((1 + level) / 2)
        return self.percentiles.between(self._probability(self.bias - half), self._probability(self.bias + half))

    def _probability(self, z: float) -> float:
        """Return the probability of the quantile that takes the place of that of z."""
        moved = self.bias + z / max(1 - self.acceleration * z, 0.1)
        return 0.5 * math.erfc(-moved * SQRT_HALF)


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
    lowest, highest = bounds
    if not lowest < min(estimate, *limits) <= max(estimate, *limits) < highest:
        low, high = (estimate + widening * (limit - estimate) for limit in limits)
        return max(low, lowest), min(high, highest)
    middle, low, high = (_unbounded(x, lowest, highest) for x in (estimate, *limits))
    low, high = (middle + widening * (limit - middle) for limit in (low, high))
    return _bounded(low, lowest, highest), _bounded(high, lowest, highest)


def _unbounded(x: float, lowest: float, highest: float) -> float:
    """Logarithm of the distance from the lower bound, less that from the upper one; x itself where there is neither."""
    if np.isinf(lowest) and np.isinf(highest):
        return x
    return (0.0 if np.isinf(lowest) else math.log(x - lowest)) - (0.0 if np.isinf(highest) else math.log(highest - x))


def _bounded(x: float, lowest: float, highest: float) -> float:
    """Return what `_unbounded` makes x of."""
    if np.isinf(lowest):
        return x if np.isinf(highest) else highest - _exp(-x)
    return lowest + _exp(x) if np.isinf(highest) else lowest + (highest - lowest) / (1 + _exp(-x))


def _exp(x: float) -> float:
    """Return e^x; infinity where that overflows."""
    return math.exp(x) if x < LARGEST_EXPONENT else math.inf


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
