"""Files on servers: which paths are such files, how to identify a version, and how to drop what GDAL keeps of them.

If the functions of GDAL's library are not found, such files are not identified, and GDAL keeps nothing of a file after
it is closed.
"""

import ctypes
import os
import re
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime

from rasterio._path import _parse_path, _vsi_path  # as its `open` does

from geouq.rasters.gdal_library import gdal_library, texts_of
from geouq.rasters.host_limit import host_of
from geouq.rasters.web_requests import ABSENT, OK, Answer, answer_for

CLIENTS = ("curl", "s3", "gs", "az", "adls", "oss", "swift", "hdfs", "webhdfs")
REMOTE = re.compile(rf"/vsi({'|'.join(CLIENTS)})[/?]")
STORE = re.compile(r"/vsi(?:s3|gs|az|adls|oss|swift)/")  # lists its keys
# what a signature of a store adds to the query of an address; it changes, and what is there does not
SIGNATURE = re.compile(
    r"(?:x-amz-(?:algorithm|credential|date|expires|security-token|signature|signedheaders)"
    r"|x-goog-(?:algorithm|credential|date|expires|signature|signedheaders)"
    r"|awsaccesskeyid|googleaccessid|key-pair-id|policy|signature|expires"  # of S3, Google and CloudFront, earlier
    r"|s[evrpt]|sig|spr|sip|sk(?:oid|tid|t|e|s|v))=.*",  # of Azure
    re.IGNORECASE,
)
SIGNED = re.compile(r"(?:x-amz-signature|x-goog-signature|signature|sig)=", re.IGNORECASE)
USER = re.compile(r"(?<=://)[^/@?]*@")
SETTLED = 2  # seconds: servers round times of change to a second, so a younger file may change within that second
READ_WITH_IT = (".msk", ".aux.xml")  # masks; nodata, scales and names of bands
ALLOWED = "CPL_VSIL_CURL_ALLOWED_EXTENSIONS"  # GDAL asks for no file whose name ends otherwise
# options of the environment that set which files GDAL requests
DECIDED_BY_USER = ("GDAL_DISABLE_READDIR_ON_OPEN", ALLOWED, "CPL_VSIL_CURL_ALLOWED_FILENAME")


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


def without_signature(path: str) -> str:
    """Return a path without what signs it and without the name of a user: what the next run has in common with it.

    >>> without_signature("https://me:word@host/a.tif?id=5&X-Amz-Date=2026&X-Amz-Signature=5f")
    'https://host/a.tif?id=5'
    """
    if not is_remote(as_gdal_names_it(path)):
        return path
    address, _, query = path.partition("?")
    options = query.split("&")
    if any(SIGNED.match(option) for option in options):
        options = [option for option in options if not SIGNATURE.fullmatch(option)]
    return USER.sub("", address) + (f"?{'&'.join(options)}" if any(options) else "")


def version_of(path: str) -> tuple[int, int, str] | None:
    """Return size, time of change (nanoseconds) and ETag of a file on a server; None where these identify nothing."""
    headers = _headers(path)
    return _version_in(headers, headers.get("content-length", ""))


def version_in(answer: Answer) -> tuple[int, int, str] | None:
    """Return the version of a part of a file, as `version_of` does."""
    return _version_in(answer.headers, str(answer.size))


def _version_in(headers: Mapping[str, str], size: str) -> tuple[int, int, str] | None:
    modified, now = _seconds(headers.get("last-modified")), _seconds(headers.get("date"))
    etag = headers.get("etag", "")
    if not etag and (not modified or not size.isdecimal() or 0 <= now - modified < SETTLED):
        return None
    return int(size) if size.isdecimal() else 0, int(modified * 10**9), etag


def is_first_request(path: str) -> bool:
    """Return whether this process has not asked for a file yet, so that GDAL keeps nothing of it."""
    if path in _asked:
        return False
    _asked.add(path)
    return True


_asked: set[str] = set()  # names of files; to `forget` one takes GDAL longer the more files it keeps


def forget(*paths: str) -> None:
    """Let GDAL ask the server for files and their sidecars again, also where it has read them in this process."""
    for path in filter(is_remote, paths):
        if library := gdal_library():
            library.VSICurlPartialClearCache(path.encode())


