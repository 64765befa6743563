"""Headers of the files that are looked at, and a few of their pixels."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.config.layer_file import LayerFile
from geouq.core.grid import Window
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import Raster, read_header
from geouq.reading.glance import glance
from geouq.starting.guess import Guess
from geouq.starting.named_files import DRIVERS

FORMATS = tuple(dict.fromkeys(DRIVERS.values()))
SIDE = 256  # pixels of the window that is looked at
NO_BANDS: Mapping[str, Any] = MappingProxyType({})
FEWEST = 100  # values that say something


def header(path: str) -> Raster:
    """Return the header of a file of any format that is recognised."""
    return read_header(path, FORMATS)


def name_of_array(path: str, variable: str | None) -> str:
    """Return the path of a raster, or the name of an array in a file."""
    return LayerFile(path=path, variable=variable).gdal_path(path)


def header_of(guess: Guess, key: str) -> Raster:
    """Return the header of a layer in the tile that is looked at."""
    found = dict(guess.layers[key].value)
    return header(name_of_array(guess.path(key), found.get("variable")))


def band_of(guess: Guess, key: str) -> int:
    """Return the band of the first variable in a layer."""
    own = guess.layers[key].value
    bands = own if "band" in own else next(iter(guess.variables.values()), NO_BANDS)
    number = bands.get(key.partition(".")[0], bands.get("band", 1))
    return number if isinstance(number, int) else 1


def look(raster: Raster, number: int) -> NDArray[np.float64]:
    """Return the pixels in the middle of a band, NaN where there is no value."""
    rows, columns = raster.grid.shape
    height, width = min(SIDE, rows), min(SIDE, columns)
    with gdal_options():
        return glance(raster, number, Window((rows - height) // 2, (columns - width) // 2, height, width))


def values_of(guess: Guess, key: str) -> NDArray[np.float64]:
    """Return the pixels in the middle of a layer of the first variable."""
    return look(header_of(guess, key), band_of(guess, key))
