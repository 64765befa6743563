"""Gather pixels from some places of a window in a new window."""

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled
from geouq.core.grid import COLUMN, NOWHERE, Places
from geouq.core.validity import OUTSIDE
from geouq.kernel.accumulators import Pixels

Reals = NDArray[np.floating]
Ints = NDArray[np.int64]
Gathered = tuple[Reals, Reals, Reals, NDArray[np.float64], NDArray[np.uint8]]
Corner = tuple[int, int]


@compiled
def gather(pixels: Pixels, places: Places) -> Gathered:
    """Return the values at these places: mean, variance, truth, weight and status; OUTSIDE is the status of NOWHERE."""
    mean, variance, truth, weight, status = pixels
    n = len(places)
    m, v, y = np.empty(n, mean.dtype), np.empty(n, mean.dtype), np.empty(n, mean.dtype)
    own_weight, own_status = np.empty(n if weight.size else 0), np.zeros(n, np.uint8)
    for i in range(n):
        p = np.uint64(max(places[i], 0))
        m[i], v[i], y[i] = mean[p], variance[p], truth[p]
        if weight.size:
            own_weight[i] = weight[p]
        if places[i] == NOWHERE:
            own_status[i] = OUTSIDE
        elif status.size:
            own_status[i] = status[p]
    return m, v, y, own_weight, own_status


@compiled
def tile_places(place: Ints, corner: Corner, places: Places, width: int, source: Corner) -> Ints:
    """Return where in the tile, row << 32 | column, gathered pixels lie.

    Parameters
    ----------
    place : int64 (pixels)
        row << 32 | column of each pixel in the window into which the pixels were gathered, which begins at `corner`.
    places : int32 (rows, columns)
        Places of the pixels of that window in the rows of the window that they come from.
    width, source : int, (int, int)
        Width of the window that they come from, and its first row and column.

    >>> tile_places(np.array([5 << 32 | 8]), (5, 7), np.array([[0, 23]], np.int32), 10, (100, 200)) == 102 << 32 | 203
    array([ True])
    """
    found = np.empty(len(place), np.int64)
    for i in range(len(place)):
        own = places[(place[i] >> 32) - corner[0], (place[i] & COLUMN) - corner[1]]
        found[i] = (own // width + source[0]) << 32 | (own % width + source[1])
    return found
