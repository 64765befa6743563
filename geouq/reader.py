"""One reader of windows, shared by the sweep, the lazy stack and the maps.

Truth is read first: where a window holds not one valid truth of a variable, its prediction is not read, and its pixels
count under what is wrong with the truth. A float32 file without scale and mask is handed on as it was decoded; its
nodata is left to the kernel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import rasterio.windows
from numpy.typing import NDArray

from geouq.catalog import Tile
from geouq.config import Variable
from geouq.grid import Window
from geouq.raster import Band, Raster, opened
from geouq.validity import MASKED, MEAN_NODATA, TRUTH_NODATA, VARIANCE_NODATA, Nodata

Values = NDArray[np.floating]
Status = NDArray[np.uint8]

NO_STATUS: Status = np.empty((0, 0), np.uint8)
ALMOST_LARGEST = 3.39e38
EXACT_IN_FLOAT32 = ("float32", "float16", "int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class VariableWindow:
    """One variable in one window: values (rows, columns), and which of them the reader excluded.

    status : reason + 1 of each pixel that the reader excluded and 0 elsewhere, or (0, 0) where it excluded none.
    read : False where no truth was valid and mean and variance hold placeholders.
    sources : the statuses that `status` is merged from: of mean, variance, truth and the mask layer.
    """

    mean: Values
    variance: Values
    truth: Values
    status: Status
    nodata: Nodata
    read: bool = True
    sources: tuple[Status, Status, Status, Status] = (NO_STATUS, NO_STATUS, NO_STATUS, NO_STATUS)


@dataclass(frozen=True)
class _Decoded:
    """One band of one layer, its nodata (None if it is dealt with in the status), and its status."""

    values: Values
    nodata: float | None
    status: Status


def read_window(tile: Tile, window: Window) -> Iterator[VariableWindow]:
    """Read one window, a variable at a time in the tile's order."""
    mask, truth = _Layer(tile.mask, tile, window), _Layer(tile.truth, tile, window)
    mean, variance = _Layer(tile.mean, tile, window), _Layer(tile.variance, tile, window)
    for variable in tile.variables:
        y = truth.decoded(variable, TRUTH_NODATA)
        masked = mask.status(variable)
        status = _merged(y.status, masked)
        if not _any_valid(y, status):
            nothing, nodata = np.zeros_like(y.values), Nodata.of(None, None, y.nodata)
            sources = (NO_STATUS, NO_STATUS, y.status, masked)
            yield VariableWindow(nothing, nothing + 1, y.values, status, nodata, read=False, sources=sources)
            continue
        m, v = (
            mean.decoded(variable, MEAN_NODATA),
            variance.decoded(variable, VARIANCE_NODATA, is_variance=True),
        )
        if tile.variance_is_std:
            v = _squared(v)
        status, nodata = _merged(status, m.status, v.status), Nodata.of(m.nodata, v.nodata, y.nodata)
        sources = (m.status, v.status, y.status, masked)
        yield VariableWindow(m.values, v.values, y.values, status, nodata, sources=sources)


