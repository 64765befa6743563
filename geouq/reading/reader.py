"""One reader of windows, shared by the sweep, the lazy stack and the maps.

Truth is read first, once for all models: where a window holds not one valid truth of a variable, its prediction is not
read, and its pixels count under what is wrong with the truth. A float32 file without scale and mask is handed on as it
was decoded; its nodata is left to the kernel.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geouq.config import NOISES, Variable, key_of
from geouq.core.errors import DataError
from geouq.core.grid import Window
from geouq.core.validity import (
    MASKED,
    MEAN_NODATA,
    OTHER_MODEL,
    TRUTH_NODATA,
    VARIANCE_NODATA,
    WEIGHT_ZERO,
    Nodata,
    any_valid,
    classify,
    mark_invalid,
)
from geouq.rasters.areas import pixel_areas
from geouq.rasters.catalog import Tile
from geouq.rasters.layered import Layered
from geouq.rasters.predictions import Prediction
from geouq.rasters.raster import Band, Raster, is_absent, number_of_band, opened
from geouq.reading.aligned import aligned_values
from geouq.reading.decoded import (
    NO_STATUS,
    Decoded,
    Doubles,
    Status,
    Values,
    equals,
    merged,
    on_real_scale,
    scaled,
    squared,
    status_where,
    variance_of_interval,
    variance_of_relative,
    with_more,
    with_one_nodata,
)
from geouq.reading.layer_stack import LayerStack
from geouq.reading.variable_window import NO_TRUTH_VARIANCE, NO_WEIGHT, Singles, VariableWindow

LAST_CODE = 65535
EXACT_IN_FLOAT32 = ("float32", "float16", "int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class _Auxiliary:
    """What all models of a variable share in a window.

    status : of all these layers, `masked` that of the mask alone. noise : variance of the truth's own error, None for
    none.
    """

    truth: Decoded
    masked: Status
    status: Status
    noise: Doubles | np.float64 | None
    weight: Doubles
    groups: tuple[Singles, ...]


def read_window(tile: Tile, window: Window) -> Iterator[VariableWindow]:
    """Read one window, a variable at a time in the tile's order."""
    reader = TileReader(tile, reuse=False)
    for variable in tile.variables:
        yield reader.read(variable, window)


def masked_layers(pixels: VariableWindow) -> NDArray[np.floating]:
    """Mean, variance and truth, NaN where nodata or masked, and 1 where a pixel is valid: (4, rows, columns)."""
    layers = [pixels.mean, pixels.variance, pixels.truth]
    for i, (values, nodata) in enumerate(zip(layers, pixels.nodata.values, strict=True)):
        missing = ~np.isfinite(values) | (values == values.dtype.type(nodata))
        for status in (pixels.sources[i], pixels.sources[-1]):
            if status.size:
                missing |= status > 0
        layers[i] = np.where(missing | (not pixels.read and i < 2), np.nan, values)
    valid = classify(pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata) < 0
    return np.stack([*layers, valid])


