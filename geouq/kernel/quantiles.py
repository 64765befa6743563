"""Predictions given as quantiles: what each of them, and the distribution that they stand for, is worth at each truth.

The distribution function is linear between quantiles. Its tails are exponential, with the density that it has beside
them between the two outermost quantiles: a truth far outside costs what its distance is.
"""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled, inlined, inlined_reordered
from geouq.kernel.accumulators import CellSums, Pixels, Totals
from geouq.kernel.gathered import SLAB, Gathered, Layers, add_plain, add_up_weighted, gather, sort_lanes
from geouq.validity import Nodata, stored_limits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CROSSED, INTEGRAL = range(2)
WORK = 2


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
        add_plain(n, pixels, limits, nodata, columns, slabs[s], into, cells, totals)
        if n > 0:
            _add_slab(n, levels, pairs, into, cells.form[slabs[s, 0]])


@inlined
def _add_slab(n, levels, pairs, into, sums):
    count, crossed = len(levels), into.work[CROSSED]
    for i in range(n):
        crossed[i] = 0.0
    for k in range(1, count):
        low, high = into.values[k - 1], into.values[k]
        for i in range(n):
            crossed[i] = 1.0 if high[i] < low[i] else crossed[i]
    crossing = add_up_weighted(n, crossed, into.weight)
    if crossing > 0:
        sort_lanes(n, into.values, pairs)
    for k in range(count):
        above, over, at_most, below = _of_level(n, into.values[k], into.truth, into.weight)
        sums[k] += above
        sums[count + k] += over
        sums[2 * count + k] += at_most
        sums[3 * count + k] += below
    sums[4 * count] += crossing
    if count > 1:
        _integrate(n, levels, into)
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
    out, truth, last = into.work[INTEGRAL], into.truth, len(levels) - 1
    for i in range(n):
        out[i] = 0.0
    for k in range(last):
        low, high, p, r = into.values[k], into.values[k + 1], levels[k], levels[k + 1]
        for i in range(n):
            first, last_one = np.float64(low[i]), np.float64(high[i])
            cut = min(max(truth[i], first), last_one)
            before, behind, width = cut - first, last_one - cut, last_one - first
            at = p + (r - p) * (before / width if width > 0 else 0.0)
            out[i] += before / 3 * (p * p + p * at + at * at)
            out[i] += behind / 3 * ((1 - at) * (1 - at) + (1 - at) * (1 - r) + (1 - r) * (1 - r))
    first_step, last_step = levels[1] - levels[0], levels[last] - levels[last - 1]
    for i in range(n):
        inner = (np.float64(into.values[1, i]) - into.values[0, i]) / first_step
        out[i] += _tail(into.values[0, i] - truth[i], levels[0], inner * levels[0])
        inner = (np.float64(into.values[last, i]) - into.values[last - 1, i]) / last_step
        out[i] += _tail(truth[i] - into.values[last, i], 1 - levels[last], inner * (1 - levels[last]))


@inlined
def _tail(outside, share, scale):
    """Integral over one tail, which holds that share; outside : how far truth lies beyond the outermost quantile."""
    if outside <= 0:
        return share * share * scale / 2
    at = share * math.exp(-outside / scale) if scale > 0 else 0.0
    beyond = at * at * scale / 2
    return beyond + outside - 2 * scale * (share - at) + scale / 2 * (share * share - at * at)


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
