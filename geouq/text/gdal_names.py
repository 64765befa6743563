"""GDAL's names of a part of a file, which begin with a format and quote the file."""

import re

QUOTED = re.compile(r'(?P<before>[A-Z][A-Z0-9_]+:")(?P<file>[^"]+)(?P<after>"(?::.*)?)')
FORMAT = re.compile(r"(?P<format>[A-Z][A-Z0-9_]+):(?!//)")


def file_in_name(name: str) -> str:
    """Return the file in GDAL's name of a part of it, such as an array of a Zarr store; another name as it stands.

    >>> file_in_name('ZARR:"/data/a.zarr":/height'), file_in_name("/data/a.tif")
    ('/data/a.zarr', '/data/a.tif')
    """
    found = QUOTED.fullmatch(name)
    return found["file"] if found else name


def with_file(name: str, file: str) -> str:
    """Return the same part of another file.

    >>> with_file('ZARR:"a.zarr":/height', "/data/a.zarr")
    'ZARR:"/data/a.zarr":/height'
    """
    found = QUOTED.fullmatch(name)
    return f"{found['before']}{file}{found['after']}" if found else file


def format_in_name(name: str) -> str:
    """Return the format that a name begins with, '' where it is a path or an address.

    >>> format_in_name('ZARR:"/data/a.zarr"'), format_in_name("HTTPS://server/a.tif"), format_in_name("C:/a.tif")
    ('ZARR', '', '')
    """
    found = FORMAT.match(name)
    return found["format"] if found else ""
