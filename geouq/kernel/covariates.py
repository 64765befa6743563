"""What stands beside mean, variance and truth, where it is given: the ends of an interval, and rasters to group by.

Both go over the pixels of a box once more, as few experiments have them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled, inlined
from geouq.kernel.accumulators import BLOCK, CellSums, Pixels, Totals
from geouq.kernel.vector_ops import bits_of_single
from geouq.kernel.z_lattice import REACH, ZLattice
from geouq.summary.coverage_profile import POSITIVE
from geouq.summary.moments import SUMS
from geouq.summary.variance_profile import FINE_SHIFT
from geouq.validity import Nodata, is_valid, stored_limits

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
    """Add the given interval of each valid pixel of a box to its cell; arguments as in `sweep_box`.

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
) -> None:
    """Count each valid pixel of a box under its value in another raster, by how many intervals do not hold its truth.

    values : as the pixels, NaN where a pixel belongs to no group. place : number of the grouping.
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
            counts[key * width + _outside(pixels, p, lattice)] += pixels.weight[p] if pixels.weight.size > 0 else 1.0
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
def _outside(pixels, p, lattice):
    """How many intervals do not hold the truth of one pixel, found as the kernel finds it."""
    error = np.float64(pixels.mean[p]) - np.float64(pixels.truth[p])
    z = -error / math.sqrt(np.float64(pixels.variance[p]))
    cell = np.int64(min(max(z + REACH, 0.0), TOP) * lattice.per_unit)
    bucket = np.int64(lattice.first[cell]) + (1 if z > lattice.threshold[cell] else 0)
    return np.int64(lattice.outside_of[bucket])
