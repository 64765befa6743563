"""How large errors are where the predicted variance is large: pixels by variance and |z| together.

Variances have 64 keys an octave; |z| has 256 classes of 1/32, the last of which takes all from 255/32 on. From both
follows |error|, closely enough to put pixels in order.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.keyed_counts import KeyedCounts
from geouq.summary.variance_profile import lower_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASSES, CLASSES_IN_UNIT = 256, 32
SHIFT = 17  # bits of the float32 variance that are left out
ROWS = 1 << (31 - SHIFT)


@dataclass(frozen=True)
class OrderingProfile(KeyedCounts):
    """Pixels by variance and |z|: a key is that of the variance times 256, plus the class of |z|; one column."""

    @classmethod
    def of(cls, first: int, table: Floats) -> Self:
        """From a table whose rows are keys of the variance from `first` on, and whose columns are classes."""
        row, column = np.nonzero(table)
        return cls((row + first) * CLASSES + column, table[row, column][:, np.newaxis])

    @property
    def n(self) -> Floats:
        """Pixels of each key, (..., keys)."""
        return self.counts[..., 0]

    @property
    def variance(self) -> Floats:
        """The variance in the middle of each key, (keys)."""
        rows = self.keys // CLASSES
        return (lower_bound(rows, SHIFT) + lower_bound(rows + 1, SHIFT)) / 2

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether |z| has no upper bound, (keys)."""
        return self.keys % CLASSES == CLASSES - 1

    @property
    def squared_error(self) -> Floats:
        """The squared error in the middle of each key, (keys)."""
        size = (self.keys % CLASSES + 0.5) / CLASSES_IN_UNIT
        return self.variance * (size**2 + 1 / (12 * CLASSES_IN_UNIT**2))
