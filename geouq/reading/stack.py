"""One tile as a lazy, masked xarray Dataset, read by the same reader as the sweep."""

from collections.abc import Sequence
from typing import Any, cast

import dask.array as da
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from geouq.config import Configuration, Experiment, load_experiment
from geouq.config.variables import not_normal
from geouq.core.errors import ConfigError, DataError, require_type
from geouq.core.grid import Grid, Window
from geouq.rasters.catalog import Tile, find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.rasters.predictions import is_predicted
from geouq.rasters.raster import number_of_band
from geouq.rasters.steps import name_without_step
from geouq.reading.reader import masked_layers, read_window

LAYERS = {"mean": "predicted mean", "variance": "predicted variance", "truth": "reference value"}
CHUNK = 512


def open_stack(experiment: Tile | Configuration, tile: str | None = None, *, chunk: int = CHUNK) -> xr.Dataset:
    """Return the layers of a tile as a lazy Dataset; no pixel is read.

    Parameters
    ----------
    experiment : path, mapping or Experiment
        What describes the rasters: a YAML file, a mapping of the keys of such a file, or an Experiment. A Tile of the
        catalog stands for itself.
    tile : str, optional
        Name of the tile; not needed for a single tile, or a single file with several steps.
    chunk : int
        Side of a dask chunk in pixels.

    Returns
    -------
    Dataset
        `mean`, `variance` and `truth` (variable, y, x), NaN where they have no value, and `valid`, which is True for
        the pixels that a run counts. Elsewhere a layer is NaN or the variance is not positive. If a chunk holds no
        valid truth of a variable, its prediction is not read and is NaN there. Units are in the coordinate `units`.
        Each variable of each of several models is one, named as in `AGB (ensemble)`, with the coordinate `model`.
        The steps of a file, such as times, are leading dimensions. A combination of labels without a tile is not valid.

    Raises
    ------
    ConfigError
        If the configuration is wrong, there is no tile of that name, the forecast has no mean and variance (quantiles,
        probabilities of classes), or a variable is not normally distributed.
    DataError
        If the tile cannot be read.
    ArgumentError
        If an argument has a wrong type.

    Examples
    --------
    >>> stack = open_stack("configs/samples.yaml", "r0c0")  # doctest: +SKIP
    >>> stack.geouq.coverage(level=0.9, dim=("y", "x"))  # doctest: +SKIP
    """
    require_type("chunk", chunk, int, "give the side of a chunk in pixels, such as 512")
    if chunk < 1:
        raise ConfigError(f"chunk={chunk}: give a side of at least one pixel")
    if isinstance(experiment, Tile):
        return _stack_of(experiment, chunk)
    tiles = _named(load_experiment(experiment), tile)
    return _stack_of(tiles[0], chunk) if len(tiles) == 1 else _stack_of_steps(tiles, chunk)


def _stack_of_steps(tiles: Sequence[Tile], chunk: int) -> xr.Dataset:
    """Return the steps of a file along their dimensions, in the order of the file."""
    first, steps = tiles[0], [_at_step(tile, _stack_of(tile, chunk)) for tile in tiles]
    filled = {**dict.fromkeys(LAYERS, np.nan), "valid": False}
    stack = xr.combine_by_coords(
        steps, compat="override", coords="minimal", join="outer", combine_attrs="drop_conflicts", fill_value=filled
    )
    order = {step.dimension: [tile.labels[i].label.value for tile in tiles] for i, step in enumerate(first.labels)}
    in_order = {name: list(dict.fromkeys(values)) for name, values in order.items()}
    return cast("xr.Dataset", stack).sel(in_order).assign_attrs(tile=name_without_step(first))


def _at_step(tile: Tile, stack: xr.Dataset) -> xr.Dataset:
    """Return a stack with its labels as leading dimensions of length 1."""
    labels = {step.dimension: np.asarray([step.label.value]) for step in tile.labels}
    alike = {name: stack[name] for name in stack.coords if name not in stack.dims}
    return stack.drop_vars(alike).expand_dims(labels).assign_coords(alike)


def _stack_of(found: Tile, chunk: int) -> xr.Dataset:
    _require_mean_and_variance(found)
    windows = [list(row) for row in _rows_of_windows(found.grid, chunk)]
    blocks = da.block([[_block(found, window) for window in row] for row in windows])
    dims = ("variable", "y", "x")
    layers = {
        layer: (dims, blocks[i], {"long_name": text, "grid_mapping": "spatial_ref"})
        for i, (layer, text) in enumerate(LAYERS.items())
    }
    layers["valid"] = (dims, blocks[len(LAYERS)].astype(bool), {"long_name": "pixel counts"})
    return xr.Dataset(layers, _coordinates(found), {"tile": found.name, "crs": found.grid.crs})


