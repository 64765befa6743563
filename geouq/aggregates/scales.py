"""How well means are predicted, by the size of the area: mean z^2, coverage and scores under each correlation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import half_width
from geouq.aggregates.blocks import BlockMeans
from geouq.core.gaussian import crps, nll, quantile
from geouq.metrics.aggregate_names import FACTOR, MODELS, RMSE, coverage_name, crps_name, nll_name, zms_name

Floats = NDArray[np.float64]
FEWEST_BLOCKS = 10
FEWEST_FOLDS = 3
NO_AREA = "no area of this size"
TRUTH_ALONE = "the truth's own error is as large as the errors of means"


@dataclass(frozen=True)
class ScaleNumber:
    """A number of all areas of equal size.

    Parameters
    ----------
    metric : str
        `aggregate_zms_<model>`, `aggregate_coverage_<model>_<level>`, `aggregate_crps_<model>`,
        `aggregate_nll_<model>`, `aggregate_factor` or `aggregate_rmse`.
    value, low, high : float
        The number and its interval; NaN if there is none.
    reason : str
        Why there is no interval, or "".
    """

    metric: str
    value: float
    low: float
    high: float
    reason: str = ""


def numbers_of_scale(blocks: BlockMeans, levels: Sequence[float], interval: float) -> list[ScaleNumber]:
    """Return mean z^2, coverage, scores, factor and RMSE of the means of areas, with intervals by a jackknife of folds.

    Parameters
    ----------
    blocks : BlockMeans
        Means of areas of equal size.
    levels : sequence of float
        Of the intervals of the means whose coverage is given.
    interval : float
        Level of the intervals of the numbers.
    """
    found = []
    for model, z_square in squared_z(blocks).items():
        known = np.isfinite(z_square)
        values = {zms_name(model): z_square} | {
            coverage_name(model, level): is_covered(z_square, level) for level in levels
        }
        values |= scores_of(blocks, model)
        fold = blocks.fold[known]
        found += [_number(name, own[known].astype(np.float64), fold, interval) for name, own in values.items()]
    known = np.isfinite(blocks.error)
    rmse = _root(RMSE, _number("", blocks.error[known] ** 2, blocks.fold[known], interval))
    return [*found, _factor(blocks, interval), rmse]


def _factor(blocks: BlockMeans, interval: float) -> ScaleNumber:
    """Return the factor of the std of means with the fitted correlation, after which mean z^2 is one.

    The truth's own error is no part of that std, and is taken from the squared errors.
    """
    ratio = (blocks.error**2 - blocks.noise) / (blocks.fitted - blocks.noise)
    known = np.isfinite(ratio)
    square = _number("", ratio[known], blocks.fold[known], interval)
    if square.value < 0:
        return ScaleNumber(FACTOR, np.nan, np.nan, np.nan, TRUTH_ALONE)
    return _root(FACTOR, square)


def scores_of(blocks: BlockMeans, model: str) -> dict[str, Floats]:
    """Return the CRPS and the negative log-likelihood of the normal forecast of each mean under a model, by name."""
    variance = getattr(blocks, model)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            crps_name(model): crps(blocks.error, variance, 0.0),
            nll_name(model): nll(blocks.error, variance, 0.0),
        }


def squared_z(blocks: BlockMeans) -> dict[str, Floats]:
    """Return the squared errors of the means of areas by their variance, under each model of correlation."""
    return {model: blocks.error**2 / getattr(blocks, model) for model in MODELS}


def is_covered(z_square: Floats, level: float) -> NDArray[np.bool_]:
    """Return whether the interval of a level holds the true mean of each area."""
    return z_square <= quantile((1 + level) / 2) ** 2


def _root(name: str, square: ScaleNumber) -> ScaleNumber:
    """Return the root of a number."""
    value, low, high = np.sqrt([square.value, square.low, square.high]).tolist()
    return ScaleNumber(name, value, low, high, square.reason)


def _number(name: str, values: Floats, fold: NDArray[np.int64], interval: float) -> ScaleNumber:
    """Return the mean of some values, with an interval: in 0 to 1 for a coverage, above 0 for others but NLL."""
    if not len(values):
        return ScaleNumber(name, np.nan, np.nan, np.nan, NO_AREA)
    mean, folds = float(values.mean()), np.unique(fold)
    if len(values) < FEWEST_BLOCKS or len(folds) < FEWEST_FOLDS:
        return ScaleNumber(name, mean, np.nan, np.nan, too_few(len(values)))
    left_out = np.array([values[fold != own].mean() for own in folds])
    spread = float(np.sqrt((len(folds) - 1) * left_out.var()))
    half = half_width(interval, len(folds) - 1)
    if "coverage" in name:
        return ScaleNumber(name, mean, *_share_limits(mean, _uncorrelated(mean, spread, len(values), len(folds)), half))
    if "_nll_" in name:
        return ScaleNumber(name, mean, mean - half * spread, mean + half * spread)
    if not mean > 0:
        return ScaleNumber(name, mean, np.nan, np.nan, "all errors are 0")
    factor = float(np.exp(half * spread / mean))
    return ScaleNumber(name, mean, mean / factor, mean * factor)


def too_few(areas: int) -> str:
    """Return why so many areas give no interval."""
    return f"{areas} areas are too few"


def _uncorrelated(share: float, spread: float, areas: int, folds: int) -> float:
    """Return the number of uncorrelated areas whose share has this standard error; at most that of the areas.

    If all areas agree there is no standard error, and each fold counts as one area.
    """
    if not 0 < share < 1:
        return float(folds)
    return min(share * (1 - share) / spread**2, areas) if spread > 0 else float(areas)


def _share_limits(share: float, count: float, half: float) -> tuple[float, float]:
    """Return the limits of a share of a number of uncorrelated areas (Wilson 1927)."""
    centre = share + half**2 / (2 * count)
    width = half * np.sqrt(share * (1 - share) / count + half**2 / (4 * count**2))
    size = 1 + half**2 / count
    return max(float((centre - width) / size), 0.0), min(float((centre + width) / size), 1.0)