class TileReader:
    """Reads windows of a tile, for one thread. If bands are interleaved, reading one reads all.

    With `reuse`, arrays are valid until the next window is read: fresh memory would cost as much as some decoding.
    """

    def __init__(self, tile: Tile, *, reuse: bool) -> None:
        self.tile = tile
        layers = {layer: _Layer(layer, tile, raster, reuse=reuse) for layer, raster in tile.rasters.items()}
        self._truth, self._noise_layer = layers["truth"], _given(layers, NOISES)
        self._mask, self._weights = layers.get("mask"), layers.get("weights")
        self._covariates = [layers[f"covariates.{name}"] for name in tile.covariates]
        self._classes = [layers[f"classes.{name}"] for name in tile.classes]
        self._models = {
            model: _Model(own, {layer: layers[key_of(model, layer)] for layer in own.rasters})
            for model, own in tile.predictions.items()
            if isinstance(own, Prediction)
        }
        self._stacks = {
            model: LayerStack(tile.name, own, tile.truth, reuse=reuse)
            for model, own in tile.predictions.items()
            if isinstance(own, Layered)
        }
        self._place: tuple[str, Window] | None = None
        self._auxiliary: VariableWindow | _Auxiliary | None = None
        self._found: dict[str, VariableWindow] = {}

    def read(self, variable: Variable, window: Window) -> VariableWindow:
        """One variable in one window; DataError where a file cannot be read, or a weight is negative."""
        if self._place != (variable.variable, window):
            self._place, self._found, self._auxiliary = None, {}, None  # free before more is read
            self._auxiliary = self._without_prediction(variable, window)
            self._place = variable.variable, window
        if isinstance(self._auxiliary, VariableWindow):
            return self._auxiliary
        if variable.name not in self._found and self._auxiliary is not None:
            together = self.tile.together(variable) if self.tile.common else (variable,)
            found = [self._with_prediction(one, window, self._auxiliary) for one in together]
            names = (one.name for one in together)
            self._found |= zip(names, _on_common_pixels(found), strict=True)
        return self._found[variable.name]

    def prediction(self, variable: Variable, window: Window) -> tuple[Values, Values, NDArray[np.bool_]]:
        """Mean and variance of a variable in one window, and where both are known and the variance is positive.

        Nothing else is read, so that there need be no truth.
        """
        m, v, _ = self._models[variable.model].decoded(variable, window)
        if not variable.distributed.is_normal:
            m, v = on_real_scale(variable.distributed, m, v)
        known = np.isfinite(m.values) & np.isfinite(v.values) & (v.values > 0)
        for layer in (m, v):
            known &= ~equals(layer.values, layer.nodata)
            if layer.status.size:
                known &= layer.status == 0
        return m.values, v.values, known

    def _without_prediction(self, variable: Variable, window: Window) -> "VariableWindow | _Auxiliary":
        """Return what all models of a variable share, which is all there is where no truth is valid."""
        band = self._truth.number_of(variable)
        outside = self._outside(window)
        if outside.size and outside.all():
            return _all_masked(outside)
        if is_absent(self.tile.truth, band, window):
            return _without_truth(window, self.tile.truth.bands[band - 1])
        y = self._truth.decoded(variable, window, TRUTH_NODATA)
        masked = merged(outside, self._mask.is_masked(variable, window) if self._mask else NO_STATUS)
        status = merged(y.status, masked)
        if any_valid(y.values.ravel(), Nodata.of(None, None, y.nodata), status.ravel()):
            noise, unknown = self._noise(variable, window, y)
            weight, weightless = self._weight(variable, window)
            groups = (
                *(layer.covariate(variable, window) for layer in self._covariates),
                *(layer.codes(variable, window) for layer in self._classes),
            )
            return _Auxiliary(y, masked, merged(status, weightless, unknown), noise, weight, groups)
        nothing, sources = _placeholder(y.values.shape, y.values.dtype), (NO_STATUS, NO_STATUS, y.status, masked)
        nodata = Nodata.of(None, None, y.nodata)
        return VariableWindow(nothing, nothing, y.values, status, nodata, read=False, sources=sources)

    def _outside(self, window: Window) -> Status:
        """Return MASKED for each pixel outside the polygons of the tile."""
        outline = self.tile.outline
        return NO_STATUS if outline is None else status_where(~outline.covers(window), MASKED)

    def _with_prediction(self, variable: Variable, window: Window, auxiliary: "_Auxiliary") -> VariableWindow:
        """Return the prediction of one model with the auxiliary layers."""
        if variable.model in self._stacks:
            return _of_layers(self._stacks[variable.model], variable, window, auxiliary)
        m, v, bounds = self._models[variable.model].decoded(variable, window)
        if not variable.distributed.is_normal:
            m, v = on_real_scale(variable.distributed, m, v)
        noise = NO_TRUTH_VARIANCE
        if auxiliary.noise is not None:
            v, noise = with_more(v, auxiliary.noise), np.broadcast_to(auxiliary.noise, v.values.shape)
        y, status = auxiliary.truth, merged(auxiliary.status, m.status, v.status)
        nodata, sources = Nodata.of(m.nodata, v.nodata, y.nodata), (m.status, v.status, y.status, auxiliary.masked)
        return VariableWindow(
            m.values,
            v.values,
            y.values,
            status,
            nodata,
            auxiliary.weight,
            sources=sources,
            bounds=bounds,
            is_std=self._models[variable.model].is_std,
            groups=auxiliary.groups,
            truth_variance=noise,
        )

    def _noise(self, variable: Variable, window: Window, truth: Decoded) -> tuple[Doubles | np.float64 | None, Status]:
        """Return the variance of the truth's own error, None for none; where it is not known."""
        if self._noise_layer is None:
            return None if variable.noise is None else np.float64(variable.noise), NO_STATUS
        noise, unknown = self._noise_layer.noise(variable, window)
        if self.tile.truth_relative_std is not None:
            noise = noise * np.square(truth.values, dtype=np.float64)
        return noise, unknown

    def _weight(self, variable: Variable, window: Window) -> tuple[NDArray[np.float64], Status]:
        if self.tile.area_weighted:
            return pixel_areas(self.tile.grid, window), NO_STATUS
        if self._weights is None:
            return NO_WEIGHT, NO_STATUS
        return self._weights.weight(variable, window)


