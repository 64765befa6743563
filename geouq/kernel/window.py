"""The fused sweep over one window of a variable: every sum that a summary holds, in one pass, without the GIL.

Cells (squares of `cell_size` pixels) are cut into slabs of at most `SLAB` pixels. For each slab
  `compact`     copies the valid pixels to buffers and counts the others by reason,
  `_derive`     fills in error, std and z, and adds up these and the products of their deviations from the slab's means,
                which `_merge_products` adds to the cell's by the pairwise rule,
  `_log_sum`    adds log(variance) from exponents and products of mantissas,
  `_scatter`    adds each pixel to its bucket of z and to its key of the variance profile,
  `_keep`       stores single pixels of the tail.
At the end of a cell, `_flush_z` and `_flush_profile` read the cell's numbers off the buckets and keys that it touched,
and add these to the totals of its group. The bits of a group's totals depend on the order of its cells, and on nothing
else: squares of `SQUARE` pixels from left to right, in each of them cells in rows from the top left.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, entry, inlined, inlined_reordered
from geouq.core.gaussian import LOG_2PI
from geouq.core.grid import SQUARE
from geouq.core.validity import Nodata, is_valid, stored_limits
from geouq.kernel.accumulators import COMPACT_STEP, FEW, KEYS, SLAB, CellSums, Pixels, Scratch, Totals
from geouq.kernel.distributions import Scoring
from geouq.kernel.gathered_pixels import GatheredPixels
from geouq.kernel.gaussian import add_slab, compact, key, prune
from geouq.kernel.vector_ops import move_row, move_rows
from geouq.kernel.z_lattice import ZLattice
from geouq.summary.moments import PRODUCTS, SUMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NLL, CRPS = SUMS.index("nll"), SUMS.index("crps")
PIT, PIT_SQUARE = SUMS.index("pit"), SUMS.index("pit_square")
Z, ZZ = SUMS.index("z"), PRODUCTS.index(("z", "z"))


@entry
def sweep_boxes(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    boxes: Ints,
    across: int,
    cell_size: int,
    lattice: ZLattice,
    scratch: Scratch,
    cells: CellSums,
    totals: Totals,
    scoring: Scoring | None,
) -> None:
    """Add boxes of a window, one after the other, to the cells and totals of their group.

    columns : columns of the window. boxes : int64 (boxes, 5), first row and column, and those behind the last, in the
        window, at most `SQUARE` rows; and the column of pixels within the group where the box begins. across : cells in
        a row of the group. scoring : how pixels are scored, with a lattice of PIT; None for normal forecasts.
    """
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    for b in range(len(boxes)):
        top, left, bottom, right, column = boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3], boxes[b, 4]
        for square in range(left, right, SQUARE):
            end = min(square + SQUARE, right)
            for r in range(top, bottom, cell_size):
                for c in range(square, end, cell_size):
                    cell = (r - top) // cell_size * across + (column + c - left) // cell_size
                    box = r, c, min(r + cell_size, bottom), min(c + cell_size, end)
                    _sweep_cell(pixels, limits, nodata, columns, box, lattice, scratch, cells, cell, totals, scoring)


@entry
def sweep_gathered(
    pixels: GatheredPixels,
    first_column: int,
    across: int,
    cell_size: int,
    lattice: ZLattice,
    scratch: Scratch,
    cells: CellSums,
    totals: Totals,
    scoring: Scoring | None,
) -> None:
    """Add pixels that were gathered by slabs to the cells and totals of their group, as `sweep_boxes` would.

    first_column : column of pixels within the group where the square begins in which they lie. across : cells in a row
    of the group.
    """
    start, found = 0, 0
    for s in range(len(pixels.slabs)):
        n, row, column, is_last = pixels.slabs[s]
        cell = row * across + (first_column + column) // cell_size
        for i in range(n):
            scratch.mean[i] = pixels.mean[start + i]
            scratch.variance[i] = pixels.variance[start + i]
            scratch.truth[i] = pixels.truth[start + i]
        start += n
        if n > 0:
            found = n
            add_slab(n, scratch, lattice, cells, cell, totals, scoring)
        if is_last > 0 and cells.n[cell] > 0:
            _flush_z(found, lattice, scratch, cells, cell, totals, scoring)
            _flush_profile(found, scratch, cells, cell, totals)
    for reason in range(len(pixels.excluded)):
        totals.excluded[reason] += pixels.excluded[reason]


@inlined
def _sweep_cell(pixels, limits, nodata, columns, box, lattice, scratch, cells, cell, totals, scoring):
    top, left, bottom, right = box
    step, found = max(1, SLAB // (right - left)), 0
    for r0 in range(top, bottom, step):
        n = np.uint64(0)
        for r in range(r0, min(r0 + step, bottom)):
            first, width = np.uint64(r * columns + left), np.uint64(right - left)
            n = compact(pixels, limits, nodata, first, width, np.uint64(columns), n, scratch, totals)
        if n > 0:
            found = np.int64(n)
            add_slab(found, scratch, lattice, cells, cell, totals, scoring)
    if cells.n[cell] > 0:
        _flush_z(found, lattice, scratch, cells, cell, totals, scoring)
        _flush_profile(found, scratch, cells, cell, totals)


@compiled
def _square_over(total, weight):
    """Return total^2 / weight; both are divided by a power of two first, so that the square stays in range."""
    exponent = math.frexp(weight)[1]
    scaled = math.ldexp(total, -exponent)
    return math.ldexp(scaled**2 / math.ldexp(weight, -exponent), exponent)


@inlined
def _flush_z(found, lattice, scratch, cells, cell, totals, scoring):
    """Read CRPS, NLL, interval scores and counts of a cell off its buckets, and clear them.

    With a scoring, only the counts are read.
    """
    bins, crps, pit, pit_square = scratch.bins, 0.0, 0.0, 0.0
    for i in range(bins.shape[1]):
        bins[0, i], bins[1, i], bins[2, i] = 0.0, 0.0, 0.0
    if cells.n[cell] == found and found <= FEW:  # its pixels are at hand, and name the buckets
        for i in range(found):
            scores = _take_bucket(np.int64(scratch.bucket[i]), lattice, scratch, scoring)
            crps, pit, pit_square = crps + scores[0], pit + scores[1], pit_square + scores[2]
    else:
        for b in range(len(lattice.bin_of)):
            if scratch.buckets[b, 0] > 0:
                scores = _take_bucket(b, lattice, scratch, scoring)
                crps, pit, pit_square = crps + scores[0], pit + scores[1], pit_square + scores[2]
    counts = bins[0]
    for fine in range(len(counts)):
        totals.z_counts[fine] += counts[fine]
        cells.z_counts[cell, lattice.compact_of[fine]] += counts[fine]
    if scoring is None:
        cells.sums[cell, CRPS], cells.sums[cell, PIT], cells.sums[cell, PIT_SQUARE] = crps, pit, pit_square
        _add_scores(lattice, bins, cells, cell)


@inlined
def _add_scores(lattice, bins, cells, cell):
    """Add NLL and interval scores of a cell; bins : as in `Scratch`."""
    _, errors, stds = bins
    squares = cells.products[cell, ZZ] + _square_over(cells.sums[cell, Z], cells.weight[cell])
    cells.sums[cell, NLL] = 0.5 * (cells.weight[cell] * LOG_2PI + cells.sums[cell, NLL] + squares)
    width = _sum_between(stds, 0, len(stds))
    for level in range(len(lattice.half_width)):
        half, low, high = lattice.half_width[level], lattice.outside[level, 0] + 1, lattice.outside[level, 1]
        beyond = _sum_between(errors, 0, low) - _sum_between(errors, high, len(errors))
        beyond -= half * (_sum_between(stds, 0, low) + _sum_between(stds, high, len(stds)))
        cells.interval_scores[cell, level] = 2 * half * width + lattice.penalty[level] * beyond


@inlined
def _take_bucket(b, lattice, scratch, scoring):
    """Move a bucket to its bin of z and clear it; its sums of CRPS, of PIT - 1/2, and of the square of that.

    All its pixels are given the PIT of their mean z, weighted by std, expanded about the middle of the lattice cell.
    A bucket may be empty, if a pixel before had the same one. It adds zeros, as a branch here would be mispredicted.
    """
    n, e, s, szz = scratch.buckets[b, 0], scratch.buckets[b, 1], scratch.buckets[b, 2], scratch.buckets[b, 3]
    fine = lattice.bin_of[b]
    scratch.bins[0, fine] += n
    scratch.bins[1, fine] += e
    scratch.bins[2, fine] += s
    for i in range(4):
        scratch.buckets[b, i] = 0.0
    if scoring is not None:
        return 0.0, 0.0, 0.0
    crps = lattice.crps[b, 0] * s + lattice.crps[b, 1] * e + lattice.crps[b, 2] * szz
    centre, pit, density = lattice.pit[b, 0], lattice.pit[b, 1], lattice.pit[b, 2]
    away = -e / (s + np.float64(n == 0)) - centre  # an empty bucket is divided by 1
    pit += density * away * (1 - centre * away / 2) - 0.5
    return crps, n * pit, n * pit * pit


@inlined_reordered
def _sum_between(values, first, last):
    total = 0.0
    for i in range(first, last):
        total += values[i]
    return total


@inlined
def _flush_profile(found, scratch, cells, cell, totals):
    """Add a cell's keys to the totals and, 32 together, to its compact profile."""
    lowest, highest = key(cells.extremes[cell, 0]), key(cells.extremes[cell, 1])
    if cells.n[cell] == found and found <= FEW:
        for i in range(found):
            _take_key(np.int64(scratch.key[i]), scratch, totals)
    else:
        _take_keys(lowest, highest, scratch, totals)
    entry = cells.entries[0]
    for k in range(lowest >> COMPACT_STEP, (highest >> COMPACT_STEP) + 1):
        if scratch.compact[k, 3] > 0:
            cells.entry_cell[entry], cells.entry_key[entry] = cell, k
            for i in range(4):
                cells.entry_sums[entry, i] = scratch.compact[k, i]
                scratch.compact[k, i] = 0.0
            if len(scratch.weight) > 0:
                _take_weights(scratch.compact_weights[k], cells.entry_sums[entry, 4:])
            entry += 1
    cells.entries[0] = entry


