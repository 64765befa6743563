"""Windows of a prediction given as an ensemble, quantiles or probabilities: all layers of a variable at once."""

import numpy as np
import rasterio.windows
from numpy.typing import NDArray

from geouq.grid import Window
from geouq.rasters.layered import Bands, Layered
from geouq.rasters.raster import Raster, opened
from geouq.reading.decoded import Values, equals, scaled, with_one_nodata
from geouq.reading.form_pixels import NO_NUMBER, FormPixels, form_pixels
from geouq.summary.form import Classes, Ensemble
from geouq.summary.joint_sample import numbers_of, salt_of
from geouq.validity import MEAN_NODATA, NOT_FINITE


class LayerStack:
    """Reads windows of such a prediction, for one thread.

    Of a file whose bands are interleaved, those of all variables are read with the first one asked for.
    """

    def __init__(self, tile: str, prediction: Layered) -> None:
        self._salt, self._prediction = salt_of(tile), prediction
        self._together: dict[str, tuple[Window, NDArray[np.generic]]] = {}

    @property
    def of_classes(self) -> bool:
        """Whether the layers are probabilities of classes, so that truth is a code."""
        return isinstance(self._prediction.form, Classes)

    @property
    def declared(self) -> bool:
        """Whether the files declare what stands where there is nothing."""
        return any(band.nodata is not None for raster in self._prediction.rasters.values() for band in raster.bands)

    def pixels(self, band: int, window: Window, truth: Values) -> FormPixels:
        """The variable of that band; truth (pixels), NaN where it says nothing to class probabilities."""
        form = self._prediction.form
        values = self._stack(self._prediction.values(band), window)
        more = self._stack(self._prediction.more(band), window, is_variance=True)
        if more.shape[0] == 0:
            more = np.empty((0, values.shape[1]), values.dtype)
        elif more.dtype != values.dtype:
            values, more = values.astype(np.float64), more.astype(np.float64)
        number = NO_NUMBER
        if isinstance(form, Ensemble) and form.densities:
            number = numbers_of(_places(window), self._salt)
        missing = MEAN_NODATA if self.declared else NOT_FINITE
        return form_pixels(form, values, more, truth, number, missing=missing)

    def _stack(self, bands: Bands, window: Window, *, is_variance: bool = False) -> Values:
        """Layers (layers, pixels), NaN where a file says nothing."""
        parts = [self._layers(key, numbers, window, is_variance=is_variance) for key, numbers in bands]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def _layers(self, key: str, numbers: tuple[int, ...], window: Window, *, is_variance: bool) -> Values:
        raster = self._prediction.rasters[key]
        bands = [raster.bands[number - 1] for number in numbers]
        raw = self._decoded(key, raster, numbers, window).reshape(len(numbers), -1)
        if all(band.dtype == "float32" and band.scale == 1 and band.offset == 0 for band in bands):
            found: Values = raw.astype(np.float32, copy=False)
        else:
            found = np.stack([scaled(own, band, is_variance) for own, band in zip(raw, bands, strict=True)])
        for own, stored, number, band in zip(found, raw, numbers, bands, strict=True):
            if band.nodata is not None and not np.isnan(band.nodata):
                own[equals(with_one_nodata(stored, band), band.nodata)] = np.nan
            if band.masked:
                own[_hidden(raster, number, window).ravel()] = np.nan
        return found

    def _decoded(self, key: str, raster: Raster, numbers: tuple[int, ...], window: Window) -> NDArray[np.generic]:
        """Stored values (bands, rows, columns), the caller's own."""
        place = rasterio.windows.Window(window.column, window.row, window.width, window.height)
        if not raster.interleaved:
            with opened(raster) as source:
                return source.read(list(numbers), window=place)
        before, together = self._together.get(key, (None, np.empty(0)))
        if before != window:
            with opened(raster) as source:
                together = source.read(window=place)
            self._together[key] = window, together
        return together[[number - 1 for number in numbers]]


def _hidden(raster: Raster, number: int, window: Window) -> NDArray[np.bool_]:
    """Where the mask of a band hides it."""
    with opened(raster) as source:
        place = rasterio.windows.Window(window.column, window.row, window.width, window.height)
        return source.read_masks(number, window=place) == 0


def _places(window: Window) -> NDArray[np.uint64]:
    """Row and column of each pixel of a window in its tile, in one number."""
    rows = np.arange(window.row, window.row + window.height, dtype=np.uint64) << np.uint64(32)
    columns = np.arange(window.column, window.column + window.width, dtype=np.uint64)
    return np.add.outer(rows, columns).ravel()
