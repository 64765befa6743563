"""Windows of a prediction given as an ensemble, quantiles or probabilities: all layers of a variable at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.config import Variable
from geouq.core.grid import Window
from geouq.core.validity import MEAN_NODATA, NOT_FINITE
from geouq.forms import KernelForm
from geouq.rasters.layered import Bands, Layered
from geouq.rasters.raster import Band, Raster, opened
from geouq.reading.decoded import Values, equals, scaled, with_one_nodata
from geouq.reading.form_pixels import NO_NUMBER, FormPixels, form_pixels
from geouq.summary.joint_sample import numbers_of, salt_of


class LayerStack:
    """Reads windows of such a prediction, for one thread; with `reuse`, layers are valid until the next one.

    If the bands of a file are interleaved, the first variable reads the bands of all variables.
    """

    def __init__(self, tile: str, prediction: Layered, truth: Raster, *, reuse: bool) -> None:
        self._salt, self._prediction, self._reuse = salt_of(tile), prediction, reuse
        self._is_truth = any(raster.path == truth.path for raster in prediction.rasters.values())
        self._together: dict[str, tuple[Window, NDArray[np.generic]]] = {}
        self._buffers: dict[str, Values] = {}

    @property
    def of_classes(self) -> bool:
        """Return whether the layers are probabilities of classes, so that truth is a code."""
        form = self._prediction.form
        return isinstance(form, KernelForm) and form.truth_is_code

    def codes(self, truth: Values, nodata: float | None) -> Values:
        """Return the codes of the truth, NaN where it says nothing.

        Where probabilities stand in the place of the truth, there is none: each pixel has the code of the first class.
        """
        is_missing = equals(truth, nodata)
        codes = getattr(self._prediction.form, "codes", ())
        if self._is_truth and codes:
            return np.where(is_missing | ~np.isfinite(truth), np.nan, truth.dtype.type(codes[0]))
        return np.where(is_missing, np.nan, truth)

    @property
    def declared(self) -> bool:
        """Return whether the files declare what stands where there is nothing."""
        return any(band.nodata is not None for raster in self._prediction.rasters.values() for band in raster.bands)

    def pixels(self, variable: Variable, window: Window, truth: Values) -> FormPixels:
        """Return the pixels of a variable; truth (pixels), NaN where it says nothing to class probabilities."""
        form, count = self._prediction.form, window.height * window.width
        own = self._prediction.values(variable), self._prediction.more(variable)
        plain = all(_is_plain(raster.bands[i - 1]) for part in own for raster, i in self._bands(part))
        values, more = (
            self._room(name, (sum(len(numbers) for _, numbers in part), count), np.float32 if plain else np.float64)
            for name, part in zip(("values", "more"), own, strict=True)
        )
        self._stack(own[0], window, values)
        self._stack(own[1], window, more)
        number = NO_NUMBER
        if form.sampled_members:
            number = numbers_of(_places(window), self._salt)
        missing = MEAN_NODATA if self.declared else NOT_FINITE
        rounding = sum(_half_a_step(raster.bands[i - 1]) for raster, i in self._bands(own[0]))
        return form_pixels(form, values, more, truth, number, missing=missing, rounding=rounding)

    def _bands(self, bands: Bands) -> Iterator[tuple[Raster, int]]:
        return ((self._prediction.rasters[key], number) for key, numbers in bands for number in numbers)

    def _room(self, name: str, shape: tuple[int, int], kind: type[np.floating]) -> Values:
        size, before = shape[0] * shape[1], self._buffers.get(name)
        if before is None or not self._reuse or before.size < size or before.dtype != kind:
            before = self._buffers[name] = np.empty(size, kind)
        return before[:size].reshape(shape)

    def _stack(self, bands: Bands, window: Window, out: Values) -> None:
        """Fill in layers (layers, pixels), NaN where a file says nothing."""
        first = 0
        for key, numbers in bands:
            self._fill(key, numbers, window, out[first : first + len(numbers)])
            first += len(numbers)

    def _fill(self, key: str, numbers: tuple[int, ...], window: Window, out: Values) -> None:
        """Fill in the layers of one file."""
        raster = self._prediction.rasters[key]
        bands = [raster.bands[number - 1] for number in numbers]
        shape = len(numbers), window.height, window.width
        as_stored = out.dtype == np.float32 and all(band.dtype == "float32" for band in bands)
        raw = self._decoded(key, raster, numbers, window, out.reshape(shape) if as_stored else None)
        for own, stored, number, band in zip(out, raw.reshape(out.shape), numbers, bands, strict=True):
            if not as_stored:
                own[:] = scaled(stored, band)
            if band.nodata is not None and not np.isnan(band.nodata):
                own[equals(with_one_nodata(stored, band), band.nodata)] = np.nan
            if band.masked:
                own[_hidden(raster, number, window).ravel()] = np.nan

    def _decoded(
        self, key: str, raster: Raster, numbers: tuple[int, ...], window: Window, out: Values | None
    ) -> NDArray[np.generic]:
        """Return the stored values (bands, rows, columns), in `out` if it is given."""
        place = raster.place(window)
        if not raster.interleaved or len(numbers) == len(raster.bands):
            with opened(raster) as source:
                return source.read(list(numbers), window=place, out=out)
        before, together = self._together.get(key, (None, np.empty(0)))
        if before != window:
            with opened(raster) as source:
                together = source.read(window=place)
            self._together[key] = window, together
        return np.take(together, [number - 1 for number in numbers], 0, out)


def _is_plain(band: Band) -> bool:
    """Return whether values are taken as they are stored."""
    return band.dtype == "float32" and not band.scaled


def _half_a_step(band: Band) -> float:
    """Return the largest rounding of a value that is stored as a scaled integer; 0 for any other."""
    return abs(band.scale) / 2 if band.scale != 1 and np.dtype(band.dtype).kind in "iu" else 0.0


def _hidden(raster: Raster, number: int, window: Window) -> NDArray[np.bool_]:
    """Return where the mask of a band hides it."""
    with opened(raster) as source:
        return source.read_masks(number, window=raster.place(window)) == 0


def _places(window: Window) -> NDArray[np.uint64]:
    """Return the row and column of each pixel of a window in its tile, in one number."""
    rows = np.arange(window.row, window.row + window.height, dtype=np.uint64) << np.uint64(32)
    columns = np.arange(window.column, window.column + window.width, dtype=np.uint64)
    return np.add.outer(rows, columns).ravel()
