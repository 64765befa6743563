"""Every pixel of a small tile, from which its variance profile and the profiles of its cells follow.

The profiles take more room than the pixels. They are rebuilt bit by bit, as sums are added in the order of the sweep.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

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

KEYS = 1 << 32  # more than there are


class _Sums(NamedTuple):
    """Sums by fine key, and by cell and compact key."""

    keys: Ints
    of_keys: Floats
    entries: SparseProfiles


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
        number = (kept.place >> 32) * grid.shape[1] + (kept.place & (KEYS - 1))
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
        sums = self._sums
        return VarianceProfile(FINE_SHIFT, sums.keys, sums.of_keys, np.asarray(lowest), np.asarray(highest), kept)

    @property
    def entries(self) -> SparseProfiles:
        """Return the entries of the profiles of the cells."""
        return self._sums.entries

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
        """Return the sums of keys, to which the sums of the same key in each cell are added."""
        columns = np.stack([self.variance, self._squared, np.sqrt(self.variance), np.ones(len(self.variance))])
        fine, of_fine = _summed(self._cell * KEYS + key_of(self.variance, FINE_SHIFT), columns)
        keys, of_keys = _summed(fine % KEYS, of_fine)
        cell, key = np.divmod(fine, KEYS)
        coarse, of_coarse = _summed(cell * KEYS + (key >> (COMPACT_SHIFT - FINE_SHIFT)), of_fine)
        cell, key = np.divmod(coarse, KEYS)
        entries = SparseProfiles(cell.astype(np.uint32), key.astype(np.uint16), of_coarse.T.astype(np.float32))
        return _Sums(keys, np.ascontiguousarray(of_keys.T), entries)


def _summed(owner: Ints, columns: Floats) -> tuple[Ints, Floats]:
    """Return the distinct owners, which increase, and the sums of columns (columns, owners), added in their order."""
    distinct, place = np.unique(owner, return_inverse=True)
    return distinct, np.stack([np.bincount(place, column, len(distinct)) for column in columns])
