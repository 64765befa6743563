"""Ends of intervals from replicates of a number, and p-values.

`widening` is the factor by which the replicates of blocks are too close to the estimate, from the long-run variance.
Norms of signed gaps are too large for any forecaster: their limits come from a test of what the true gaps may be.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.compiled import compiled_for
from geouq.core.gaussian import cdf, quantile

Floats = NDArray[np.float64]
STEPS = 20  # halvings; 2^-20 of the interval is left
LARGEST_EXPONENT = math.log(np.finfo(np.float64).max)
Norm = Callable[[Floats], Floats]
LARGEST_FACTOR = 64.0  # of the true gaps, relative to the observed ones
STANDS_OUT = 2.0  # times its noise


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
        z = self.bias + quantile((1 + level) / 2) * np.array([-1.0, 1.0])
        low, high = cdf(self.bias + z / np.maximum(1 - self.acceleration * z, 0.1))
        return self.percentiles.between(float(low), float(high))


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


@dataclass(frozen=True)
class Noise:
    """What may lie between gaps observed and true ones.

    gaps : float64 (R, gaps). norm : of true gaps with no noise and with each noise, (1 + R, gaps).
    """

    gaps: Floats
    norm: Norm

    def along(self, shape: Floats) -> Callable[[float], Floats]:
        """Return the norm of a multiple s of a shape, without noise and with each, (1 + R), as a function of s."""
        return lambda s: self.norm(s * shape + self._with_none)

    @cached_property
    def of_nothing(self) -> Floats:
        """Return the sorted norms of the noise alone."""
        return np.sort(self.along(np.zeros(self.gaps.shape[-1]))(0.0)[1:])

    @cached_property
    def _with_none(self) -> Floats:
        return np.vstack([np.zeros(self.gaps.shape[-1]), self.gaps])


@dataclass(frozen=True)
class CurveNoise(Noise):
    """Noise of gaps of a curve at ascending levels.

    of_columns : norm of gaps (levels) + noise (levels, 1 + R), and the distances between levels and to 0 and 1.
    """

    of_columns: Callable[[Floats, Floats, Floats], Floats]
    levels: Sequence[float]

    def along(self, shape: Floats) -> Callable[[float], Floats]:
        """Return the norm of a multiple s of a shape, without noise and with each, (1 + R), as a function of s."""
        noise, widths = self._columns, np.diff([0.0, *self.levels, 1.0])
        return lambda s: self.of_columns(s * shape, noise, widths)

    @cached_property
    def _columns(self) -> Floats:
        """Return no noise and all noise, (levels, 1 + R)."""
        return np.ascontiguousarray(self._with_none.T)


@dataclass(frozen=True)
class RatioNoise(Noise):
    """Noise of gaps that are logarithms: a norm adds weight x |ratio^power - 1|, weight (1 + R, gaps).

    Powers of the noise are taken once for all multiples of a shape.
    """

    power: float
    weight: Floats

    def along(self, shape: Floats) -> Callable[[float], Floats]:
        """Return the norm of a multiple s of a shape, without noise and with each, (1 + R), as a function of s."""
        factors, weight = self._factors
        shape = self.power * np.where(np.isnan(shape), 0.0, shape)

        return lambda s: _norms_of_ratios(np.exp(np.minimum(s * shape, LARGEST_EXPONENT)), factors, weight)

    @cached_property
    def _factors(self) -> tuple[Floats, Floats]:
        """Return powers of the ratios and their weights, (gaps, 1 + R); the weight is 0 where there is no gap."""
        used = ~np.isnan(self._with_none) & ~np.isnan(self.gaps).all(axis=0)
        factors = np.exp(self.power * np.where(used, self._with_none, 0.0))
        weight = np.where(used & ~np.isnan(self.weight), self.weight, 0.0)
        return np.ascontiguousarray(factors.T), np.ascontiguousarray(weight.T)


@compiled_for("f8[::1], f8[:,::1], f8[:,::1]")
def _norms_of_ratios(multiple: Floats, factors: Floats, weight: Floats) -> Floats:
    """Return the sums over gaps of weight x |multiple x factor - 1|, (1 + R); all but multiple are (gaps, 1 + R)."""
    norms = np.zeros(factors.shape[1])
    for k in range(len(factors)):
        for r in range(len(norms)):
            norms[r] += abs(multiple[k] * factors[k, r] - 1) * weight[k, r]
    return norms


def folded_limits(gaps: Floats, noise: Noise, norm: Norm, level: float) -> tuple[float, float]:
    """Return the limits of norm(true gaps), where gaps (K) are those observed.

    A norm of noisy gaps is too large, and its replicates are too large once more: of a perfect forecaster, neither
    would reach 0. So the true gaps are sought among s times a shape, s >= 0: an s is left out when noise.norm(s shape
    + noise) is as large as the norm observed in too few replicates, or as small. The limits hold for all shapes that
    the gaps may have: nearly alike in size, 0 but for those that stand out, or all the same where they may be.
    """
    if float(norm(gaps)) == 0:
        return 0.0, 0.0
    limits = [_limits_along(one) for one in _multiples(gaps, noise, level)]
    return min(low for low, _ in limits), max(high for _, high in limits)


def folded_p_value(number: float, gaps: Floats, noise: Noise, norm: Norm) -> float:
    """1 less the level from which on the limits of norm(true gaps) hold a number: one test for each shape.

    Limits leave a number out where it is too small along every shape, or too large along every one.
    """
    if float(norm(gaps)) == 0:
        return 1.0 if number == 0 else 0.0
    tails = [one.tails(_place_of(number, one.shape, norm)) for one in _multiples(gaps, noise, 0.0)]
    return min(max(small for small, _ in tails), max(large for _, large in tails), 1.0)


@dataclass(frozen=True)
class _Multiples:
    """Gaps that are s times a shape, and which s are compatible with the norm observed.

    The two tails share alpha evenly, but near 0, where nothing is too small: there the upper one gets what the lower
    one cannot use.
    """

    shape: Floats
    norms: Callable[[float], Floats]
    of_nothing: Floats
    observed: float
    alpha: float

    def without_noise(self, s: float) -> float:
        """Return the norm of gaps of size s without noise."""
        return float(self.norms(s)[0])

    def too_small(self, s: float) -> bool:
        """Return whether gaps of size s are too small for the observed norm."""
        return self.tails(s)[0] <= self.alpha

    def too_large(self, s: float) -> bool:
        """Return whether gaps of size s are too large for the observed norm."""
        return self.tails(s)[1] <= self.alpha

    def tails(self, s: float) -> tuple[float, float]:
        """Return the largest alpha at which s is not too small, and that at which it is not too large."""
        norms = self.norms(s)
        noisy, lower = norms[1:], self._lower_share(norms[0])
        smaller = np.count_nonzero(noisy <= self.observed) / noisy.size / lower if lower > 0 else np.inf
        return np.count_nonzero(noisy >= self.observed) / noisy.size / (1 - lower), smaller

    def _lower_share(self, without_noise: float) -> float:
        """Return the share of alpha that the lower tail gets: half of it, less near 0."""
        smaller = self.of_nothing.searchsorted(without_noise, side="right")
        return float(smaller) / len(self.of_nothing) / 2


def _multiples(gaps: Floats, noise: Noise, level: float) -> list[_Multiples]:
    observed = float(noise.along(gaps)(1.0)[0])
    return [
        _Multiples(shape, noise.along(shape), noise.of_nothing, observed, 1 - level)
        for shape in _shapes(gaps, noise.gaps)
    ]


def _place_of(number: float, shape: Floats, norm: Norm) -> float:
    """Return the multiple of a shape whose norm is a number, or the largest one."""
    return _border(lambda s: float(norm(s * shape)) < number, 0.0, LARGEST_FACTOR) if number > 0 else 0.0


def _shapes(gaps: Floats, noise: Floats) -> list[Floats]:
    """Gaps whose sizes differ by no more than their noise leaves to explain; those that stand out; all alike, if so.

    Noise that all bins share can hide a gap that they all have, so that gaps alike in sign too are a shape of their
    own, as long as those observed differ by no more than noise does.
    """
    used = np.isfinite(noise)
    expected = np.square(noise, out=np.zeros_like(noise), where=used).sum(0) / np.maximum(used.sum(0), 1)
    size = np.abs(gaps)
    mean, spread = np.nanmean(size), float(np.nanvar(size))
    left = max(0.0, 1 - float(np.nanmean(expected)) / spread) if spread > 0 else 0.0
    alike = np.sign(gaps) * (mean + np.sqrt(left) * (size - mean))
    few = np.where((size > STANDS_OUT * np.sqrt(expected)) | np.isnan(gaps), gaps, 0.0)
    shapes = [alike, few] if np.nansum(np.abs(few)) > 0 else [alike]
    if np.nanvar(gaps) <= np.quantile(np.nanvar(noise, axis=-1), 0.95):
        shapes.append(np.where(np.isnan(gaps), np.nan, mean if np.nansum(gaps) >= 0 else -mean))
    return shapes


def _limits_along(one: _Multiples) -> tuple[float, float]:
    """Return the norms of the smallest and largest multiple of a shape that are compatible with the norm observed."""
    beyond = 1.0
    while not one.too_large(beyond) and beyond < LARGEST_FACTOR:
        beyond *= 2
    first = _border(one.too_small, 0.0, beyond) if one.too_small(0.0) else 0.0
    last = _border(lambda s: not one.too_large(s), first, beyond)
    return one.without_noise(first), one.without_noise(last)


def _border(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where what holds at `low` ceases to hold."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def rounded(limits: tuple[float, float]) -> tuple[float, float]:
    """Return limits to 12 digits: logarithms have other last digits on other machines."""
    low, high = (float(f"{limit:.12g}") for limit in limits)
    return low, high