@inlined
def _take_keys(lowest, highest, scratch, totals):
    """Move all keys from the lowest to the highest as `_take_key` does."""
    if len(totals.profile) > 0 and len(scratch.weight) == 0:
        for block in range(lowest >> COMPACT_STEP, (highest >> COMPACT_STEP) + 1):
            start, stop = max(lowest, block << COMPACT_STEP), min(highest + 1, (block + 1) << COMPACT_STEP)
            move_rows(scratch.keys, start, stop, totals.profile, scratch.compact, block)
    else:
        for k in range(lowest, highest + 1):
            if scratch.keys[k, 3] > 0:
                _take_key(k, scratch, totals)


@inlined
def _take_weights(weights, into):
    """Move the sums of weights of a key to its entry, and clear them."""
    for i in range(len(weights)):
        into[i] = weights[i]
        weights[i] = 0.0


@inlined
def _take_key(k, scratch, totals):
    """Move a key, which may be empty, to the totals and to the compact profile, and clear it."""
    if len(totals.profile) > 0:
        move_row(scratch.keys, k, totals.profile, k, scratch.compact, k >> COMPACT_STEP)
    else:
        for i in range(4):
            scratch.compact[k >> COMPACT_STEP, i] += scratch.keys[k, i]
            scratch.keys[k, i] = 0.0
    if len(scratch.weight) > 0:
        for i in range(2):
            totals.profile_weights[k, i] += scratch.key_weights[k, i]
            scratch.compact_weights[k >> COMPACT_STEP, i] += scratch.key_weights[k, i]
            scratch.key_weights[k, i] = 0.0


