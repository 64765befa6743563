"""A sample of the pixels of an experiment: windows at fixed places of some of its tiles."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.errors import GeouqError
from geouq.grid import Grid, Window
from geouq.rasters.catalog import Tile
from geouq.rasters.raster import gdal_options
from geouq.reading.reader import masked_layers, read_window

Floats = NDArray[np.float64]
READERS = 8
# of the free room beside a window: the middle, in which a flipped tile shows itself, then places around it
PLACES = ((0.5, 0.5), (0.2, 0.3), (0.8, 0.7), (0.3, 0.8), (0.7, 0.2))


@dataclass(frozen=True)
class Sampling:
    """How much is looked at: that many tiles, windows in each, and pixels along the side of a window."""

    tiles: int
    windows: int
    side: int = 256


@dataclass(frozen=True)
class Patch:
    """One variable in one window: mean, variance and truth, float64 (rows, columns), NaN where a pixel does not count.

    place : number of the window in its tile; the first is in the middle.
    """

    tile: str
    variable: str
    place: int
    mean: Floats
    variance: Floats
    truth: Floats

    @property
    def n(self) -> int:
        """Pixels that count."""
        return int(np.isfinite(self.truth).sum())


def take_sample(tiles: Sequence[Tile], sampling: Sampling) -> list[Patch]:
    """Patches of every variable that hold a pixel, in the order of the tiles; a tile that cannot be read has none."""
    chosen = spread_out(tiles, sampling.tiles)
    with ThreadPoolExecutor(READERS) as pool:
        found = list(pool.map(lambda tile: _patches(tile, sampling), chosen))
    return [patch for patches in found for patch in patches]


def spread_out(tiles: Sequence[Tile], count: int) -> list[Tile]:
    """So many tiles at equal distances in their order, or all of them."""
    if len(tiles) <= count:
        return list(tiles)
    return [tiles[i] for i in np.linspace(0, len(tiles) - 1, count).round().astype(int)]


def windows_of(grid: Grid, sampling: Sampling) -> Iterator[Window]:
    """Windows at the `PLACES`, one where the tile is no larger than a window."""
    rows, columns = grid.shape
    height, width = min(sampling.side, rows), min(sampling.side, columns)
    places = PLACES[: sampling.windows if (height, width) != (rows, columns) else 1]
    for down, across in places:
        yield Window(int(down * (rows - height)), int(across * (columns - width)), height, width)


def _patches(tile: Tile, sampling: Sampling) -> list[Patch]:
    found = []
    try:
        with gdal_options():
            for place, window in enumerate(windows_of(tile.grid, sampling)):
                for variable, pixels in zip(tile.variables, read_window(tile, window), strict=True):
                    mean, variance, truth, valid = masked_layers(pixels).astype(np.float64)
                    layers = (np.where(valid > 0, layer, np.nan) for layer in (mean, variance, truth))
                    found.append(Patch(tile.name, variable.name, place, *layers))
    except GeouqError:  # the run tells of a tile that cannot be read
        return []
    return [patch for patch in found if patch.n]
