"""How a GeoTIFF is written: by windows to a plain file, copied to a cloud-optimised one, which takes its name."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rasterio
import rasterio.shutil
from numpy.typing import NDArray
from rasterio.enums import ColorInterp
from rasterio.windows import Window as RasterioWindow

from geouq.atomic import temporary, written_whole
from geouq.grid import Grid, Window
from geouq.raster import gdal_options
from geouq.version import __version__

BLOCK = 512
SMALLEST_BLOCK = 16
WRITE_CACHE = 32 << 20  # bytes
PLAIN = {
    "driver": "GTiff",
    "dtype": "float32",
    "nodata": float("nan"),
    "tiled": True,
    "BIGTIFF": "IF_SAFER",
    "SPARSE_OK": "TRUE",
}
OPTIMISED = {
    "driver": "COG",
    "BLOCKSIZE": str(BLOCK),
    "COMPRESS": "ZSTD",
    "LEVEL": "1",
    "PREDICTOR": "YES",
    "OVERVIEWS": "AUTO",
    "OVERVIEW_RESAMPLING": "AVERAGE",
    "STATISTICS": "YES",
    "BIGTIFF": "IF_SAFER",
    "SPARSE_OK": "YES",
}


@dataclass(frozen=True)
class BandLabel:
    """What a band says of itself: a short name for machines, a unit, a long name for people."""

    name: str
    units: str
    long_name: str
    tags: Mapping[str, str] = field(default_factory=dict)


class MapWriter:
    """An open map: `write` puts values (bands, rows, columns) at a window."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, values: NDArray[Any], window: Window) -> None:
        """Write all bands of one window."""
        place = RasterioWindow(window.column, window.row, window.width, window.height)
        self._target.write(values.astype("float32", copy=False), window=place)


@contextmanager
def cog_writer(path: Path, grid: Grid, bands: Sequence[BandLabel], tags: Mapping[str, str]) -> Iterator[MapWriter]:
    """A float32 map on a grid, NaN where nothing is known; it stands under its name only when it is whole."""
    side = min(BLOCK, max(SMALLEST_BLOCK, -(-max(grid.shape) // SMALLEST_BLOCK) * SMALLEST_BLOCK))
    crs = rasterio.CRS.from_wkt(grid.crs) if grid.crs else None
    shape = {"count": len(bands), "height": grid.shape[0], "width": grid.shape[1]}
    profile = PLAIN | shape | {"blockxsize": side, "blockysize": side, "crs": crs, "transform": grid.transform}
    with temporary(path, "plain") as plain:
        with gdal_options(WRITE_CACHE), rasterio.open(plain, "w", **profile) as target:
            _label(target, bands, tags)
            yield MapWriter(target)
        with gdal_options(WRITE_CACHE), written_whole(path) as part:
            rasterio.shutil.copy(plain, part, **OPTIMISED)


def _label(target: Any, bands: Sequence[BandLabel], tags: Mapping[str, str]) -> None:
    target.update_tags(TIFFTAG_SOFTWARE=f"geouq {__version__}", AREA_OR_POINT="Area", GEOUQ_VERSION=__version__, **tags)
    target.colorinterp = [ColorInterp.gray, *[ColorInterp.undefined] * (len(bands) - 1)]
    for number, band in enumerate(bands, 1):
        target.set_band_description(number, band.name)
        target.set_band_unit(number, band.units)
        target.update_tags(number, long_name=band.long_name, **band.tags)
