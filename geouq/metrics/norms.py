"""Norms of signed gaps between what is predicted and what is observed, over the last dimension of the gaps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.config import CalibrationWeights
from geouq.core.compiled import compiled_for
from geouq.summary import Binned

Floats = NDArray[np.float64]
Levels = Sequence[float]


def variance_weight(per_bin: Binned) -> Floats:
    """Return what each bin adds to the mean variance."""
    return per_bin.share * per_bin.mean_variance


def equal_weight(per_bin: Binned) -> Floats:
    """Return the same weight for each bin."""
    return np.ones(per_bin.n.shape)


def root_mean_square(gaps: Floats, _: Floats) -> Floats:
    """Return the root mean square of the gaps that are not NaN."""
    used = np.isfinite(gaps).sum(-1)
    return np.sqrt(np.nansum(np.square(gaps), axis=-1) / np.maximum(used, 1))


def root_mean_square_below(gaps: Floats, weight: Floats) -> Floats:
    """Return the root mean square of the gaps below 0; 0 if there is none."""
    return root_mean_square(np.where(gaps < 0, gaps, np.nan), weight)


def weighted_square(gaps: Floats, weight: Floats) -> Floats:
    """Return the weighted sum of the squares."""
    return np.nansum(weight * np.square(gaps), axis=-1)


@dataclass(frozen=True)
class CurveNorm:
    """A norm of the gaps of a curve.

    Parameters
    ----------
    of_rows : callable
        Of gaps (..., levels), the levels and their weights.
    of_columns : callable
        The same of gaps (levels) + noise (levels, N), and the distances between levels and to 0 and 1, for weights
        that are all equal; float64 (N). It takes a tenth of the time, in a search that needs thousands of norms.
    """

    of_rows: Callable[[Floats, Levels, CalibrationWeights], Floats]
    of_columns: Callable[[Floats, Floats, Floats], Floats]


def mean_absolute(gaps: Floats, _: Levels, __: CalibrationWeights) -> Floats:
    """Return the mean absolute gap of the levels."""
    return np.abs(gaps).mean(-1)


def root_mean_square_of_levels(gaps: Floats, _: Levels, __: CalibrationWeights) -> Floats:
    """Return the root mean square gap of the levels."""
    return np.sqrt(np.square(gaps).mean(-1))


def squared_error(observed: Floats, levels: Levels, weights: CalibrationWeights) -> Floats:
    """Return the weighted sum over levels of the squared distance of a curve (..., levels) from the diagonal."""
    squared = np.square(observed - levels)
    if weights == "equal":
        return squared.sum(-1)
    mean = observed.mean(-1, keepdims=True)
    relative = observed / np.where(mean > 0, mean, 1.0)
    return (np.where(mean > 0, relative, 1.0) * squared).sum(-1)


def sum_of_squares(gaps: Floats, levels: Levels, weights: CalibrationWeights) -> Floats:
    """Return the weighted sum over levels of the squared gap."""
    return squared_error(gaps + levels, levels, weights)


def area_to_diagonal(gaps: Floats, levels: Levels, _: CalibrationWeights = "equal") -> Floats:
    """Return the area between the diagonal and the line through the points of a curve and both corners."""
    order = np.argsort(levels)
    p = np.array([0.0, *np.asarray(levels)[order], 1.0])
    ends = np.zeros((*gaps.shape[:-1], 1))
    gap = np.concatenate([ends, gaps[..., order], ends], axis=-1)
    size, square, below, above = np.abs(gap), np.square(gap), gap < 0, gap > 0
    height = size[..., :-1] + size[..., 1:]
    # two triangles that meet on the diagonal, or one trapezium
    crossing = (below[..., :-1] & above[..., 1:]) | (above[..., :-1] & below[..., 1:])
    np.divide(square[..., :-1] + square[..., 1:], height, out=height, where=crossing)
    return (np.diff(p) * height / 2).sum(-1)


@compiled_for("f8[::1], f8[:,::1]")
def _sums_of_sizes(gaps: Floats, noise: Floats) -> Floats:
    sums = np.zeros(noise.shape[1])
    for k in range(len(gaps)):
        for i in range(len(sums)):
            sums[i] += abs(gaps[k] + noise[k, i])
    return sums


@compiled_for("f8[::1], f8[:,::1]")
def _sums_of_squares(gaps: Floats, noise: Floats) -> Floats:
    sums = np.zeros(noise.shape[1])
    for k in range(len(gaps)):
        for i in range(len(sums)):
            sums[i] += (gaps[k] + noise[k, i]) ** 2
    return sums


@compiled_for("f8[::1], f8[:,::1], f8[::1]")
def _areas(gaps: Floats, noise: Floats, widths: Floats) -> Floats:
    areas, before = np.zeros(noise.shape[1]), np.zeros(noise.shape[1])
    for k in range(len(widths)):
        for i in range(len(areas)):
            gap = gaps[k] + noise[k, i] if k < len(gaps) else 0.0
            height = abs(before[i]) + abs(gap)
            # two triangles that meet on the diagonal, or one trapezium
            crossed = (before[i] ** 2 + gap**2) / height if before[i] * gap < 0 else height
            areas[i] += widths[k] * crossed / 2
            before[i] = gap
    return areas


MEAN_ABSOLUTE = CurveNorm(mean_absolute, lambda gaps, noise, _: _sums_of_sizes(gaps, noise) / len(gaps))
ROOT_MEAN_SQUARE = CurveNorm(
    root_mean_square_of_levels, lambda gaps, noise, _: np.sqrt(_sums_of_squares(gaps, noise) / len(gaps))
)
SUM_OF_SQUARES = CurveNorm(sum_of_squares, lambda gaps, noise, _: _sums_of_squares(gaps, noise))
AREA = CurveNorm(area_to_diagonal, _areas)
