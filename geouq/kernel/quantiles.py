"""Predictions given as quantiles: what each of them, and the distribution that they stand for, is worth at each truth.

The distribution function is linear between quantiles. Its tails are exponential, with the density that it has beside
them between the two outermost quantiles: a truth far outside costs what its distance is.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined, inlined_fused, inlined_reordered
from geouq.core.validity import Nodata, stored_limits
from geouq.kernel.accumulators import CellSums, Pixels, Totals
from geouq.kernel.gather import SLAB, Gathered, Layers, add_plain, add_up_weighted, filled_up, gather, sort_lanes
from geouq.kernel.mixture import exp_below_zero

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CROSSED, INTEGRAL = range(2)
WORK = 2
THIRD = 1 / 3


@compiled
def add_quantiles(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    slabs: Ints,
    layers: Layers,
    levels: Floats,
    pairs: Ints,
    into: Gathered,
    cells: CellSums,
    totals: Totals,
) -> None:
    """Add the pixels of slabs to their cells; levels : of the quantiles; pairs : comparators that sort them.

    Sums stand in the order of `Quantiles.fields`.
    """
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    for s in range(slabs.shape[0]):
        n = gather(pixels, limits, columns, slabs[s], layers, into)
        add_plain(n, pixels, limits, nodata, slabs[s], into, cells, totals)
        if n > 0:
            _add_slab(n, levels, pairs, into, cells.form[slabs[s, 0]])


@inlined
def _add_slab(n, levels, pairs, into, sums):
    count, crossed, wide = len(levels), into.work[CROSSED], filled_up(n)
    for i in range(wide):
        crossed[i] = 0.0
    for k in range(1, count):
        low, high = into.values[k - 1], into.values[k]
        for i in range(wide):
            crossed[i] = 1.0 if high[i] < low[i] else crossed[i]
    crossing = add_up_weighted(n, crossed, into.weight)
    if crossing > 0:
        sort_lanes(wide, into.values, pairs)
    for k in range(count):
        above, over, at_most, below = _of_level(wide, into.values[k], into.truth, into.weight)
        sums[k] += above
        sums[count + k] += over
        sums[2 * count + k] += at_most
        sums[3 * count + k] += below
    sums[4 * count] += crossing
    if count > 1:
        _integrate(wide, levels, into)
        sums[4 * count + 1] += add_up_weighted(n, into.work[INTEGRAL], into.weight)


@inlined_reordered
def _of_level(n, quantile, truth, weight):
    """Weighted sums of truth - quantile, of what the quantile lies above, and of truth at most and below it."""
    above, over, at_most, below = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        away, w = truth[i] - quantile[i], weight[i]
        above += w * away
        over += w * max(-away, 0.0)
        at_most += w if away <= 0 else 0.0
        below += w if away < 0 else 0.0
    return above, over, at_most, below


@inlined
def _integrate(n, levels, into):
    """Integral of (F - 1{truth <= x})^2 over all x, for each pixel."""
    out, truth, values, last = into.work[INTEGRAL], into.truth, into.values, len(levels) - 1
    for i in range(n):
        out[i] = 0.0
    for k in range(last):
        _add_between(n, values[k], values[k + 1], truth, levels[k], levels[k + 1], out)
    _add_tail(n, values[0], values[1], truth, -1.0, levels[0], levels[1] - levels[0], out)
    _add_tail(n, values[last], values[last - 1], truth, 1.0, 1 - levels[last], levels[last] - levels[last - 1], out)


@inlined_fused
def _add_between(n, low, high, truth, p, r, out):
    """Add the integral between two quantiles, of the levels p and r."""
    for i in range(n):
        first, end, y = np.float64(low[i]), np.float64(high[i]), truth[i]
        cut = min(max(y, first), end)
        before, behind, width = cut - first, end - cut, end - first
        share = before / width
        at = p + (r - p) * (share if width > 0 else 0.0)
        below, above = p * p + p * at + at * at, (1 - at) * (1 - at) + (1 - at) * (1 - r) + (1 - r) * (1 - r)
        out[i] += (before * below + behind * above) * THIRD


@inlined_fused
def _add_tail(n, outermost, next_one, truth, side, share, step, out):
    """Add the integral over one tail, which holds that share; side : 1 of the upper one, -1 of the lower one.

    step : what lies between the two outermost quantiles on that side.
    """
    for i in range(n):
        end = np.float64(outermost[i])
        scale = side * (end - np.float64(next_one[i])) * (share / step)
        outside = max(side * (truth[i] - end), 0.0)
        away = outside / scale
        missed = share - share * exp_below_zero(-(away if scale > 0 else 0.0))
        out[i] += share * share * scale / 2 + outside - 2 * scale * missed


@compiled
def add_losses(values: NDArray[np.floating], truth: NDArray[np.floating], above: Floats, over: Floats) -> None:
    """Add truth - quantile, and what the quantile lies above the truth by, for each row of values (levels, pixels)."""
    for first in range(0, len(truth), SLAB):  # truth stays in cache for all levels
        part = truth[first : min(first + SLAB, len(truth))]
        for k in range(len(values)):
            of_slab = _losses(len(part), values[k, first : first + SLAB], part)
            above[k] += of_slab[0]
            over[k] += of_slab[1]


@inlined_reordered
def _losses(n, quantile, truth):
    total, over = 0.0, 0.0
    for i in range(n):
        away = np.float64(truth[i]) - np.float64(quantile[i])
        total += away
        over += max(-away, 0.0)
    return total, over
