"""Limits of norms of signed gaps, which are too large for any forecaster: from a test of what the true gaps may be.

A norm of noisy gaps is too large, and its replicates are too large once more: of a perfect forecaster, neither would
reach 0. So the true gaps are sought among s times a shape, s >= 0. An s is left out when the norm of s x shape + noise
is as large as the norm observed in too few replicates, or as small.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geouq.inference.limits import Replicates
from geouq.inference.noisy_norms import KINDS, limits_along, multiple_with, spreads_of, tails_of, write_norms
from geouq.metrics.norms import NormKind

Floats = NDArray[np.float64]
STANDS_OUT = 2.0  # times its noise


@dataclass(frozen=True)
class Noise:
    """What may lie between gaps observed and true ones, and the norm of gaps with it.

    Parameters
    ----------
    kind : str
        Of the norm. "ratios" : gaps are logarithms, and the norm adds weight x |ratio^power - 1|.
    gaps : float64 (R, gaps)
        Each noise; NaN where a gap is missing.
    weight : float64 (1 + R, gaps), optional
        Weights of gaps without noise and with each noise, for "squares" and "ratios". All 1 by default.
    levels : float64 (gaps), optional
        Ascending, of gaps of a curve, for "area" and "relative squares".
    """

    kind: NormKind
    gaps: Floats
    weight: Floats | None = None
    levels: Floats = field(default_factory=lambda: np.empty(0))
    power: float = 1.0

    def norm(self, gaps: Floats) -> float:
        """Return the norm of gaps without noise."""
        norm = np.empty(1)
        write_norms(self._number, 1.0, self.scaled(gaps), *self._alone, norm)
        return float(norm[0])

    def norms(self, gaps: Floats) -> Floats:
        """Return the norms of gaps without noise and with each, (1 + R)."""
        norms = np.empty(len(self.gaps) + 1)
        write_norms(self._number, 1.0, self.scaled(gaps), *self._columns, norms)
        return norms

    def scaled(self, gaps: Floats) -> Floats:
        """Return gaps as the compiled functions take them."""
        return self.power * np.where(np.isnan(gaps), 0.0, gaps) if self.kind == "ratios" else gaps

    @cached_property
    def spreads(self) -> tuple[Floats, Floats]:
        """Return the mean square of each gap over all noise, and the sorted variances of each noise over its gaps."""
        expected, spreads = spreads_of(np.ascontiguousarray(self.gaps))
        return expected, np.sort(spreads)

    @cached_property
    def of_nothing(self) -> Floats:
        """Return the sorted norms of the noise alone."""
        return np.sort(self.norms(np.zeros(self.gaps.shape[-1]))[1:])

    def tails(self, multiple: float, shape: Floats, observed: float) -> tuple[float, float]:
        """Return the largest alpha at which a multiple of a shape is not too small, and that at which not too large."""
        norms = np.empty(len(self.gaps) + 1)
        write_norms(self._number, multiple, self.scaled(shape), *self._columns, norms)
        return tails_of(norms, self.of_nothing, observed)

    def limits_along(self, shape: Floats, observed: float, alpha: float) -> tuple[float, float]:
        """Return the norms of the smallest and largest multiple of a shape that the observed norm does not leave out.

        The two tails share alpha evenly, but near 0, where nothing is too small: there the upper one gets what the
        lower one cannot use.
        """
        return limits_along(self._number, self.scaled(shape), *self._columns, self.of_nothing, observed, alpha)

    def multiple_with(self, number: float, shape: Floats) -> float:
        """Return the multiple of a shape whose norm without noise is a number, or the largest one."""
        return multiple_with(number, self._number, self.scaled(shape), *self._alone) if number > 0 else 0.0

    @property
    def _number(self) -> int:
        return KINDS[self.kind]

    @cached_property
    def _alone(self) -> tuple[Floats, Floats, Floats]:
        """Return the same as `_columns` of no noise."""
        columns, weight, at = self._columns
        return np.ascontiguousarray(columns[:, :1]), np.ascontiguousarray(weight[:, :1]), at

    @cached_property
    def _columns(self) -> tuple[Floats, Floats, Floats]:
        """Return no noise and all noise (gaps, 1 + R), their weights, and the levels or the distances between these.

        Of ratios, powers of the noise are taken once for all multiples; the weight is 0 where there is no gap.
        """
        noise = np.vstack([np.zeros(self.gaps.shape[-1]), self.gaps])
        weight = np.ones(noise.shape) if self.weight is None else self.weight
        if self.kind == "ratios":
            used = ~np.isnan(noise) & ~np.isnan(self.gaps).all(axis=0)
            noise = np.exp(self.power * np.where(used, noise, 0.0))
            weight = np.where(used & ~np.isnan(weight), weight, 0.0)
        at = np.diff([0.0, *self.levels, 1.0]) if self.kind == "area" else self.levels
        return np.ascontiguousarray(noise.T), np.ascontiguousarray(weight.T), at


def folded_limits(gaps: Floats, noise: Noise, level: float) -> tuple[float, float]:
    """Return the limits of the norm of the true gaps, where gaps (K) are those observed.

    They hold for all shapes that the gaps may have: nearly alike in size, 0 but for those that stand out, or all the
    same where they may be.
    """
    observed = noise.norm(gaps)
    if observed == 0:
        return 0.0, 0.0
    limits = [noise.limits_along(shape, observed, 1 - level) for shape in _shapes(gaps, noise.spreads)]
    return min(low for low, _ in limits), max(high for _, high in limits)


def folded_p_value(number: float, gaps: Floats, noise: Noise) -> float:
    """1 less the level from which on the limits of the norm of the true gaps hold a number: one test for each shape.

    Limits leave a number out where it is too small along every shape, or too large along every one.
    """
    observed = noise.norm(gaps)
    if observed == 0:
        return 1.0 if number == 0 else 0.0
    shapes = _shapes(gaps, noise.spreads)
    tails = [noise.tails(noise.multiple_with(number, shape), shape, observed) for shape in shapes]
    return min(max(small for small, _ in tails), max(large for _, large in tails), 1.0)


def _shapes(gaps: Floats, spreads_of_noise: tuple[Floats, Floats]) -> list[Floats]:
    """Gaps whose sizes differ by no more than their noise leaves to explain; those that stand out; all alike, if so.

    Noise that all bins share can hide a gap that they all have, so that gaps alike in sign too are a shape of their
    own, as long as those observed differ by no more than noise does.
    """
    expected, spreads = spreads_of_noise
    missing, size = np.isnan(gaps), np.abs(gaps)
    mean, spread = size[~missing].mean(), float(size[~missing].var())
    left = max(0.0, 1 - float(np.nanmean(expected)) / spread) if spread > 0 else 0.0
    alike = np.sign(gaps) * (mean + np.sqrt(left) * (size - mean))
    few = np.where((size > STANDS_OUT * np.sqrt(expected)) | missing, gaps, 0.0)
    shapes = [alike, few] if few[~missing].any() else [alike]
    if gaps[~missing].var() <= Replicates(spreads).limits(0.9)[1]:
        shapes.append(np.where(missing, np.nan, mean if gaps[~missing].sum() >= 0 else -mean))
    return shapes
