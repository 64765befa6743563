"""Intervals of the numbers of a map: those of geouq, and those of independent pixels."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.core.gaussian import crps, half_width, nll
from geouq.inference import Blocks, Interval, Intervals, infer
from geouq.metrics import MetricOptions
from geouq.summary import TilePlace, VariableSummary, add_all
from geouq.sweep.settings import cell_size_for
from simulated.forecasts import LEVEL
from simulated.maps import Layers, Layout

Floats = NDArray[np.float64]
Limits = Mapping[str, tuple[float, float]]

CHOICES = MetricOptions((LEVEL,), (EQUAL_COUNT_10,))
NUMBERS = ("bias", "mae", "rmse", "zms", "coverage_90", "nll", "crps", "uce", "ence")
METRICS = ("bias", "mae", "rmse", "zms", "coverage", "nll", "crps", "uce", "ence")


def by_blocks(
    layers: Layers, layout: Layout, settings: Intervals, cell_size: int | None = None
) -> tuple[Mapping[str, Interval], Blocks]:
    """Intervals of geouq and their blocks; ValueError where no pixel is valid.

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
        wanted=METRICS,
    )
    if inference.blocks is None:
        raise ValueError("a map without any valid pixel has no blocks")
    return {one.metric: one for one in inference.intervals}, inference.blocks


def by_pixels(layers: Layers, level: float) -> Limits:
    """Return the normal limits of means of independent pixels; none of UCE and ENCE."""
    mean, variance, truth = layers
    valid = np.isfinite(truth)
    error, v = (mean - truth)[valid], variance[valid]
    z_square = error**2 / v
    return {
        "bias": _normal(error, level),
        "mae": _normal(np.abs(error), level),
        "rmse": tuple(np.sqrt(_normal(error**2, level))),
        "zms": _normal(z_square, level),
        "coverage_90": _normal(z_square <= half_width(LEVEL) ** 2, level),
        "nll": _normal(nll(mean[valid], v, truth[valid]), level),
        "crps": _normal(crps(mean[valid], v, truth[valid]), level),
    }


def _summary(layers: Layers, cell_size: int) -> VariableSummary:
    mean, variance, truth = layers
    tail = 0  # bins of equal width alone need pixels one by one
    return summarize_arrays(mean, variance, truth, CHOICES.levels, cell_size=cell_size, tail=tail)


def _normal(values: NDArray[np.generic], level: float) -> tuple[float, float]:
    away = half_width(level) * values.std() / np.sqrt(values.size)
    return float(values.mean() - away), float(values.mean() + away)
