"""Headers of rasters, and open files shared within a thread."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.errors import RasterioError

from geouq.errors import DataError
from geouq.grid import Grid

GDAL_OPTIONS: dict[str, Any] = {"GDAL_NUM_THREADS": "1", "GDAL_CACHEMAX": 64 << 20, "GDAL_VRT_ENABLE_PYTHON": "NO"}
HANDLES = 32

Key = tuple[str, int, int]


@dataclass(frozen=True)
class Band:
    """One band as its header describes it; nodata as a number of the stored type, None for none."""

    dtype: str
    nodata: float | None
    scale: float
    offset: float
    masked: bool
    description: str
    units: str


@dataclass(frozen=True)
class Raster:
    """One file's header; `block` (rows, columns) is the unit of decoding, of all bands together if `interleaved`.

    alpha : number of the band that is 0 where the file is transparent, None for none.
    """

    path: str
    grid: Grid
    bands: tuple[Band, ...]
    alpha: int | None
    block: tuple[int, int]
    interleaved: bool
    compression: str
    size: int
    modified: int

    @property
    def variables(self) -> dict[str, int]:
        """Band of each variable: all but the alpha band, by description, or `band_<number>` where that tells not which.

        """
        named = [band.description for band in self.bands]
        return {
            name if name and named.count(name) == 1 else f"band_{number}": number
            for number, name in enumerate(named, 1)
            if number != self.alpha
        }

    @property
    def fingerprint(self) -> str:
        """What changes when the file does: name, size, time of change and header."""
        return repr((Path(self.path).name, self.size, self.modified, self.grid, self.bands))


@contextmanager
def gdal_options() -> Iterator[None]:
    """GDAL's options for this thread: it decodes alone, as our threads use the cores already, with a small cache."""
    with rasterio.Env(**GDAL_OPTIONS):
        yield


def read_header(path: str) -> Raster:
    """Read a raster's header; DataError if it cannot be opened."""
    with gdal_options(), _said_plainly(path), rasterio.open(path, sharing=False) as source:
        return Raster(
            path,
            Grid(source.shape, source.transform, source.crs.to_wkt() if source.crs else ""),
            tuple(_band(source, index) for index in range(source.count)),
            source.colorinterp.index(ColorInterp.alpha) + 1 if ColorInterp.alpha in source.colorinterp else None,
            tuple(max(sides) for sides in zip(*source.block_shapes, strict=True)),
            source.count > 1 and str(source.profile.get("interleave", "band")).lower() == "pixel",
            source.compression.value if source.compression else "none",
            *_size_and_time(path),
        )


@contextmanager
def opened(raster: Raster) -> Iterator[Any]:
    """The raster opened for this thread alone; the `HANDLES` last used stay open. DataError where reading fails."""
    handles = _handles()
    key = (raster.path, raster.size, raster.modified)
    with _said_plainly(raster.path):
        if key not in handles:
            while len(handles) >= HANDLES:
                handles.popitem(last=False)[1].close()
            handles[key] = rasterio.open(raster.path, sharing=False)
        handles.move_to_end(key)
        yield handles[key]


_of_thread = threading.local()


def _handles() -> "OrderedDict[Key, Any]":
    if not hasattr(_of_thread, "handles"):
        _of_thread.handles = OrderedDict()
    handles: OrderedDict[Key, Any] = _of_thread.handles
    return handles


@contextmanager
def _said_plainly(path: str) -> Iterator[None]:
    try:
        yield
    except (RasterioError, OSError) as error:
        reason = str(error.__cause__ or error).removeprefix(f"{path}: ")
        raise DataError(f"{path} cannot be read: {reason}") from error


def _band(source: Any, index: int) -> Band:
    dtype, flags = source.dtypes[index], source.mask_flag_enums[index]
    return Band(
        dtype,
        _stored_nodata(dtype, source.nodatavals[index]),
        source.scales[index],
        source.offsets[index],
        MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags,
        source.descriptions[index] or "",
        source.units[index] or "",
    )


def _stored_nodata(dtype: str, nodata: float | None) -> float | None:
    """Nodata as the stored type rounds it; None where it cannot hold it, as no pixel can then equal it."""
    if nodata is None or dtype.startswith("complex"):
        return None
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return float(kind.type(nodata))
    limits = np.iinfo(kind)
    return nodata if limits.min <= nodata <= limits.max and float(nodata).is_integer() else None


def _size_and_time(path: str) -> tuple[int, int]:
    try:
        status = Path(path).stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns
