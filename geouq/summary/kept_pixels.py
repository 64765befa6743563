"""Single pixels, kept so that an edge of a bin falls between two of them instead of within a key of the profile."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BUDGET = 1 << 20  # pixels a variable; 16 MB


def _none_kept() -> Floats:
    return np.empty(0)


def _no_keys() -> Ints:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class KeptPixels:
    """All pixels of some keys of a variance profile: those of the tail, and those wanted for exact edges.

    tail : keep every key that reaches highest variance / tail, so that `tail` bins of equal width are exact; 0 keeps
        no tail.
        Bin 1 of an equal-width binning ends at or above highest / tail, and the bins beyond it hold few pixels on
        real maps.
    wanted : int64 (keys), other keys kept whole, increasing.
    variance, squared_error : float64 (pixels), ordered by variance, then by squared error.
    """

    tail: int = 0
    wanted: Ints = field(default_factory=_no_keys)
    variance: Floats = field(default_factory=_none_kept)
    squared_error: Floats = field(default_factory=_none_kept)

    @classmethod
    def ordered(cls, tail: int, wanted: Ints, variance: Floats, squared_error: Floats) -> Self:
        """Kept pixels in their one order, whatever the order they came in."""
        order = np.lexsort((squared_error, variance))
        return cls(tail, wanted, variance[order], squared_error[order])

    def where(self, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Variance and squared error of the chosen pixels."""
        return self.variance[chosen], self.squared_error[chosen]
