"""Which windows of which tiles make a sample of the pixels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from geouq.core.grid import Grid, Window
from geouq.rasters.catalog import Tile

# of the free room beside a window: the middle, in which a flipped tile shows itself, then places around it
PLACES = ((0.5, 0.5), (0.2, 0.3), (0.8, 0.7), (0.3, 0.8), (0.7, 0.2))


@dataclass(frozen=True)
class Sampling:
    """How much is looked at: that many tiles, windows in each, and pixels along the side of a window."""

    tiles: int
    windows: int
    side: int = 256


def spread_out(tiles: Sequence[Tile], count: int) -> list[Tile]:
    """So many tiles at equal distances in their order, or all of them."""
    if len(tiles) <= count:
        return list(tiles)
    return [tiles[i] for i in np.linspace(0, len(tiles) - 1, count).round().astype(int)]


def windows_of(grid: Grid, sampling: Sampling) -> Iterator[Window]:
    """Yield windows at the `PLACES`, without those that overlap an earlier one."""
    rows, columns = grid.shape
    height, width = min(sampling.side, rows), min(sampling.side, columns)
    found: list[Window] = []
    for down, across in PLACES[: sampling.windows]:
        window = Window(int(down * (rows - height)), int(across * (columns - width)), height, width)
        if not any(_share_pixels(window, other) for other in found):
            found.append(window)
    yield from found


def _share_pixels(one: Window, other: Window) -> bool:
    apart = (abs(one.row - other.row) >= one.height, abs(one.column - other.column) >= one.width)
    return not any(apart)
