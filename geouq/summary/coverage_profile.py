"""How many pixels of (nearly) equal truth, mean or variance lie inside the intervals; groups are formed afterwards.

The key of a value is the leading bits of its float32, as in the variance profile (neighbouring keys differ by 1 part in
512), numbered in the order of the values, from -2^17 for the lowest negative ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.summary.keyed_counts import KeyedCounts
from geouq.summary.variance_profile import FINE_SHIFT, lower_bound

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSITIVE = 1 << (31 - FINE_SHIFT)  # number of keys on either side of 0
GROUPED_BY = ("truth", "mean", "variance")


def value_key(values: ArrayLike) -> Ints:
    """Key of each value: those of larger values are larger, and that of 0 is 0.

    >>> value_key([0.0, -0.0]).tolist(), (value_key([2.0, -2.0, 2.004]) - value_key(2.0)).tolist()
    ([0, 0], [0, -131073, 1])
    """
    bits = (np.asarray(values).astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.int64)
    size = (bits & 0x7FFFFFFF) >> FINE_SHIFT
    return np.where(bits >> 31, -1 - size, size)


@dataclass(frozen=True)
class CoverageProfile(KeyedCounts):
    """Number of pixels (their weight, where they have one) by key of a value and by which intervals hold the truth.

    counts : float64 (..., keys, levels + 1). Column k counts the pixels outside the k narrowest of the intervals, and
        inside all others: intervals of one pixel lie within each other.
    """

    def at(self, chosen: list[int]) -> Self:
        """The same pixels, told of some of the levels: places in the order of the widths of their intervals."""
        outside = np.searchsorted(np.sort(chosen), np.arange(self.counts.shape[-1]))
        counts = np.zeros((*self.counts.shape[:-1], len(chosen) + 1))
        np.add.at(np.moveaxis(counts, -1, 0), outside, np.moveaxis(self.counts, -1, 0))
        return type(self)(self.keys, counts)

    def grouped(self, groups: int, n: NDArray[np.int64]) -> Floats:
        """Counts (..., groups, levels + 1) of groups of equal numbers of pixels, in the order of the value.

        n : int64 (...), pixels. A group begins with the key of the k / groups quantile, as numpy interpolates it, so
        that equal values stay together; where many are equal, groups are empty. Of weighted pixels, groups have equal
        weights.
        """
        if groups not in self._grouped:
            first = self._first(groups, n)
            ends = np.zeros((*first.shape[:-1], 1), np.int64)
            places = np.concatenate([ends, first, ends + len(self.keys)], axis=-1)
            nothing = np.zeros((*self.counts.shape[:-2], 1, self.counts.shape[-1]))
            up_to = np.concatenate([nothing, np.cumsum(self.counts, axis=-2)], axis=-2)
            self._grouped[groups] = np.diff(np.take_along_axis(up_to, places[..., np.newaxis], axis=-2), axis=-2)
        return self._grouped[groups]

    def borders(self, groups: int, n: NDArray[np.int64]) -> Floats:
        """Values with which the groups but the first begin, (..., groups - 1), to the width of a key; NaN for none."""
        return np.append(_value_of(self.keys), np.nan)[self._first(groups, n)]

    @cached_property
    def _grouped(self) -> dict[int, Floats]:
        """Groups asked for so far: many metrics ask for the same."""
        return {}

    def _first(self, groups: int, n: NDArray[np.int64]) -> Ints:
        """Place of the key with which each group but the first begins, (..., groups - 1)."""
        total = self.counts.sum((-2, -1))
        single = np.divide(total, n, out=np.zeros(np.shape(total)), where=n > 0)
        up_to = np.cumsum(self.counts.sum(-1), -1)
        bounds = np.arange(1, groups) / groups * (total - single)[..., np.newaxis] + single[..., np.newaxis]
        return (up_to[..., np.newaxis, :] < bounds[..., np.newaxis]).sum(-1, dtype=np.int64)


def _value_of(keys: Ints) -> Floats:
    """The value of each key that is nearest to 0."""
    return np.where(keys < 0, -1.0, 1.0) * lower_bound(np.where(keys < 0, -1 - keys, keys), FINE_SHIFT)
