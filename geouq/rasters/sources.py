"""Which files the pixels of a raster come from: its own, and those that a VRT or a tile index names, and theirs."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rasterio
from rasterio.errors import RasterioError

from geouq.rasters.server_files import as_gdal_names_it, forget, is_remote
from geouq.rasters.stamps import Stamp, physical, stamp
from geouq.text.gdal_names import file_in_name
from geouq.text.redaction import remember_secrets

HARMLESS = (".ovr", ".aux.xml")  # overviews and statistics, which may come and go and change no pixel
PLAIN = (".tif", ".tiff", ".msk", ".tfw", ".xml")  # names of files that hold no names of others
SOURCE = re.compile(r"<(?:SourceFilename|SourceDataset)([^>]*)>([^<]*)<")
INDEX = re.compile(r"<(IndexDataset|IndexLayer|LocationField)[^>]*>([^<]*)<")
INDIRECT = (b"<VRTDataset", b"<GDALTileIndexDataset")
BEGINNING = 4096  # bytes of a file by which it is recognised

Found = tuple[tuple[Stamp, ...], tuple[str, ...]]
Known = dict[str, Stamp | None]  # by the name of the file that is opened


def stamp_before_opening(path: str) -> Known:
    """Return a file as it is now; GDAL opens it, and what lies alongside it, as they are from now on.

    The open uses the server's answer, so that it costs no request.
    """
    file = physical(as_gdal_names_it(path))
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
                beside = f"{name}.msk"
                self._add_unopened([name, *([beside] if Path(beside).exists() else [])])
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
        yield beside(path, plain) if 'relativeToVRT="1"' in attributes else as_gdal_names_it(plain)


def beside(path: str, name: str) -> str:
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
    return [beside(path, str(name)) for name in columns[0]]


def _may_name_others(name: str) -> bool:
    """Return whether a source may be a VRT, an index, a folder or a part of a file rather than a plain file."""
    path = Path(name)
    if is_remote(physical(name)) or not path.is_file():
        return not name.lower().endswith(PLAIN)
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    return any(mark in beginning for mark in INDIRECT) or ".gti." in path.name.lower()
