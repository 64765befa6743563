"""Predictions given as probabilities of classes: what they are worth for the class that the truth is of."""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, entry, inlined, inlined_reordered
from geouq.core.validity import CLASS_NOT_MAPPED, NOT_A_DISTRIBUTION, Nodata, stored_limits
from geouq.kernel.accumulators import CellSums, Pixels, Totals
from geouq.kernel.gather import SLAB, Gathered, Layers, add_plain, filled_up, gather
from geouq.kernel.vector_ops import EIGHT, LANES, add_rows, add_to_bins

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SQUARES, HIGHEST, CHOICE, FIRST, SECOND = range(5)
WORK = 5
BINS = 10  # of a probability
BY_BIN = 5  # sums of each bin: n, p, p^2, o, p o, where o is 1 for the class of the truth and 0 for others
TOLERANCE = 1e-3
TOGETHER = 8  # probabilities whose product has one logarithm
SMALLEST = 1e-300  # such a product, below which digits may be lost


@compiled
def add_classes(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    slabs: Ints,
    layers: Layers,
    by_class: int,
    top: int,
    share_std: int,
    into: Gathered,
    cells: CellSums,
    totals: Totals,
) -> None:
    """Add the pixels of slabs to their cells; by_class, top, share_std : first columns of these sums of `Classes`."""
    limits, classes = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata), layers.values.shape[0]
    table, rows = np.zeros(((2 * classes + 1) * BINS * EIGHT, LANES)), np.empty(SLAB, np.uint32)
    for s in range(slabs.shape[0]):
        n = gather(pixels, limits, columns, slabs[s], layers, into)
        add_plain(n, pixels, limits, nodata, slabs[s], into, cells, totals)
        if n > 0:
            _add_slab(n, pixels.weight.size > 0, into, table, rows, cells.form[slabs[s, 0]])
            for k in range(classes):
                cells.form[slabs[s, 0], share_std + k] += _share_std(n, into.values[k], into.weight)
        if s + 1 == slabs.shape[0] or slabs[s + 1, 0] != slabs[s, 0]:
            _flush(classes, by_class, top, table, cells.form[slabs[s, 0]])


@entry
def _add_slab(n, weighted, into, table, rows, sums):
    """Add the gathered pixels to the sums of their cell, and to the table that `_flush` reads at its end.

    The table has `EIGHT` rows for each bin, so that neighbours that fall into one bin do not wait for each other: bins
    of each class, with (n, p, p^2), bins of each class as the true one, with (n, p), and of the most probable class,
    with (n, p, hits).
    """
    classes, truth, weight, work, wide = into.values.shape[0], into.more[0], into.weight, into.work, filled_up(n)
    for i in range(wide):
        work[SQUARES, i], work[HIGHEST, i], work[CHOICE, i] = 0.0, -1.0, 0.0
    for k in range(classes):
        _add_class(wide, k, into.values[k], weight, work, table)
    sums[0] += _brier(n, work[SQUARES], into.mean, weight)
    sums[1] -= _log_sum_weighted(n, into.mean, weight) if weighted else _log_sum(n, into.mean)
    sums[2] += _weight_of_none(n, into.mean, weight)
    _add_true(wide, classes, into.mean, truth, weight, work, table, rows)
    _add_top(wide, 2 * classes, truth, weight, work, table, rows)


@inlined
def _add_class(n, k, own, weight, work, table):
    """Add the probabilities of a class."""
    squares, highest, choice = work[SQUARES], work[HIGHEST], work[CHOICE]
    for i in range(n):
        p, most, before = np.float64(own[i]), highest[i], choice[i]
        squares[i] += p * p
        choice[i] = k if p > most else before
        highest[i] = max(most, p)
    for i in range(0, n, LANES):
        add_to_bins(table, k * BINS, BINS, own, weight, i)


@inlined_reordered
def _brier(n, squares, p, weight):
    """Weighted sum of (1 - p)^2 for the true class, and of the squares of the other probabilities."""
    total = 0.0
    for i in range(n):
        total += weight[i] * (squares[i] - p[i] * p[i] + (1 - p[i]) * (1 - p[i]))
    return total


@inlined_reordered
def _share_std(n, p, weight):
    """Weighted sum of the std of belonging to a class."""
    total = 0.0
    for i in range(n):
        own = np.float64(p[i])
        total += weight[i] * math.sqrt(max(own * (1 - own), 0.0))
    return total


@inlined
def _add_true(n, first, p, truth, weight, work, table, rows):
    """Add the probabilities of the true class, p."""
    wp = work[FIRST]
    for i in range(n):
        rows[i] = row_of(p[i], first + np.int32(truth[i]), i)
    for i in range(n):
        wp[i] = weight[i] * p[i]
    for i in range(0, n, LANES):
        add_rows(table, rows, i, weight, wp, 0.0, 0.0)


