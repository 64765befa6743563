"""Forecasts of exceeding a threshold: sums by bin of the probability, of which Brier scores are made."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError

Floats = NDArray[np.float64]

BINS = 10
FIELDS = ("n", "probability", "probability_square", "exceeded", "probability_exceeded")


@dataclass(frozen=True)
class ThresholdSums:
    """Sums of p = P(y > t) and of o, 1 where y > t and 0 elsewhere, for some thresholds t, in ten bins of p.

    sums : float64 (..., thresholds, 10, 5), weighted where pixels have weights, in the order of `FIELDS`: n, p, p^2, o,
        p o.
    """

    thresholds: tuple[float, ...]
    sums: Floats

    def __add__(self, other: Self) -> Self:
        if self.thresholds != other.thresholds:
            raise SummaryError(f"summaries of thresholds {self.thresholds} and {other.thresholds} do not add")
        return type(self)(self.thresholds, self.sums + other.sums)

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        return type(self)(self.thresholds, self.sums.sum(range(self.sums.ndim - 3)[axis]))

    def of(self, threshold: float) -> Floats:
        """Return sums of one threshold, (..., 10, 5); SummaryError where it was not kept."""
        if threshold not in self.thresholds:
            kept = ", ".join(f"{t:g}" for t in self.thresholds) or "none"
            raise SummaryError(f"threshold {threshold:g} was not kept; the thresholds of this summary are {kept}")
        return self.sums[..., self.thresholds.index(threshold), :, :]


def no_thresholds(thresholds: tuple[float, ...] = ()) -> ThresholdSums:
    """Return the sums of no pixel."""
    return ThresholdSums(thresholds, np.zeros((len(thresholds), BINS, len(FIELDS))))
