"""Pixels of several patches in one dimension, and robust statistics of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import Patch

Floats = NDArray[np.float64]
FEWEST = 500  # pixels below which nothing is reported
MOST = 60_000  # pixels of a statistic; more are thinned at equal distances
NORMAL_IQR = 1.348980  # interquartile range of a standard normal


def joined(patches: Sequence[Patch], layer: str) -> Floats:
    """Return the pixels of one layer that count."""
    parts = [values[np.isfinite(values)] for patch in patches for values in [getattr(patch, layer)]]
    return np.concatenate(parts) if parts else np.empty(0)


def thinned(*layers: Floats) -> tuple[Floats, ...]:
    """Return at most `MOST` pixels, the same of each layer."""
    step = -(-len(layers[0]) // MOST) or 1
    return tuple(layer[::step] for layer in layers)


def spread(values: Floats) -> float:
    """Return a robust std: the interquartile range, or the std where that is 0."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float((high - low) / NORMAL_IQR) or float(values.std())


def pearson(one: Floats, other: Floats) -> float:
    """Return the correlation, 0 where one of them is constant."""
    a, b = one - one.mean(), other - other.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0
