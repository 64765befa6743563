"""Which pixel centres lie inside polygons that are given by their edges."""

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.grid import Window
from geouq.zones.part import Mask

Edges = NDArray[np.float64]


def inside(edges: Edges, window: Window) -> Mask:
    """Which pixels of a window have their centre inside the polygons with these edges, by the even-odd rule.

    edges : (n, 4), columns and rows of both ends in pixels of the tile, so that pixel (0, 0) has its centre at
    (0.5, 0.5); holes are edges like any. A centre on an edge belongs to the polygon below or to the right of it alone,
    so that polygons which share an edge share no pixel and leave none out. Each crossing is computed alike in whichever
    window, so that windows put together are the whole.

    >>> square = np.array([[1, 1, 3, 1], [3, 1, 3, 3], [3, 3, 1, 3], [1, 3, 1, 1]], float)
    >>> inside(square, Window(0, 0, 3, 4)).astype(int)
    array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])
    """
    mask = np.zeros((window.height, window.width), np.bool_)
    _fill(edges, window.row, window.column, mask)
    return mask


@compiled
def _fill(edges: Edges, top: int, left: int, mask: Mask) -> None:
    """Turn each row of the mask over from where an edge crosses its middle, and then over again from the next one."""
    height, width = mask.shape
    for i in range(edges.shape[0]):
        x, y, to_x, to_y = edges[i]
        if y > to_y:  # from above to below, so that a shared edge is crossed at one place
            x, y, to_x, to_y = to_x, to_y, x, y
        if not y < to_y:
            continue
        slope = (to_x - x) / (to_y - y)
        first, last = max(np.ceil(y - 0.5), float(top)), min(np.ceil(to_y - 0.5), float(top + height))
        for row in range(int(first), int(last)):
            column = max(np.ceil(x + (row + 0.5 - y) * slope - 0.5) - left, 0.0)
            if column < width:
                mask[row - top, int(column)] ^= True
    for row in range(height):
        for column in range(1, width):
            mask[row, column] ^= mask[row, column - 1]
