"""The format of a raster that no allowed driver opens, for the message that says so."""

from collections.abc import Sequence
from pathlib import Path

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
    if found and found not in drivers:
        trust = ", which can make GDAL read any file or address; if you trust it," if found in ("VRT", "GTI") else ";"
        return f"it is a {found} file{trust} write drivers: [{', '.join((*drivers, found))}]"
    return f"it is no {' or '.join(drivers)} file; `drivers` in the configuration names the formats to read"
