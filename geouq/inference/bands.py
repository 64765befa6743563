"""How certain the points of curves are: limits of each for itself, from the resamples of a pool."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.inference.evaluation_unit import Blocks
from geouq.inference.limits import percentile_limits, widened
from geouq.inference.settings import FEWEST_EFFECTIVE
from geouq.metrics import MetricOptions, binned, calibration_curve
from geouq.summary import Summary

Floats = NDArray[np.float64]

PIT_BINS = 20


@dataclass(frozen=True)
class Bands:
    """Limits of the points of the curves of a pool, by the percentile bootstrap of its blocks.

    level : of each point for itself. blocks : number of blocks drawn. calibration : float64 (2, calibration levels), of
    the share of the truth below each quantile; mse : float64 (2, bins) by the name of the scheme; NaN where there are
    none. pit_effective : number of independent pixels whose PIT histogram of 20 bins would vary as much, NaN where the
    residuals are worth too few independent cells to tell, as are the limits then.
    """

    level: float
    blocks: int
    calibration: Floats
    mse: Mapping[str, Floats]
    pit_effective: float


def bands_of(whole: Summary, drawn: Summary, choices: MetricOptions, blocks: Blocks, level: float) -> Bands:
    """Bands around the curves of `whole`, whose resamples are `drawn`; all bins have the shared edges of `choices`."""
    widening = {
        name: reach.widening(level) if reach.effective >= FEWEST_EFFECTIVE else np.nan
        for name, reach in blocks.reaches.items()
    }
    mse = {}
    for scheme in choices.schemes:
        own, others = (
            binned(summary, scheme, (choices.shared_edges or {})[scheme.name]).mse for summary in (whole, drawn)
        )
        mse[scheme.name] = _limits(own, others, widening["squared_error"], level, (0.0, np.inf))
    farthest = float(np.maximum(widening["error"], widening["z_square"]))
    calibration = _calibration(whole, drawn, choices, widening["error"], level)
    return Bands(level, blocks.count, calibration, mse, _pit_effective(whole, drawn) / farthest**2)


def _calibration(whole: Summary, drawn: Summary, choices: MetricOptions, widening: float, level: float) -> Floats:
    levels = choices.calibration_levels
    try:
        others = calibration_curve(drawn, levels)
    except SummaryError:  # levels between those at which cells count
        return np.full((2, len(levels)), np.nan)
    return _limits(calibration_curve(whole, levels), others, widening, level, (0.0, 1.0))


def _limits(own: Floats, others: Floats, widening: float, level: float, bounds: tuple[float, float]) -> Floats:
    """Limits (2, points) of points, of which there are replicates (R, points)."""
    found = np.full((2, len(own)), np.nan)
    for k, estimate in enumerate(own):
        replicates = others[:, k]
        if np.isfinite([estimate, widening]).all() and np.isfinite(replicates).all():
            found[:, k] = widened(float(estimate), percentile_limits(replicates, level), widening, bounds)
    return found


def _pit_effective(whole: Summary, drawn: Summary) -> float:
    """Independent pixels whose shares of 20 bins would vary as much as those of the resamples; at most all pixels."""
    n, others = float(whole.n), drawn.z.regular(PIT_BINS) / drawn.moments.weight[:, np.newaxis]
    own = whole.z.regular(PIT_BINS) / whole.moments.weight
    spread = float(np.square(others - own).mean(0).sum())
    return min(n, float((own * (1 - own)).sum()) / spread) if spread > 0 else n
