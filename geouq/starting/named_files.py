"""The files that sources name: folders, files, patterns and archives."""

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from glob import has_magic, iglob
from pathlib import Path, PurePosixPath

from geouq.core.errors import ConfigError
from geouq.rasters.tile_names import natural_order

RASTERS = {".tif": "GTiff", ".tiff": "GTiff", ".vrt": "VRT", ".img": "HFA"}  # GDAL's drivers, by suffix
NETCDF, ZARR = "netCDF", "Zarr"
STORES = (".zarr", ".icechunk")  # folders that count as one file
ARRAYS = {
    **dict.fromkeys((".nc", ".nc4", ".cdf"), NETCDF),
    **dict.fromkeys((".h5", ".hdf5", ".he5"), "HDF5Image"),
    **dict.fromkeys(STORES, ZARR),
}
DRIVERS = {**RASTERS, **ARRAYS}
LISTS = (".json", ".geojson", ".parquet", ".gpkg", ".fgb", ".shp")  # of tiles, only where they are given as sources
OF_A_RUN = "run.json"  # in a folder of results, whose maps are no input
SHOWN = 5


def files_of(sources: Sequence[str]) -> list[str]:
    """Return the rasters and files of arrays that the sources name, each once, in natural order.

    Raises ConfigError where a source does not exist, or holds no such file.
    """
    found: dict[str, None] = {}
    for source in sources:
        known = (*DRIVERS, *(LISTS if Path(source).is_file() else ()))
        own = [path for path in _files_in(source) if ending(path) in known]
        if not own:
            raise ConfigError(f"{source} holds no raster ({', '.join(DRIVERS)})")
        found |= dict.fromkeys(sorted(own, key=natural_order))
    return list(found)


def ending(path: str) -> str:
    """Return the suffix of a path or an address in small letters.

    >>> ending("https://server/a.TIF?token=x"), ending("a/b.nc")
    ('.tif', '.nc')
    """
    return PurePosixPath(re.sub(r"\?.*", "", path)).suffix.lower()


def is_arrays(path: str) -> bool:
    """Return whether a file may hold several arrays."""
    return ending(path) in ARRAYS


def rasters(paths: Sequence[str]) -> list[str]:
    """Return the files of one raster each."""
    return [path for path in paths if ending(path) in RASTERS]


def driver_of(path: str) -> str:
    """Return GDAL's name of the driver that opens a file, by its suffix.

    >>> driver_of("a.nc"), driver_of("a.tif"), driver_of("https://server/map?id=1")
    ('netCDF', 'GTiff', 'GTiff')
    """
    return DRIVERS.get(ending(path), "GTiff")


def is_listed(path: str) -> bool:
    """Return whether tiles of such paths are found by listing a folder of this machine."""
    return "://" not in path and not path.startswith("/vsi")


def some(names: Iterable[str]) -> str:
    """Return the first names, for messages."""
    listed = list(names)
    return ", ".join(listed[:SHOWN]) + (", ..." if len(listed) > SHOWN else "")


def no_pair(paths: Sequence[str]) -> str:
    """Return a message of files whose names do not say which layer they are."""
    return (
        "there is no pair such as NAME_mean.tif with NAME_variance.tif or NAME_std.tif among "
        f"{some(PurePosixPath(path).name for path in paths)}"
    )


def _files_in(source: str) -> Iterator[str]:
    """Yield the files that one source names, with / between folders."""
    path = Path(source)
    if "://" in source or (source.startswith("/vsi") and ending(source) != ".zip"):
        yield source
    elif ending(source) == ".zip":
        yield from _in_archive(source)
    elif path.is_dir() and ending(source) not in STORES:
        yield from _in_folder(path)
    elif path.exists():
        yield path.as_posix()
    elif "{tile}" in source or has_magic(source):
        yield from (Path(name).as_posix() for name in iglob(source.replace("{tile}", "*"), recursive=True))  # noqa: PTH207
    else:
        raise ConfigError(f"there is no folder or file {source}")


def _in_folder(folder: Path) -> Iterator[str]:
    """Yield the files and stores in a folder and those within it, without hidden ones and results of runs."""
    for parent, folders, names in os.walk(folder):
        if OF_A_RUN in names:
            folders.clear()
            continue
        stores = [name for name in folders if ending(name) in STORES]
        yield from (Path(parent, name).as_posix() for name in stores)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in stores)
        yield from (Path(parent, name).as_posix() for name in names if not name.startswith("."))


def _in_archive(source: str) -> Iterator[str]:
    """Yield the files in a ZIP archive, as GDAL names them."""
    archive = Path(source.removeprefix("/vsizip/"))
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{source} cannot be read: {error}") from None
    yield from (f"/vsizip/{archive.resolve().as_posix()}/{name}" for name in names if not name.endswith("/"))
