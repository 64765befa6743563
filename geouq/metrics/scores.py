"""Proper scores: a forecaster does best by saying what it believes. All are means over pixels; lower is better."""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.record import NOT_NEGATIVE, AroundValue, metric
from geouq.metrics.sources import GNEITING
from geouq.summary import Summary

Floats = NDArray[np.float64]


@metric(
    "NLL",
    unit="1",
    ideal="small",
    above="worse",
    source=GNEITING,
    scale=AroundValue(2.0),
    rank=15,
    shown=("table", "comparison", "corrections"),
    is_guarded=True,
)
def nll(summary: Summary) -> Floats:
    """Negative log-likelihood 1/2 log(2 pi v) + e^2 / (2 v); unit 1 (of log density), lower is better."""
    return summary.moments.mean("nll")


@metric(
    "CRPS",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    bounds=NOT_NEGATIVE,
    heading="CRPS",
    rank=14,
    shown=("page", "table", "comparison", "regions", "differences", "recalibration", "corrections"),
)
def crps(summary: Summary) -> Floats:
    """Continuous ranked probability score of the normal forecast; in the variable's unit, lower is better.

    Gneiting and Raftery 2007; summed to within 5e-9 of the std at any pixel.
    """
    return summary.moments.mean("crps")


@metric(
    "IS",
    unit="unit",
    ideal="small",
    above="worse",
    source=GNEITING,
    choice="level",
    bounds=NOT_NEGATIVE,
    shown=("corrections",),
    is_guarded=True,
)
def interval_score(summary: Summary, level: float) -> Floats:
    """Width plus 2 / (1 - level) times what the truth lies outside; in the variable's unit, lower is better.

    Gneiting and Raftery 2007, eq. 43.
    """
    if level == summary.given:
        return summary.moments.mean("given_width") + 2 / (1 - level) * summary.moments.mean("given_miss")
    total = summary.interval_scores[..., summary.level_index(level)]
    return total / np.where(summary.n > 0, summary.moments.weight, np.nan)
