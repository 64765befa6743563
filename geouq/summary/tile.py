"""The summaries of a tile: for each variable the whole, its cells, and how many pixels were excluded and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from geouq.core.grid import Grid
from geouq.summary.moments import Moments
from geouq.summary.statistic import Statistic
from geouq.summary.summary import Summary
from geouq.summary.variance_profile import COMPACT_SHIFT, SparseProfiles, VarianceProfile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CellSummaries:
    """Compact summaries of all cells of a tile, in rows from the top left; the profiles of the variance are sparse.

    statistics : of all cells but for the variance, with the leading dimension (C). extremes (C, 2) of the variance; an
    entry of the profiles is a cell (uint32), a key (uint16) and sums (entries, 4, or 6 where pixels have weights,
    float32, in the order of `FIELDS`), ordered by cell, then key.
    """

    levels: tuple[float, ...]
    statistics: Mapping[str, Statistic]
    extremes: Floats
    entry_cell: NDArray[np.uint32]
    entry_key: NDArray[np.uint16]
    entry_sums: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.extremes)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the cells of all parts, one after the other; they keep the same statistics."""
        first, starts = parts[0], np.cumsum([0, *map(len, parts)])
        cells = [part.entry_cell + start for part, start in zip(parts, starts.astype(np.uint32), strict=False)]
        return cls(
            first.levels,
            {name: own.joined([part.statistics[name] for part in parts]) for name, own in first.statistics.items()},
            np.concatenate([part.extremes for part in parts]),
            np.concatenate(cells),
            np.concatenate([part.entry_key for part in parts]),
            np.concatenate([part.entry_sums for part in parts]),
        )

    @property
    def parts(self) -> Mapping[str, Statistic | SparseProfiles]:
        """Return the statistics by name, as the bases of resamples take them."""
        return {**self.statistics, "variance": SparseProfiles(self.entry_cell, self.entry_key, self.entry_sums)}

    @property
    def moments(self) -> Moments:
        """Return the counts, sums and centred products of each cell."""
        return cast("Moments", self.statistics["moments"])

    def some(self, numbers: NDArray[np.integer]) -> Self:
        """Return the cells of these numbers, which increase."""
        place = np.minimum(np.searchsorted(numbers, self.entry_cell), max(len(numbers) - 1, 0))
        own = numbers[place] == self.entry_cell if len(numbers) else np.zeros(len(self.entry_cell), np.bool_)
        return type(self)(
            self.levels,
            {name: statistic.some(numbers) for name, statistic in self.statistics.items()},
            self.extremes[numbers],
            place[own].astype(np.uint32),
            self.entry_key[own],
            self.entry_sums[own],
        )

    def with_pixels(self) -> tuple[Ints, Self]:
        """Return the numbers of the cells that hold pixels, and these cells."""
        numbers = np.flatnonzero(self.moments.n)
        return numbers, self if len(numbers) == len(self) else self.some(numbers)

    def at_levels(self, levels: tuple[float, ...]) -> Self:
        """Return the same cells with fewer levels; all of these must have been kept."""
        if levels == self.levels:
            return self
        statistics = {name: own.at_levels(levels, self.levels) for name, own in self.statistics.items()}
        return replace(self, levels=levels, statistics=statistics)

    def summary(self, cells: slice = slice(None)) -> Summary:
        """Return all cells, or a range of them, as one Summary with the leading dimension (C); its sums are float64."""
        first, stop, _ = cells.indices(len(self))
        start, end = np.searchsorted(self.entry_cell, [first, stop])
        keys, column = np.unique(self.entry_key[start:end].astype(np.int64), return_inverse=True)
        sums = np.zeros((stop - first, len(keys), self.entry_sums.shape[-1]))
        sums[self.entry_cell[start:end].astype(np.int64) - first, column] = self.entry_sums[start:end]
        profile = VarianceProfile(COMPACT_SHIFT, keys, sums, self.extremes[cells, 0], self.extremes[cells, 1])
        return Summary(
            self.levels, {**{name: own.some(cells) for name, own in self.statistics.items()}, "variance": profile}
        )

    def summaries(self, budget: int = 1 << 22) -> Iterator[Summary]:
        """Yield all cells in their order, some at a time, so that the profiles of these take at most `budget` bytes."""
        keys, columns = len(np.unique(self.entry_key)), self.entry_sums.shape[-1]
        together = max(1, budget // max(1, keys * columns * np.dtype(np.float64).itemsize))
        for first in range(0, len(self), together):
            yield self.summary(slice(first, min(first + together, len(self))))


@dataclass(frozen=True)
class VariableWhole:
    """One variable of a tile without its cells; excluded : int64 (reasons)."""

    whole: Summary
    excluded: Ints


@dataclass(frozen=True)
class VariableSummary:
    """One variable of a tile; excluded : int64 (reasons)."""

    whole: Summary
    cells: CellSummaries
    excluded: Ints


@dataclass(frozen=True)
class TilePlace:
    """Where one tile is: its name, its grid, and the side of its cells in pixels."""

    tile: str
    grid: Grid
    cell_size: int

    @property
    def cell_grid(self) -> Grid:
        """Return the grid whose pixels are the tile's cells."""
        return self.grid.coarsened(self.cell_size)


@dataclass(frozen=True)
class TileWholes(TilePlace):
    """One tile without its cells: its variables by name."""

    variables: dict[str, VariableWhole]

    def at_levels(self, levels: tuple[float, ...]) -> Self:
        """Return the same tile, with fewer levels; SummaryError where one of these was not kept."""
        parts = {name: replace(part, whole=part.whole.at_levels(levels)) for name, part in self.variables.items()}
        return replace(self, variables=parts)


@dataclass(frozen=True)
class TileSummary(TilePlace):
    """One tile and its variables by name."""

    variables: dict[str, VariableSummary]
