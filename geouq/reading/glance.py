"""A few pixels of one band, as values: of layers that are shown, before anything is compiled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.config import Variable
from geouq.core.grid import Window
from geouq.rasters.catalog import Tile
from geouq.rasters.raster import Raster, opened
from geouq.reading.aligned import aligned_values
from geouq.reading.decoded import ALMOST_LARGEST, Doubles, equals, scaled


class LayerBand(NamedTuple):
    """A band that is shown: its variable, its name in a table, and the key of its raster."""

    variable: Variable
    name: str
    key: str
    band: int


@dataclass(frozen=True)
class Glimpse:
    """The pixels of some bands of a tile in one window.

    place : number of the window in its tile. pixels : float64 (rows, columns) by key of the raster and number of the
    band, NaN where there is no value.
    """

    tile: Tile
    place: int
    window: Window
    layers: Sequence[LayerBand]
    pixels: Mapping[tuple[str, int], Doubles]

    @classmethod
    def of(cls, tile: Tile, place: int, window: Window, layers: Sequence[LayerBand]) -> "Glimpse":
        """Read the pixels of these layers; raise DataError if they cannot be read."""
        bands = dict.fromkeys((layer.key, layer.band) for layer in layers)
        pixels = {(key, band): glance(tile.rasters[key], band, window) for key, band in bands}
        return cls(tile, place, window, layers, pixels)

    def values(self, layer: LayerBand) -> Doubles:
        """Return the pixels of a layer."""
        return self.pixels[layer.key, layer.band]


def glance(raster: Raster, number: int, window: Window) -> Doubles:
    """Return a band in a window after scale and offset, NaN where it is nodata, hidden or not finite.

    Raises DataError where the pixels cannot be read.
    """
    if (aligned := raster.aligned) is not None:

        def known(own: Window) -> tuple[Doubles, NDArray[np.bool_]]:
            """Return the values of a window of the file, and where they are missing."""
            values = glance(aligned.source, number, own)
            return values, np.isnan(values)

        return scaled(aligned_values(raster, window, known), raster.bands[number - 1])
    band, place = raster.bands[number - 1], raster.place(window)
    with opened(raster) as source:
        raw = source.read(number, window=place)
        missing = equals(raw, band.nodata)
        if band.masked:
            missing |= source.read_masks(number, window=place) == 0
        if raster.alpha:
            missing |= source.read(raster.alpha, window=place) == 0
    if band.nodata is not None and ALMOST_LARGEST < abs(band.nodata) < np.inf:
        missing |= np.abs(raw) > ALMOST_LARGEST
    values = scaled(raw, band)
    return np.where(missing | ~np.isfinite(values), np.nan, values)
