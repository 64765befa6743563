"""Which files the pixels of a raster come from, what identifies each, and which bands of a VRT are those of others."""

import hashlib
import html
import os
import re
import stat
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import rasterio
from rasterio.errors import RasterioError

from geouq.core.errors import DataError
from geouq.core.naming import file_in_name
from geouq.core.redaction import remember_secrets
from geouq.rasters.host_limit import in_turn
from geouq.rasters.remote_files import (
    as_gdal_names_it,
    forget,
    is_first_request,
    is_remote,
    version_of,
    without_signature,
)

ARCHIVED = re.compile(r"/vsi(?:zip|tar|gzip|7z|rar)/(?P<rest>.*)")
BRACED = re.compile(r"\{(?P<archive>.*)\}")
ARCHIVE = re.compile(r"(?P<archive>.*?\.(?:zip|kmz|tar\.gz|tar|tgz|gz|7z|rar))(?:/.*)?", re.IGNORECASE)
Origin = tuple[str, int]  # identity of a file, and the number of a band
# elements with which a source, or a band of a VRT, has other values than the band that it is made of
OF_SOURCE = ("ScaleOffset", "ScaleRatio", "Exponent", "LUT", "NODATA", "ColorTableComponent", "UseMaskBand")
OF_BAND = ("PixelFunctionType", "Scale", "Offset")


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
        """Name without the folder and without a signature."""
        return Path(without_signature(self.path)).name

    @property
    def local(self) -> bool:
        """Return whether it is on this machine."""
        return not is_remote(self.path)

    @property
    def cheap(self) -> bool:
        """Return whether it takes no more than a look at its status to find that it changed."""
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


HARMLESS = (".ovr", ".aux.xml")  # overviews and statistics, which may come and go and change no pixel
PLAIN = (".tif", ".tiff", ".msk", ".tfw", ".xml")  # names of files that hold no names of others
SOURCE = re.compile(r"<(?:SourceFilename|SourceDataset)([^>]*)>([^<]*)<")
INDEX = re.compile(r"<(IndexDataset|IndexLayer|LocationField)[^>]*>([^<]*)<")
INDIRECT = (b"<VRTDataset", b"<GDALTileIndexDataset")
BEGINNING = 4096  # bytes of a file that identify its format

Found = tuple[tuple[Stamp, ...], tuple[str, ...]]
Known = dict[str, Stamp | None]  # by the name of the file that is opened


def stamp_before_opening(path: str, *, named_by_none: bool = False) -> Known:
    """Return a file as it is now; GDAL opens it, and what lies alongside it, as they are from now on.

    The open uses the server's answer, so that it costs no request.

    named_by_none : whether GDAL opens no file that names others, and so has not read this one unnoticed.
    """
    file = physical(as_gdal_names_it(path))
    if not (named_by_none and is_first_request(file)):
        forget(file)
    return {file: stamp(file)}


def files_behind(source: Any, known: Known) -> Found:
    """Return the files that the pixels of an open raster come from, and the names of those that nothing identifies.

    known : the file itself, as `stamp_before_opening` found it.
    """
    search = _Search(dict(known))
    search.through(source)
    found = {name: search.known[physical(name)] for name in search.names}
    stamps = dict.fromkeys(own for own in found.values() if own)
    unknown = [*(name for name, own in found.items() if not own), *search.unknown]
    return tuple(stamps), tuple(dict.fromkeys(unknown if stamps or unknown else [source.name]))


@dataclass
class _Search:
    """Stamps and names of the files that pixels come from, names of what cannot be known, and of what was opened."""

    known: Known
    names: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)

    def through(self, source: Any) -> None:
        """Add the files of an open raster, and those of its sources."""
        self.opened.add(source.name)
        try:
            sources = _named_by(source)
        except Exception:  # noqa: BLE001  whatever the reader of an index does not understand, it is then not known
            self.unknown[source.name] = None
            sources = ()
        for name in (name for name in sources if name not in self.opened):
            remember_secrets(name)
            if _may_name_others(name):
                self._through_source(name)
            else:
                mask = f"{name}.msk"
                self._add_unopened([name, *([mask] if Path(mask).exists() else [])])
        self._add_files_of(source)

    def _add_files_of(self, source: Any) -> None:
        if source.driver != "Zarr":
            self._add(name for name in source.files if not name.endswith(HARMLESS))
        elif is_remote(folder := file_in_name(source.name)):
            self.unknown[folder] = None  # a server identifies single chunks, and lists them rarely
        else:
            self._add([folder])

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self.names[name] = None
            if physical(name) not in self.known:
                self.known[physical(name)] = stamp(name)

    def _add_unopened(self, names: Iterable[str]) -> None:
        for name in names:
            if physical(name) not in self.known:
                self.known |= stamp_before_opening(name)
        self._add(names)

    def _through_source(self, name: str) -> None:
        self.opened.add(name)
        try:
            with in_turn(name):
                self.known |= stamp_before_opening(name)
                with rasterio.open(name, sharing=False) as source:
                    self.through(source)
        except (RasterioError, OSError):
            self.unknown[name] = None


