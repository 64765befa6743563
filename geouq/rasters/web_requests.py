"""Request the first bytes of a file on a web server, or one byte to see whether the file exists.

GDAL makes one request for the size of a file on a web server, and another one for its first bytes. The requests of
this module use the HTTP client of GDAL, so that its options for retries, time limits, proxies and credentials apply.
Each thread keeps its connection. GDAL reads the file if an answer is not as expected.
"""

import ctypes
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from geouq.rasters.gdal_library import gdal_library, without_reports

FIRST = 1 << 14  # bytes, as many as GDAL reads first
MOST = 1 << 20  # bytes of an answer; GDAL reads from servers that send whole files
MOST_OF_PAGE = 1 << 26  # bytes of the page of a folder
MOST_OF_FILE = (1 << 31) - 1  # bytes of a chunk
PLAIN = re.compile(r"/vsicurl/(https?://[^\s]+)")
CODE = re.compile(r"HTTP error code : (\d+)")
RANGE = re.compile(r"bytes 0-(\d+)/(\d+)")
PASSING = re.compile(r"timed out|reset by peer|was reset", re.IGNORECASE)  # GDAL repeats requests after these errors
OK, PART, ABSENT = 200, 206, 404
BUSY = (429, 500, 502, 503, 504)  # GDAL repeats requests after these answers


@dataclass(frozen=True)
class Answer:
    """The answer of a server: a code, or 0 and an error; headers by their names in lower case."""

    code: int
    error: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_part(self) -> bool:
        """Return whether the answer has the first bytes of a file, complete and as they are stored."""
        found = RANGE.fullmatch(self.headers.get("content-range", ""))
        is_changed = "location" in self.headers or "content-encoding" in self.headers
        is_whole = found is not None and len(self.content) == int(found[1]) + 1
        return self.code == PART and is_whole and not is_changed

    @property
    def size(self) -> int:
        """Return the number of bytes of the whole file."""
        return int(self.headers["content-range"].rpartition("/")[2])

    @property
    def is_failure(self) -> bool:
        """Return whether the server failed at every attempt."""
        return self.code in BUSY or (not self.code and bool(PASSING.search(self.error)))

    @property
    def reason(self) -> str:
        """Return why there is no content, in the words of GDAL."""
        return f"HTTP response code: {self.code}" if self.code else f"CURL error: {self.error}"


class _Result(ctypes.Structure):
    _fields_ = (
        ("status", ctypes.c_int),
        ("content_type", ctypes.c_char_p),
        ("error", ctypes.c_char_p),
        ("length", ctypes.c_int),
        ("allocated", ctypes.c_int),
        ("content", ctypes.c_void_p),
        ("headers", ctypes.POINTER(ctypes.c_char_p)),
    )


def answer_for(name: str, most: int = FIRST) -> Answer | None:
    """Request the first bytes of a file by its GDAL name; None if only GDAL can request the file."""
    found = PLAIN.fullmatch(name)
    if not found or gdal_library() is None:
        return None
    return _answer(found[1], f"Range: bytes=0-{most - 1}", MOST)


def content_at(name: str, part: str = "") -> Answer | None:
    """Request a file by its GDAL name, or a part of it in the words of the header Range; None if only GDAL can."""
    found = PLAIN.fullmatch(name)
    if not found or gdal_library() is None:
        return None
    return _answer(found[1], f"Range: {part}" if part else "Accept: */*", MOST_OF_FILE)


def is_there(name: str) -> bool | None:
    """Return whether a file exists; None if the answer does not show it."""
    answer = answer_for(name, 1)
    if answer is None:
        return None
    if answer.code in (403, ABSENT, 410):  # absent, as for GDAL
        return False
    return True if answer.is_part else None


def page_at(name: str) -> str:
    """Return the text at an address on a web server by its GDAL name; '' if there is none."""
    found = PLAIN.fullmatch(name)
    if not found or gdal_library() is None:
        return ""
    answer = _answer(found[1], "Accept: text/html", MOST_OF_PAGE)
    is_plain = answer.code == OK and "location" not in answer.headers
    return answer.content.decode("utf-8", "replace") if is_plain else ""


def _answer(address: str, header: str, most: int) -> Answer:
    library = gdal_library()
    with without_reports():
        pointer = library.CPLHTTPFetch(address.encode(), _options(header, most))
    try:
        return _read(ctypes.cast(pointer, ctypes.POINTER(_Result)).contents)
    finally:
        library.CPLHTTPDestroyResult(pointer)


def _options(header: str, most: int) -> ctypes.Array[ctypes.c_char_p]:
    given = gdal_library().CPLGetConfigOption(b"GDAL_HTTP_HEADERS", None)
    headers = [*([given] if given else []), header.encode()]
    texts = (
        b"HEADERS=" + b"\r\n".join(headers),
        f"PERSISTENT=geouq-{os.getpid()}-{threading.get_ident()}".encode(),
        f"MAX_FILE_SIZE={most}".encode(),
        None,
    )
    return (ctypes.c_char_p * len(texts))(*texts)


def _read(result: _Result) -> Answer:
    headers: dict[str, str] = {}
    number = 0
    while result.headers and (text := result.headers[number]):
        name, _, value = text.decode("utf-8", "replace").partition("=")
        headers[name.lower()] = value
        number += 1
    error = (result.error or b"").decode("utf-8", "replace")
    content = ctypes.string_at(result.content, result.length) if result.content else b""
    code = CODE.search(error)
    if code or error or result.status:
        return Answer(int(code[1]) if code else 0, error or "no answer", headers, content)
    return Answer(PART if "content-range" in headers else OK, "", headers, content)
