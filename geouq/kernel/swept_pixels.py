"""Collect all valid pixels of a zone in the order in which the kernel adds them."""

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled
from geouq.core.grid import SQUARE, Places
from geouq.core.validity import Nodata, is_valid, stored_limits
from geouq.kernel.accumulators import Pixels

Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Collected = tuple[NDArray[np.floating], NDArray[np.float32], Counts, NDArray[np.float64], Counts, Counts]


@compiled
def collect_swept(
    pixels: Pixels,
    columns: int,
    nodata: Nodata,
    boxes: Ints,
    cell_size: int,
    places: Places,
    source: tuple[int, int, int],
) -> Collected:
    """Return all valid pixels of boxes, without weights, as `SweptPixels` has them.

    boxes, columns : as of `sweep_boxes`. places, source : where these pixels lie in the rows of another window, and
    the width of that window and its first row and column in the tile.
    """
    m, v, y, _, status = pixels
    limits, n = stored_limits(m, v, y, nodata), 0
    size, width = len(m), source[0]
    variance, error = np.empty(size, v.dtype), np.empty(size, np.float32)
    wide, wide_error = np.empty(size, np.int32), np.empty(size, np.float64)
    runs, cells = np.empty((size, 3), np.int32), np.empty((size, 2), np.int32)
    several, run, cell, before = 0, 0, 0, -2
    for b in range(len(boxes)):
        top, left, bottom, right = boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3]
        for square in range(left, right, SQUARE):
            for r0 in range(top, bottom, cell_size):
                for c0 in range(square, min(square + SQUARE, right), cell_size):
                    first = n
                    for r in range(r0, min(r0 + cell_size, bottom)):
                        for p in range(r * columns + c0, r * columns + min(c0 + cell_size, right)):
                            if is_valid(m[p], v[p], y[p], limits) and (status.size == 0 or status[p] == 0):
                                own, place = np.float64(m[p]) - np.float64(y[p]), np.int64(places[p])
                                variance[n], error[n] = v[p], own
                                if np.float64(error[n]) != own:
                                    wide[several], wide_error[several] = n, own
                                    several += 1
                                if place == before + 1 and place % width > 0:
                                    runs[run - 1, 2] += 1
                                else:
                                    runs[run, 0], runs[run, 1] = source[1] + place // width, source[2] + place % width
                                    runs[run, 2] = 1
                                    run += 1
                                before = place
                                n += 1
                    if n > first:
                        cells[cell, 0], cells[cell, 1] = n - first, 0
                        cell += 1
    return (
        variance[:n].copy(), error[:n].copy(), wide[:several].copy(), wide_error[:several].copy(), runs[:run].copy(),
        cells[:cell].copy(),
    )  # fmt: skip