class _Model:
    """The layers of one model's prediction."""

    def __init__(self, prediction: Prediction, layers: Mapping[str, "_Layer"]) -> None:
        self._mean, self._lower = layers["mean"], layers.get("lower")
        self._spread, self._level = prediction.spread, prediction.level
        self._variance = layers["upper" if self._spread == "interval" else self._spread]

    @property
    def is_std(self) -> bool:
        """Return whether the files hold a std, in the unit of the mean or relative to it."""
        return self._spread in ("std", "relative_std")

    def decoded(self, variable: Variable, window: Window) -> tuple[Decoded, Decoded, tuple[Doubles, ...]]:
        """Return the predicted mean and variance, and the ends of the interval where one is given."""
        m = self._mean.decoded(variable, window, MEAN_NODATA)
        v = self._variance.decoded(variable, window, VARIANCE_NODATA)
        if self._lower is not None and self._level is not None:
            lower = self._lower.decoded(variable, window, VARIANCE_NODATA)
            return m, *variance_of_interval(lower, v, self._level)
        if self._spread == "relative_std":
            return m, variance_of_relative(v, m), ()
        return m, (squared(v) if self._spread == "std" else v), ()


class _Layer:
    """One layer of a tile, read window by window."""

    def __init__(self, layer: str, tile: Tile, raster: Raster, *, reuse: bool) -> None:
        self._raster, self._tile, self._layer, self._reuse = raster, tile, layer, reuse
        aligned = raster.aligned
        self._source = _Layer(layer, tile, aligned.source, reuse=reuse) if aligned else None
        self._window: Window | None = None
        self._together: dict[int, NDArray[np.generic]] = {}
        self._buffer: NDArray[np.generic] = np.empty(0)

    def decoded(self, variable: Variable, window: Window, nodata_reason: int) -> Decoded:
        """Return a band as float32 or float64."""
        number = self.number_of(variable)
        band = self._raster.bands[number - 1]
        raw = with_one_nodata(self._read(number, window), band)
        status = self._hidden(number, window)
        if not band.scaled:
            kind = np.float32 if band.dtype in EXACT_IN_FLOAT32 else np.float64
            return Decoded(raw.astype(kind, copy=False), band.nodata, status)
        status = merged(status, status_where(equals(raw, band.nodata), nodata_reason))
        return Decoded(scaled(raw, band), None, status)

    def is_masked(self, variable: Variable, window: Window) -> Status:
        """Of a mask: MASKED where it is 0, or a code that does not count, not finite, or says nothing."""
        number = self.number_of(variable)
        raw, band = self._read(number, window), self._raster.bands[number - 1]
        values, rule = scaled(raw, band), self._raster.rule
        out = values == 0 if rule is None else ~rule.counts(values)
        out |= equals(raw, band.nodata) | ~np.isfinite(values)
        return merged(status_where(out, MASKED), self._hidden(number, window))

    def weight(self, variable: Variable, window: Window) -> tuple[Doubles, Status]:
        """Of weights: their values, and WEIGHT_ZERO where they are 0, not finite, or say nothing."""
        values, none = self.known(self.number_of(variable), window)
        none |= values == 0
        self._refuse((values < 0) & ~none, values, window, "the weight is", "weights are >= 0")
        return np.where(none, 0.0, values), status_where(none, WEIGHT_ZERO)

    def noise(self, variable: Variable, window: Window) -> tuple[Doubles, Status]:
        """Of the truth's own error: its variance, and TRUTH_NODATA where that is not finite or says nothing.

        Of a relative std, the variance relative to the square of the truth.
        """
        values, none = self.known(self.number_of(variable), window)
        what = {"truth_variance": "variance", "truth_std": "std"}.get(self._layer, "relative std")
        self._refuse((values < 0) & ~none, values, window, f"the truth's {what} is", "it must be >= 0")
        known = np.where(none, 0.0, values)
        return known if what == "variance" else known**2, status_where(none, TRUTH_NODATA)

    def covariate(self, variable: Variable, window: Window) -> Singles:
        """Of a covariate: its values, NaN where it says nothing."""
        values, none = self.known(self.number_of(variable), window)
        return np.where(none, np.nan, values).astype(np.float32)

    def codes(self, variable: Variable, window: Window) -> Singles:
        """Of a class raster: its codes, NaN where it says nothing."""
        values, none = self.known(self.number_of(variable), window)
        odd = (values < 0) | (values > LAST_CODE) | (values != np.floor(values))
        self._refuse(odd & ~none, values, window, "the class is", f"codes are whole numbers from 0 to {LAST_CODE}")
        return np.where(none, np.nan, values).astype(np.float32)

    def known(self, number: int, window: Window) -> tuple[Doubles, NDArray[np.bool_]]:
        """Return the values of a band, and where they are not finite, or hidden, or nodata."""
        raw, band = self._read(number, window), self._raster.bands[number - 1]
        values, hidden = scaled(raw, band), self._hidden(number, window)
        none: NDArray[np.bool_] = equals(raw, band.nodata) | ~np.isfinite(values)
        return values, none | (hidden > 0) if hidden.size else none

    def _refuse(self, wrong: NDArray[np.bool_], values: Doubles, window: Window, what: str, rule: str) -> None:
        """Raise DataError that names the first pixel that is wrong, if one is."""
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            place = f"row {window.row + row}, column {window.column + column}"
            raise DataError(f"{self._raster.path}: {what} {values[row, column]:.6g} at {place}; {rule}")

    def number_of(self, variable: Variable) -> int:
        """Return the number of the band that holds a variable."""
        return number_of_band(self._raster, self._layer, variable)

    def _read(self, number: int, window: Window) -> NDArray[np.generic]:
        if (source := self._source) is not None:
            return aligned_values(self._raster, window, lambda own: source.known(number, own))
        if not self._raster.interleaved:
            return self._decode([number], window)[0]
        if self._window != window:
            own = (self.number_of(variable) for variable in self._tile.variables_of(self._layer))
            wanted = sorted({*own, *([self._raster.alpha] if self._raster.alpha else [])})
            self._together = dict(zip(wanted, self._decode(wanted, window), strict=True))
            self._window = window
        return self._together[number]

    def _decode(self, numbers: list[int], window: Window) -> NDArray[np.generic]:
        shape, dtype = (len(numbers), window.height, window.width), self._raster.bands[numbers[0] - 1].dtype
        out = self._room(shape, np.dtype(dtype))
        with opened(self._raster) as source:
            values: NDArray[np.generic] = source.read(numbers, window=self._raster.place(window), out=out)
        return values

    def _room(self, shape: tuple[int, int, int], dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        size = math.prod(shape)
        if not self._reuse or self._raster.alpha:  # alpha is read while a band is still in use
            return np.empty(shape, dtype)
        if self._buffer.size < size or self._buffer.dtype != dtype:
            self._buffer = np.empty(size, dtype)
        return self._buffer[:size].reshape(shape)

    def _hidden(self, number: int, window: Window) -> Status:
        """Return the MASKED where the file's mask is 0, or its alpha band (GDAL heeds that one in pictures only)."""
        if self._source is not None:
            return NO_STATUS
        hidden = []
        if self._raster.bands[number - 1].masked:
            with opened(self._raster) as source:
                mask = source.read_masks(number, window=self._raster.place(window))
            hidden.append(status_where(mask == 0, MASKED))
        if self._raster.alpha:
            hidden.append(status_where(self._read(self._raster.alpha, window) == 0, MASKED))
        return merged(*hidden)


def _of_layers(stack: LayerStack, variable: Variable, window: Window, auxiliary: _Auxiliary) -> VariableWindow:
    """Return members, quantiles or probabilities with the auxiliary layers."""
    y = auxiliary.truth
    truth, nodata = y.values, y.nodata
    if stack.of_classes:
        truth, nodata = stack.codes(truth, nodata), math.nan
    found = stack.pixels(variable, window, truth.ravel())
    mean, variance, truth = (layer.reshape(y.values.shape) for layer in (found.mean, found.variance, found.truth))
    own = found.status.reshape(y.values.shape) if found.status.size else NO_STATUS
    return VariableWindow(
        mean,
        variance,
        truth,
        merged(auxiliary.status, own),
        Nodata.of(math.nan if stack.declared else None, None, nodata),
        auxiliary.weight,
        sources=(NO_STATUS, NO_STATUS, y.status, auxiliary.masked),
        groups=auxiliary.groups,
        layers=found.layers,
    )


def _given(layers: "Mapping[str, _Layer]", keys: Sequence[str]) -> "_Layer | None":
    """Return the layer that is given of several."""
    return next((layers[key] for key in keys if key in layers), None)


@lru_cache(maxsize=4)
def _placeholder(shape: tuple[int, int], dtype: np.dtype[np.floating]) -> Values:
    """Return the ones, not to be written to."""
    return np.ones(shape, dtype)


def _on_common_pixels(windows: Sequence[VariableWindow]) -> list[VariableWindow]:
    """Return the models of a variable in a window, each without the pixels that do not count for another one."""
    if len(windows) < 2:
        return list(windows)
    out = np.zeros(windows[0].truth.shape, np.bool_)
    for found in windows:
        m, v, y, _, status = found.pixels
        mark_invalid(m, v, y, status, found.nodata, out.ravel())
    if not out.any():
        return list(windows)
    other = status_where(out, OTHER_MODEL)
    return [replace(found, status=merged(found.status, other)) for found in windows]


def _all_masked(masked: Status) -> VariableWindow:
    """Return a window in which every pixel is masked, so that nothing is read."""
    nothing, sources = _placeholder(masked.shape, np.dtype(np.float32)), (NO_STATUS, NO_STATUS, NO_STATUS, masked)
    return VariableWindow(nothing, nothing, nothing, masked, Nodata.of(None, None, None), read=False, sources=sources)


def _without_truth(window: Window, band: Band) -> VariableWindow:
    """Return a window in which every truth is nodata."""
    shape = window.height, window.width
    nothing = _placeholder(shape, np.dtype(np.float32))
    truth = np.broadcast_to(np.float64(np.nan if band.nodata is None else band.nodata), shape)
    return VariableWindow(
        nothing, nothing, truth, NO_STATUS, Nodata.of(None, None, band.nodata), read=False, absent=True
    )
