"""Proper scores: a forecaster does best by saying what it believes. All are means over pixels; lower is better."""

import numpy as np
from numpy.typing import NDArray

from geouq.summary import Summary

Floats = NDArray[np.float64]


def nll(summary: Summary) -> Floats:
    """Negative log-likelihood 1/2 log(2 pi v) + e^2 / (2 v); unit 1 (of log density), lower is better."""
    return summary.moments.mean("nll")


def crps(summary: Summary) -> Floats:
    """Continuous ranked probability score of the normal forecast; in the variable's unit, lower is better.

    Gneiting and Raftery 2007; summed to within 5e-9 of the std at any pixel.
    """
    return summary.moments.mean("crps")


def interval_score(summary: Summary, level: float) -> Floats:
    """Width plus 2 / (1 - level) times what the truth lies outside; in the variable's unit, lower is better.

    Gneiting and Raftery 2007, eq. 43.
    """
    if level == summary.given:
        return summary.moments.mean("given_width") + 2 / (1 - level) * summary.moments.mean("given_miss")
    total = summary.interval_scores[..., summary.level_index(level)]
    return total / np.where(summary.n > 0, summary.moments.weight, np.nan)
