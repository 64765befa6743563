"""GDAL's options for a thread, and how a raster is opened by one of the drivers that are allowed."""

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rasterio
from rasterio.env import defenv, hasenv, setenv
from rasterio.errors import RasterioError
from rasterio.io import DatasetReader

from geouq.rasters.host_limit import options_of_limit
from geouq.rasters.object_stores import store_options
from geouq.rasters.remote_files import cache_options

WITHOUT_REASON = "does not exist in the file system"
UNKNOWN_FORMAT = "not recognized as being in a supported file format"  # as GDAL says it
NO_FILE = os.strerror(errno.ENOENT)
NOT_OF_THE_DRIVER = (UNKNOWN_FORMAT, WITHOUT_REASON, NO_FILE)  # a name such as ZARR:"x" is a file to no other driver
# requests are repeated if a server stalls, breaks off or answers 500
HTTP = {
    "GDAL_HTTP_CONNECTTIMEOUT": "10",  # seconds
    "GDAL_HTTP_TIMEOUT": "120",
    "GDAL_HTTP_LOW_SPEED_TIME": "30",  # seconds at less than
    "GDAL_HTTP_LOW_SPEED_LIMIT": "1000",  # bytes a second
    "GDAL_HTTP_MAX_RETRY": "3",
    "GDAL_HTTP_RETRY_DELAY": "1",
}
GDAL_OPTIONS: dict[str, Any] = {
    **{name: os.environ.get(name, value) for name, value in HTTP.items()},
    # bytes that are kept of files on servers: many threads read many headers
    "CPL_VSIL_CURL_CACHE_SIZE": os.environ.get("CPL_VSIL_CURL_CACHE_SIZE", str(64 << 20)),
    "GDAL_NUM_THREADS": "1",
    "GDAL_VRT_ENABLE_PYTHON": "NO",
    # sidecars are requested by name: listing a folder of thousands takes longer than reading a header
    "GDAL_DISABLE_READDIR_ON_OPEN": os.environ.get("GDAL_DISABLE_READDIR_ON_OPEN", "TRUE"),
}
CACHE = 64 << 20  # bytes

_of_thread = threading.local()


@contextmanager
def gdal_options(cache: int = CACHE) -> Iterator[None]:
    """Set GDAL's options for this thread, and the size of the cache in bytes. Each thread decodes alone.

    rasterio takes as long to set all options as GDAL takes to open a small file. Within another such block, or in a
    thread that began with `keep_gdal_options`, only the size of the cache is set.
    """
    before: int | None = getattr(_of_thread, "cache", None)
    if before is not None and hasenv():
        _set_cache(cache)
        try:
            yield
        finally:
            _set_cache(before)
        return
    with rasterio.Env(**_options(), GDAL_CACHEMAX=cache):
        _of_thread.cache = cache
        try:
            yield
        finally:
            _of_thread.cache = None


def keep_gdal_options() -> None:
    """Set GDAL's options for as long as this thread lives."""
    if not hasenv():
        defenv(**_options(), GDAL_CACHEMAX=CACHE)
        _of_thread.cache = CACHE


@contextmanager
def with_option(name: str, value: str) -> Iterator[None]:
    """Set an option of `GDAL_OPTIONS` to another value; to set all of them takes as long as to open a small file."""
    if not hasenv():
        with rasterio.Env(**{name: value}):
            yield
        return
    setenv(**{name: value})
    try:
        yield
    finally:
        setenv(**{name: GDAL_OPTIONS[name]})


def cache_of_thread() -> int:
    """Return how many bytes of decoded blocks are to be kept, as this thread has set it."""
    return getattr(_of_thread, "cache", None) or CACHE


def _options() -> dict[str, Any]:
    return {**GDAL_OPTIONS, **cache_options(), **store_options(), **options_of_limit()}


def _set_cache(size: int) -> None:
    """Set the size of the cache, which all threads share."""
    setenv(GDAL_CACHEMAX=size)
    _of_thread.cache = size


def open_as(path: str, drivers: Sequence[str]) -> Any:
    """Open a file by the first of these drivers that knows its format or its kind of name."""
    *others, last = drivers
    for driver in others:
        try:
            return rasterio.open(path, driver=driver, sharing=False)
        except RasterioError as error:
            if not any(reason in str(error) for reason in NOT_OF_THE_DRIVER):
                raise
    return rasterio.open(path, driver=last, sharing=False)


class PixelReader(DatasetReader):  # type: ignore[misc]
    """An open raster without CRS, which takes most of the time to open a small file and changes no pixel."""

    def read_crs(self) -> None:
        """Return no CRS; rasterio calls this for each file that it opens."""
