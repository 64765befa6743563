"""Where the name of a region that is polygons stands on the map: in the region, where it is widest."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROWS = 33  # looked at for the widest stretch
NEARLY = 0.95  # of the widest stretch: of rows that are nearly as wide, the one in the middle is taken


class Spot(NamedTuple):
    """The middle of a stretch that lies in a region, and its width, in pixels."""

    x: float
    y: float
    width: float


def widest(edges: Floats, height: int, width: int) -> Spot | None:
    """Return the widest stretch of a row that is inside polygons with these edges and in a tile; None without one.

    edges : (n, 4), columns and rows of both ends in pixels of the tile, not cut at its borders.

    >>> widest(np.array([[1.0, 1, 3, 1], [3, 1, 3, 3], [3, 3, 1, 3], [1, 3, 1, 1]]), 4, 4)
    Spot(x=2.0, y=2.0, width=2.0)
    """
    top, bottom = max(float(edges[:, 1::2].min()), 0.0), min(float(edges[:, 1::2].max()), float(height))
    rows = top + (bottom - top) * (np.arange(ROWS) + 0.5) / ROWS
    found = [spot for row in rows.tolist() if top < bottom and (spot := _widest_in_row(edges, row, width))]
    most = max((spot.width for spot in found), default=0.0)
    wide = [spot for spot in found if spot.width >= NEARLY * most]
    return wide[len(wide) // 2] if wide else None


def _widest_in_row(edges: Floats, row: float, width: int) -> Spot | None:
    """Return the widest part of one row that lies inside; each edge is between inside and outside."""
    x, y, to_x, to_y = edges[(edges[:, 1] <= row) != (edges[:, 3] <= row)].T
    crossings = np.clip(np.sort(x + (row - y) * (to_x - x) / (to_y - y)), 0.0, width)
    if not len(crossings):
        return None
    begin, end = crossings[:-1:2], crossings[1::2]
    k = int(np.argmax(end - begin))
    return Spot(float(begin[k] + end[k]) / 2, row, float(end[k] - begin[k])) if end[k] > begin[k] else None