@compiled
def prune_tail(totals: Totals) -> None:
    """Drop the stored pixels that the highest variance of the group has put outside the tail."""
    if totals.kept_state[0] > 0:
        prune(key(totals.highest[0] / totals.kept_state[0]), totals)


@compiled
def collect_all(
    pixels: Pixels, columns: int, nodata: Nodata, box: tuple[int, int, int, int], row: int, column: int
) -> tuple[Floats, Ints]:
    """Return variance, squared error and any weight of the valid pixels of a box, (pixels, 2 or 3), and their places.

    row, column : of the first pixel of the window in its tile. A place is row << 32 | column.
    """
    m, v, y, weight, status = pixels
    limits, weighted = stored_limits(m, v, y, nodata), weight.size > 0
    top, left, bottom, right = box
    kept, found = np.empty(((bottom - top) * (right - left), 3 if weighted else 2)), 0
    place = np.empty(len(kept), np.int64)
    for r in range(top, bottom):
        for c in range(left, right):
            p = r * columns + c
            if is_valid(m[p], v[p], y[p], limits) and (status.size == 0 or status[p] == 0):
                error = np.float64(m[p]) - np.float64(y[p])
                kept[found, 0], kept[found, 1] = v[p], error * error
                if weighted:
                    kept[found, 2] = weight[p]
                place[found] = ((row + r) << 32) | (column + c)
                found += 1
    return kept[:found].copy(), place[:found].copy()


