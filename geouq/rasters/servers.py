"""What GDAL knows of files on servers: the headers of a response, what lies beside, and a cache that must not outlive.

rasterio has no function for either, so GDAL's own C functions are called in the library that rasterio has loaded. Where
the system does not find them, such files are not identified, and GDAL keeps nothing of them after it closes them.
"""

import ctypes
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import rasterio._base
from rasterio._path import _parse_path, _vsi_path  # as its `open` does

CLIENTS = ("curl", "s3", "gs", "az", "adls", "oss", "swift", "hdfs", "webhdfs")
REMOTE = re.compile(rf"/vsi({'|'.join(CLIENTS)})[/?]")
SETTLED = 2  # seconds: a server tells times of change by the second, so a younger file may change within it
FAILED = re.compile(r"HTTP response code on (\S+): (?:0|429|5\d\d)\b")  # not 403 or 404: these are absent for us

OVERVIEWS = ".ovr"  # change no pixel
READ_WITH_IT = (".msk", ".aux.xml")  # masks; nodata, scales and names of bands
STATUS, EXISTS = 1024, 1  # more bytes than a status takes, and the flag that requests no more than whether it exists


def is_remote(path: str) -> bool:
    """Return whether GDAL reads a file from a server."""
    return bool(REMOTE.match(path))


def as_gdal_names_it(path: str) -> str:
    """Return a path as GDAL names it: an address is a path of its client for servers.

    >>> as_gdal_names_it("https://server/a.tif")
    '/vsicurl/https://server/a.tif'
    >>> as_gdal_names_it("zip+s3://bucket/a.zip!b.tif")
    '/vsizip/vsis3/bucket/a.zip/b.tif'
    """
    return str(_vsi_path(_parse_path(path)))


def version_of(path: str) -> tuple[int, int, str] | None:
    """Return size, time of change (nanoseconds) and ETag of a file on a server; None where these identify nothing."""
    headers = _headers(path)
    modified, now = _seconds(headers.get("last-modified")), _seconds(headers.get("date"))
    etag, size = headers.get("etag", ""), headers.get("content-length", "")
    if not etag and (not modified or not size.isdecimal() or 0 <= now - modified < SETTLED):
        return None
    return int(size) if size.isdecimal() else 0, int(modified * 10**9), etag


def forget(*paths: str) -> None:
    """Let GDAL ask the server for files and their sidecars again, also where it has read them in this process."""
    for path in filter(is_remote, paths):
        if library := _gdal():
            library.VSICurlPartialClearCache(path.encode())


def may_have_sidecars(path: str) -> bool:
    """Return whether a mask or metadata may lie beside a raster, so that GDAL must look for files there.

    GDAL asks a server for some thirty names that may lie beside a raster. Two of them change how pixels are read;
    where neither exists it need not ask for any other. An address with a query stands for one file.
    """
    name = as_gdal_names_it(path)
    if _gdal() is None or not is_remote(name) or "GDAL_DISABLE_READDIR_ON_OPEN" in os.environ:
        return True
    if not exists(name):
        return True
    return "?" not in name and any(exists(f"{name}{end}") for end in READ_WITH_IT)


def names_in(folder: str) -> list[str] | None:
    """Return the names in a folder of an object store, as it lists them now; None where it does not."""
    library = _gdal()
    if library is None:
        return None
    forget(folder)
    found = library.VSIReadDirEx(folder.encode(), 0)
    return None if not found else _texts(found)


def _texts(found: Any) -> list[str]:
    """Return the texts of a list of GDAL, which is freed."""
    texts: list[str] = []
    while text := ctypes.cast(found, ctypes.POINTER(ctypes.c_char_p))[len(texts)] if found else None:
        texts.append(text.decode("utf-8", "replace"))
    _gdal().CSLDestroy(found)
    return texts


def store_options() -> dict[str, str]:
    """Return GDAL's options for the store at AWS_ENDPOINT_URL, which other programs read; {} without it."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not address or "AWS_S3_ENDPOINT" in os.environ:
        return {}
    found = urlsplit(address)
    return {
        "AWS_S3_ENDPOINT": f"{found.netloc}{found.path}".rstrip("/"),
        "AWS_HTTPS": os.environ.get("AWS_HTTPS", "NO" if found.scheme == "http" else "YES"),
        "AWS_VIRTUAL_HOSTING": os.environ.get("AWS_VIRTUAL_HOSTING", "FALSE"),
    }


def exists(name: str) -> bool:
    """Return whether GDAL finds a file."""
    library = _gdal()
    return bool(library) and library.VSIStatExL(name.encode(), ctypes.create_string_buffer(STATUS), EXISTS) == 0


def cache_options() -> dict[str, str]:
    """Return GDAL's options that drop a file on a server with its handle, if `forget` cannot."""
    kept = ":".join(f"/vsi{client}/" for client in CLIENTS)
    return {} if _gdal() else {"CPL_VSIL_CURL_NON_CACHED": os.environ.get("CPL_VSIL_CURL_NON_CACHED", kept)}


def _seconds(date: str | None) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() if date else 0
    except ValueError:
        return 0


def _headers(path: str) -> Mapping[str, str]:
    """Return the headers that the server gives now, names in lower case; {} without an answer."""
    library = _gdal()
    if library is None:
        return {}
    lines = (line.partition("=") for line in _texts(library.VSIGetFileMetadata(path.encode(), b"HEADERS", None)))
    return {name.lower(): value for name, _, value in lines}


@cache
def _gdal() -> Any:
    """Return the library that rasterio has loaded; None where the system does not find its functions."""
    try:
        library = ctypes.CDLL(rasterio._base.__file__)  # noqa: SLF001  its path is all that is taken
        library.VSIGetFileMetadata.restype = ctypes.c_void_p
        library.VSIGetFileMetadata.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
        library.VSIReadDirEx.restype = ctypes.c_void_p
        library.VSIReadDirEx.argtypes = [ctypes.c_char_p, ctypes.c_int]
        library.CSLDestroy.argtypes = [ctypes.c_void_p]
        library.VSICurlPartialClearCache.argtypes = [ctypes.c_char_p]
        library.VSIStatExL.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    except (OSError, AttributeError):
        return None
    return library


@contextmanager
def unanswered(path: str) -> Iterator[list[str]]:
    """Addresses of others for which a server failed while a block read a raster, now or before; [] of a local one."""
    if not ("/vsi" in path or "://" in path):
        yield []
        return
    heard, log = _Heard(path, _known.setdefault(path, [])), logging.getLogger("rasterio._env")
    log.addHandler(heard)
    try:
        yield heard.addresses
    finally:
        log.removeHandler(heard)


_known: dict[str, list[str]] = {}  # by raster: GDAL asks once in a process, and then takes the file for absent


class _Heard(logging.Handler):
    """Listens to the warnings of GDAL in the thread that makes it."""

    def __init__(self, path: str, addresses: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.path, self.addresses = path, addresses
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the address of a file that a server did not give."""
        found = FAILED.search(record.getMessage())
        if not found or record.thread != self._thread or found[1] in self.path:
            return
        if not found[1].lower().endswith(OVERVIEWS):
            self.addresses.append(found[1])
