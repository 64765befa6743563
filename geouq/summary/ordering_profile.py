"""How large errors are where the predicted variance is large: pixels by variance and |z| together.

Variances have 64 keys an octave; |z| has 8 classes an octave from 2^-16 to 2^16; the first class takes all
below, the last all above. From both follows |error|, closely enough to put pixels in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.keyed_counts import KeyedCounts
from geouq.summary.statistic import Partition
from geouq.summary.variance_profile import equal_classes, lower_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASSES = 256
CLASS_SHIFT = 20  # bits of the float32 |z| that are left out
FIRST_CLASS = (127 - 16) << (23 - CLASS_SHIFT)  # key of 2^-16
SHIFT = 17  # bits of the float32 variance that are left out
ROWS = 1 << (31 - SHIFT)
ERROR_CLASSES, VARIANCE_CLASSES = 200, 40  # of resamples: each holds about as many pixels of the whole


@dataclass(frozen=True)
class OrderingProfile(KeyedCounts):
    """Pixels by variance and |z|: a key is the key of the variance times 256, plus the class of |z|; one column."""

    FIRST_KEY: ClassVar[int] = 0
    kept_by_cell: ClassVar[bool] = False
    LAST_KEY: ClassVar[int] = ROWS * CLASSES
    explained: ClassVar[Mapping[str, str]] = {
        "keys": "leading bits of the float32 variance, shifted right by 17, times 256, plus the class of |z|",
        "counts": "pixels (weights) of one key of the variance and one class of |z|, 8 an octave from 2^-16 on",
    }

    @classmethod
    def of(cls, keys: Ints, table: Floats) -> Self:
        """From a table whose rows are of these keys of the variance, and whose columns are classes."""
        row, column = np.nonzero(table)
        return cls(keys[row] * CLASSES + column, table[row, column][:, np.newaxis])

    @property
    def n(self) -> Floats:
        """Return the pixels of each key, (..., keys)."""
        return self.counts[..., 0]

    @property
    def variance(self) -> Floats:
        """Return the variance in the middle of each key, (keys)."""
        rows = self.keys // CLASSES
        return (lower_bound(rows, SHIFT) + lower_bound(rows + 1, SHIFT)) / 2

    @property
    def squared_error(self) -> Floats:
        """Return the squared error in the middle of each key, (keys); 0 in the first class of |z|."""
        low, high = self.z_ends
        return np.where(low == 0, 0.0, self.variance * ((low + high) ** 2 / 4 + (high - low) ** 2 / 12))

    @property
    def z_ends(self) -> tuple[Floats, Floats]:
        """Return the lowest and the highest |z| of each key's class, (keys) each; the first class begins at 0."""
        size = self.keys % CLASSES
        low, high = (lower_bound(size + FIRST_CLASS + more, CLASS_SHIFT) for more in (0, 1))
        return np.where(size == 0, 0.0, low), high

    def basis(self, partition: Partition) -> "OrderBasis":  # noqa: ARG002  any parts
        """Return classes of the errors and of the variances of this whole, and all pairs of the two."""
        errors, variances = (
            equal_classes(values, self.n, count)
            for values, count in ((self.squared_error, ERROR_CLASSES), (self.variance, VARIANCE_CLASSES))
        )
        size = errors.max(initial=0) + 1
        both = variances * size + errors
        pairs = np.arange(both.max(initial=-1) + 1)
        of_variance, of_error = _means(self.variance, self.n, variances), _means(self.squared_error, self.n, errors)
        return OrderBasis(self.keys, both, of_variance[pairs // size], of_error[pairs % size])


@dataclass(frozen=True)
class OrderBasis:
    """The basis of an order: few classes, so that a row has some thousand numbers at most.

    Parameters
    ----------
    keys : int64 (keys)
        Keys of the whole.
    both : int64 (keys)
        Number of the pair of classes of each key.
    variances, squared_errors : float64 (pairs)
        Mean values of the pixels of each pair.
    """

    keys: Ints
    both: Ints
    variances: Floats
    squared_errors: Floats

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.variances)

    def to_rows(self, part: OrderingProfile, count: int) -> Floats:
        """Return the pixels by pairs of classes, float64 (count, width)."""
        both = self.both[np.searchsorted(self.keys, part.keys)]
        n = part.n.reshape(count, -1)
        return np.stack([np.bincount(both, pixels, self.width) for pixels in n])

    def from_rows(self, rows: Floats) -> OrderingProfile:
        """Return the order of the classes, which are the keys."""
        return _Ordered(np.arange(self.width), rows[:, :, np.newaxis], self.variances, self.squared_errors)


@dataclass(frozen=True)
class _Ordered(OrderingProfile):
    """Pixels by pairs of classes, whose values are known."""

    variances: Floats
    squared_errors: Floats

    @property
    def variance(self) -> Floats:
        """Return the variances."""
        return self.variances

    @property
    def squared_error(self) -> Floats:
        """Return the squared errors."""
        return self.squared_errors


def _means(values: Floats, n: Floats, classes: Ints) -> Floats:
    weight = np.bincount(classes, n)
    return np.bincount(classes, n * values) / np.where(weight > 0, weight, 1.0)
