"""Maps with a value for every pixel that counts, one band a variable."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError

from geouq.core.distribution import Distribution
from geouq.core.failures import Failure, ends_the_work, failure_of
from geouq.core.grid import Window
from geouq.core.naming import file_name
from geouq.core.redaction import last_part
from geouq.core.validity import classify
from geouq.kernel.distributions import pixel_scores, scoring_of
from geouq.maps.geotiff import MapWriter, cog_writer
from geouq.maps.pixel_maps import NO_LAYERS, STATUS, Floats, Forecast, map_named
from geouq.maps.style import write_codes
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import unchanged
from geouq.reading.cutting import Pieces, Reading
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow


def missing_maps(tile: str, names: Sequence[str], folder: Path, key: str) -> list[str]:
    """Return the names of the maps of a tile that are not there yet as they would be written under this key."""
    return [name for name in names if _key_of(path_of_map(tile, name, folder)) != key]


def path_of_map(tile: str, name: str, folder: Path) -> Path:
    """Return the file of a map of a tile."""
    return folder / f"{file_name(tile)}_{name}.tif"


def write_each_map(
    tile: Tile, names: Sequence[str], folder: Path, tags: Mapping[str, str], reading: Reading | None = None
) -> list[Failure]:
    """Write maps as `write_pixel_maps` does; return a failure for each one that cannot be made.

    All maps are written in one pass. If one fails, each is written alone, so that the others exist. An error that all
    would meet, such as of an unreadable raster, is raised. Maps of an earlier run do not stand for missing ones.
    """
    try:
        write_pixel_maps(tile, names, folder, tags, reading)
    except Exception as error:
        for name in names:
            path_of_map(tile.name, name, folder).unlink(missing_ok=True)
        if ends_the_work(error) or isinstance(error, MemoryError):
            raise
        if len(names) == 1:
            return [failure_of(error, "maps", item=f"{names[0]} of tile {tile.name}")]
        return [failure for name in names for failure in write_each_map(tile, [name], folder, tags, reading)]
    return []


def write_pixel_maps(
    tile: Tile, names: Sequence[str], folder: Path, tags: Mapping[str, str], reading: Reading | None = None
) -> list[Path]:
    """Write `<tile>_<name>.tif` for each name, reading the tile once, window by window; nodata where no pixel counts.

    tags : what else the maps are to say of themselves, of which GEOUQ_KEY tells what they are made from.
    """
    reading = reading or Reading()
    with ExitStack() as opened:
        writers = {name: opened.enter_context(_writer(tile, name, folder, tags)) for name in names}
        with gdal_options(reading.cache), unchanged(tile.rasters.values()):
            reader = TileReader(tile, reuse=True)
            for window in (window for piece in Pieces(tile.grid, reading) for window in piece.windows):
                for band, variable in enumerate(tile.variables, 1):
                    found = reader.read(variable, window)
                    forecast, reasons = _forecast(found, tile.given.get(variable.name), variable.distributed)
                    _write_window(forecast, reasons, window, band, writers)
    paths = [path_of_map(tile.name, name, folder) for name in names]
    for name, path in zip(names, paths, strict=True):
        write_codes(path, map_named(name).codes, len(tile.variables))
    return paths


def _key_of(path: Path) -> str | None:
    """Return what a map was made from; None if there is no readable map."""
    if not path.exists():
        return None
    try:
        with rasterio.open(path) as source:
            return str(source.tags().get("GEOUQ_KEY"))
    except RasterioError:
        return None


def _writer(tile: Tile, name: str, folder: Path, tags: Mapping[str, str]) -> AbstractContextManager[MapWriter]:
    shown = map_named(name)
    inputs = ", ".join(last_part(raster.path) for raster in tile.rasters.values())
    own = {"GEOUQ_MAP": name, "GEOUQ_TILE": tile.name, "GEOUQ_INPUTS": inputs}
    own["GEOUQ_VARIABLE"] = ", ".join(variable.name for variable in tile.variables)
    bands = [shown.label(variable) for variable in tile.variables]
    return cog_writer(path_of_map(tile.name, name, folder), tile.grid, bands, own | dict(tags), shown.stored)


def _forecast(
    pixels: VariableWindow, level: float | None, distribution: Distribution
) -> tuple[Forecast, NDArray[np.int8]]:
    """Return the valid pixels of one variable in a window, and for each pixel the reason code, -1 if valid.

    level : level of the given interval.
    """
    reasons = classify(pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata)
    counts = reasons < 0
    mean, variance, truth = (layer[counts].astype(np.float64) for layer in (pixels.mean, pixels.variance, pixels.truth))
    given = None
    if level is not None and pixels.bounds:
        lower, upper = (end[counts] for end in pixels.bounds)
        given = level, lower, upper
    scoring = scoring_of(distribution, ())
    scores = None if scoring is None else pixel_scores(scoring, mean, variance, truth)
    return Forecast(mean, variance, truth, given, *_layers(pixels, counts), scores), reasons


def _write_window(
    forecast: Forecast, reasons: NDArray[np.int8], window: Window, band: int, writers: Mapping[str, MapWriter]
) -> None:
    """Write one variable of a window to every map."""
    counts = reasons < 0
    for name, writer in writers.items():
        shown = map_named(name)
        values = np.full(counts.shape, shown.stored.nodata, shown.stored.dtype)
        values[counts] = shown.function(forecast)
        if name == STATUS:
            values[~counts] = reasons[~counts] + 1
        writer.write(values, window, band)


def _layers(pixels: VariableWindow, counts: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the members, quantiles or probabilities of the valid pixels, with their auxiliary layers."""
    if pixels.layers is None:
        return NO_LAYERS, NO_LAYERS
    values, more = (layer[:, counts.ravel()].astype(np.float64) for layer in pixels.layers[:2])
    return values, more
