"""Limits of norms of signed gaps, which are too large for any forecaster: a test of what the true gaps may be."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Norm = Callable[[Floats], Floats]
LARGEST_FACTOR = 64.0  # by which gaps may be larger than those observed
STANDS_OUT = 2.0  # times its noise
STEPS = 20  # halvings; 2^-20 of the interval is left


@dataclass(frozen=True)
class Noise:
    """What may lie between gaps observed and true ones, float64 (R, gaps), and the norm of gaps (R, gaps) with it."""

    gaps: Floats
    norm: Norm


def folded_limits(gaps: Floats, noise: Noise, norm: Norm, level: float) -> tuple[float, float]:
    """Limits of norm(true gaps), where gaps (K) are those observed.

    A norm of noisy gaps is too large, and its replicates are too large once more: of a perfect forecaster, neither
    would reach 0. So the true gaps are sought among s times a shape, s >= 0: an s is left out when noise.norm(s shape
    + noise) is as large as the norm observed in too few replicates, or as small. The limits hold for all shapes that
    the gaps may have: nearly alike in size, 0 but for those that stand out, or all the same where they may be.
    """
    if float(norm(gaps)) == 0:
        return 0.0, 0.0
    found = [_limits_along(one) for one in _multiples(gaps, noise, norm, level)]
    return min(low for low, _ in found), max(high for _, high in found)


def folded_p_value(number: float, gaps: Floats, noise: Noise, norm: Norm) -> float:
    """1 less the level from which on the limits of norm(true gaps) hold a number: one test for each shape.

    Limits leave a number out where it is too small along every shape, or too large along every one.
    """
    if float(norm(gaps)) == 0:
        return 1.0 if number == 0 else 0.0
    tails = [one.tails(one.place_of(number)) for one in _multiples(gaps, noise, norm, 0.0)]
    return min(max(small for small, _ in tails), max(large for _, large in tails), 1.0)


@dataclass(frozen=True)
class _Multiples:
    """Gaps that are s times a shape, and which s are compatible with the norm observed.

    The two tails share alpha evenly, but near 0, where nothing is too small: there the upper one gets what the lower
    one cannot use.
    """

    shape: Floats
    noise: Noise
    norm: Norm
    observed: float
    alpha: float

    def without_noise(self, s: float) -> float:
        """Return the norm of gaps of size s without noise."""
        return float(self.norm(s * self.shape))

    def place_of(self, number: float) -> float:
        """Return the s at which the norm without noise is a number, or the largest one."""
        return _border(lambda s: self.without_noise(s) < number, 0.0, LARGEST_FACTOR) if number > 0 else 0.0

    def too_small(self, s: float) -> bool:
        """Return whether gaps of size s are too small for the observed norm."""
        return self.tails(s)[0] <= self.alpha

    def too_large(self, s: float) -> bool:
        """Return whether gaps of size s are too large for the observed norm."""
        return self.tails(s)[1] <= self.alpha

    def tails(self, s: float) -> tuple[float, float]:
        """Return the largest alpha at which s is not too small, and that at which it is not too large."""
        noisy, lower = self.noise.norm(s * self.shape + self.noise.gaps), self._lower_share(s)
        smaller = float((noisy <= self.observed).mean())
        return float((noisy >= self.observed).mean()) / (1 - lower), smaller / lower if lower > 0 else np.inf

    @cached_property
    def _of_nothing(self) -> Floats:
        return np.sort(self.noise.norm(self.noise.gaps))

    def _lower_share(self, s: float) -> float:
        """Share of alpha that the lower tail gets: half of it, less near 0."""
        smaller = np.searchsorted(self._of_nothing, self.without_noise(s), side="right")
        return float(smaller) / len(self._of_nothing) / 2


def _multiples(gaps: Floats, noise: Noise, norm: Norm, level: float) -> list[_Multiples]:
    observed = float(norm(gaps))
    return [_Multiples(shape, noise, norm, observed, 1 - level) for shape in _shapes(gaps, noise.gaps)]


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
    """Norms of the smallest and largest multiple of a shape that are compatible with the norm observed."""
    beyond = 1.0
    while not one.too_large(beyond) and beyond < LARGEST_FACTOR:
        beyond *= 2
    first = _border(one.too_small, 0.0, beyond) if one.too_small(0.0) else 0.0
    last = _border(lambda s: not one.too_large(s), first, beyond)
    return one.without_noise(first), one.without_noise(last)


def _border(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where what holds at `low` ceases to hold."""
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
