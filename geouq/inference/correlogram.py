"""How far residuals are correlated, and how much of that blocks of cells keep.

A residual of a cell is its contribution to the mean error, squared error or z^2 of the evaluation unit, less the
expected one. Both cells of a pair lie in the same tile. Lags are in cells. Products are added in one order, so that all
machines agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FARTHEST = 48  # cells
THRESHOLD = 0.05
FEWEST_PAIRS = 30  # Journel and Huijbregts 1978, Mining Geostatistics
RESIDUALS = ("error", "squared_error", "z_square")


@dataclass(frozen=True)
class Correlogram:
    """Correlation of a residual between cells by their distance.

    lags : int64 (lags), distance in cells, rounded, from 0. correlation : float64 (lags), NaN where there are fewer
    than 30 pairs; pairs : int64 (lags). reach : the first lag at which the correlation is below `THRESHOLD`, or below
    twice the noise 1 / sqrt(pairs) of uncorrelated cells where that is more, or has too few pairs; the last lag where
    there is none. grid : float64 (lags down, lags across), correlation by row and column, of its distance where there
    are too few pairs, 0 beyond the reach. inflation : variance of the evaluation unit's mean over
    that of as many uncorrelated cells, at least 1.
    """

    residual: str
    lags: Ints
    correlation: Floats
    pairs: Ints
    correlation_range: int
    grid: Floats
    inflation: float

    @property
    def known(self) -> bool:
        """Return whether there are enough pairs of neighbouring cells to tell how they are correlated."""
        return len(self.pairs) > 1 and bool(self.pairs[1] >= FEWEST_PAIRS)


def correlograms(tiles: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> list[Correlogram]:
    """Return the correlograms of `RESIDUALS`, each tile as residuals (rows, columns, 3), and where there are any."""
    longest = min(FARTHEST, max(max(present.shape) for _, present in tiles) - 1)
    shape = (longest + 1, 2 * longest + 1)
    products, pairs = np.zeros((len(RESIDUALS), *shape)), np.zeros(shape, np.int64)
    for residuals, present in tiles:
        own = _box(present)
        some = np.ascontiguousarray(np.moveaxis(residuals[own], -1, 0))
        _add_products(some, np.ascontiguousarray(present[own]), longest, products, pairs)
    cells, lags = sum(int(present.sum()) for _, present in tiles), _Lags.of(pairs)
    return [_correlogram(name, products[i], lags, cells) for i, name in enumerate(RESIDUALS)]


def pairs_within_blocks(farthest: int, sides: Sequence[tuple[Ints, Ints]]) -> tuple[Floats, int]:
    """Return the pairs of cells of a block by lag, as the grid of a correlogram, and the number of cells.

    sides : heights and widths of the blocks of each tile. farthest : largest lag.
    """
    lag = np.abs(np.arange(-farthest, farthest + 1))
    within, cells = np.zeros((farthest + 1, 2 * farthest + 1)), 0
    for down, across in sides:
        high, wide = (np.maximum(one[:, np.newaxis] - lag, 0).sum(0) for one in (down, across))
        within += np.outer(high[farthest:], wide)
        cells += int(down.sum() * across.sum())
    return within, cells


def kept_by_blocks(correlogram: Correlogram, within: Floats, cells: int) -> float:
    """Return the share of the variance of the mean that blocks keep, of what `pairs_within_blocks` returns.

    What is lost is the correlation between neighbouring blocks, as if every cell had all its neighbours.
    """
    kept = _both_ways(correlogram.grid * within) / cells
    return min(max(kept, 0.0) / correlogram.inflation, 1.0)


def _box(present: NDArray[np.bool_]) -> tuple[slice, ...]:
    """Return the rows and columns between the outermost cells; a region may be small in a large tile."""
    used = (np.flatnonzero(present.any(axis)) for axis in (1, 0))
    return tuple(slice(one[0], one[-1] + 1) if len(one) else slice(0) for one in used)


@compiled_for("f8[:,:,::1], b1[:,::1], i8, f8[:,:,::1], i8[:,::1]")
def _add_products(  # noqa: C901  a loop over lags, cells and residuals, in compiled code
    residuals: Floats, present: NDArray[np.bool_], longest: int, products: Floats, pairs: Ints
) -> None:
    """Add products of pairs of cells by rows down and columns across, products (3, down, across), pairs alike.

    residuals : float64 (3, rows, columns), 0 where no cell is present. Distances across are the lanes of the innermost
    loop; each sum keeps the order of the cells.
    """
    rows, columns = present.shape
    ones = present.astype(np.int64)
    for down in range(min(longest, rows - 1) + 1):
        for r in range(rows - down):
            for c in range(columns):
                if not present[r, c]:
                    continue
                first, last = max(c - longest, 0) if down else c, min(c + longest + 1, columns)
                here = first + longest - c
                for name in range(len(residuals)):
                    own, others = residuals[name, r, c], residuals[name, r + down, first:last]
                    out = products[name, down, here : here + last - first]
                    is_finite = np.isfinite(own)
                    for k in range(len(others)):
                        if is_finite or present[r + down, first + k]:  # infinity times 0 would be NaN
                            out[k] += own * others[k]
                present_there = ones[r + down, first:last]
                counts = pairs[down, here : here + last - first]
                for k in range(len(present_there)):
                    counts[k] += present_there[k]


@dataclass(frozen=True)
class _Lags:
    """The pairs of cells of an evaluation unit by lag, which its residuals share.

    Parameters
    ----------
    pairs, distance : int64 (lags down, lags across)
        Number of pairs and rounded distance of each lag.
    inside, place : int64
        Lags that are not farther than the longest one, as places in the flat arrays, and their distances.
    counted : float64 (lags)
        Number of pairs of each distance.
    known : bool (lags)
        Whether these are enough.
    threshold : float64 (lags)
        Lowest correlation that is not noise.
    """

    pairs: Ints
    distance: Ints
    inside: Ints
    place: Ints
    counted: Floats
    known: NDArray[np.bool_]
    threshold: Floats

    @classmethod
    def of(cls, pairs: Ints) -> Self:
        """Return the lags of these pairs."""
        longest = len(pairs) - 1
        distance = _distances(longest)
        inside = np.flatnonzero(distance <= longest)
        place = distance.ravel()[inside]
        counted = np.bincount(place, pairs.ravel()[inside], longest + 1).astype(np.float64)
        known = (counted >= FEWEST_PAIRS) | (np.arange(longest + 1) == 0)  # a cell is alike with itself
        threshold = np.maximum(THRESHOLD, 2 / np.sqrt(np.maximum(counted, 1)))
        return cls(pairs, distance, inside, place, counted, known, threshold)

    def by_distance(self, correlation: Floats) -> Floats:
        """Return the mean correlation of each distance; NaN where there are too few pairs."""
        sums = np.bincount(self.place, (correlation * self.pairs).ravel()[self.inside], len(self.pairs))
        return np.divide(sums, self.counted, out=np.full(len(sums), np.nan), where=self.known)

    def reach(self, correlation: Floats) -> int:
        """Return the first distance whose correlation is noise, or the number of distances."""
        below = np.flatnonzero(~(correlation[1:] >= self.threshold[1:]))
        return 1 + int(below[0]) if len(below) else len(self.pairs)


def _correlogram(residual: str, products: Floats, lags: _Lags, cells: int) -> Correlogram:
    pairs, distance, longest = lags.pairs, lags.distance, len(lags.pairs) - 1
    variance = products[0, longest] / cells
    grid = products / np.maximum(pairs, 1) / (variance if variance > 0 else 1.0)
    around = lags.by_distance(grid)[np.minimum(distance, longest)]
    grid = np.where((pairs >= FEWEST_PAIRS) | (distance == 0), grid, around)
    inflation = 1.0
    for _ in range(
        3
    ):  # the evaluation unit's own mean is taken away, which lowers every correlation by the correlation of the mean
        correlation = (grid + inflation / cells) / (1 + inflation / cells)
        by_distance = lags.by_distance(correlation)
        correlation_range = lags.reach(by_distance)
        near = (distance < correlation_range) & (pairs > 0)
        inflation = _inflation(np.where(near, grid, 0.0), near, cells)
    shown, counted = np.where(near, correlation, 0.0), lags.counted.astype(np.int64)
    return Correlogram(residual, np.arange(longest + 1), by_distance, counted, correlation_range, shown, inflation)


@lru_cache(1)
def _distances(longest: int) -> Ints:
    """Return the rounded distance of each lag."""
    down, across = np.arange(longest + 1)[:, np.newaxis], np.arange(-longest, longest + 1)
    distance = np.rint(np.hypot(down, across)).astype(np.int64)
    distance.setflags(write=False)
    return distance


def _inflation(grid: Floats, near: NDArray[np.bool_], cells: int) -> float:
    """Return the sum of the correlation over lags, corrected for the correlation of the mean."""
    observed, lags = _both_ways(grid), _both_ways(near.astype(np.float64))
    share = min(lags / cells, 0.5)
    root = np.sqrt((1 - share) ** 2 + 4 * max(observed, 0.0) / cells)
    return max(1.0, float((root - (1 - share)) * cells / 2))


def _both_ways(grid: Floats) -> float:
    """Return the sum over all lags. `grid` holds one of two opposite lags, and 0 for the other."""
    return float(2 * grid.sum() - grid[0, grid.shape[1] // 2])
