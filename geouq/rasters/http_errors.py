"""Files that a server failed to answer for: GDAL takes what may lie beside a raster for absent then, and only warns."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

FAILED = re.compile(r"HTTP response code on (\S+): (?:0|429|5\d\d)\b")  # not 403 or 404: these are absent for us

OVERVIEWS = ".ovr"  # change no pixel


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
