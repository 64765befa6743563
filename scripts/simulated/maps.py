"""Maps that are cut into tiles, as a sweep would find them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from affine import Affine
from numpy.typing import NDArray
from rasterio.crs import CRS

from geouq.core.grid import Grid

Floats = NDArray[np.float64]
Layers = Sequence[Floats]
Part = tuple[slice, slice]

PIXEL = 10  # metres
TRACK = 3  # pixels
UTM = CRS.from_epsg(32633).to_wkt()


@dataclass(frozen=True)
class Layout:
    """Tiles that adjoin: heights of their rows, widths of their columns; share of the last tile that has a truth.

    tracks : distance of slanting tracks of 3 pixels in pixels, outside of which there is no truth; 0 for none.
    """

    heights: tuple[int, ...]
    widths: tuple[int, ...]
    last_valid: float = 1.0
    tracks: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of pixels of all together."""
        return sum(self.heights), sum(self.widths)

    def tiles(self) -> Iterator[tuple[str, Part, Grid]]:
        """Name of each tile, where it lies in the array, and on the ground."""
        tops, lefts = (np.cumsum((0, *sides)) for sides in (self.heights, self.widths))
        for top, height in zip(tops, self.heights, strict=False):
            for left, width in zip(lefts, self.widths, strict=False):
                place = Affine(PIXEL, 0, PIXEL * left, 0, -PIXEL, -PIXEL * top)
                part = np.s_[top : top + height, left : left + width]
                yield f"r{top}c{left}", part, Grid((height, width), place, UTM)

    def with_gaps(self, layers: Layers) -> Layers:
        """Layers whose truth is missing in all but the upper left corner of the last tile, and between tracks."""
        mean, variance, truth = layers
        if self.tracks:
            row, column = np.arange(truth.shape[0])[:, np.newaxis], np.arange(truth.shape[1])
            truth[(column + row // 4) % self.tracks >= TRACK] = np.nan
        height, width = self.heights[-1], self.widths[-1]
        row, column = np.arange(height)[:, np.newaxis], np.arange(width)
        missing = np.maximum(row / height, column / width) >= np.sqrt(self.last_valid)
        truth[-height:, -width:][missing] = np.nan
        return mean, variance, truth
