"""A few pixels of one band, as values: of layers that are shown, before anything is compiled."""

import numpy as np
from numpy.typing import NDArray

from geouq.core.grid import Window
from geouq.rasters.raster import Raster, opened
from geouq.reading.aligned import aligned_values
from geouq.reading.decoded import ALMOST_LARGEST, Doubles, equals, scaled


def glance(raster: Raster, number: int, window: Window) -> Doubles:
    """Return a band in a window after scale and offset, NaN where it is nodata, hidden or not finite.

    Raises DataError where the pixels cannot be read.
    """
    if (aligned := raster.aligned) is not None:

        def known(own: Window) -> tuple[Doubles, NDArray[np.bool_]]:
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
