"""Counts of pixels by key, and how they add."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class KeyedCounts:
    """Number of pixels (their weight, where they have one) by key, in columns.

    keys : int64 (keys), increasing; shared by all leading dimensions. counts : float64 (..., keys, columns).
    """

    keys: Ints
    counts: Floats

    def __add__(self, other: Self) -> Self:
        if self.counts.shape[-1] != other.counts.shape[-1]:
            raise SummaryError("these summaries count coverage at different levels; evaluate both with the same levels")
        keys = np.union1d(self.keys, other.keys)
        return type(self)(keys, self._spread(keys) + other._spread(keys))

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        return type(self)(self.keys, self.counts.sum(range(self.counts.ndim - 2)[axis]))

    def _spread(self, keys: Ints) -> Floats:
        counts = np.zeros((*self.counts.shape[:-2], len(keys), self.counts.shape[-1]))
        counts[..., np.searchsorted(keys, self.keys), :] = self.counts
        return counts
