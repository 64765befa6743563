"""How a GeoTIFF is written: by windows to a plain file, copied to a cloud-optimised one, which takes its name."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rasterio
import rasterio.shutil
from numpy.typing import NDArray
from rasterio.enums import ColorInterp
from rasterio.windows import Window as RasterioWindow

from geouq.core.atomic import atomic_write, temporary
from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.rasters.gdal import gdal_options
from geouq.version import __version__

BLOCK = 512
BLOCK_OF_MANY = 128  # bands lie beside each other in a block, which is decoded whole; GDAL writes no smaller COG
PLAIN_BLOCK_OF_MANY = 64  # while it is written by windows of all bands, whose blocks the cache holds
MANY = 8  # bands
SMALLEST_BLOCK = 16
WRITE_CACHE = 32 << 20  # bytes
PLAIN = {"driver": "GTiff", "interleave": "band", "tiled": True, "BIGTIFF": "IF_SAFER", "SPARSE_OK": "TRUE"}
OPTIMISED = {
    "driver": "COG",
    "COMPRESS": "ZSTD",
    "LEVEL": "1",
    "PREDICTOR": "YES",
    "OVERVIEWS": "AUTO",
    "STATISTICS": "YES",
    "BIGTIFF": "IF_SAFER",
    "SPARSE_OK": "YES",
}


@dataclass(frozen=True)
class Stored:
    """How values are stored: their type, what stands where nothing is known, and how overviews are made of them."""

    dtype: str
    nodata: float
    overviews: str


CONTINUOUS = Stored("float32", float("nan"), "AVERAGE")
CODES = Stored("uint8", 255, "NEAREST")  # no mixtures of them


@dataclass(frozen=True)
class BandLabel:
    """What a band says of itself: a short name for machines, a unit, a long name for people."""

    name: str
    units: str
    long_name: str
    tags: Mapping[str, str] = field(default_factory=dict)


class MapWriter:
    """An open map: `write` puts values at a window."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, values: NDArray[Any], window: Window, band: int | None = None) -> None:
        """Write all bands (bands, rows, columns), or one of them (rows, columns), counted from 1."""
        place = RasterioWindow(window.column, window.row, window.width, window.height)
        self._target.write(values.astype(self._target.dtypes[0], copy=False), band, window=place)


@contextmanager
def cog_writer(
    path: Path, grid: Grid, bands: Sequence[BandLabel], tags: Mapping[str, str], stored: Stored = CONTINUOUS
) -> Iterator[MapWriter]:
    """Yield a writer of a map on a grid, nodata where nothing is known; the file gets its name when it is complete."""
    largest, largest_plain = (BLOCK, BLOCK) if len(bands) <= MANY else (BLOCK_OF_MANY, PLAIN_BLOCK_OF_MANY)
    side = min(largest, max(SMALLEST_BLOCK, -(-max(grid.shape) // SMALLEST_BLOCK) * SMALLEST_BLOCK))
    plain_side = min(side, largest_plain)
    crs = rasterio.CRS.from_wkt(grid.crs) if grid.crs else None
    shape = {"count": len(bands), "height": grid.shape[0], "width": grid.shape[1], "dtype": stored.dtype}
    place = {"nodata": stored.nodata, "crs": crs, "transform": grid.transform}
    blocks = {"blockxsize": plain_side, "blockysize": plain_side}
    with temporary(path, "plain") as plain:
        with gdal_options(WRITE_CACHE), rasterio.open(plain, "w", **PLAIN | shape | place | blocks) as target:
            _label(target, bands, tags)
            yield MapWriter(target)
        with gdal_options(WRITE_CACHE), atomic_write(path) as part:
            made = {"BLOCKSIZE": str(max(side, BLOCK_OF_MANY)), "OVERVIEW_RESAMPLING": stored.overviews}
            rasterio.shutil.copy(plain, part, **OPTIMISED | made)


def _label(target: Any, bands: Sequence[BandLabel], tags: Mapping[str, str]) -> None:
    own = {"TIFFTAG_SOFTWARE": f"geouq {__version__}", "AREA_OR_POINT": "Area", "GEOUQ_VERSION": __version__}
    target.update_tags(**own, **_time(), **tags)
    target.colorinterp = [ColorInterp.gray, *[ColorInterp.undefined] * (len(bands) - 1)]
    for number, band in enumerate(bands, 1):
        target.set_band_description(number, band.name)
        target.set_band_unit(number, band.units)
        target.update_tags(number, long_name=band.long_name, **band.tags)


def _time() -> dict[str, str]:
    time = source_date_epoch()
    return {"TIFFTAG_DATETIME": time.strftime("%Y:%m:%d %H:%M:%S")} if time else {}


def validate_source_date_epoch() -> None:
    """Raise DataError where SOURCE_DATE_EPOCH tells no time."""
    source_date_epoch()


def source_date_epoch() -> datetime | None:
    """Return the time that SOURCE_DATE_EPOCH tells, and none else, so that the same inputs give the same bytes."""
    time = os.environ.get("SOURCE_DATE_EPOCH")
    if not time:
        return None
    try:
        return datetime.fromtimestamp(int(time), UTC)
    except (ValueError, OverflowError, OSError):
        raise DataError(f"SOURCE_DATE_EPOCH is {time!r}; it must be a number of seconds since 1970, or unset") from None
