"""Take what a group of cells adds up to out of the arrays that the kernel fills, which are empty afterwards."""

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled
from geouq.kernel.accumulators import BLOCK, BLOCKS, CellSums, Totals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = tuple[Ints, Floats]


def take_cells(cells: CellSums) -> CellSums:
    """Return a copy of the cells without unused room, and empty them."""
    used = int(cells.entries[0])
    taken = CellSums(
        cells.n.copy(),
        cells.weight.copy(),
        cells.sums.copy(),
        cells.products.copy(),
        cells.interval_scores.copy(),
        cells.widths.copy(),
        cells.z_counts.copy(),
        cells.extremes.copy(),
        cells.form.copy(),
        cells.exceedance.copy(),
        cells.entry_cell[:used].copy(),
        cells.entry_key[:used].copy(),
        cells.entry_sums[:used].copy(),
        cells.entries.copy(),
    )
    cells.n[:], cells.weight[:], cells.sums[:], cells.products[:], cells.interval_scores[:] = 0, 0.0, 0.0, 0.0, 0.0
    cells.widths[:], cells.z_counts[:], cells.form[:], cells.exceedance[:] = 0.0, 0.0, 0.0, 0.0
    cells.entries[:] = 0
    cells.extremes[:, 0], cells.extremes[:, 1] = np.inf, -np.inf
    return taken


def take_counts(totals: Totals) -> tuple[Floats, Ints, Floats]:
    """Return copies of the counts of z, the excluded pixels and the sums by threshold; empty all small totals."""
    taken = totals.z_counts.copy(), totals.excluded.copy(), totals.exceeding.copy()
    totals.z_counts[:], totals.excluded[:], totals.exceeding[:] = 0.0, 0, 0.0
    totals.negative[:], totals.highest[:] = 0, 0.0
    return taken


def take_keys(counts: Floats, touched: NDArray[np.uint8]) -> Rows:
    """Return the keys that have counts, increasing from 0, and their counts (keys, columns); empty them.

    counts : of all keys, one after the other. touched : which blocks of keys have some.
    """
    blocks, every = np.flatnonzero(touched), counts.reshape(BLOCKS, BLOCK, -1)
    rows = every[blocks].reshape(len(blocks) * BLOCK, every.shape[-1])
    every[blocks], touched[:] = 0.0, 0
    used = (rows > 0).any(axis=1)
    keys = np.add.outer(blocks * np.int64(BLOCK), np.arange(BLOCK)).ravel()
    return keys[used], rows[used]


@compiled
def added_rows(numbers: Ints, sums: Floats, more: Ints, rows: Floats) -> Rows:
    """Return the sums of rows by number; both numbers increase. Without other numbers, `sums` itself is added to.

    sums, rows : float64 (numbers, columns).
    """
    missing, i = 0, 0
    for j in range(len(more)):
        while i < len(numbers) and numbers[i] < more[j]:
            i += 1
        missing += int(i == len(numbers) or numbers[i] != more[j])
    if missing == 0:
        _add_rows(numbers, sums, more, rows)
        return numbers, sums
    both, total = np.empty(len(numbers) + missing, np.int64), np.zeros((len(numbers) + missing, sums.shape[1]))
    i, j = 0, 0
    for k in range(len(both)):
        is_old = j == len(more) or (i < len(numbers) and numbers[i] <= more[j])
        both[k] = numbers[i] if is_old else more[j]
        if is_old:
            total[k] = sums[i]
        j += int(j < len(more) and more[j] == both[k])
        i += int(is_old)
    _add_rows(both, total, more, rows)
    return both, total


@compiled
def _add_rows(numbers: Ints, sums: Floats, more: Ints, rows: Floats) -> None:
    i = 0
    for j in range(len(more)):
        while numbers[i] < more[j]:
            i += 1
        for column in range(sums.shape[1]):
            sums[i, column] += rows[j, column]
