"""Norms of gaps between what is predicted and what is observed, over the last dimension, and weights of the gaps."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geouq.config import CalibrationWeights
from geouq.summary import Binned

Floats = NDArray[np.float64]
Levels = Sequence[float]
NormKind = Literal[
    "mean size", "root mean square", "root mean square below", "squares", "relative squares", "area", "ratios"
]


def variance_weight(per_bin: Binned) -> Floats:
    """Return what each bin adds to the mean variance."""
    return per_bin.share * per_bin.mean_variance


def equal_weight(per_bin: Binned) -> Floats:
    """Return the same weight for each bin."""
    return np.ones(per_bin.n.shape)


def squared_error(observed: Floats, levels: Levels, weights: CalibrationWeights) -> Floats:
    """Return the weighted sum over levels of the squared distance of a curve (..., levels) from the diagonal."""
    squared = np.square(observed - levels)
    if weights == "equal":
        return squared.sum(-1)
    mean = observed.mean(-1, keepdims=True)
    relative = observed / np.where(mean > 0, mean, 1.0)
    return (np.where(mean > 0, relative, 1.0) * squared).sum(-1)


def area_to_diagonal(gaps: Floats, levels: Levels) -> Floats:
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
