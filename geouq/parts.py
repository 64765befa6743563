"""What one group of windows adds up to for one variable, and how the parts of a tile are joined."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.grid import Grid, Window
from geouq.kernel import CellSums, Totals
from geouq.summary import (
    CellSummaries,
    KeptPixels,
    Moments,
    Summary,
    VariableSummary,
    VarianceProfile,
    ZHistogram,
)
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.variance_profile import FINE_SHIFT, key_of
from geouq.summary.z_histogram import FINE, edge_probabilities

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class VariablePart:
    """Totals of a group of windows without their empty keys, and the sums of its cells by window."""

    keys: Ints
    profile: Floats
    z_counts: Ints
    excluded: Ints
    kept: KeptPixels | None
    cells: tuple[tuple[Window, CellSums], ...]


def part_of(cells: Sequence[tuple[Window, CellSums]], totals: Totals) -> VariablePart:
    """The part that the kernel's arrays hold, without their unused room."""
    keys = _keys_used(cells, totals.profile)
    tail, stored = totals.kept_state
    kept = KeptPixels(0)
    if tail > 0:
        kept = KeptPixels.ordered(
            int(tail),
            kept.wanted,
            totals.kept_variance[:stored].copy(),
            totals.kept_squared_error[:stored].copy(),
        )
    trimmed = tuple((window, _trimmed(sums)) for window, sums in cells)
    return VariablePart(keys, totals.profile[keys], totals.z_counts, totals.excluded, kept, trimmed)


def _keys_used(cells: Sequence[tuple[Window, CellSums]], profile: Floats) -> Ints:
    """Keys with pixels; the others of the profile are not looked at, so that their memory is never taken."""
    lowest = min(sums.extremes[:, 0].min() for _, sums in cells)
    highest = max(sums.extremes[:, 1].max() for _, sums in cells)
    if highest < lowest:
        return np.empty(0, np.int64)
    first, last = (int(key_of(variance, FINE_SHIFT)) for variance in (lowest, highest))
    return first + np.flatnonzero(profile[first : last + 1, 0])


def _trimmed(sums: CellSums) -> CellSums:
    entries = int(sums.end_of_cell[-1])
    return sums._replace(entry_key=sums.entry_key[:entries].copy(), entry_sums=sums.entry_sums[:entries].copy())


def joined(parts: Sequence[VariablePart], grid: Grid, cell_size: int, levels: tuple[float, ...]) -> VariableSummary:
    """One variable of a tile from its parts, added in their order."""
    cells = _cells(parts, grid.coarsened(cell_size).shape, cell_size, levels)
    lowest, highest = cells.extremes[:, 0].min(), cells.extremes[:, 1].max()
    z = ZHistogram(edge_probabilities(levels, FINE), np.sum([part.z_counts for part in parts], axis=0))
    whole = Summary(levels, cells.moments.total(), cells.interval_scores.sum(0), z, _profile(parts, lowest, highest))
    return VariableSummary(whole, cells, np.sum([part.excluded for part in parts], axis=0))


def _profile(parts: Sequence[VariablePart], lowest: Floats, highest: Floats) -> VarianceProfile:
    """The parts' profiles in one; each takes the tile's extremes, which prunes the parts' tails to the tile's."""
    nothing = np.empty(0, np.int64)
    total = VarianceProfile(FINE_SHIFT, nothing, np.empty((0, 4)), lowest, highest)
    for part in parts:
        total = total + replace(total, keys=part.keys, sums=part.profile, kept=part.kept)
    return total


def _cells(
    parts: Sequence[VariablePart], shape: tuple[int, int], cell_size: int, levels: tuple[float, ...]
) -> CellSummaries:
    """All cells of a tile in rows from its top left."""
    windows = [pair for part in parts for pair in part.cells]
    count = shape[0] * shape[1]
    first = windows[0][1]
    n = np.zeros(count, np.int64)
    sums, products = np.zeros((count, len(SUMS))), np.zeros((count, len(PRODUCTS)))
    scores, extremes = np.zeros((count, len(levels))), np.empty((count, 2))
    z_counts = np.zeros((count, first.z_counts.shape[1]), np.int64)
    cell_of_entry, keys, entries = [], [], []
    for window, found in windows:
        place = _places(window, shape[1], cell_size)
        n[place], sums[place], products[place] = found.n, found.sums, found.products
        scores[place], z_counts[place], extremes[place] = (
            found.interval_scores,
            found.z_counts,
            found.extremes,
        )
        cell_of_entry.append(np.repeat(place, np.diff(found.end_of_cell, prepend=0)))
        keys.append(found.entry_key)
        entries.append(found.entry_sums)
    entry_cell, entry_key = np.concatenate(cell_of_entry), np.concatenate(keys)
    order = np.argsort(entry_cell, kind="stable")
    return CellSummaries(
        levels,
        Moments(n, sums, products),
        scores,
        z_counts,
        extremes,
        entry_cell[order],
        entry_key[order],
        np.concatenate(entries)[order],
    )


def _places(window: Window, columns: int, cell_size: int) -> Ints:
    """Number within the tile of each cell of a window."""
    rows = np.arange(window.row // cell_size, -(-(window.row + window.height) // cell_size))
    across = np.arange(window.column // cell_size, -(-(window.column + window.width) // cell_size))
    return np.add.outer(rows * columns, across).ravel()