@compiled
def collect_by_cell(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    box: tuple[int, int, int, int],
    column: int,
    across: int,
    cell_size: int,
) -> tuple[Floats, Ints, Ints]:
    """Return mean, variance, truth and weight (1 without weights) of the valid pixels of a box, (4, pixels).

    Also return the cell of each of these pixels and its position in the window.

    column, across, cell_size : place of the box in its group, as of `sweep_boxes`.
    """
    m, v, y, weight, status = pixels
    limits, weighted = stored_limits(m, v, y, nodata), weight.size > 0
    top, left, bottom, right = box
    kept, found = np.ones((4, (bottom - top) * (right - left))), 0
    cell, place = np.empty(kept.shape[1], np.int64), np.empty(kept.shape[1], np.int64)
    for r in range(top, bottom):
        for c in range(left, right):
            p = r * columns + c
            if is_valid(m[p], v[p], y[p], limits) and (status.size == 0 or status[p] == 0):
                kept[0, found], kept[1, found], kept[2, found] = m[p], v[p], y[p]
                if weighted:
                    kept[3, found] = weight[p]
                cell[found] = (column + c - left) // cell_size + (r - top) // cell_size * across
                place[found] = p
                found += 1
    return kept[:, :found].copy(), cell[:found].copy(), place[:found].copy()


@compiled
def collect_keys(pixels: Pixels, nodata: Nodata, wanted: Ints) -> Floats:
    """Return the variance, squared error and any weight of the valid pixels whose key is wanted, (pixels, 2 or 3)."""
    m, v, y, weight, status = pixels
    limits, weighted = stored_limits(m, v, y, nodata), weight.size > 0
    is_wanted = np.zeros(2 * KEYS, np.bool_)  # also for those of negative numbers, of which none is
    is_wanted[wanted] = True
    kept, found = np.empty((y.size, 3 if weighted else 2)), 0
    for p in range(y.size):
        if is_wanted[key(v[p])] and is_valid(m[p], v[p], y[p], limits) and (status.size == 0 or status[p] == 0):
            error = np.float64(m[p]) - np.float64(y[p])
            kept[found, 0], kept[found, 1] = v[p], error * error
            if weighted:
                kept[found, 2] = weight[p]
            found += 1
    return kept[:found].copy()
