"""The fused sweep over one window of one variable: every sum that a summary holds, in one pass, without the GIL.

A window is cut into cells (squares of `cell_size` pixels) and these into slabs of at most `SLAB` pixels. For each slab
  `compact`       copies the valid pixels to float64 buffers and counts the others by reason,
  `_derive`       fills in error, std, z and s z^2, and adds their sums,
  `_products`     adds the products of deviations from the slab's means, merged pairwise into the cell's,
  `_log_sum`      adds log(variance) from exponents and products of mantissas,
  `_scatter_keys`, `_scatter_buckets` add each pixel to its key of the variance profile and to its bucket of z,
  `_keep`         stores single pixels of the tail.
At the end of a cell, `_flush_z` and `_flush_profile` read the cell's numbers off the buckets and keys that it touched,
and add these to the totals. Cells are visited row by row, so the bits of a result depend on the window's place and on
nothing else.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.gaussian import LOG_2PI
from geouq.kernel.accumulators import COMPACT_STEP, KEYS, SLAB, CellSums, Scratch, Totals
from geouq.kernel.slab import add_slab, compact, key
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.validity import Nodata, is_valid, stored_limits
from geouq.z_lattice import ZLattice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NLL, CRPS = SUMS.index("nll"), SUMS.index("crps")
Z, ZZ = SUMS.index("z"), PRODUCTS.index(("z", "z"))


@compiled
def sweep_window(
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    truth: NDArray[np.floating],
    status: NDArray[np.uint8],
    nodata: Nodata,
    cell_size: int,
    lattice: ZLattice,
    scratch: Scratch,
    cells: CellSums,
    totals: Totals,
) -> None:
    """Add one window of one variable to `totals`, and fill in its `cells`.

    mean, variance, truth : float32 or float64 (rows, columns); status : uint8 (rows, columns), reason + 1 where the
        reader excluded a pixel and 0 elsewhere, or (0, 0) where it excluded none.
    """
    rows, columns = truth.shape
    entries, cell = 0, 0
    for top in range(0, rows, cell_size):
        bottom = min(top + cell_size, rows)
        for left in range(0, columns, cell_size):
            right = min(left + cell_size, columns)
            step = max(1, SLAB // (right - left))
            for r0 in range(top, bottom, step):
                r1 = min(r0 + step, bottom)
                n = 0
                for r in range(r0, r1):
                    n = compact(mean, variance, truth, status, nodata, r, left, right, n, scratch, totals)
                if n > 0:
                    add_slab(n, scratch, lattice, cells, cell, totals)
            if cells.n[cell] > 0:
                _flush_z(lattice, scratch, cells, cell, totals)
                entries = _flush_profile(scratch, cells, cell, entries, totals)
            cells.end_of_cell[cell] = entries
            cell += 1


@compiled
def _flush_z(lattice, scratch, cells, cell, totals):
    """Read CRPS, NLL, interval scores and counts of a cell off its buckets, and clear them."""
    errors, stds = np.zeros(len(totals.z_counts)), np.zeros(len(totals.z_counts))
    crps = 0.0
    for b in range(len(scratch.buckets)):
        n, e, s, szz = (
            scratch.buckets[b, 0],
            scratch.buckets[b, 1],
            scratch.buckets[b, 2],
            scratch.buckets[b, 3],
        )
        if n == 0:
            continue
        crps += lattice.crps[b, 0] * s + lattice.crps[b, 1] * e + lattice.crps[b, 2] * szz
        fine = lattice.bin_of[b]
        totals.z_counts[fine] += np.int64(n)
        cells.z_counts[cell, lattice.compact_of[fine]] += np.int64(n)
        errors[fine] += e
        stds[fine] += s
        scratch.buckets[b] = 0.0
    n = cells.n[cell]
    squares = cells.products[cell, ZZ] + cells.sums[cell, Z] ** 2 / n
    cells.sums[cell, NLL] = 0.5 * (n * LOG_2PI + cells.sums[cell, NLL] + squares)
    cells.sums[cell, CRPS] = crps
    for level in range(len(lattice.half_width)):
        half, beyond = lattice.half_width[level], 0.0
        for fine in range(lattice.outside[level, 0] + 1):
            beyond += errors[fine] - half * stds[fine]
        for fine in range(lattice.outside[level, 1], len(errors)):
            beyond += -errors[fine] - half * stds[fine]
        cells.interval_scores[cell, level] = 2 * half * stds.sum() + lattice.penalty[level] * beyond


@compiled
def _flush_profile(scratch, cells, cell, entries, totals):
    """Add a cell's keys to the totals and, 32 together, to its compact profile; the new number of entries."""
    last = -1
    for k in range(key(cells.extremes[cell, 0]), key(cells.extremes[cell, 1]) + 1):
        if scratch.keys[k, 0] == 0:
            continue
        if k >> COMPACT_STEP != last:
            last = k >> COMPACT_STEP
            cells.entry_key[entries] = last
            cells.entry_sums[entries] = 0.0
            entries += 1
        for i in range(4):
            totals.profile[k, i] += scratch.keys[k, i]
            cells.entry_sums[entries - 1, i] += scratch.keys[k, i]
            scratch.keys[k, i] = 0.0
    return entries


@compiled
def collect_keys(
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    truth: NDArray[np.floating],
    status: NDArray[np.uint8],
    nodata: Nodata,
    wanted: Ints,
) -> tuple[Floats, Floats]:
    """Variance and squared error of the valid pixels whose key is wanted; arrays as for `sweep_window`."""
    limits = stored_limits(mean, variance, truth, nodata)
    is_wanted = np.zeros(KEYS, np.bool_)
    is_wanted[wanted] = True
    kept_variance, kept_squared_error = np.empty(truth.size), np.empty(truth.size)
    kept = 0
    for r in range(truth.shape[0]):
        for c in range(truth.shape[1]):
            m, v, y = mean[r, c], variance[r, c], truth[r, c]
            if is_valid(m, v, y, limits) and (status.size == 0 or status[r, c] == 0) and is_wanted[key(v)]:
                error = np.float64(m) - np.float64(y)
                kept_variance[kept], kept_squared_error[kept] = v, error * error
                kept += 1
    return kept_variance[:kept].copy(), kept_squared_error[:kept].copy()