def _require_mean_and_variance(tile: Tile) -> None:
    """Raise ConfigError unless the forecasts of a tile are normal ones, which a stack is evaluated as."""
    if not tile.form.has_variance:
        raise ConfigError(
            f"a stack holds a mean and a variance, and this forecast has neither but {tile.form.described()}; run the "
            f"configuration, or read its layers and give them to {tile.form.summarized_by}(...), whose result "
            "geouq.evaluate takes"
        )
    if name := not_normal(tile.variables):
        raise ConfigError(
            f"variable {name} has a distribution or a transform, but a stack is evaluated as a normal forecast; "
            "run the configuration, or give the layers as they are stored to geouq.summarize(..., distribution=...)"
        )


def _named(experiment: Experiment, name: str | None) -> list[Tile]:
    """Return the tile with a name, or all steps of the file with this name."""
    catalog = find_tiles(experiment)
    names, failed = [tile.name for tile in catalog.tiles], [failure.tile for failure in catalog.failures]
    name = [*names, *failed][0] if name is None and len(names) + len(failed) == 1 else name
    for failure in catalog.failures:
        if failure.tile == name:
            raise DataError(f"tile {name}: {failure.message}")
    if name in names:
        return [catalog.tiles[names.index(name)]]
    steps = [tile for tile in catalog.tiles if tile.labels and name in (None, name_without_step(tile))]
    if steps and len({name_without_step(tile) for tile in (*steps, *(catalog.tiles if name is None else ()))}) == 1:
        return steps
    if name is None:
        raise ConfigError(f"which tile? Give tile=; the tiles are {', '.join(names)}")
    raise ConfigError(f"there is no tile {name!r}; the tiles are {', '.join(names)}")


def _rows_of_windows(grid: Grid, chunk: int) -> list[list[Window]]:
    across = -(-grid.shape[1] // chunk)
    windows = list(grid.windows(chunk))
    return [windows[i : i + across] for i in range(0, len(windows), across)]


def _block(tile: Tile, window: Window) -> da.Array:
    """Return the mean, variance, truth and validity of a window, (4, variable, y, x), lazily."""
    shape = (len(LAYERS) + 1, len(tile.variables), window.height, window.width)
    kind = _type_of(tile)
    meta = np.empty((0, 0, 0, 0), kind)  # without it dask would read a block to learn its type
    chunks = tuple((n,) for n in shape)
    return da.map_blocks(_read_block, chunks=chunks, dtype=kind, meta=meta, tile=tile, window=window, kind=kind)


def _read_block(tile: Tile, window: Window, kind: np.dtype[np.floating]) -> NDArray[np.floating]:
    with gdal_options():
        read = [masked_layers(pixels) for pixels in read_window(tile, window)]
    return np.stack(read, axis=1).astype(kind, copy=False)


def _type_of(tile: Tile) -> np.dtype[np.floating]:
    """Return the float32 where that holds every layer as it is stored."""
    bands = [
        raster.bands[number_of_band(raster, layer, variable) - 1]
        for layer, raster in tile.rasters.items()
        if is_predicted(layer) or layer == "truth"
        for variable in tile.variables_of(layer)
    ]
    exact = all(band.dtype == "float32" and not band.scaled for band in bands)
    variances = all(prediction.spread == "variance" for prediction in tile.predictions.values())
    return np.dtype(np.float32 if exact and variances and not tile.noisy_truth else np.float64)


def _coordinates(tile: Tile) -> dict[str, Any]:
    """Return the names and units of the variables, pixel centres, and the CRS as CF and GDAL write it.

    Of a rotated grid y and x are row and column numbers plus a half; its transform tells the rest.
    """
    t, (rows, columns) = tile.grid.transform, tile.grid.shape
    y, x = np.arange(rows) + 0.5, np.arange(columns) + 0.5
    if not (t.b or t.d):
        y, x = t.f + t.e * y, t.c + t.a * x
    models = {"model": ("variable", [v.model for v in tile.variables])} if tile.variables[0].model else {}
    place = {"crs_wkt": tile.grid.crs, "GeoTransform": " ".join(map(repr, t.to_gdal()))}
    return {
        "variable": [variable.name for variable in tile.variables],
        "units": ("variable", [variable.units for variable in tile.variables]),
        **models,
        "y": ("y", y),
        "x": ("x", x),
        "spatial_ref": ((), 0, place),
    }
