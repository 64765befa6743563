"""What identifies a file: on this machine, in an archive, on a server, or a folder of chunks."""

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from geouq.errors import DataError
from geouq.rasters.server_files import is_remote, version_of
from geouq.text.gdal_names import file_in_name

ARCHIVED = re.compile(r"/vsi(?:zip|tar|gzip|7z|rar)/(?P<rest>.*)")
BRACED = re.compile(r"\{(?P<archive>.*)\}")
ARCHIVE = re.compile(r"(?P<archive>.*?\.(?:zip|kmz|tar\.gz|tar|tgz|gz|7z|rar))(?:/.*)?", re.IGNORECASE)


class Stamp(NamedTuple):
    """A file as it was found: path, bytes, time of change in nanoseconds, and checksum, '' where none was requested.

    version : ETag of a server, or digest of what a folder lists; '' for a file.
    """

    path: str
    bytes: int
    modified: int
    sha256: str = ""
    version: str = ""

    @property
    def name(self) -> str:
        """Name without the folder."""
        return Path(self.path).name

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return not is_remote(self.path)

    @property
    def cheap(self) -> bool:
        """Whether it takes no more than a look at its status to find that it changed."""
        return self.local and not self.version

    @property
    def identity(self) -> tuple[str | int, ...]:
        """What distinguishes the file from another one: its checksum, or else size, time of change and version."""
        if self.sha256:
            return self.name, self.sha256
        return (self.name, self.bytes, self.modified, *([self.version] if self.version else []))


def stamp(path: str) -> Stamp | None:
    """Return a file as it is now, of a member the archive that holds it; None where nothing identifies it.

    Raises DataError for a pipe, a device or a socket, which would wait for ever when it is opened.
    """
    path = physical(path)
    if is_remote(path):
        found = version_of(path)
        return None if found is None else Stamp(path, found[0], found[1], version=found[2])
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(status.st_mode):
        return _stamp_of_folder(path)
    require_regular(path)
    return Stamp(path, status.st_size, status.st_mtime_ns)


def require_sidecar(path: str) -> None:
    """Raise DataError for a sidecar that GDAL cannot open: it would wait for it, or read the raster without it."""
    require_regular(path)
    sidecar = Path(path)
    if sidecar.is_symlink() and not sidecar.exists():
        raise DataError(f"{path} cannot be read: it is a link to a file that is not there; repair or remove it")
    if sidecar.is_dir():
        raise DataError(f"{path} cannot be read: it is a folder; give a regular file, or remove it")


def require_regular(path: str) -> None:
    """Raise DataError for a pipe, a device or a socket; what is not there is no concern of this."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DataError(f"{path} cannot be read: it is a pipe, a device or a socket; give a regular file")


def physical(path: str) -> str:
    """Return the file that is opened for a path: of a member of an archive the archive, of an array its store.

    >>> physical("/vsizip//data/a.zip/folder/member.tif")
    '/data/a.zip'
    >>> physical("/vsitar/{/vsis3/bucket/a.tar}/member.tif")
    '/vsis3/bucket/a.tar'
    >>> physical('ZARR:"/vsicurl/https://server/a.zarr":/height')
    '/vsicurl/https://server/a.zarr'
    """
    path = file_in_name(path)
    while member := ARCHIVED.fullmatch(path):
        path = member["rest"]
        if found := BRACED.match(path) or ARCHIVE.fullmatch(path):
            path = found["archive"]
        if path.startswith("vsi"):
            path = f"/{path}"
    return path


def files_in(folder: str) -> list[Path]:
    """Return all files in a folder and those within it, in a fixed order."""
    return sorted(Path(parent, name) for parent, _, names in os.walk(folder) for name in names)


def _stamp_of_folder(folder: str) -> Stamp:
    digest, size, latest = hashlib.sha256(), 0, 0
    for path in files_in(folder):
        status = path.stat()
        digest.update(repr((path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns)).encode())
        size, latest = size + status.st_size, max(latest, status.st_mtime_ns)
    return Stamp(folder, size, latest, version=digest.hexdigest())
