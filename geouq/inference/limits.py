"""Ends of intervals from replicates of a number, and p-values.

`widening` is the factor by which the replicates of blocks are too close to the estimate, from the long-run variance.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.gaussian import SQRT_HALF, quantile
from geouq.inference.compiled_limits import (
    Bounds,
    ReplicateParts,
    Spread,
    half_reaching,
    limits_of_replicates,
    widened_limits,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replicates:
    """Replicates of a number, for bias-corrected and accelerated limits or for percentile limits.

    Parameters
    ----------
    ordered : ndarray of float64, shape (R,)
        Sorted replicates, all finite.
    bias, acceleration : float
        0 for percentile limits.

    References
    ----------
    Efron 1987, Journal of the American Statistical Association 82, 171.
    """

    ordered: Floats
    bias: float = 0.0
    acceleration: float = 0.0

    @classmethod
    def corrected(cls, estimate: float, replicates: Floats, left_out: Floats) -> Self:
        """Return replicates with both corrections. left_out : the number without each group of blocks."""
        return cls.each_corrected(np.array([estimate]), replicates[np.newaxis], left_out[np.newaxis])[0]

    @classmethod
    def each_corrected(cls, estimates: Floats, replicates: Floats, left_out: Floats) -> list[Self]:
        """Return the same of several numbers (N), whose replicates are (N, R), and left_out (N, groups)."""
        ordered, count = np.sort(replicates), replicates.shape[-1]
        own = estimates[:, np.newaxis]
        below = ((ordered < own).sum(-1) + (ordered <= own).sum(-1)) / 2
        scaled = _near_one(left_out)
        away = _near_one(scaled.mean(-1, keepdims=True) - scaled)
        sizes, cubes = (away**2).sum(-1), (away**3).sum(-1)
        return [
            cls(
                ordered[k],
                quantile(min(max(float(below[k]), 0.5), count - 0.5) / count),
                float(cubes[k] / (6 * size**1.5)) if size > 0 else 0.0,
            )
            for k, size in enumerate(sizes)
        ]

    @property
    def parts(self) -> ReplicateParts:
        """Return the arguments of the compiled functions."""
        return self.ordered, self.bias, self.acceleration

    def limits(self, level: float) -> tuple[float, float]:
        """Return the limits of a level."""
        return limits_of_replicates(self.parts, quantile((1 + level) / 2))

    def p_value(self, ideal: float, estimate: float, spread: Spread, bounds: Bounds, least: float) -> float:
        """Return 1 minus the highest level whose widened limits exclude an ideal; 0 if the p-value is below `least`."""
        half = half_reaching(ideal, estimate, quantile(1 - least / 2), self.parts, spread, bounds)
        return math.erfc(half * SQRT_HALF)


def _near_one(values: Floats) -> Floats:
    """Return rows times a power of 2 that brings the largest value near 1: no square overflows, no digit changes."""
    _, exponent = np.frexp(np.abs(values).max(-1, initial=0.0, keepdims=True))
    return np.ldexp(values, -exponent)


def widened(
    estimate: float, limits: tuple[float, float], widening: float, bounds: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Return limits farther from the estimate by a factor, on a scale without bounds.

    >>> widened(2.0, (1.0, 4.0), 2.0, bounds=(0.0, np.inf))
    (0.5, 8.0)
    """
    return widened_limits(estimate, limits, widening, bounds)


def consistent_p_value(p: float, *, excluded: bool, level: float, least: float) -> float:
    """Return a p-value below 1 - level exactly if the limits of that level exclude the ideal; `least` at least.

    Limits are rounded, so a p-value near 1 - level may be on the wrong side of it.

    >>> consistent_p_value(0.051, excluded=True, level=0.95, least=0.001) < 1 - 0.95
    True
    """
    border = 1 - level
    return max(min(p, math.nextafter(border, 0)) if excluded else max(p, border), least)


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