def may_have_sidecars(path: str) -> bool:
    """Return whether a raster may have sidecar files with a mask or metadata, so that GDAL must search for them.

    GDAL requests about thirty names of sidecar files from a server. Two kinds change how pixels are read. If neither
    exists, GDAL need not search for the others. An address with a query has no sidecar files.
    """
    name = as_gdal_names_it(path)
    if gdal_library() is None or not is_remote(name) or "GDAL_DISABLE_READDIR_ON_OPEN" in os.environ:
        return True
    if not exists(name):
        return True
    return "?" not in name and any(exists(f"{name}{end}") for end in READ_WITH_IT)


def first_part_of(name: str) -> Answer | None:
    """Return the current first bytes of a file on a server; None if GDAL has to request them.

    Raises OSError with the reason if the file does not exist or its server fails.
    """
    host = host_of(name)
    if not is_remote(name) or host in _left_to_gdal or any(option in os.environ for option in DECIDED_BY_USER):
        return None
    answer = answer_for(name)
    if answer is None or answer.is_part:
        return answer
    if answer.code == ABSENT or answer.is_failure:
        raise OSError(answer.reason)
    if answer.code == OK or "location" in answer.headers:
        _left_to_gdal.add(host)
    return None


_left_to_gdal: set[str] = set()  # hosts that send whole files, or redirect


def exists(name: str) -> bool:
    """Return whether GDAL finds a file; it is opened, as a look at its status would list folders of that name."""
    _asked.add(name)
    library = gdal_library()
    file = library and library.VSIFOpenL(name.encode(), b"rb")
    if file:
        library.VSIFCloseL(file)
    return bool(file)


def endings_of_requests(path: str) -> str:
    """Return how the names of a raster and of its masks and metadata end, so that GDAL asks for no other.

    '' where GDAL, or the environment, decides.
    """
    name = as_gdal_names_it(path)
    last = name.rpartition("/")[2]
    is_plain = is_remote(name) and not re.search(r"[?,\s]", name)
    if not is_plain or any(option in os.environ for option in ("GDAL_DISABLE_READDIR_ON_OPEN", ALLOWED)):
        return ""
    return ",".join((last, *(f"{last}{end}" for end in READ_WITH_IT)))


def lost_sidecar(name: str, files: Collection[str]) -> str:
    """Return a sidecar file that exists, but that GDAL could not read to its end when it opened a raster; '' for none.

    GDAL reads a raster as if such a file did not exist, or as if it held nothing.

    files : those that GDAL used.
    """
    if not is_remote(name) or "?" in name or gdal_library() is None or "GDAL_DISABLE_READDIR_ON_OPEN" in os.environ:
        return ""
    mask, metadata = (f"{name}{end}" for end in READ_WITH_IT)
    if mask not in files and exists(mask):
        return mask
    return metadata if metadata in files and sends_less(metadata) else ""


def sends_nothing(name: str) -> bool:
    """Return whether a server shows a file, but does not send its first byte when it is asked for it now."""
    forget(name)
    return sends_less(name, 1)


def sends_less(name: str, most: int | None = None) -> bool:
    """Return whether a server sends less of a file than it says that there is, of its first bytes or of all."""
    library = gdal_library()
    file = library and library.VSIFOpenL(name.encode(), b"rb")
    if not file:
        return False
    try:
        library.VSIFSeekL(file, 0, os.SEEK_END)
        size = int(library.VSIFTellL(file))
        wanted = size if most is None else min(size, most)
        library.VSIFSeekL(file, 0, os.SEEK_SET)
        read = int(library.VSIFReadL(ctypes.create_string_buffer(max(wanted, 1)), 1, wanted, file))
        return read < wanted
    finally:
        library.VSIFCloseL(file)


def cache_options() -> dict[str, str]:
    """Return options with which GDAL keeps nothing of a closed file, if `forget` has no effect; otherwise {}."""
    kept = ":".join(f"/vsi{client}/" for client in CLIENTS)
    return {} if gdal_library() else {"CPL_VSIL_CURL_NON_CACHED": os.environ.get("CPL_VSIL_CURL_NON_CACHED", kept)}


def _seconds(date: str | None) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() if date else 0
    except ValueError:
        return 0


def _headers(path: str) -> Mapping[str, str]:
    """Return the headers that the server gives now, names in lower case; {} without an answer."""
    library = gdal_library()
    if library is None:
        return {}
    lines = (line.partition("=") for line in texts_of(library.VSIGetFileMetadata(path.encode(), b"HEADERS", None)))
    return {name.lower(): value for name, _, value in lines}
