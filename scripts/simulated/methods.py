"""Intervals of the numbers of a map: geouq's, and those that take pixels as independent."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.gaussian import half_width
from geouq.inference import Blocks, Interval, Intervals, infer
from geouq.metrics import Choices
from geouq.summary import TilePlace, VariableSummary, add_all
from geouq.sweep.settings import cell_size_for
from simulated.forecasts import BINS, LEVEL
from simulated.maps import Layers, Layout

Floats = NDArray[np.float64]
Limits = Mapping[str, tuple[float, float]]

CHOICES = Choices((LEVEL,), (EQUAL_COUNT_10,))
NUMBERS = ("bias", "rmse", "zms", "coverage_90", "uce", "ence")
DRAWS = 400


def by_blocks(
    layers: Layers, layout: Layout, settings: Intervals, cell_size: int | None = None
) -> tuple[Limits, Blocks]:
    """Intervals of geouq, NaN where there is none, and their blocks; ValueError where no pixel is valid.

    cell_size : of the cells; None for that which a run of these tiles chooses.
    """
    tiles = list(layout.tiles())
    cell_size = cell_size or cell_size_for(grid for *_, grid in tiles)
    parts = {name: _summary([layer[part] for layer in layers], cell_size) for name, part, _ in tiles}
    inference = infer(
        "all",
        add_all(part.whole for part in parts.values()),
        CHOICES,
        places=[TilePlace(name, grid, cell_size) for name, _, grid in tiles],
        cells_of=lambda tile: [(np.arange(len(parts[tile].cells)), parts[tile].cells)],
        settings=settings,
    )
    if inference.blocks is None:
        raise ValueError("a map without any valid pixel has no blocks")
    intervals = {one.metric: one for one in inference.intervals}
    return {name: _limits(intervals[name]) for name in NUMBERS}, inference.blocks


def by_pixels(layers: Layers, level: float, rng: np.random.Generator) -> Limits:
    """The normal limits of means of independent pixels; of UCE and ENCE, quantiles of a bootstrap of pixels.

    A bin holds so many pixels that its mean squared error in a resample is drawn from the normal distribution.
    """
    mean, variance, truth = layers
    valid = np.isfinite(truth)
    error, v = (mean - truth)[valid], variance[valid]
    z_square = error**2 / v
    within = z_square <= half_width(LEVEL) ** 2
    found = {
        "bias": _normal(error, level),
        "rmse": tuple(np.sqrt(_normal(error**2, level))),
        "zms": _normal(z_square, level),
        "coverage_90": _normal(within, level),
    }
    tails = (1 - level) / 2, (1 + level) / 2
    mse, mean_variance = _resampled_bins(error**2, v, rng)
    uce = np.abs(mse - mean_variance).mean(-1)
    ence = np.abs(1 - np.sqrt(mse / mean_variance)).mean(-1)
    return found | {name: tuple(np.quantile(one, tails)) for name, one in (("uce", uce), ("ence", ence))}


def _summary(layers: Layers, cell_size: int) -> VariableSummary:
    mean, variance, truth = layers
    tail = 0  # bins of equal width alone need pixels one by one
    return summarize_arrays(mean, variance, truth, CHOICES.levels, cell_size=cell_size, tail=tail)


def _limits(interval: Interval) -> tuple[float, float]:
    if interval.low is None or interval.high is None:
        return np.nan, np.nan
    return interval.low, interval.high


def _normal(values: NDArray[np.generic], level: float) -> tuple[float, float]:
    away = half_width(level) * values.std() / np.sqrt(values.size)
    return float(values.mean() - away), float(values.mean() + away)


def _resampled_bins(squared_error: Floats, variance: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Mean squared errors of bins of equal count in resamples, (draws, bins), and mean variances (bins)."""
    bins = np.array_split(np.argsort(variance.astype(np.float32)), BINS)
    mse, std, count, mean_variance = np.transpose(
        [(squared_error[own].mean(), squared_error[own].std(), own.size, variance[own].mean()) for own in bins]
    )
    return mse + std / np.sqrt(count) * rng.standard_normal((DRAWS, BINS)), mean_variance