def _named_by(source: Any) -> Iterable[str]:
    """Return the names of the sources of a VRT or a tile index."""
    if source.driver == "VRT":
        text = source.tags(ns="xml:VRT").get("xml:VRT", "")
        listed = [name for name in source.files if name != source.name and not name.endswith(HARMLESS)]
        return dict.fromkeys([*_sources_in(text, source.name), *listed])
    return _locations(source.name) if source.driver == "GTI" else ()


def _sources_in(text: str, path: str) -> Iterator[str]:
    for attributes, name in SOURCE.findall(text):
        plain = html.unescape(name).strip()
        yield relative_to(path, plain) if 'relativeToVRT="1"' in attributes else as_gdal_names_it(plain)


def relative_to(path: str, name: str) -> str:
    """Return a path that is relative to the folder of a file."""
    if name.startswith(("/", "<")) or "://" in name or Path(name).is_absolute():
        return as_gdal_names_it(name)
    folder = as_gdal_names_it(path).rpartition("/")[0]
    return f"{folder}/{name}" if folder else name


def _locations(path: str) -> list[str]:
    """Return the rasters that a tile index names; raise where it cannot be read."""
    from pyogrio.raw import read  # noqa: PLC0415  an optional dependency

    path = path.removeprefix("GTI:")
    text = Path(path).read_bytes()[:BEGINNING].decode("utf-8", "replace")
    told = {name: html.unescape(value).strip() for name, value in INDEX.findall(text)}
    index = told.get("IndexDataset", path)  # GDAL takes it as it stands
    column = told.get("LocationField", "location")
    _, _, _, columns = read(index, layer=told.get("IndexLayer"), columns=[column], read_geometry=False)
    return [relative_to(path, str(name)) for name in columns[0]]


def _may_name_others(name: str) -> bool:
    """Return whether a source may be a VRT, an index, a folder or a part of a file rather than a plain file."""
    path = Path(name)
    if is_remote(physical(name)) or not path.is_file():
        return not name.lower().endswith(PLAIN)
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    return any(mark in beginning for mark in INDIRECT) or ".gti." in path.name.lower()


def origins_of(source: Any, identity: Callable[[str], str]) -> tuple[Origin | None, ...]:
    """Return the file and band that each band of an open VRT passes through as it is, None where it does not.

    Other rasters have none. A source that is a VRT itself is not looked into.
    """
    text = source.tags(ns="xml:VRT").get("xml:VRT", "") if source.driver == "VRT" else ""
    try:
        root = ET.fromstring(text) if text else None  # noqa: S314  GDAL has opened it
    except ET.ParseError:
        root = None
    if root is None:
        return ()
    bands = [_origin(band, source) for band in root.iter("VRTRasterBand")]
    return tuple(found and (identity(found[0]), found[1]) for found in bands)


def _origin(band: ET.Element, source: Any) -> Origin | None:
    sources = [child for child in band if child.tag.endswith("Source")]
    if band.get("subClass") or any(band.find(tag) is not None for tag in OF_BAND):
        return None
    if len(sources) != 1 or sources[0].tag not in ("SimpleSource", "ComplexSource") or len(set(_rects(sources[0]))) > 1:
        return None
    (one,) = sources
    name, number = one.find("SourceFilename"), one.findtext("SourceBand", "1")
    if name is None or not name.text or not number.isdecimal() or any(one.find(tag) is not None for tag in OF_SOURCE):
        return None
    path = name.text.strip()
    return (relative_to(source.name, path) if name.get("relativeToVRT") == "1" else path), int(number)


def _rects(source: ET.Element) -> Iterator[tuple[float, ...]]:
    """Yield the rectangles that are read and written."""
    for tag in ("SrcRect", "DstRect"):
        rect = source.find(tag)
        if rect is not None:
            yield tuple(float(rect.get(key, "0")) for key in ("xOff", "yOff", "xSize", "ySize"))
