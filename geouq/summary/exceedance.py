"""Sums of each cell that tell the area in which the truth exceeds a threshold, and how certain that area is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

FIELDS = ("probability", "exceeded", "std", "variance", "error_square")
PREFIX = "exceedance_"


@dataclass(frozen=True)
class Exceedance(Statistic):
    """Sums of the probability p of exceeding a threshold and of o, 1 where the truth does and 0 elsewhere.

    sums : float64 (..., 5), weighted where pixels have weights, in the order of `FIELDS`: p, o, sqrt(p (1 - p)),
        p (1 - p), (p - o)^2.
    """

    threshold: float
    sums: NDArray[np.float64]
    dimensions: ClassVar[Dimensions] = {"sums": ("exceedance",)}
    explained: ClassVar[Mapping[str, str]] = {
        "sums": "sums over the pixels of what tells the area above a threshold",
        "exceedance": "what is added up of the probability p of exceeding it, and of o, 1 where the truth does",
    }

    def labels(self) -> dict[str, Any]:
        """Return what is added up."""
        return {"exceedance": list(FIELDS)}

    def spec(self) -> dict[str, Any]:
        """Return the threshold."""
        return {"threshold": self.threshold}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the sums that were saved."""
        return cls(float(spec["threshold"]), arrays["sums"])

    def __add__(self, other: Self) -> Self:
        if self.threshold != other.threshold:
            raise SummaryError(f"sums above {self.threshold:g} and above {other.threshold:g} do not add")
        return super().__add__(other)


def exceedance_name(place: int) -> str:
    """Return the name in a summary of the sums of the threshold at that place.

    >>> exceedance_name(0)
    'exceedance_0'
    """
    return f"{PREFIX}{place}"
