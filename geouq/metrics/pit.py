"""The probability integral transform PIT = Phi(z): uniform between 0 and 1 where predictions are calibrated."""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.record import NOT_NEGATIVE, SHARE, Around, metric
from geouq.metrics.sources import DAWID
from geouq.summary import Summary

Floats = NDArray[np.float64]


@metric(
    "mean PIT",
    unit="1",
    ideal="1/2",
    above="under-prediction",
    source=DAWID,
    bounds=SHARE,
    is_tested=True,
    part="shape",
    scale=Around(0.25),
    shown=("corrections",),
)
def pit_mean(summary: Summary) -> Floats:
    """Mean of PIT; unit 1, ideal 1/2, above it is under-prediction.

    To within 1e-5 for thousands of pixels, 2e-3 for few: pixels are added up by steps of z.
    """
    return 0.5 + summary.moments.mean("pit")


@metric(
    "std PIT",
    unit="1",
    ideal="1/sqrt(12)",
    above="truth too often in the tails",
    source=DAWID,
    bounds=NOT_NEGATIVE,
    is_tested=True,
    part="shape",
    scale=Around(0.1),
    shown=("corrections",),
)
def pit_std(summary: Summary) -> Floats:
    """Standard deviation (population) of PIT; unit 1, ideal 1/sqrt(12) = 0.2887, above it truth favours the tails."""
    spread = summary.moments.mean("pit_square") - summary.moments.mean("pit") ** 2
    return np.sqrt(np.maximum(spread, 0.0))
