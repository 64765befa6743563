"""Every pixel of a small tile, from which its variance profile and the profiles of its cells follow.

The profiles take more room than the pixels. They are rebuilt bit by bit, as sums are added in the order of the sweep.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled
from geouq.core.grid import Grid
from geouq.summary.equality import are_equal
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic
from geouq.summary.tail_pixels import TailPixels
from geouq.summary.tile import CellSummaries
from geouq.summary.variance_profile import (
    COMPACT_SHIFT,
    FINE_SHIFT,
    SparseProfiles,
    VarianceProfile,
    key_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TABLE = 64  # keys of a table for each pixel
COLUMN = (1 << 32) - 1  # bits of the column in a place


class _Sums(NamedTuple):
    """Sums by cell and key, in their order."""

    cell: Ints
    key: Ints
    sums: Floats

    @classmethod
    def of(cls, cell: Ints, key: Ints, rows: Floats) -> Self:
        """Return the sums of the rows of each cell and key, added in their order; cells must not decrease."""
        number, distinct = _numbered(key)
        cells, numbers, sums = _added(cell, number, rows, len(distinct))
        return cls(cells, distinct[numbers], sums)

    def joined(self) -> "_Sums":
        """Return the sums by key, of all cells."""
        return _Sums.of(np.zeros_like(self.cell), self.key, self.sums)

    def coarser(self, shift: int) -> "_Sums":
        """Return the sums by cell and by keys without the last bits."""
        return _Sums.of(self.cell, self.key >> shift, self.sums)


def _numbered(key: Ints) -> tuple[Ints, Ints]:
    """Return the number of each key among the distinct keys, and these in their order."""
    low, high = (int(key.min()), int(key.max())) if len(key) else (0, 0)
    if high - low > TABLE * len(key):
        distinct, number = np.unique(key, return_inverse=True)
        return number, distinct
    is_there = np.zeros(high - low + 1, np.bool_)
    is_there[key - low] = True
    return (np.cumsum(is_there) - 1)[key - low], np.flatnonzero(is_there) + low


@dataclass(frozen=True)
class AllPixels(Statistic):
    """All valid pixels of a variable of a tile, cell by cell.

    tail : of the kept pixels. columns, across : pixels and cells in a row of the tile. cell_size : side of the cells.
    variance, error : float64 (pixels), the error without its sign. number : int64 (pixels), in rows from the top left.
    """

    tail: int
    columns: int
    cell_size: int
    variance: Floats
    error: Floats
    number: Ints
    dimensions: ClassVar[Dimensions] = {"variance": ("*pixel",), "error": ("*pixel",), "number": ("*pixel",)}
    explained: ClassVar[Mapping[str, str]] = {
        "variance": "predicted variance of each valid pixel, cell by cell",
        "error": "size of the error of each of these pixels",
        "number": "number of each of these pixels, in rows from the top left, from 0",
    }

    @classmethod
    def of(cls, profile: VarianceProfile, cells: CellSummaries, grid: Grid, cell_size: int) -> Self | None:
        """Return the pixels of a profile and of the cells; None where these do not follow from pixels that are kept."""
        kept = profile.kept
        if kept is None or not kept.every or len(kept.tiles) != 1 or kept.pixels.shape[-1] > 2:
            return None
        number = (kept.place >> 32) * grid.shape[1] + (kept.place & COLUMN)
        own = cls(kept.tail, grid.shape[1], cell_size, kept.variance, np.sqrt(kept.pixels[:, 1]), number)
        own = own.some(np.lexsort((number, own._cell)))
        entries = SparseProfiles(cells.entry_cell, cells.entry_key, cells.entry_sums)
        same = are_equal(own.profile(kept.tiles[0]), profile) and are_equal(tuple(own.entries), tuple(entries))
        return own if same else None

    def spec(self) -> dict[str, int]:
        """Return what is no array."""
        return {"tail": self.tail, "columns": self.columns, "cell_size": self.cell_size}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the pixels that were saved."""
        own = {name: arrays.get(name, np.empty(0)) for name in cls.names()}
        return cls(spec["tail"], spec["columns"], spec["cell_size"], **own | {"number": own["number"].astype(np.int64)})

    def profile(self, tile: str) -> VarianceProfile:
        """Return the variance profile of the tile."""
        place = self.number // self.columns << 32 | self.number % self.columns
        kept = TailPixels.every_one(self.tail, tile, np.stack([self.variance, self._squared], axis=-1), place)
        lowest, highest = self.variance.min(initial=np.inf), self.variance.max(initial=-np.inf)
        _, keys, sums = self._sums.joined()
        return VarianceProfile(FINE_SHIFT, keys, sums, np.asarray(lowest), np.asarray(highest), kept)

    @property
    def entries(self) -> SparseProfiles:
        """Return the entries of the profiles of the cells."""
        cell, key, sums = self._sums.coarser(COMPACT_SHIFT - FINE_SHIFT)
        return SparseProfiles(cell.astype(np.uint32), key.astype(np.uint16), sums.astype(np.float32))

    @property
    def _cell(self) -> Ints:
        across = -(-self.columns // self.cell_size)
        rows, columns = np.divmod(self.number, self.columns)
        return rows // self.cell_size * across + columns // self.cell_size

    @property
    def _squared(self) -> Floats:
        return self.error * self.error

    @cached_property
    def _sums(self) -> _Sums:
        keys = key_of(self.variance, FINE_SHIFT)
        columns = np.stack([self.variance, self._squared, np.sqrt(self.variance), np.ones(len(keys))], axis=-1)
        return _Sums.of(self._cell, keys, columns)


@compiled
def _added(cell: Ints, number: Ints, rows: Floats, count: int) -> tuple[Ints, Ints, Floats]:
    """Return the pairs of a cell and a number below `count`, in their order, and the sums of their rows."""
    cells, numbers, sums = np.empty_like(cell), np.empty_like(cell), np.zeros_like(rows)
    place, found, start = np.full(count, -1), 0, 0
    while start < len(cell):
        stop, low, high = start, count, 0
        while stop < len(cell) and cell[stop] == cell[start]:
            place[number[stop]] = 0
            low, high = min(low, number[stop]), max(high, number[stop])
            stop += 1
        for k in range(low, high + 1):
            if place[k] == 0:
                cells[found], numbers[found], place[k] = cell[start], k, found
                found += 1
        for i in range(start, stop):
            for column in range(rows.shape[1]):
                sums[place[number[i]], column] += rows[i, column]
        place[low : high + 1] = -1
        start = stop
    return cells[:found].copy(), numbers[:found].copy(), sums[:found].copy()
