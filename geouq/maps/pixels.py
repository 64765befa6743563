"""Maps with a value for every pixel that counts, one band a variable."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError

from geouq import gaussian
from geouq.catalog import Tile
from geouq.grid import Window
from geouq.maps.geotiff import BandLabel, MapWriter, cog_writer
from geouq.naming import file_name
from geouq.reader import VariableWindow, read_window
from geouq.validity import classify

Values = NDArray[np.float64]
BLOCK = 512


@dataclass(frozen=True)
class PixelValue:
    """A number for one pixel: a function of mean, variance and truth, and whether it has the variable's unit."""

    function: Callable[[Values, Values, Values], Values]
    has_unit: bool
    long_name: str


PIXEL_VALUES: Mapping[str, PixelValue] = {
    "z": PixelValue(gaussian.z_score, has_unit=False, long_name="(truth - mean) / predicted std"),
    "error": PixelValue(lambda m, _, y: gaussian.error(m, y), has_unit=True, long_name="mean - truth"),
    "abs_error": PixelValue(lambda m, _, y: abs(gaussian.error(m, y)), has_unit=True, long_name="|mean - truth|"),
    "std": PixelValue(lambda _, v, __: np.sqrt(v), has_unit=True, long_name="predicted standard deviation"),
}


def missing_maps(tile: str, names: Sequence[str], folder: Path, key: str) -> list[str]:
    """Names of the maps of a tile that are not there yet as they would be written under this key."""
    return [name for name in names if _key_of(path_of_map(tile, name, folder)) != key]


def path_of_map(tile: str, name: str, folder: Path) -> Path:
    """File of one map of a tile."""
    return folder / f"{file_name(tile)}_{name}.tif"


def write_pixel_maps(tile: Tile, names: Sequence[str], folder: Path, key: str) -> list[Path]:
    """Write `<tile>_<name>.tif` for each name, reading the tile once; NaN where a pixel does not count.

    key : what the maps are made from, kept in their tags.
    """
    with ExitStack() as opened:
        writers = [opened.enter_context(_writer(tile, name, folder, key)) for name in names]
        for window in tile.grid.windows(BLOCK):
            _write_window(tile, window, names, writers)
    return [path_of_map(tile.name, name, folder) for name in names]


def _key_of(path: Path) -> str | None:
    """What a map was made from; None where there is none that can be read."""
    if not path.exists():
        return None
    try:
        with rasterio.open(path) as source:
            return str(source.tags().get("GEOUQ_KEY"))
    except RasterioError:
        return None


def _writer(tile: Tile, name: str, folder: Path, key: str) -> AbstractContextManager[MapWriter]:
    value = PIXEL_VALUES[name]
    bands = [
        BandLabel(f"{name}_{variable.name}", variable.units if value.has_unit else "1", value.long_name)
        for variable in tile.variables
    ]
    inputs = ", ".join(Path(raster.path).name for raster in tile.rasters.values())
    tags = {"GEOUQ_MAP": name, "GEOUQ_TILE": tile.name, "GEOUQ_INPUTS": inputs, "GEOUQ_KEY": key}
    tags["GEOUQ_VARIABLE"] = ", ".join(variable.name for variable in tile.variables)
    return cog_writer(path_of_map(tile.name, name, folder), tile.grid, bands, tags)


def _write_window(tile: Tile, window: Window, names: Sequence[str], writers: Sequence[MapWriter]) -> None:
    read = [_of_variable(pixels, names) for pixels in read_window(tile, window)]
    for i, writer in enumerate(writers):
        writer.write(np.stack([values[i] for values in read]), window)


def _of_variable(pixels: VariableWindow, names: Sequence[str]) -> list[Values]:
    valid = classify(pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata) < 0
    layers = [layer[valid].astype(np.float64) for layer in (pixels.mean, pixels.variance, pixels.truth)]
    maps = []
    for name in names:
        values = np.full(valid.shape, np.nan)
        values[valid] = PIXEL_VALUES[name].function(*layers)
        maps.append(values)
    return maps
