"""Forecasts of exceeding a threshold: sums by bin of the probability, for Brier scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]

BINS = 10
FIELDS = ("n", "probability", "probability_square", "exceeded", "probability_exceeded")


@dataclass(frozen=True)
class ThresholdSums(Statistic):
    """Sums of p = P(y > t) and of o, 1 where y > t and 0 elsewhere, for some thresholds t, in ten bins of p.

    sums : float64 (..., thresholds, 10, 5), weighted where pixels have weights, in the order of `FIELDS`: n, p, p^2, o,
        p o.
    """

    thresholds: tuple[float, ...]
    sums: Floats
    required: ClassVar[bool] = True
    kept_by_cell: ClassVar[bool] = False
    dimensions: ClassVar[Dimensions] = {"thresholds": ("*threshold",), "sums": ("*threshold", "p_bin", "threshold_sum")}
    explained: ClassVar[Mapping[str, str]] = {
        "thresholds": "values that the truth is forecast to exceed",
        "sums": "sums over the pixels in ten bins of the probability of exceeding",
        "threshold_sum": "what is added up of the probability p of exceeding, and of o, 1 where the truth does",
    }

    def to_arrays(self) -> dict[str, Array]:
        """Return thresholds and sums."""
        return {"thresholds": np.array(self.thresholds, np.float64), "sums": self.sums}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:  # noqa: ARG003  arrays tell all
        """Return the sums that were saved."""
        thresholds = tuple(map(float, arrays.get("thresholds", ())))
        return cls(thresholds, arrays.get("sums", np.empty((0, BINS, len(FIELDS)))))

    def addends(self) -> dict[str, Array]:
        """Return the sums."""
        return {"sums": self.sums}

    def labels(self) -> dict[str, Any]:
        """Return what is added up."""
        return {"threshold_sum": list(FIELDS)}

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return other sums of the same thresholds."""
        return type(self)(self.thresholds, arrays["sums"])

    def __add__(self, other: Self) -> Self:
        if self.thresholds != other.thresholds:
            raise SummaryError(f"summaries of thresholds {self.thresholds} and {other.thresholds} do not add")
        return super().__add__(other)

    def of(self, threshold: float) -> Floats:
        """Return sums of one threshold, (..., 10, 5); SummaryError where it was not kept."""
        if threshold not in self.thresholds:
            kept = ", ".join(f"{t:g}" for t in self.thresholds) or "none"
            raise SummaryError(f"threshold {threshold:g} was not kept; the thresholds of this summary are {kept}")
        return self.sums[..., self.thresholds.index(threshold), :, :]


def no_thresholds(thresholds: tuple[float, ...] = ()) -> ThresholdSums:
    """Return the sums of no pixel."""
    return ThresholdSums(thresholds, np.zeros((len(thresholds), BINS, len(FIELDS))))
