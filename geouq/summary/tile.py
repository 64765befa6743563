"""The summaries of one tile: for each variable the whole, its cells, and how many pixels were excluded and why."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.grid import Grid
from geouq.summary.moments import Moments
from geouq.summary.summary import Summary
from geouq.summary.variance_profile import COMPACT_SHIFT, FIELDS, VarianceProfile
from geouq.summary.z_histogram import COMPACT, ZHistogram, edge_probabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CellSummaries:
    """Compact summaries of all cells of a tile, in rows from the top left; the profiles are sparse.

    moments (C), interval_scores (C, L), z_counts (C, compact bins), extremes (C, 2) of the variance; an entry of the
    profiles is a cell, a key and sums (entries, 4), ordered by cell, then key.
    """

    levels: tuple[float, ...]
    moments: Moments
    interval_scores: Floats
    z_counts: Ints
    extremes: Floats
    entry_cell: Ints
    entry_key: Ints
    entry_sums: Floats

    def summary(self) -> Summary:
        """All cells as one Summary with the leading dimension (C)."""
        keys, column = np.unique(self.entry_key, return_inverse=True)
        sums = np.zeros((len(self.moments.n), len(keys), len(FIELDS)))
        sums[self.entry_cell, column] = self.entry_sums
        lowest, highest = self.extremes[:, 0], self.extremes[:, 1]
        return Summary(
            self.levels,
            self.moments,
            self.interval_scores,
            ZHistogram(edge_probabilities(self.levels, COMPACT), self.z_counts),
            VarianceProfile(COMPACT_SHIFT, keys, sums, lowest, highest),
        )


@dataclass(frozen=True)
class VariableSummary:
    """One variable of one tile; excluded : int64 (reasons)."""

    whole: Summary
    cells: CellSummaries
    excluded: Ints


@dataclass(frozen=True)
class TileSummary:
    """One tile: its grid, the side of its cells in pixels, and its variables by name."""

    tile: str
    grid: Grid
    cell_size: int
    variables: dict[str, VariableSummary]

    @property
    def cell_grid(self) -> Grid:
        """Grid whose pixels are the tile's cells."""
        return self.grid.coarsened(self.cell_size)
