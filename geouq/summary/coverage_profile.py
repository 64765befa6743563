"""How many pixels of (nearly) equal truth, mean or variance lie inside the intervals; groups are formed afterwards.

The key of a value is the leading bits of its float32, as in the variance profile (neighbouring keys differ by 1 part in
512), numbered in the order of the values, from -2^17 for the lowest negative ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.core.compiled import compiled_for
from geouq.summary.keyed_counts import KeyedCounts
from geouq.summary.statistic import Dimensions, Partition
from geouq.summary.variance_profile import FINE_SHIFT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSITIVE = 1 << (31 - FINE_SHIFT)  # number of keys on either side of 0
GROUPED_BY = ("truth", "mean", "variance")


def value_key(values: ArrayLike) -> Ints:
    """Return the key of each value. Keys increase with the value; the key of 0 is 0.

    >>> value_key([0.0, -0.0]).tolist(), (value_key([2.0, -2.0, 2.004]) - value_key(2.0)).tolist()
    ([0, 0], [0, -131073, 1])
    """
    bits = (np.asarray(values).astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.int64)
    size = (bits & 0x7FFFFFFF) >> FINE_SHIFT
    return np.where(bits >> 31, -1 - size, size)


def key_start(keys: ArrayLike) -> Floats:
    """Return the end nearest to 0 of the values of each key.

    >>> key_start(value_key([0.0, 2.0, -2.0, 0.3])).tolist()
    [0.0, 2.0, -2.0, 0.2998046875]
    """
    keys = np.asarray(keys)
    size = np.minimum(np.where(keys < 0, -1 - keys, keys), POSITIVE - 1).astype(np.uint32) << FINE_SHIFT
    values = size.view(np.float32).astype(np.float64)
    return np.where(keys < 0, -values, values)


@dataclass(frozen=True)
class CoverageProfile(KeyedCounts):
    """Number (or weight) of pixels by the key of a value and by the intervals that contain the truth.

    counts : float64 (..., keys, levels + 1). Column k counts the pixels outside the k narrowest of the intervals, and
        inside all others: the intervals of a pixel are nested.
    """

    FIRST_KEY: ClassVar[int] = -POSITIVE
    kept_by_cell: ClassVar[bool] = False
    dimensions: ClassVar[Dimensions] = {"keys": ("*key",), "counts": ("*key", "outside")}
    LAST_KEY: ClassVar[int] = POSITIVE
    explained: ClassVar[Mapping[str, str]] = {
        "keys": "leading bits of the float32 value, shifted right by 14, in the order of the values, 0 for 0; or codes",
        "counts": "pixels (weights) of one key outside the k narrowest intervals and inside the others, k from 0",
    }

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:
        """Return the same pixels with some of the levels that were kept."""
        narrow = sorted(kept)
        return self.at([narrow.index(level) for level in levels])

    def at(self, chosen: list[int]) -> Self:
        """Return the same pixels with some of the levels: positions in the order of the widths of their intervals."""
        outside = np.searchsorted(np.sort(chosen), np.arange(self.counts.shape[-1]))
        counts = np.zeros((*self.counts.shape[:-1], len(chosen) + 1))
        np.add.at(np.moveaxis(counts, -1, 0), outside, np.moveaxis(self.counts, -1, 0))
        return type(self)(self.keys, counts)

    def grouped(self, groups: int, n: NDArray[np.int64]) -> Floats:
        """Return the pixels (..., groups, levels + 1) of groups of equal numbers of pixels, in the order of the value.

        Column k counts those inside the interval that is k-th in width, from 0; the last column counts all.

        n : int64 (...), pixels. Groups begin where numpy's k / groups quantiles do, so that they differ by one pixel at
        most; of weighted pixels, they have equal weights. The pixels of a key that a border falls into are shared in
        proportion: they are taken to be covered alike, whichever of them lie below the border.
        """
        if groups not in self._grouped:
            found = np.empty((*n.shape, groups, self.counts.shape[-1]))
            for place in np.ndindex(n.shape):
                found[place] = _shared(self.counts[place], groups, int(n[place]))
            self._grouped[groups] = found
        return self._grouped[groups]

    def group_shares(self, groups: int, n: int) -> Floats:
        """Share of the pixels of each key that is in each of the groups that `grouped` forms, (keys, groups)."""
        weight = self.counts.sum(-1)
        up_to = np.append(0.0, np.cumsum(weight))
        borders = _borders(float(up_to[-1]), groups, n)
        inside = np.minimum(up_to[1:, np.newaxis], borders[1:]) - np.maximum(up_to[:-1, np.newaxis], borders[:-1])
        weight = weight[:, np.newaxis]
        return np.divide(np.maximum(inside, 0.0), weight, out=np.zeros_like(inside), where=weight > 0)

    def group_edges(self, groups: int, n: int) -> Floats:
        """Return the lowest value of each of the groups that `grouped` forms, and the highest, to 1 part in 512."""
        up_to = np.cumsum(self.counts.sum(-1))
        borders = _borders(float(up_to[-1]), groups, n)
        return key_start(self.keys[np.minimum(np.searchsorted(up_to, borders, side="right"), len(up_to) - 1)])

    def basis(self, partition: Partition) -> "GroupBasis":
        """Return the groups of this whole, which parts keep."""
        return GroupBasis(self.keys, self.group_shares(partition.groups, partition.n), self.counts.shape[-1])

    @cached_property
    def _grouped(self) -> dict[int, Floats]:
        """Return the cache of groups: many metrics need the same ones."""
        return {}


class ClassCoverage(CoverageProfile):
    """Return the groups by the codes of classes: each code is a group, whatever the number of groups."""

    def grouped(self, groups: int, n: NDArray[np.int64]) -> Floats:  # noqa: ARG002  as many as there are
        """Pixels (..., classes, levels + 1), in the order of the codes in `keys`; columns as of a CoverageProfile."""
        return np.cumsum(self.counts, axis=-1)

    def group_shares(self, groups: int, n: int) -> Floats:  # noqa: ARG002  as many as there are
        """1 for the class of each key, (classes, classes)."""
        return np.eye(len(self.keys))


@dataclass(frozen=True)
class GroupBasis:
    """The basis of coverage by groups: those of the whole, whatever is drawn.

    Where a border falls into a key, each group gets the share of that key that it has in the whole.

    Parameters
    ----------
    keys : int64 (keys)
        Keys of the whole.
    shares : float64 (keys, groups)
        Share that each group has of each key.
    columns : int
        Number of levels, and 1 for all pixels.
    """

    keys: Ints
    shares: Floats
    columns: int

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.shares.shape[1] * self.columns

    def to_rows(self, part: CoverageProfile, count: int) -> Floats:
        """Return the pixels inside the intervals by group, float64 (count, width)."""
        inside = np.zeros((count, self.shares.shape[1], self.columns))
        by_key = np.cumsum(part.counts, axis=-1).reshape(count, -1, self.columns)
        for counts, out in zip(by_key, inside, strict=True):
            _share_out(np.searchsorted(self.keys, part.keys), counts, self.shares, out)
        return inside.reshape(count, self.width)

    def from_rows(self, rows: Floats) -> CoverageProfile:
        """Return the coverage of the groups, which are the keys."""
        groups = self.shares.shape[1]
        return _Grouped(np.arange(groups), rows.reshape(len(rows), groups, self.columns))


class _Grouped(CoverageProfile):
    """Pixels inside the intervals by the groups of the whole, which are the keys."""

    def grouped(self, groups: int, n: NDArray[np.int64]) -> Floats:  # noqa: ARG002  those of the whole
        """Return the counts of the groups, which stay those of the whole unit."""
        return self.counts


@compiled_for("i8[::1], f8[:,::1], f8[:,::1], f8[:,::1]")
def _share_out(place: Ints, inside: Floats, shares: Floats, out: Floats) -> None:
    """Add pixels by key (keys, columns) to those by group, (groups, columns)."""
    for k in range(len(place)):
        for g in range(shares.shape[1]):
            share = shares[place[k], g]
            if share > 0:
                for j in range(inside.shape[1]):
                    out[g, j] += share * inside[k, j]


def _shared(counts: Floats, groups: int, n: int) -> Floats:
    """Return counts by key (keys, columns) as pixels inside the intervals by group (groups, columns)."""
    inside = np.cumsum(counts, axis=-1)
    up_to = np.concatenate([np.zeros((1, counts.shape[-1])), np.cumsum(inside, axis=0)]).T
    borders = _borders(float(up_to[-1, -1]), groups, n)
    return np.diff([np.interp(borders, up_to[-1], column) for column in up_to], axis=-1).T


def _borders(weight: float, groups: int, n: int) -> Floats:
    """Return the weight of the pixels below each group, and of all, of n pixels that together have that weight."""
    return weight / max(n, 1) * np.array([*(-(-k * (n - 1) // groups) for k in range(groups)), n])
