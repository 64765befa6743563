"""Failures of servers that GDAL reports in its log alone."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FAILED = re.compile(r"HTTP response code on (\S+): (?:0|429|5\d\d)\b")  # not 403 or 404: such files are absent
OVERVIEWS = ".ovr"  # change no pixel


@contextmanager
def failed_requests(path: str) -> Iterator[list[str]]:
    """Yield a list of the other addresses for which a server fails, or has failed, while a raster is read.

    GDAL then reads the raster as if these files did not exist. The list of a file on this machine stays empty.
    """
    if not ("/vsi" in path or "://" in path):
        yield []
        return
    listener, log = _LogListener(path, _known.setdefault(path, [])), logging.getLogger("rasterio._env")
    log.addHandler(listener)
    try:
        yield listener.addresses
    finally:
        log.removeHandler(listener)


_known: dict[
    str, list[str]
] = {}  # by raster: GDAL asks once in a process, and later reports the file as absent without asking


class _LogListener(logging.Handler):
    """Collects the addresses in warnings of GDAL that come from the thread in which it is made."""

    def __init__(self, path: str, addresses: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.path, self.addresses = path, addresses
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the address of a file for which a server failed."""
        found = FAILED.search(record.getMessage())
        if not found or record.thread != self._thread or found[1] in self.path:
            return
        if not found[1].lower().endswith(OVERVIEWS):
            self.addresses.append(found[1])
