"""How a tile is cut: into groups, which fix the bits of its sums, and into windows, which suit its files.

A group is a row of squares of 256 pixels; groups lie one below the other in bands of up to 8192 pixels. The squares of
a group are added from left to right, the groups of a band from top to bottom, and the bands from left to right, whoever
read them and in whichever windows. A piece is the unit of work: groups side by side and one below the other, with the
windows that cover them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geouq.core.grid import SQUARE, Grid, Window
from geouq.rasters.array_layout import DEEP
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import CACHE
from geouq.rasters.raster import Raster

BAND = 32 * SQUARE
WINDOW = 2 * SQUARE  # windows of this side stay in cache
FAR_WINDOW = 8 * SQUARE  # windows of this side take few requests
SMALL_CACHE = 16 << 20  # bytes; enough where no block is needed twice
LARGEST = 1 << 22  # pixels of a window that is to hold whole blocks
MOST_VALUES = 1 << 25  # of all members, quantiles or probabilities in a window


@dataclass(frozen=True)
class Reading:
    """Size of windows in pixels, multiples of `SQUARE`; cache : bytes that GDAL is to keep of decoded blocks."""

    height: int = WINDOW
    width: int = WINDOW
    cache: int = CACHE


@dataclass(frozen=True)
class Piece:
    """Windows that are read together, from left to right, and the groups that they fill."""

    windows: tuple[Window, ...]
    groups: tuple[Window, ...]


def reading_for(tile: Tile, workers: int = 1, widest: int | None = None) -> Reading:
    """Return the windows that hold whole blocks of the file with the largest ones, so that each is decoded once.

    Of a file in strips, these are as wide as the tile, unless that is wider than `widest`: then strips are decoded
    several times. Blocks too large for one window are left to GDAL's cache. Of files on a server windows are larger:
    GDAL requests all blocks of a window together.
    """
    rows, columns = (max(raster.block[axis] for raster in tile.rasters.values()) for axis in (0, 1))
    least = FAR_WINDOW if any(raster.is_remote for raster in tile.rasters.values()) else WINDOW
    if columns >= tile.grid.shape[1] > WINDOW:
        some = rows if least == WINDOW else max(rows, least**2 // columns)
        height, width = _up(min(some, tile.grid.shape[0])), _up(tile.grid.shape[1])
    else:
        height, width = (
            min(max(least, _up(side)), max(WINDOW, _up(side), _up(whole)))
            for side, whole in zip((rows, columns), tile.grid.shape, strict=True)
        )
    most = MOST_VALUES // tile.layers
    if tile.layers > 1 and height * width > most:
        width = max(SQUARE, most // height // SQUARE * SQUARE)
        height = height if height * width <= most else SQUARE
    if rows > WINDOW and height * width > LARGEST:
        width = max(SQUARE, LARGEST // height // SQUARE * SQUARE)
    elif widest is not None and width > widest:
        return Reading(height, widest, SMALL_CACHE)
    blocks = sum(_touched(raster, height, width) for raster in tile.rasters.values())
    aligned = height % rows == 0 and (width % columns == 0 or columns >= tile.grid.shape[1])
    aligned &= not any(raster.array for raster in tile.rasters.values())
    needed = max(workers * blocks, 0 if widest else min(DEEP, _steps_decoded_together(tile)))
    return Reading(height, width, max(SMALL_CACHE if aligned else CACHE, needed))


def _steps_decoded_together(tile: Tile) -> int:
    """Return the bytes of the chunks of a tile that hold other steps too."""
    deep = (r for r in tile.rasters.values() if r.array is not None and r.array.depth > 1)
    return sum(_touched(raster, *tile.grid.shape) for raster in deep)


def _up(length: int) -> int:
    """Return the next multiple of `SQUARE`."""
    return -(-length // SQUARE) * SQUARE


def _touched(raster: Raster, height: int, width: int) -> int:
    """Return the bytes of the blocks that a window touches at most, once decoded."""
    count = 1
    for side, block, whole in zip((height, width), raster.block, raster.grid.shape, strict=True):
        apart = -(-side // block) + (side % block > 0)
        count *= min(apart, -(-whole // block)) * min(block, whole)
    bands = raster.bands if raster.interleaved else raster.bands[:1]
    depth = 1 if raster.array is None else raster.array.depth
    return depth * count * sum(np.dtype(band.dtype).itemsize for band in bands)


def bands_of(grid: Grid) -> int:
    """Return the number of bands of a grid."""
    return -(-grid.shape[1] // BAND)


@dataclass(frozen=True)
class Pieces:
    """Pieces that cover a grid, in rows from its top left. Each is made when it is needed: a header may claim billions.

    Windows wider than a band take all bands together.

    >>> from affine import Affine
    >>> len(Pieces(Grid((600, 9000), Affine.identity(), ""), Reading(512, 512)))
    4
    """

    grid: Grid
    reading: Reading

    @property
    def across(self) -> int:
        """Number of pieces side by side."""
        return -(-self.grid.shape[1] // self._width)

    @property
    def _width(self) -> int:
        return BAND if self.reading.width <= BAND else max(self.grid.shape[1], 1)

    def __len__(self) -> int:
        return -(-self.grid.shape[0] // self.reading.height) * self.across

    def __getitem__(self, place: int) -> Piece:
        if not 0 <= place < len(self):
            raise IndexError(place)
        down, right = divmod(place, self.across)
        row, column = down * self.reading.height, right * self._width
        height, width = (
            min(self.reading.height, self.grid.shape[0] - row),
            min(self._width, self.grid.shape[1] - column),
        )
        box = Window(row, column, height, width)
        return Piece(tuple(boxes_of(box, self.reading.height, self.reading.width)), tuple(boxes_of(box, SQUARE, BAND)))

    def __iter__(self) -> Iterator[Piece]:
        return map(self.__getitem__, range(len(self)))


def overlap(one: Window, other: Window) -> Window:
    """Return the pixels of both; its height or width is 0 or less where there are none."""
    row, column = max(one.row, other.row), max(one.column, other.column)
    bottom = min(one.row + one.height, other.row + other.height)
    return Window(row, column, bottom - row, min(one.column + one.width, other.column + other.width) - column)


def boxes_of(whole: Window, height: int, width: int) -> Iterator[Window]:
    """Yield the boxes of that size in rows from the top left; smaller at the right and lower border."""
    for row in range(whole.row, whole.row + whole.height, height):
        for column in range(whole.column, whole.column + whole.width, width):
            bottom, right = whole.row + whole.height, whole.column + whole.width
            yield Window(row, column, min(height, bottom - row), min(width, right - column))
