"""Predictions given as probabilities of classes: what they are worth for the class that the truth is of."""

import math

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled, inlined
from geouq.kernel.accumulators import CellSums, Pixels, Totals
from geouq.kernel.gathered import Gathered, Layers, add_plain, add_up_weighted, gather
from geouq.summary.form import BINS, BY_BIN
from geouq.validity import CLASS_NOT_MAPPED, NOT_A_DISTRIBUTION, Nodata, stored_limits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BRIER, LOSS, TOP, CHOICE = range(4)
WORK = 4
TOLERANCE = 1e-3


@compiled
def add_classes(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    slabs: Ints,
    layers: Layers,
    by_class: int,
    top: int,
    into: Gathered,
    cells: CellSums,
    totals: Totals,
) -> None:
    """Add the pixels of slabs to their cells; by_class, top : the first columns of these sums of `Classes`."""
    limits = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata)
    for s in range(slabs.shape[0]):
        n = gather(pixels, limits, columns, slabs[s], layers, into)
        add_plain(n, pixels, limits, nodata, columns, slabs[s], into, cells, totals)
        if n > 0:
            _add_slab(n, by_class, top, into, cells.form[slabs[s, 0]])


@inlined
def _add_slab(n, by_class, top, into, sums):
    classes, truth, weight, work = into.values.shape[0], into.more[0], into.weight, into.work
    brier, loss, highest, choice = work[BRIER], work[LOSS], work[TOP], work[CHOICE]
    for i in range(n):
        brier[i], highest[i], choice[i] = 0.0, -1.0, 0.0
        loss[i] = -math.log(into.mean[i])
    for k in range(classes):
        own, first = into.values[k], by_class + k * BINS * BY_BIN
        for i in range(n):
            p = np.float64(own[i])
            away = p - (1.0 if truth[i] == k else 0.0)
            brier[i] += away * away
            choice[i] = k if p > highest[i] else choice[i]
            highest[i] = max(highest[i], p)
        for i in range(n):
            p, w = np.float64(own[i]), weight[i]
            place = first + BY_BIN * bin_of(p)
            sums[place] += w
            sums[place + 1] += w * p
            sums[place + 2] += w * p * p
    sums[0] += add_up_weighted(n, brier, weight)
    sums[1] += add_up_weighted(n, loss, weight)
    for i in range(n):
        p, w = into.mean[i], weight[i]
        place = by_class + (np.int64(truth[i]) * BINS + bin_of(p)) * BY_BIN
        sums[place + 3] += w
        sums[place + 4] += w * p
        sums[2] += w if p == 0 else 0.0
        place = top + 3 * bin_of(highest[i])
        sums[place] += weight[i]
        sums[place + 1] += weight[i] * highest[i]
        sums[place + 2] += weight[i] if choice[i] == truth[i] else 0.0


@inlined
def bin_of(p):
    """Number of the bin of a probability; the last one is closed."""
    return min(np.int64(p * BINS), BINS - 1)


@compiled
def matched(
    probabilities: NDArray[np.floating],
    truth: NDArray[np.floating],
    codes: Ints,
    status: NDArray[np.uint8],
    of_truth: NDArray[np.floating],
    number: NDArray[np.floating],
) -> None:
    """Fill in the probability and the number of the true class of each pixel, and the status of odd ones.

    probabilities : (classes, pixels). truth : codes, NaN where there is none. codes : of the classes.
    """
    for i in range(len(truth)):
        total, lowest, own, place = 0.0, 0.0, np.nan, -1
        for k in range(len(codes)):
            p = np.float64(probabilities[k, i])
            total += p
            lowest = min(lowest, p)
            if truth[i] == codes[k]:
                own, place = p, k
        of_truth[i], number[i] = own if abs(total) < np.inf else np.nan, place
        if abs(total - 1) > TOLERANCE or lowest < 0:
            status[i] = NOT_A_DISTRIBUTION + 1
        elif place < 0 and truth[i] == truth[i]:
            of_truth[i], status[i] = 1.0, CLASS_NOT_MAPPED + 1
