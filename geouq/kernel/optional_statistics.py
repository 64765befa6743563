"""Statistics that the kernel sums on request only: coverage in groups, thresholds, the order of errors.

So are the auxiliary layers: the ends of an interval, and rasters to group by. These go over the
pixels of a box once more, as few experiments have them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined, inlined_fused
from geouq.core.validity import Nodata, is_valid, stored_limits
from geouq.kernel.accumulators import BLOCK, ORDERING_STEP, CellSums, Pixels, Totals
from geouq.kernel.distributions import Scoring, scores_of, share_below
from geouq.kernel.vector_ops import bits_of_single
from geouq.kernel.z_lattice import REACH, ZLattice
from geouq.summary.coverage_profile import POSITIVE
from geouq.summary.moments import SUMS
from geouq.summary.ordering_profile import CLASS_SHIFT, CLASSES, FIRST_CLASS
from geouq.summary.threshold_sums import BINS
from geouq.summary.variance_profile import FINE_SHIFT

BELOW, ABOVE, WIDTH, MISS = (SUMS.index(f"given_{name}") for name in ("below", "above", "width", "miss"))
SHIFT = np.uint32(FINE_SHIFT)
SIGN, ALL_KEYS = np.uint32(POSITIVE), np.uint32(2 * POSITIVE - 1)
TOP = math.nextafter(2 * REACH, 0)

Box = tuple[int, int, int, int]


@compiled
def add_interval(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    box: Box,
    column: int,
    across: int,
    cell_size: int,
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    cells: CellSums,
) -> None:
    """Add the given interval of each valid pixel of a box to its cell; arguments as in `sweep_boxes`.

    bounds : lower and upper ends, in one dimension as the pixels; the closed interval holds its ends.
    """
    top, left, bottom, right = box
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    for r in range(top, bottom):
        for c in range(left, right):
            p = r * columns + c
            if not _counts(pixels, limits, p):
                continue
            cell = (r - top) // cell_size * across + (column + c - left) // cell_size
            sums, low, high, truth = cells.sums[cell], bounds[0][p], bounds[1][p], np.float64(pixels.truth[p])
            w = pixels.weight[p] if pixels.weight.size > 0 else 1.0
            sums[WIDTH] += w * (high - low)
            if truth < low:
                sums[BELOW] += w
                sums[MISS] += w * (low - truth)
            elif truth > high:
                sums[ABOVE] += w
                sums[MISS] += w * (truth - high)


@compiled
def add_grouped(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    box: Box,
    values: NDArray[np.float32],
    are_codes: bool,  # noqa: FBT001  a fact about the values
    place: int,
    lattice: ZLattice,
    totals: Totals,
    scoring: Scoring | None,
) -> None:
    """Count each valid pixel of a box under its value in another raster, by how many intervals do not hold its truth.

    values : as the pixels, NaN where a pixel belongs to no group. place : number of the grouping. scoring : as in
    `sweep_boxes`.
    """
    top, left, bottom, right = box
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    counts, touched = totals.groups[place], totals.touched[place]
    width = len(lattice.half_width) + 1
    for r in range(top, bottom):
        for p in range(r * columns + left, r * columns + right):
            value = values[p]
            if value != value or not _counts(pixels, limits, p):  # noqa: PLR0124  is it NaN
                continue
            key = np.int64(value) + POSITIVE if are_codes else _key_of_value(value)
            counts[key * width + _outside(pixels, p, lattice, scoring)] += (
                pixels.weight[p] if pixels.weight.size > 0 else 1.0
            )
            touched[key // BLOCK] = 1


@inlined
def _counts(pixels, limits, p):
    shown = pixels.status.size == 0 or pixels.status[p] == 0
    return shown and is_valid(pixels.mean[p], pixels.variance[p], pixels.truth[p], limits)


@inlined
def _key_of_value(value):
    bits = bits_of_single(np.float64(value) + 0.0)  # -0 is 0
    return np.int64(((bits >> SHIFT) | SIGN) ^ ((bits >> np.uint32(31)) * ALL_KEYS))


@inlined
def _outside(pixels, p, lattice, scoring):
    """How many intervals do not hold the truth of a pixel, found as the kernel finds it."""
    mean, variance, truth = np.float64(pixels.mean[p]), np.float64(pixels.variance[p]), np.float64(pixels.truth[p])
    if scoring is None:
        placed = -(mean - truth) / math.sqrt(variance)
        cell = np.int64(min(max(placed + REACH, 0.0), TOP) * lattice.per_unit)
    else:
        placed = scores_of(scoring, mean, variance, truth)[0]
        cell = min(np.int64(placed * lattice.per_unit), len(lattice.first) - 1)
    bucket = np.int64(lattice.first[cell]) + (1 if placed > lattice.threshold[cell] else 0)
    return np.int64(lattice.outside_of[bucket])


SIZE, CLASS_BITS = np.uint32(0x7FFFFFFF), np.uint32(CLASS_SHIFT)
COARSER, COLUMNS = np.uint32(ORDERING_STEP), np.uint32(CLASSES)


@inlined
def add_optional_statistics(n, scratch, lattice, cells, cell, totals, scoring):
    """Add the pixels to groups, thresholds and ordering, as far as there are any."""
    if len(scratch.grouped_by) > 0:
        for i in range(n):
            scratch.outside[i] = lattice.outside_of[scratch.bucket[i]]
    for p in range(len(scratch.grouped_by)):
        if scratch.grouped_by[p] >= 0:
            _add_to_groups(n, p, scratch, lattice, totals)
    for t in range(len(totals.thresholds)):
        _add_to_threshold(n, t, scratch, cells.exceedance[cell, t], totals, scoring)
    if totals.ordering.size > 0:
        _add_to_ordering(n, scratch, totals)


@inlined
def _add_to_groups(n, p, scratch, lattice, totals):
    """Count each pixel under the key of its truth, mean or variance, by how many intervals it lies outside."""
    place, counts, touched, weighted = scratch.place, totals.groups[p], totals.touched[p], len(scratch.weight) > 0
    values = (scratch.truth, scratch.mean, scratch.variance)[scratch.grouped_by[p]]
    columns = np.uint32(len(lattice.half_width) + 1)
    for i in range(n):
        bits = bits_of_single(np.float64(values[i]) + 0.0)  # -0 is 0
        key = ((bits >> SHIFT) | SIGN) ^ ((bits >> np.uint32(31)) * ALL_KEYS)
        place[i] = key * columns + scratch.outside[i]
    for i in range(n):
        before = counts[place[i]]
        if before == 0:
            touched[place[i] // (columns * np.uint32(BLOCK))] = 1
        counts[place[i]] = before + (scratch.weight[i] if weighted else 1.0)


@inlined
def _add_to_threshold(n, t, scratch, own, totals, scoring):
    """Add the probability of exceeding a threshold, and whether the truth does, to a cell and by bin of it."""
    threshold, sums, weighted = totals.thresholds[t], totals.exceeding[t], len(scratch.weight) > 0
    if scoring is None:
        _fill_exceedance(n, threshold, scratch)
    else:
        for i in range(n):
            mean, variance = np.float64(scratch.mean[i]), np.float64(scratch.variance[i])
            scratch.exceedance[i] = 1.0 - scores_of(scoring, mean, variance, threshold)[0]
    total, observed, root, spreads, squares = own[0], own[1], own[2], own[3], own[4]
    for i in range(n):
        p, exceeded = scratch.exceedance[i], 1.0 if scratch.truth[i] > threshold else 0.0
        w, k = scratch.weight[i] if weighted else 1.0, min(np.int32(p * BINS), BINS - 1)
        sums[k, 0] += w
        sums[k, 1] += w * p
        sums[k, 2] += w * p * p
        sums[k, 3] += w * exceeded
        sums[k, 4] += w * p * exceeded
        spread, error = p * (1.0 - p), p - exceeded
        total += w * p
        observed += w * exceeded
        root += w * math.sqrt(spread)
        spreads += w * spread
        squares += w * error * error
    own[0], own[1], own[2], own[3], own[4] = total, observed, root, spreads, squares


@inlined_fused
def _fill_exceedance(n, threshold, scratch):
    """Fill in the probability that a normal forecast exceeds a threshold."""
    for i in range(n):
        scratch.exceedance[i] = share_below((np.float64(scratch.mean[i]) - threshold) / scratch.std[i])


@inlined
def _add_to_ordering(n, scratch, totals):
    """Count each pixel by variance and |z|."""
    place, counts, weighted = scratch.place, totals.ordering, len(scratch.weight) > 0
    for i in range(n):
        size = np.int32((bits_of_single(scratch.z[i]) & SIZE) >> CLASS_BITS) - np.int32(FIRST_CLASS)
        place[i] = (scratch.key[i] >> COARSER) * COLUMNS + np.uint32(min(max(size, 0), CLASSES - 1))
    for i in range(n):
        counts[place[i]] += scratch.weight[i] if weighted else 1.0
