"""Names of files: safe ones for tiles, regions and variables, and those of GDAL that quote a file."""

import re
from hashlib import sha256

KEPT = re.compile(r"[A-Za-z0-9._-]")
DOT_AT_AN_END = re.compile(r"^\.|\.$")
# of Windows, where no file has such a name, whatever its suffix
DEVICE = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)
# what pandas.read_csv takes for a missing value
MISSING = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
LONGEST = 100  # two names and what stands between them fit into the 255 bytes of a file system
QUOTED = re.compile(r'(?P<before>[A-Z][A-Z0-9_]+:")(?P<file>[^"]+)(?P<after>"(?::.*)?)')
BARE = re.compile(  # the same without quotes, and names in which a file alone, or a file and options, follow
    r'(?P<before>(?:NETCDF|HDF5|ZARR):(?!"))(?P<file>[^":?]{2,})(?P<after>:.*)'
    r'|(?P<before_all>GTI:|vrt://)(?P<file_alone>[^"?]+)(?P<options>(?:\?.*)?)'
)
FORMAT = re.compile(r"(?P<format>[A-Z][A-Z0-9_]+):(?!//)|(?P<vrt>vrt)://")


def reads_as_missing(name: str) -> bool:
    """Tell whether programs that read a table take a name for a missing value.

    >>> reads_as_missing("NA"), reads_as_missing("Namibia")
    (True, False)
    """
    return name in MISSING


def file_name(text: str) -> str:
    """Return a name that leaves no folder and is safe in any; distinct texts get distinct names.

    Letters, digits and `._-` stay. Anything else is written as %XX like in a URL, and so are a dot at either end and
    the last letter of a device of Windows. A long name is cut and ends in ~ and a hash of the text.

    >>> file_name("r0c0"), file_name("Mg/ha 1"), file_name("aux.1")
    ('r0c0', 'Mg%2Fha%201', 'au%78.1')
    """
    escaped = "".join(c if KEPT.match(c) else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)
    name = DOT_AT_AN_END.sub("%2E", escaped) or "%"
    name = DEVICE.sub(lambda device: f"{device[0][:-1]}%{ord(device[0][-1]):02X}", name, count=1)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 17]}~{sha256(text.encode()).hexdigest()[:16]}"


def file_in_name(name: str) -> str:
    """Return the file in GDAL's name of a part of it, such as an array of a Zarr store; another name as it stands.

    >>> file_in_name('ZARR:"/data/a.zarr":/height'), file_in_name("/data/a.tif")
    ('/data/a.zarr', '/data/a.tif')
    >>> file_in_name("vrt://a.tif?bands=2"), file_in_name("GTI:a.gti.gpkg"), file_in_name("NETCDF:a.nc:height")
    ('a.tif', 'a.gti.gpkg', 'a.nc')
    """
    return _parts(name)[1]


def with_file(name: str, file: str) -> str:
    """Return the same part of another file.

    >>> with_file('ZARR:"a.zarr":/height', "/data/a.zarr")
    'ZARR:"/data/a.zarr":/height'
    """
    before, _, after = _parts(name)
    return f"{before}{file}{after}"


def _parts(name: str) -> tuple[str, str, str]:
    """Return what stands before a file in a name, the file, and what follows it."""
    if found := QUOTED.fullmatch(name):
        return found["before"], found["file"], found["after"]
    if found := BARE.fullmatch(name):
        before, file, after = (part for part in found.groups() if part is not None)
        return before, file, after
    return "", name, ""


def format_in_name(name: str) -> str:
    """Return the format that a name begins with, '' where it is a path or an address.

    >>> format_in_name('ZARR:"/data/a.zarr"'), format_in_name("HTTPS://server/a.tif"), format_in_name("C:/a.tif")
    ('ZARR', '', '')
    >>> format_in_name("vrt://a.tif?bands=2")
    'VRT'
    """
    found = FORMAT.match(name)
    return (found["format"] or found["vrt"]).upper() if found else ""
