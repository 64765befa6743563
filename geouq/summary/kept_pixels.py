"""Single pixels, kept so that an edge of a bin falls between two of them instead of within a key of the profile."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BUDGET = 1 << 19  # pixels a variable; 8 MB
FEW = 1 << 16  # pixels


def _none_kept() -> Floats:
    return np.empty((0, 2))


def _no_keys() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class KeptPixels:
    """All pixels of some keys of a variance profile: those of the tail, and those wanted for exact edges.

    Of few pixels in memory, those of every key: then every binning is exact.

    tail : keep every key that reaches highest variance / tail, so that `tail` bins of equal width are exact; 0 keeps
        no tail.
        Bin 1 of an equal-width binning ends at or above highest / tail, and the bins beyond it hold few pixels on
        real maps.
    wanted : int64 (keys), other keys kept whole, increasing.
    pixels : float64 (pixels, 2 or 3), variance, squared error and, where pixels have weights, weight; in rows ordered
        by variance, then by the others.
    every : all pixels are kept; only while they are at most `FEW`, so that a sum keeps every pixel, or does not,
        whatever its parts.
    """

    tail: int = 0
    wanted: Ints = field(default_factory=_no_keys)
    pixels: Floats = field(default_factory=_none_kept)
    every: bool = False

    @classmethod
    def ordered(cls, tail: int, wanted: Ints, pixels: Floats) -> Self:
        """Kept pixels in their one order, whatever the order they came in."""
        return cls(tail, wanted, pixels).in_order()

    def in_order(self) -> Self:
        """The same in their one order."""
        return replace(self, pixels=self.pixels[np.lexsort(self.pixels.T[::-1])])

    @property
    def variance(self) -> Floats:
        """Predicted variance of each pixel."""
        return self.pixels[:, 0]

    def joined(self, other: Self) -> Floats:
        """Pixels of both; those of one that keeps none may lack weights."""
        if self.pixels.shape[1] == other.pixels.shape[1]:
            return np.concatenate([self.pixels, other.pixels])
        return self.pixels if len(self.pixels) else other.pixels
