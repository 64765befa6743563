"""Counts of pixels by key, and how they add."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PAGE = 128  # keys


@dataclass(frozen=True)
class KeyedCounts(Statistic):
    """Number of pixels (their weight, where they have one) by key, in columns.

    keys : int64 (keys), increasing; shared by all leading dimensions.
    counts : float64 (..., keys, columns).
    """

    keys: Ints
    counts: Floats
    dimensions: ClassVar[Dimensions] = {"keys": ("*key",), "counts": ("*key", "column")}

    def to_arrays(self) -> dict[str, Array]:
        """Return keys, which fit into 32 bits, and counts, in float32 where that holds them."""
        return dict(self._saved)

    @cached_property
    def _saved(self) -> dict[str, Array]:
        """Return the same, made once: the size of the arrays is wanted before they are."""
        few = self.counts.astype(np.float32)
        return {"keys": self.keys.astype(np.int32), "counts": few if (few == self.counts).all() else self.counts}

    def spec(self) -> dict[str, Any]:
        """Return the number of columns."""
        return {"columns": self.counts.shape[-1]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the counts that were saved."""
        keys = arrays.get("keys", np.empty(0, np.int32)).astype(np.int64)
        return cls(keys, arrays.get("counts", np.empty((0, spec["columns"]))).astype(np.float64))

    def running(self) -> "RunningCounts":
        """Return a sum with this statistic, to add others to."""
        return RunningCounts(self)

    def __add__(self, other: Self) -> Self:
        if self.counts.shape[-1] != other.counts.shape[-1]:
            raise SummaryError("these summaries count coverage at different levels; evaluate both with the same levels")
        keys = np.union1d(self.keys, other.keys)
        return type(self)(keys, self._spread(keys) + other._spread(keys))

    def total(self, axis: int = 0) -> Self:
        """Return the sum over one leading axis."""
        return type(self)(self.keys, self.counts.sum(axis))

    def _spread(self, keys: Ints) -> Floats:
        counts = np.zeros((*self.counts.shape[:-2], len(keys), self.counts.shape[-1]))
        counts[..., np.searchsorted(keys, self.keys), :] = self.counts
        return counts


class RunningCounts:
    """Counts in pages of consecutive keys; only pages with counts take memory, and none is copied for one more sum."""

    def __init__(self, first: KeyedCounts) -> None:
        self._kind, self._columns = type(first), first.counts.shape[-1]
        self._counts: dict[int, Floats] = {}
        self._used: dict[int, NDArray[np.bool_]] = {}
        self.add(first)

    def add(self, more: KeyedCounts) -> None:
        """Add some."""
        pages, starts = np.unique(more.keys // PAGE, return_index=True)
        for page, start, stop in zip(pages.tolist(), starts, (*starts[1:], len(more.keys)), strict=False):
            if page not in self._counts:
                self._counts[page] = np.zeros((PAGE, self._columns))
                self._used[page] = np.zeros(PAGE, np.bool_)
            place = more.keys[start:stop] - page * PAGE
            self._counts[page][place] += more.counts[start:stop]
            self._used[page][place] = True

    def settled(self) -> KeyedCounts:
        """Return what has been added up."""
        keys, counts = [np.empty(0, np.int64)], [np.empty((0, self._columns))]
        for page in sorted(self._counts):
            used = np.flatnonzero(self._used[page])
            keys.append(used + page * PAGE)
            counts.append(self._counts[page][used])
        return self._kind(np.concatenate(keys), np.concatenate(counts))
