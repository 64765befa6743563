"""Sums of interval scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.statistic import Dimensions, Statistic


@dataclass(frozen=True)
class IntervalScores(Statistic):
    """Sums of the interval score of each level of a summary, float64 (..., levels); weighted where pixels are."""

    sums: NDArray[np.float64]
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {"sums": ("level",)}
    explained: ClassVar[Mapping[str, str]] = {"sums": "sums of the interval score of each level"}

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:
        """Return the sums of some of the levels that were kept."""
        return type(self)(self.sums[..., [kept.index(level) for level in levels]])
