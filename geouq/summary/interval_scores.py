"""Sums of interval scores and widths, and the level of given intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.distribution import Distribution
from geouq.core.errors import SummaryError
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic


@dataclass(frozen=True)
class IntervalScores(Statistic):
    """Sums of the interval score of each level of a summary, float64 (..., levels); weighted where pixels are."""

    sums: NDArray[np.float64]
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {"sums": ("level",)}
    explained: ClassVar[Mapping[str, str]] = {"sums": "sums of the interval score of each level"}

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:
        """Return the sums of some of the kept levels."""
        return type(self)(self.sums[..., [kept.index(level) for level in levels]])


@dataclass(frozen=True)
class IntervalWidths(Statistic):
    """Sums of the width of the central interval of each level, float64 (..., levels), and the distribution.

    Kept for other distributions than the normal one, whose widths follow from the std.
    """

    distribution: Distribution
    sums: NDArray[np.float64]
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {"sums": ("level",)}
    explained: ClassVar[Mapping[str, str]] = {"sums": "sums of the width of the central interval of each level"}

    def spec(self) -> dict[str, Any]:
        """Return the distribution."""
        return {"family": self.distribution.family, "parameter": self.distribution.parameter}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the widths that were saved."""
        return cls(Distribution(spec["family"], float(spec["parameter"])), arrays["sums"])

    def __add__(self, other: Self) -> Self:
        if self.distribution != other.distribution:
            raise SummaryError(f"summaries of {self.distribution} and {other.distribution} forecasts do not add")
        return super().__add__(other)

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:
        """Return the sums of some of the kept levels."""
        return type(self)(self.distribution, self.sums[..., [kept.index(level) for level in levels]])


@dataclass(frozen=True)
class GivenLevel(Statistic):
    """The level of the intervals whose sums are in the moments; there is none where a forecast gives no intervals."""

    level: float
    required: ClassVar[bool] = True

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return nothing: the sums are in the moments."""
        return ()

    def spec(self) -> dict[str, Any]:
        """Return the level."""
        return {"level": self.level}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:  # noqa: ARG003  there are none
        """Return the level that was saved."""
        return cls(float(spec["level"]))

    def __add__(self, other: Self) -> Self:
        if self != other:
            raise SummaryError(f"forecasts that give intervals of level {self.level} and {other.level} do not add")
        return self
