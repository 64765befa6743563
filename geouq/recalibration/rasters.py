"""Recalibrated rasters: what a correction delivers for each pixel.

That is a variance, a mean where it moves, and quantiles where the corrected forecast is not normal. Conformal
prediction delivers intervals and no variance: there is a lower and an upper bound for each level. All lie on the grid
of the prediction, with its bands in their order; NaN where it says nothing. A configuration that evaluates them is that
of the run, with the rasters in place of the forecast.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from geouq.config import OF_PREDICTIONS, Experiment, Variable
from geouq.core.atomic import atomic_write
from geouq.core.errors import DataError
from geouq.core.grid import Window
from geouq.core.naming import file_name
from geouq.core.redaction import last_part
from geouq.core.units import squared_unit
from geouq.maps.geotiff import BandLabel, MapWriter, cog_writer
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import CACHE, gdal_options
from geouq.rasters.layered import Layered
from geouq.rasters.predictions import Prediction
from geouq.rasters.raster import Band, Raster, number_of_band, unchanged
from geouq.reading.reader import TileReader
from geouq.recalibration.corrections import (
    ByGroup,
    Unchanged,
    corrected_moments,
    corrected_quantile,
    is_conformal,
)
from geouq.recalibration.fitting import nearest_level
from geouq.recalibration.recalibrator import SMALLEST, Provenance, Recalibrator
from geouq.recalibration.sweeping import places_of, views_of
from geouq.zones import Zones

BLOCK = 512
Values = NDArray[np.float32]
EVALUATE = "evaluate.yaml"
SPREADS = ("variance", "std", "relative_std", "lower", "upper", "level")


@dataclass(frozen=True)
class Layer:
    """A raster to be written: what it is called, whether it has the unit of the variance, and how it is computed.

    compute : from a recalibrator, mean, variance and groups of pixels that count.
    """

    name: str
    long_name: str
    squared: bool
    compute: Callable[..., NDArray[np.float64]]


def layers_for(recalibrators: Sequence[Recalibrator], levels: Sequence[float]) -> list[Layer]:
    """Return the rasters of one model: all that any of its corrections delivers.

    A band of a conformal correction holds no variance; all bands have bounds where one of them needs these.
    """
    corrections = [one.correction for one in recalibrators]
    conformal = [is_conformal(one) for one in corrections]
    found = []
    if any(one.moves_mean for one in corrections):
        found.append(Layer("mean", "recalibrated mean", squared=False, compute=_mean))
    if not all(conformal):
        found.append(Layer("variance", "recalibrated variance", squared=True, compute=_variance))
    others = [one for one, bounded in zip(corrections, conformal, strict=True) if not bounded]
    if any(views_of(one, levels)[0] != (None, False) for one in others):
        for p in ends_of(levels):
            name = f"recalibrated quantile of probability {p:.12g}"
            found.append(Layer(quantile_name(p), name, squared=False, compute=partial(_quantile, p)))
    if any(conformal):
        found += [bound for level in levels for bound in _bounds(level)]
    return found


def _bounds(level: float) -> list[Layer]:
    """Return both ends of the interval of a level."""
    return [
        Layer(
            bound_name(end, level),
            f"{end} bound of the recalibrated {100 * level:.12g} % interval",
            squared=False,
            compute=partial(_quantile, round((1 + side * level) / 2, 12)),
        )
        for end, side in (("lower", -1), ("upper", 1))
    ]


def bound_name(end: str, level: float) -> str:
    """Return the name of a raster of bounds.

    >>> bound_name("lower", 0.9)
    'lower_90'
    """
    return f"{end}_{100 * level:.12g}"


def quantile_name(probability: float) -> str:
    """Name of a raster of quantiles.

    >>> quantile_name(0.05), quantile_name(0.975)
    ('q5', 'q97.5')
    """
    return f"q{100 * probability:.12g}"


def layer_names(levels: Sequence[float]) -> list[str]:
    """Return the names of all rasters that any correction writes."""
    bounds = (bound_name(end, level) for level in levels for end in ("lower", "upper"))
    return ["mean", "variance", *map(quantile_name, ends_of(levels)), *bounds]


def ends_of(levels: Sequence[float]) -> list[float]:
    """Return the probabilities of the ends of the central intervals of some levels, and of the median."""
    return sorted({0.5, *(round((1 + side * level) / 2, 12) for level in levels for side in (-1, 1))})


def path_of_raster(folder: Path, tile: str, layer: str, model: str = "") -> Path:
    """Return the file of a layer of a tile; with several models, its name contains the model."""
    return folder / f"{file_name(tile)}_{layer}{'@' + file_name(model) if model else ''}.tif"


def write_rasters(
    tile: Tile,
    recalibrators: Mapping[str, Recalibrator],
    levels: Sequence[float],
    *,
    zones: Zones | None,
    folder: Path,
) -> list[Path]:
    """Write the recalibrated rasters of each model of a tile, window by window; the truth is not read.

    recalibrators : by variable. Bands without one are those of the prediction.
    """
    return [
        path for model in tile.predictions for path in _write_model(tile, model, recalibrators, levels, zones, folder)
    ]


def _write_model(  # noqa: PLR0917  as `write_rasters`
    tile: Tile,
    model: str,
    recalibrators: Mapping[str, Recalibrator],
    levels: Sequence[float],
    zones: Zones | None,
    folder: Path,
) -> list[Path]:
    bands, own = bands_of(tile, model), _of_bands(tile, model, recalibrators)
    layers = layers_for(own, levels)
    paths = {name: path_of_raster(folder, tile.name, name, model) for name in layer_names(levels)}
    _require_others(paths.values(), _rasters(tile, model))
    reader = TileReader(replace(tile, variables=tuple(bands)), reuse=True)
    with gdal_options(CACHE), ExitStack() as opened:
        writers = [opened.enter_context(_writer(tile, model, layer, own, folder)) for layer in layers]
        opened.enter_context(unchanged(_rasters(tile, model)))
        for window in tile.grid.windows(_side(tile.predictions[model])):
            blocks = [np.empty((len(bands), window.height, window.width), np.float32) for _ in layers]
            for band, (variable, recalibrator) in enumerate(zip(bands, own, strict=True)):
                found = list(_layers(reader, variable, recalibrator, window, layers=layers, zones=zones))
                for block, values in zip(blocks, found, strict=True):
                    block[band] = values
            for writer, block in zip(writers, blocks, strict=True):
                writer.write(block, window)
    written = [paths.pop(layer.name) for layer in layers]
    for left in paths.values():  # by a correction of another kind: beside these it would mislead
        left.unlink(missing_ok=True)
    return written


def _require_others(paths: Iterable[Path], inputs: Sequence[Raster]) -> None:
    """Raise DataError where a raster would be written over one that it is made from."""
    own = {os.path.realpath(path) for raster in inputs for path in (raster.path, *(file.path for file in raster.files))}
    for path in paths:
        if os.path.realpath(path) in own:
            raise DataError(f"{path} is a raster of the run itself; name another folder by --out")


def layers_of(
    tile: Tile, model: str, recalibrators: Mapping[str, Recalibrator], levels: Sequence[float]
) -> list[Layer]:
    """Return the rasters of one model of a tile."""
    return layers_for(_of_bands(tile, model, recalibrators), levels)


def _of_bands(tile: Tile, model: str, recalibrators: Mapping[str, Recalibrator]) -> list[Recalibrator]:
    return [recalibrators.get(variable.name) or _unchanged(variable) for variable in bands_of(tile, model)]


def bands_of(tile: Tile, model: str) -> list[Variable]:
    """Return a variable for each band that is written.

    These are all bands up to the last one that is evaluated; those between have the names of their bands. Where
    variables name bands of the prediction's layers, they are the variables in their order.
    """
    if any(names_bands(variable) for variable in tile.variables):
        return [variable for variable in tile.variables if variable.model == model]
    known = {variable.band: variable for variable in tile.variables if variable.model == model}
    names = tile.predictions[model].mean.bands
    return [
        known.get(band) or Variable(name=names[band - 1].description or f"band_{band}", band=band, model=model)
        for band in range(1, max(known) + 1)
    ]


def names_bands(variable: Variable) -> bool:
    """Tell whether a variable names bands of the layers of a prediction."""
    return any(layer in variable.layer_bands for layer in OF_PREDICTIONS)


def _side(prediction: Prediction | Layered) -> int:
    """Return the side of the windows: the block size of the maps, or the largest block of the prediction."""
    rows, columns = (max(raster.block[axis] for raster in prediction.rasters.values()) for axis in (0, 1))
    return BLOCK if max(rows, columns) <= BLOCK else -(-min(max(rows, BLOCK), 4 * BLOCK) // BLOCK) * BLOCK


def _unchanged(variable: Variable) -> Recalibrator:
    return Recalibrator(variable.name, variable.units, Unchanged(), Provenance("", "", (), 0))


def _layers(
    reader: TileReader,
    variable: Variable,
    recalibrator: Recalibrator,
    window: Window,
    *,
    layers: Sequence[Layer],
    zones: Zones | None,
) -> Iterator[Values]:
    """Yield each layer of a variable in a window; NaN where mean or variance say nothing."""
    mean, variance, valid = reader.prediction(variable, window)
    correction = recalibrator.correction
    groups = tuple(correction.groups) if isinstance(correction, ByGroup) else ()
    places = places_of(zones, groups, window)[valid] if groups else None
    m, v = mean[valid].astype(np.float64), variance[valid].astype(np.float64)
    for layer in layers:
        values = np.full(valid.shape, np.nan, np.float32)
        values[valid] = layer.compute(correction, m, v, places)
        yield values


def _mean(correction: Any, *pixels: Any) -> NDArray[np.float64]:
    return corrected_moments(correction, *pixels)[0]


def _variance(correction: Any, *pixels: Any) -> NDArray[np.float64]:
    if is_conformal(correction):
        return np.full(np.shape(pixels[0]), np.nan)
    return np.maximum(corrected_moments(correction, *pixels)[1], SMALLEST)


def _quantile(probability: float, correction: Any, *pixels: Any) -> NDArray[np.float64]:
    return corrected_quantile(correction, probability, *pixels)


def _writer(
    tile: Tile, model: str, layer: Layer, own: Sequence[Recalibrator], folder: Path
) -> AbstractContextManager[MapWriter]:
    labels = [
        BandLabel(
            one.variable.removesuffix(f" ({model})"),
            squared_unit(one.units or band.units) if layer.squared else one.units or band.units,
            f"{layer.long_name} ({one.correction.method})",
        )
        for one, band in zip(own, _bands_of_mean(tile, model), strict=True)
    ]
    inputs = ", ".join(last_part(raster.path) for raster in _rasters(tile, model))
    tags = {"GEOUQ_MAP": f"recalibrated {layer.name}", "GEOUQ_TILE": tile.name, "GEOUQ_INPUTS": inputs}
    return cog_writer(path_of_raster(folder, tile.name, layer.name, model), tile.grid, labels, tags)


def _bands_of_mean(tile: Tile, model: str) -> list[Band]:
    mean = tile.predictions[model].mean
    return [mean.bands[number_of_band(mean, "mean", variable) - 1] for variable in bands_of(tile, model)]


def _rasters(tile: Tile, model: str) -> list[Raster]:
    return list(tile.predictions[model].rasters.values())


def write_evaluation(experiment: Experiment, run: Path, out: Path, layers: Mapping[str, Sequence[str]]) -> list[Path]:
    """Write the configuration of the rasters of all tiles of a run, whose folder is `run`, to the folder `out`.

    layers : those written of each model, "" for the only one.
    """
    found = {model: _forecast(model, own, experiment.levels) for model, own in layers.items()}
    plain: dict[str, Any] = {
        "extends": Path(os.path.relpath(run / "config.yaml", out)).as_posix(),
        "name": f"{experiment.name}-recalibrated",
        "recalibration": None,
        **({"data": found[""]} if "" in found else {"models": found}),
        **_bands(experiment, layers),
    }
    text = "# Evaluates the recalibrated rasters in this folder: geouq run FOLDER/evaluate.yaml\n"
    with atomic_write(out / EVALUATE) as part:
        part.write_text(text + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / EVALUATE]


def _bands(experiment: Experiment, layers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the variables with their bands in the written rasters, where they name bands of the forecast's layers."""
    variables = experiment.variables or ()
    if not any(map(names_bands, variables)):
        return {}
    moved = [model for model, own in layers.items() if "mean" in own]
    written = {layer for own in layers.values() for layer in own}
    spread = ("lower", "upper") if set(_bound_names(experiment.levels).values()) <= written else ("variance",)
    found: dict[str, dict[str, Any]] = {}
    for place, variable in enumerate(variables, 1):
        means = {model: place if model in moved else variable.of_model(model).mean or variable.band for model in layers}
        mean = {"mean": means.get("", means)} if moved else {}
        found[variable.name] = {**dict.fromkeys(SPREADS[:-1]), **dict.fromkeys(spread, place), **mean}
    return {"variables": found}


def _forecast(model: str, layers: Sequence[str], levels: Sequence[float]) -> dict[str, str | float | None]:
    """Return the paths of the mean, if it moved, and of the spread, in place of whatever described that before.

    The spread is the variance, or the interval of level 0.9 or the level next to it where there are bounds.
    """
    bounds = _bound_names(levels)
    is_bounded = set(bounds.values()) <= set(layers)
    wanted = {"mean": "mean"} | (bounds if is_bounded else {"variance": "variance"})
    paths: dict[str, str | float | None] = dict.fromkeys(SPREADS)
    paths |= {key: _path(layer, model) for key, layer in wanted.items() if layer in layers}
    return paths | ({"level": nearest_level(levels)} if is_bounded else {})


def _bound_names(levels: Sequence[float]) -> dict[str, str]:
    """Return the names of the layers that hold the ends of the interval of level 0.9, or of the level next to it."""
    level = nearest_level(levels)
    return {end: bound_name(end, level) for end in ("lower", "upper")}


def _path(layer: str, model: str) -> str:
    name = path_of_raster(Path(), "TILE", layer, model).name.replace("TILE", "{tile}", 1)
    return (Path("rasters") / name).as_posix()
