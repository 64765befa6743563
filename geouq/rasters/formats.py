"""The format of a raster that no allowed driver opens, and the arrays of a file, for the messages that name them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rasterio
from rasterio.errors import RasterioError

from geouq.config.layer_file import ARRAY, FORMATS
from geouq.core.naming import format_in_name

DRIVERS = {  # by what names begin with
    "NETCDF": "netCDF",
    "HDF5": "HDF5Image",
    "ZARR": "Zarr",
    "GTI": "GTI",
    "VRT": "VRT",
}
BEGINNINGS = {  # of files
    b"CDF": "netCDF",
    b"\x89HDF": "HDF5",
    b"GRIB": "GRIB",
    b"<VRTDataset": "VRT",
    b"II*\0": "GTiff",
    b"MM\0*": "GTiff",
    b"II+\0": "GTiff",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"\x00\x00\x00\x0cjP": "JP2OpenJPEG",
}
NETCDF_4 = (".nc", ".nc4", ".cdf")
OF_ARRAYS = ("netCDF", "HDF5", "Zarr")
ARRAY_NAME = re.compile(r'^[A-Za-z0-9]+:"?(?P<file>.+?)"?:(?://|/)?(?P<name>[^:"]+)$')
COORDINATES = ("x", "y", "lat", "lon", "latitude", "longitude", "time", "crs", "spatial_ref")  # no arrays to choose
SHOWN = 5


def driver_of(path: str) -> str:
    """Return GDAL's name of the driver that opens a raster, by its name or its first bytes; '' where it is not known.

    >>> driver_of('NETCDF:"a.nc":height')
    'netCDF'
    """
    if named := DRIVERS.get(format_in_name(path)):
        return named
    file = Path(path)
    if ".gti." in file.name.lower():
        return "GTI"
    if file.suffix == ".zarr" or any((file / name).is_file() for name in (".zgroup", ".zarray", "zarr.json")):
        return "Zarr"
    try:
        with file.open("rb") as content:
            first = content.read(16)
    except (OSError, ValueError):
        return ""
    found = next((driver for start, driver in BEGINNINGS.items() if first.lstrip().startswith(start)), "")
    return "netCDF" if found == "HDF5" and file.suffix.lower() in NETCDF_4 else found


def not_allowed(path: str, drivers: Sequence[str]) -> str:
    """Return why no allowed driver opens a raster, and what to write."""
    found = driver_of(path)
    by = FORMATS.get(Path(path).suffix.lower())
    if found in OF_ARRAYS and by and not format_in_name(path):
        allowed = "" if by == ARRAY or "HDF5Image" in drivers else ", and drivers: [GTiff, HDF5Image]"
        return f"it is a {found} file; {_choice(_names_in_file(path, found))}{allowed}"
    if found and found not in drivers:
        trust = ", which can make GDAL read any file or address; if you trust it," if found in ("VRT", "GTI") else ";"
        return f"it is a {found} file{trust} write drivers: [{', '.join((*drivers, found))}]"
    return f"it is no {' or '.join(drivers)} file; `drivers` in the configuration names the formats to read"


def which_array(source: Any, path: str) -> str:
    """Return what to write for a file that GDAL opens without a band, as it holds several arrays."""
    names = _names_in(source)
    if not names:
        return "it holds no band and no array"
    if Path(path).suffix.lower() in FORMATS:
        return _choice(names)
    form, _, rest = source.subdatasets[0].partition(":")
    example = f"{form.upper()}:{rest}"
    return f"it holds the arrays {_some(names)}; write the name that GDAL has for one of them, such as {example}"


def _choice(names: Sequence[str]) -> str:
    """Return how to choose an array; without names if these are not known."""
    held = f"it holds {'the arrays' if len(names) > 1 else 'the array'} {_some(names)}; " if names else ""
    return f"{held}write which array to read, such as {{path: ..., variable: {names[0] if names else 'NAME'}}}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _names_in_file(path: str, driver: str) -> list[str]:
    """Return the names of the arrays of a file; none if GDAL cannot read them."""
    try:
        with rasterio.open(path, driver=driver) as source:
            return _names_in(source)
    except (RasterioError, OSError):
        return []


def _names_in(source: Any) -> list[str]:
    found = [match["name"] for text in source.subdatasets if (match := ARRAY_NAME.match(text))]
    several = [name for name in found if name not in COORDINATES]
    alone = source.tags(1).get("NETCDF_VARNAME") if source.count else None
    return several or ([alone] if alone else [])
