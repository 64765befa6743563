"""Gather the valid pixels of a zone in a square of a window, in the order in which the kernel adds them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined
from geouq.core.grid import SQUARE, Places
from geouq.core.validity import REASONS, TRUTH_NODATA, VARIANCE_NOT_POSITIVE, Nodata, is_valid, reason_of, stored_limits
from geouq.kernel.accumulators import SLAB, Pixels
from geouq.kernel.vector_ops import EIGHT, copy_eight, valid_eight, zero_eight

Floats = NDArray[np.float64]
Reals = NDArray[np.floating]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]

EIGHT_PIXELS, LAST = np.uint64(EIGHT), np.uint64(EIGHT - 1)
ALL_VALID = np.uint64((1 << EIGHT) - 1)


class GatheredPixels(NamedTuple):
    """Valid pixels without weights, slab by slab.

    Parameters
    ----------
    mean, variance, truth : float32 or float64 (pixels)
    place : int32 (pixels)
        Places in the window.
    slabs : int64 (slabs, 4)
        Number of pixels; row of the cell in the square, first column of its pixels there; 1 at the end of a cell.
    excluded : int64 (reasons)
        Number of pixels that are not valid, by reason.
    negative : int64 (2)
        Number of pixels with a negative variance, and the place of the first one in the window.
    """

    mean: Reals
    variance: Reals
    truth: Reals
    place: Counts
    slabs: Ints
    excluded: Ints
    negative: Ints


@compiled
def gather_valid(pixels: Pixels, nodata: Nodata, places: Places, boxes: Ints, cell_size: int) -> GatheredPixels:
    """Return the valid pixels of a window at the places of boxes.

    places : int32 (rows, columns), places in the window, NOWHERE for none. boxes : int64 (boxes, 5), of `places` as of
    `sweep_boxes`; the last number is the row of the square in which the cells begin.
    """
    limits, into = stored_limits(pixels.mean, pixels.variance, pixels.truth, nodata), _room(pixels, places, cell_size)
    n, slab = np.uint64(0), 0
    for b in range(len(boxes)):
        top, left, bottom, right = boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3]
        for square in range(left, right, SQUARE):
            end = min(square + SQUARE, right)
            for r0 in range(top, bottom, cell_size):
                for c0 in range(square, end, cell_size):
                    last_row, last_column = min(r0 + cell_size, bottom), min(c0 + cell_size, end)
                    step = max(1, SLAB // (last_column - c0))
                    for r1 in range(r0, last_row, step):
                        before = n
                        for r in range(r1, min(r1 + step, last_row)):
                            n = _take_row(pixels, limits, nodata, places[r, c0:last_column], n, into)
                        into.slabs[slab, 0], into.slabs[slab, 1] = n - before, (boxes[b, 4] + r0 - top) // cell_size
                        into.slabs[slab, 2], into.slabs[slab, 3] = c0 - left, np.int64(r1 + step >= last_row)
                        slab += 1
    return GatheredPixels(
        into.mean[:n], into.variance[:n], into.truth[:n], into.place[:n], into.slabs[:slab], into.excluded,
        into.negative,
    )  # fmt: skip


@compiled
def _room(pixels: Pixels, places: Places, cell_size: int) -> GatheredPixels:
    """Return room for as many pixels as there are places, and for their slabs."""
    size, kind = places.size + EIGHT, pixels.mean.dtype
    slabs = np.empty((places.shape[0] * (places.shape[1] // cell_size + 1), 4), np.int64)
    counts = np.zeros(len(REASONS), np.int64), np.zeros(2, np.int64)
    return GatheredPixels(
        np.empty(size, kind), np.empty(size, kind), np.empty(size, kind), np.empty(size, np.int32), slabs, *counts
    )


@inlined
def _take_row(pixels, limits, nodata, places, n, into):
    """Append the valid pixels of a row of a cell, whose pixels come first, to the n so far; return their new number."""
    m, v, y, _, status = pixels
    c, columns = np.uint64(0), np.uint64(len(places))
    while c < columns and places[c] >= 0:
        p = np.uint64(places[c])
        if c + EIGHT_PIXELS <= columns and places[c + LAST] == places[c] + np.int32(LAST):  # side by side
            valid = valid_eight(m, v, y, p, limits[:3])
            if status.size > 0:
                valid &= zero_eight(status, p)
            if valid == ALL_VALID:
                _take_eight(pixels, p, n, into)
                n += EIGHT_PIXELS
            elif valid == 0 and status.size == 0 and _are_without_truth(y, p, limits[2], nodata.is_nan[2]):
                into.excluded[TRUTH_NODATA] += EIGHT
            else:
                for lane in range(EIGHT_PIXELS):
                    n = _take_pixel(pixels, limits, nodata, p + lane, n, into)
            c += EIGHT_PIXELS
        else:
            n = _take_pixel(pixels, limits, nodata, p, n, into)
            c += np.uint64(1)
    return n


@inlined
def _take_eight(pixels, p, n, into):
    copy_eight(pixels.mean, p, into.mean, n)
    copy_eight(pixels.variance, p, into.variance, n)
    copy_eight(pixels.truth, p, into.truth, n)
    for lane in range(EIGHT_PIXELS):
        into.place[n + lane] = np.int32(p + lane)


@inlined
def _are_without_truth(truth, p, no_truth, nan_is_nodata):
    """Return whether the truth of eight pixels is nodata, as in most gaps."""
    found = np.uint32(0)
    for lane in range(EIGHT_PIXELS):
        y = truth[p + lane]
        found += np.uint32((y == no_truth) | (nan_is_nodata & (y != y)))  # noqa: PLR0124  is it NaN
    return found == EIGHT


@inlined
def _take_pixel(pixels, limits, nodata, p, n, into):
    m, v, y, _, status = pixels
    found = status[p] if status.size > 0 else np.uint8(0)
    into.mean[n], into.variance[n], into.truth[n], into.place[n] = m[p], v[p], y[p], np.int32(p)
    if is_valid(m[p], v[p], y[p], limits) and found == 0:
        return n + np.uint64(1)
    _exclude(pixels, np.int64(p), found, limits, nodata, into.excluded, into.negative)
    return n


@inlined
def _exclude(pixels, p, found, limits, nodata, excluded, negative):
    """Count a pixel that is not valid."""
    variance = pixels.variance[p]
    reason = reason_of(pixels.mean[p], variance, pixels.truth[p], found, limits, nodata.is_nan)
    if reason >= 0:
        excluded[reason] += 1
    if reason == VARIANCE_NOT_POSITIVE and variance < 0:
        if negative[0] == 0:
            negative[1] = p
        negative[0] += 1


@compiled
def errors_of(mean: Reals, truth: Reals) -> tuple[NDArray[np.float32], Counts, Floats]:
    """Return mean - truth as float32, and the numbers and errors of the pixels whose error that does not hold."""
    n, several = len(mean), np.int64(0)
    error, wide = np.empty(n, np.float32), np.empty(n, np.int32)
    for i in range(n):
        own = np.float64(mean[i]) - np.float64(truth[i])
        error[i] = own
        wide[several] = i
        several += np.int64(np.float64(error[i]) != own)
    exact = np.empty(several, np.float64)
    for i in range(several):
        exact[i] = np.float64(mean[wide[i]]) - np.float64(truth[wide[i]])
    return error, wide[:several].copy(), exact


@compiled
def runs_of_places(place: Counts, width: int, row: int, column: int) -> Counts:
    """Return row, first column and number of pixels that lie side by side, int32 (runs, 3), in the tile.

    width, row, column : width of the window of these places, and its first row and column.
    """
    starts, count, end = np.empty(len(place) + 1, np.int64), 0, 0
    for i in range(len(place)):
        if i == 0 or place[i] != place[i - 1] + 1 or place[i] == end:
            starts[count], end = i, (place[i] // width + 1) * width
            count += 1
    starts[count] = len(place)
    runs = np.empty((count, 3), np.int32)
    for r in range(count):
        first = place[starts[r]]
        runs[r, 0], runs[r, 1], runs[r, 2] = row + first // width, column + first % width, starts[r + 1] - starts[r]
    return runs


@compiled
def pixels_of_cells(slabs: Ints) -> Counts:
    """Return the number of pixels of each cell that has some, and 0, int32 (cells, 2)."""
    cells, count, n = np.zeros((len(slabs), 2), np.int32), 0, 0
    for s in range(len(slabs)):
        n += slabs[s, 0]
        if slabs[s, 3] > 0 and n > 0:
            cells[count, 0] = n
            count, n = count + 1, 0
    return cells[:count].copy()