@inlined
def _add_top(n, first, truth, weight, work, table, rows):
    """Add the probabilities of the most probable class, and whether it is the true one."""
    highest, choice, wp, hits = work[HIGHEST], work[CHOICE], work[FIRST], work[SECOND]
    for i in range(n):
        rows[i] = row_of(highest[i], first, i)
    for i in range(n):
        wp[i] = weight[i] * highest[i]
    for i in range(n):
        hits[i] = weight[i] if choice[i] == truth[i] else 0.0
    for i in range(0, n, LANES):
        add_rows(table, rows, i, weight, wp, hits, 0.0)


@inlined
def row_of(p, block, i):
    """Return the row of the table for the i-th pixel with the probability p; the last bin is closed."""
    return np.uint32((block * BINS + np.int32(min(p * BINS, BINS - 1.0))) * EIGHT + (i & (EIGHT - 1)))


@inlined
def _flush(classes, by_class, top, table, sums):
    """Add the table to the sums of a cell, and clear it."""
    for k in range(classes):
        for b in range(BINS):
            place = by_class + (k * BINS + b) * BY_BIN
            _take(table, k * BINS + b, 3, sums[place:])
            _take(table, (classes + k) * BINS + b, 2, sums[place + 3 :])
    for b in range(BINS):
        _take(table, 2 * classes * BINS + b, 3, sums[top + 3 * b :])


@inlined
def _take(table, place, count, sums):
    """Add the first columns of the rows of one bin, and clear these."""
    first = place * EIGHT
    for j in range(count):
        total = 0.0
        for i in range(first, first + EIGHT):
            total += table[i, j]
            table[i, j] = 0.0
        sums[j] += total


@inlined
def _log_sum(n, p):
    """Sum of log p, of some together where their product keeps its digits."""
    total, whole = 0.0, n - n % TOGETHER
    for i in range(0, whole, TOGETHER):
        product = ((p[i] * p[i + 1]) * (p[i + 2] * p[i + 3])) * ((p[i + 4] * p[i + 5]) * (p[i + 6] * p[i + 7]))
        if product > SMALLEST:
            total += math.log(product)
        else:
            for j in range(i, i + TOGETHER):
                total += math.log(p[j])
    for i in range(whole, n):
        total += math.log(p[i])
    return total


@inlined
def _log_sum_weighted(n, p, weight):
    total = 0.0
    for i in range(n):
        total += weight[i] * math.log(p[i])
    return total


@inlined_reordered
def _weight_of_none(n, p, weight):
    """Return the weight of the pixels whose true class has the probability 0."""
    total = 0.0
    for i in range(n):
        total += weight[i] if p[i] == 0 else 0.0
    return total


@compiled
def matched(
    probabilities: NDArray[np.floating],
    truth: NDArray[np.floating],
    codes: Ints,
    tolerance: float,
    status: NDArray[np.uint8],
    of_truth: NDArray[np.floating],
    number: NDArray[np.floating],
) -> None:
    """Fill in the probability and the number of the true class of each pixel, and the status of odd ones.

    probabilities : (classes, pixels). truth : codes, NaN if missing. codes : of the classes. tolerance : largest
    difference of the sum of probabilities from 1.
    """
    totals, lowest = np.empty(SLAB), np.empty(SLAB)
    for first in range(0, len(truth), SLAB):
        part = slice(first, min(first + SLAB, len(truth)))
        own_truth, own, numbers = truth[part], of_truth[part], number[part]
        totals[:], lowest[:], own[:], numbers[:] = 0.0, 0.0, np.nan, -1
        for k in range(len(codes)):
            _look_at_class(len(own), k, codes[k], probabilities[k, part], own_truth, own, numbers, totals, lowest)
        _judge(len(own), tolerance, own_truth, own, numbers, totals, lowest, status[part])


@inlined
def _look_at_class(n, k, code, p, truth, of_truth, number, totals, lowest):
    for i in range(n):
        own, total, least = np.float64(p[i]), totals[i], lowest[i]
        totals[i] = total + own
        lowest[i] = min(least, own)
    for i in range(n):
        own, before, other, is_true = p[i], of_truth[i], number[i], truth[i] == code
        of_truth[i] = own if is_true else before
        number[i] = k if is_true else other


@inlined
def _judge(n, tolerance, truth, of_truth, number, totals, lowest, status):
    for i in range(n):
        if not (abs(totals[i] - 1) <= tolerance and lowest[i] >= 0 and number[i] >= 0):
            if not abs(totals[i]) < np.inf:
                of_truth[i] = np.nan
            elif abs(totals[i] - 1) > tolerance or lowest[i] < 0:
                status[i] = NOT_A_DISTRIBUTION + 1
            elif number[i] < 0 and truth[i] == truth[i]:
                of_truth[i], status[i] = 1.0, CLASS_NOT_MAPPED + 1
