"""Valid pixels of a slab with all layers of their prediction, side by side in buffers that stay in cache.

A slab is some rows of a cell; its pixels are the lanes of every loop over layers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.core.compiled import compiled, inlined, inlined_reordered
from geouq.core.grid import SQUARE
from geouq.core.validity import is_valid, reason_of
from geouq.kernel.vector_ops import EIGHT, valid_eight, zero_eight
from geouq.summary.moments import CENTRED, LEFT, PRODUCTS, RIGHT, SUMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLAB = 256
TOGETHER = 32  # pixels; `SLAB` is a multiple of it
SHORT = 8  # pixels of a run that are copied one by one
ALL_VALID = np.uint64((1 << EIGHT) - 1)
ERROR, ABS_ERROR, STD, TRUTH, Z = range(len(CENTRED))
VARIANCE = SUMS.index("variance")
Box = tuple[int, int, int, int]


class Layers(NamedTuple):
    """The layers of a prediction besides its mean, each (layers, pixels), rows one after the other.

    values : members, quantiles or probabilities, float32 or float64. more : variances of members, the two parts of a
    variance, or the number of the true class, of the same type; (0, pixels) where there is nothing. number : uint64
    (pixels), by which pixels are sampled, or empty. first : place of the window's first pixel in each of these.
    """

    values: NDArray[np.floating]
    more: NDArray[np.floating]
    number: NDArray[np.uint64]
    first: int = 0


class Gathered(NamedTuple):
    """Buffers of one thread: valid pixels of a slab, in the order of the window.

    place : of each pixel in the window. run : the end of each run of pixels that lie side by side there. excluded :
    places of the other pixels. values, more : as of `Layers`, of the same type. work : rows for what is found of each
    pixel.
    """

    place: Ints
    run: Ints
    excluded: Ints
    truth: Floats
    mean: Floats
    weight: Floats
    values: NDArray[np.floating]
    more: NDArray[np.floating]
    work: Floats


def new_gathered(layers: int, more: int, work: int, dtype: DTypeLike) -> Gathered:
    """Return the buffers for so many layers of that type, and rows of work."""
    truth, mean, weight = np.empty((3, SLAB))
    values, own = np.empty((layers, SLAB), dtype), np.empty((more, SLAB), dtype)
    place, run, excluded = np.empty((3, SLAB + EIGHT), np.int64)
    return Gathered(place, run, excluded, truth, mean, weight, values, own, np.empty((work, SLAB)))


@compiled
def slabs_of(box: Box, column: int, across: int, cell_size: int) -> Ints:
    """Slabs of a box as rows of numbers: cell, first row and column, and those behind the last; as in `sweep_boxes`."""
    top, left, bottom, right = box
    step = max(1, SLAB // min(cell_size, SQUARE))
    down, wide = (bottom - top + cell_size - 1) // cell_size, (right - left + cell_size - 1) // cell_size
    found, count = np.empty((down * wide * ((cell_size + step - 1) // step), 5), np.int64), 0
    for r in range(top, bottom, cell_size):
        for c in range(left, right, cell_size):
            cell = (r - top) // cell_size * across + (column + c - left) // cell_size
            end = min(r + cell_size, bottom)
            for first in range(r, end, step):
                slab = cell, first, c, min(first + step, end), min(c + cell_size, right)
                for i in range(5):
                    found[count, i] = slab[i]
                count += 1
    return found[:count]


@compiled
def mark_not_finite(values: NDArray[np.floating], status: NDArray[np.uint8], wrong: int) -> None:
    """Set the status `wrong` for pixels, values (layers, pixels), with a layer that is not finite."""
    for k in range(len(values)):
        own = values[k]
        for i in range(len(status)):
            status[i] = status[i] if abs(own[i]) < np.inf else wrong


@inlined
def gather(pixels, limits, columns, slab, layers, into):
    """Copy the valid pixels of a slab to the buffers; their number.

    Pixels of no weight follow, as many as `filled_up` tells.
    """
    n = _find_valid(pixels, limits, columns, slab, into.place, into.excluded)
    runs = _runs(n, into.place, into.run)
    _copy(pixels.truth, 0, n, runs, into, into.truth)
    _copy(pixels.mean, 0, n, runs, into, into.mean)
    if pixels.weight.size > 0:
        _copy(pixels.weight, 0, n, runs, into, into.weight)
    else:
        for i in range(n):
            into.weight[i] = 1.0
    for k in range(layers.values.shape[0]):
        _copy(layers.values[k], layers.first, n, runs, into, into.values[k])
    for k in range(layers.more.shape[0]):
        _copy(layers.more[k], layers.first, n, runs, into, into.more[k])
    _fill_up(n, into)
    return n


@inlined
def filled_up(n):
    """So many pixels that loops over them need not end on single ones, which take as long as many together."""
    return n + (-n) % TOGETHER


@inlined
def _fill_up(n, into):
    """Repeat the last pixel, without weight."""
    for i in range(n, filled_up(n)):
        into.truth[i], into.mean[i], into.weight[i] = into.truth[n - 1], into.mean[n - 1], 0.0
        for k in range(into.values.shape[0]):
            into.values[k, i] = into.values[k, n - 1]
        for k in range(into.more.shape[0]):
            into.more[k, i] = into.more[k, n - 1]


@inlined
def _find_valid(pixels, limits, columns, slab, place, excluded):
    """Return the number of valid pixels, with the places of these and of the others."""
    m, v, y, _, status = pixels
    n, none, eights = 0, 0, (slab[4] - slab[2]) // EIGHT
    for r in range(slab[1], slab[3]):
        first = r * columns + slab[2]
        for p in range(first, first + eights * EIGHT, EIGHT):  # together, as gaps are coherent on maps
            valid = valid_eight(m, v, y, p, limits[:3])
            if status.size > 0:
                valid &= zero_eight(status, p)
            n = _add_places(p, valid, n, place)
            none = _add_places(p, valid ^ ALL_VALID, none, excluded)
        for p in range(first + eights * EIGHT, r * columns + slab[4]):
            place[n], excluded[none] = p, p
            shown = status.size == 0 or status[p] == 0
            counts = np.int64(is_valid(m[p], v[p], y[p], limits) & shown)
            n, none = n + counts, none + 1 - counts
    return n


@inlined
def _add_places(p, valid, n, place):
    """Add the places of those among eight pixels from `p` on that bits tell."""
    if valid == ALL_VALID:
        for lane in range(EIGHT):
            place[n + lane] = p + lane
        return n + EIGHT
    if valid > 0:
        for lane in range(EIGHT):  # every one, without a branch
            place[n] = p + lane
            n += np.int64((valid >> np.uint64(lane)) & np.uint64(1))
    return n


@inlined
def _runs(n, place, run):
    """Return the number of runs of adjacent pixels in the window; run : filled in with the ends of each."""
    count = 0
    for i in range(1, n):
        run[count] = i
        count += np.int64(place[i] != place[i - 1] + 1)
    run[count] = n
    return count + np.int64(n > 0)


@inlined
def _copy(source, first, n, runs, into, target):
    """Copy the pixels, run by run, or one by one where runs are short."""
    place, begin = into.place, np.uint64(0)
    if runs * SHORT > n:
        for i in range(np.uint64(n)):
            target[i] = source[np.uint64(first + place[i])]
        return
    for j in range(runs):
        end = np.uint64(into.run[j])
        ahead = np.uint64(first + place[begin]) - begin
        for i in range(begin, end):
            target[i] = source[ahead + i]
        begin = end


@inlined
def add_plain(n, pixels, limits, nodata, slab, into, cells, totals):
    """Add number, weight and moments of the gathered pixels to their cell, and count the excluded ones by reason.

    For forecasts that have no variance of their own, of which the std is taken to be 1.
    """
    _count_excluded((slab[3] - slab[1]) * (slab[4] - slab[2]) - n, pixels, limits, nodata, into.excluded, totals)
    if n == 0:
        return
    cell, weight = slab[0], add_up(n, into.weight)
    means, sums, before = _means(n, into, weight), cells.sums[slab[0]], cells.weight[slab[0]]
    products = _products(n, into, means)
    for j in range(len(PRODUCTS)):
        left, right = LEFT[j], RIGHT[j]
        away = 0.0
        if before > 0:
            away = (sums[left] / before - means[left]) * (sums[right] / before - means[right])
        cells.products[cell, j] += products[j] + before * weight / (before + weight) * away
    for i in range(len(means)):
        sums[i] += weight * means[i]
    sums[VARIANCE] += weight
    cells.n[cell] += n
    cells.weight[cell] += weight
    cells.extremes[cell, 0], cells.extremes[cell, 1] = 1.0, 1.0


@inlined
def _count_excluded(count, pixels, limits, nodata, excluded, totals):
    m, v, y, _, status = pixels
    for i in range(count):
        p = excluded[i]
        found = status[p] if status.size > 0 else np.uint8(0)
        reason = reason_of(m[p], v[p], y[p], found, limits, nodata.is_nan)
        if reason >= 0:
            totals.excluded[reason] += 1


@inlined_reordered
def add_up(n, values):
    """Sum of the first n."""
    total = 0.0
    for i in range(n):
        total += values[i]
    return total


@inlined_reordered
def add_up_weighted(n, values, weight):
    """Weighted sum of the first n."""
    total = 0.0
    for i in range(n):
        total += weight[i] * values[i]
    return total


@inlined_reordered
def _means(n, into, weight):
    """Weighted means of what is `CENTRED`: error, its size, std (1), truth, z (less error)."""
    e, a, y = 0.0, 0.0, 0.0
    y0 = into.truth[0]
    for i in range(n):
        w, error = into.weight[i], into.mean[i] - into.truth[i]
        e += w * error
        a += w * abs(error)
        y += w * (into.truth[i] - y0)
    return e / weight, a / weight, 1.0, y0 + y / weight, -e / weight


@inlined_reordered
def _products(n, into, means):
    """Weighted sums of products of deviations from the means, in the order of `PRODUCTS`."""
    ee, aa, yy, ey = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        w, truth = into.weight[i], into.truth[i] - means[TRUTH]
        error = into.mean[i] - into.truth[i]
        e, a = error - means[ERROR], abs(error) - means[ABS_ERROR]
        ee += w * e * e
        aa += w * a * a
        yy += w * truth * truth
        ey += w * e * truth
    return ee, aa, 0.0, yy, ee, 0.0, ey


def comparators(count: int) -> Ints:
    """Pairs of places whose exchange, one after the other, sorts that many numbers (Batcher's odd-even merge sort).

    >>> comparators(4).tolist()
    [[0, 2], [1, 3], [0, 1], [2, 3], [1, 2]]
    """
    found, top = [], 1 << max((count - 1).bit_length() - 1, 0)
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while d > 0:
            found += [(i, i + d) for i in range(count - d) if i & p == r]
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return np.array(found, np.int64).reshape(-1, 2)


@inlined
def sort_lanes(n, values, pairs):
    """Put the values of each pixel, values (layers, pixels), in order; `pairs` as of `comparators`."""
    for j in range(pairs.shape[0]):
        low, high = values[pairs[j, 0]], values[pairs[j, 1]]
        for i in range(n):
            a, b = low[i], high[i]
            low[i] = min(a, b)
            high[i] = max(b, a)