class _Layer:
    """One layer within one window; where bands are interleaved, the first one asked for brings all."""

    def __init__(self, raster: Raster | None, tile: Tile, window: Window) -> None:
        self._raster, self._tile, self._window = raster, tile, window
        self._together: dict[int, NDArray[np.generic]] = {}

    def decoded(self, variable: Variable, nodata_reason: int, *, is_variance: bool = False) -> _Decoded:
        assert self._raster is not None  # noqa: S101  only a mask may be absent
        band = self._raster.bands[variable.band - 1]
        raw = _with_one_nodata(self._read(variable.band), band)
        status = self._hidden(variable.band)
        if band.scale == 1 and band.offset == 0:
            kind = np.float32 if band.dtype in EXACT_IN_FLOAT32 else np.float64
            return _Decoded(raw.astype(kind, copy=False), band.nodata, status)
        status = _merged(status, _status_where(_equals(raw, band.nodata), nodata_reason))
        return _Decoded(_scaled(raw, band, is_variance and not self._tile.variance_is_std), None, status)

    def status(self, variable: Variable) -> Status:
        """Of a mask: MASKED where it is 0, not finite, or says nothing."""
        if self._raster is None:
            return NO_STATUS
        number = variable.band if len(self._raster.bands) > 1 else 1
        raw, band = self._read(number), self._raster.bands[number - 1]
        out = (raw == 0) | _equals(raw, band.nodata) | ~np.isfinite(raw)
        return _merged(_status_where(out, MASKED), self._hidden(number))

    def _read(self, number: int) -> NDArray[np.generic]:
        assert self._raster is not None  # noqa: S101  only a mask may be absent
        if not self._raster.interleaved:
            return self._decode([number])[0]
        if not self._together:
            bands = {variable.band for variable in self._tile.variables} | {self._raster.alpha or 0}
            wanted = sorted(bands.intersection(range(1, len(self._raster.bands) + 1)))
            self._together = dict(zip(wanted, self._decode(wanted), strict=True))
        return self._together[number]

    def _decode(self, numbers: list[int]) -> NDArray[np.generic]:
        assert self._raster is not None  # noqa: S101  only a mask may be absent
        with opened(self._raster) as source:
            values: NDArray[np.generic] = source.read(numbers, window=_rasterio_window(self._window))
        return values

    def _hidden(self, number: int) -> Status:
        """MASKED where the file's mask is 0, or its alpha band (GDAL heeds that one in pictures only)."""
        assert self._raster is not None  # noqa: S101  only a mask may be absent
        hidden = []
        if self._raster.bands[number - 1].masked:
            with opened(self._raster) as source:
                mask = source.read_masks(number, window=_rasterio_window(self._window))
            hidden.append(_status_where(mask == 0, MASKED))
        if self._raster.alpha:
            hidden.append(_status_where(self._read(self._raster.alpha) == 0, MASKED))
        return _merged(*hidden)


def _rasterio_window(window: Window) -> rasterio.windows.Window:
    return rasterio.windows.Window(window.column, window.row, window.width, window.height)


def _scaled(raw: NDArray[np.generic], band: Band, is_variance: bool) -> Values:  # noqa: FBT001  a fact about the layer
    """Values after scale and offset; a variance scales with the square and has no offset."""
    values = raw.astype(np.float64)
    return values * band.scale**2 if is_variance else values * band.scale + band.offset


def _squared(std: _Decoded) -> _Decoded:
    """Variance from a std; a negative std stays negative, so that it is noticed, and nodata goes to the status."""
    status = _merged(std.status, _status_where(_equals(std.values, std.nodata), VARIANCE_NODATA))
    values = std.values.astype(np.float64)
    return _Decoded(values * np.abs(values), None, status)


def _with_one_nodata(raw: NDArray[np.generic], band: Band) -> NDArray[np.generic]:
    """The lowest float32 is declared as nodata in many roundings, such as -3.4e38: any of them means all of them."""
    if band.dtype != "float32" or band.nodata is None or not ALMOST_LARGEST < abs(band.nodata) < np.inf:
        return raw
    values = raw.astype(np.float32, copy=False)
    same = np.isfinite(values) & (values * np.sign(np.float32(band.nodata)) > ALMOST_LARGEST)
    return np.where(same, np.float32(band.nodata), values)


def _equals(raw: NDArray[np.generic], nodata: float | None) -> NDArray[np.bool_]:
    if nodata is None:
        return np.zeros(raw.shape, np.bool_)
    return np.isnan(raw) if np.isnan(nodata) else raw == nodata


def _status_where(excluded: NDArray[np.bool_], reason: int) -> Status:
    return excluded.astype(np.uint8) * np.uint8(reason + 1)


def _merged(*parts: Status) -> Status:
    """The first reason of several statuses, 0 where none has one."""
    present = [part for part in parts if part.size]
    if not present:
        return NO_STATUS
    # 0 wraps to 255, behind every reason
    return np.minimum.reduce([part - np.uint8(1) for part in present]) + np.uint8(1)


def _any_valid(truth: _Decoded, status: Status) -> bool:
    valid = np.isfinite(truth.values)
    if truth.nodata is not None and np.isfinite(truth.nodata):
        valid &= truth.values != truth.nodata
    if status.size:
        valid &= status == 0
    return bool(valid.any())
