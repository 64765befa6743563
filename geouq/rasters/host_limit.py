"""Limit the number of simultaneous requests to a server.

With a limit, a thread makes one request at a time: parallel requests of GDAL are switched off.
"""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from geouq.core.errors import ConfigError

REQUESTS_PER_HOST = "GEOUQ_REQUESTS_PER_HOST"
HOST = re.compile(r"://(?:[^/@]*@)?([^/?#]+)")
CLIENT = re.compile(r"/vsi\w+")
ONE_AFTER_ANOTHER = {"GDAL_HTTP_MULTIRANGE": "SERIAL", "GDAL_HTTP_ENABLE_ADVISE_READ": "NO"}

_gates: dict[tuple[str, int], threading.BoundedSemaphore] = {}
_of_thread = threading.local()


def requests_per_host() -> int | None:
    """Return the largest number of simultaneous requests to a server; None without a limit.

    Raises ConfigError if the environment variable is not a whole number of at least 1.
    """
    text = os.environ.get(REQUESTS_PER_HOST, "").strip()
    if not text:
        return None
    if not text.isdecimal() or not int(text):
        raise ConfigError(
            f"{REQUESTS_PER_HOST}={text}: write a whole number of at least 1, or leave it out for no limit"
        )
    return int(text)


def options_of_limit() -> dict[str, str]:
    """Return the options of GDAL for one request at a time in each thread; {} without a limit."""
    return dict(ONE_AFTER_ANOTHER) if os.environ.get(REQUESTS_PER_HOST, "").strip() else {}


def host_of(name: str) -> str:
    """Return the server of a file from its GDAL name; for a store without an address, the client of GDAL.

    >>> host_of("/vsicurl/https://me:word@server:8000/a.tif"), host_of("/vsis3/bucket/a.tif")
    ('server:8000', '/vsis3')
    """
    found = HOST.search(name)
    client = CLIENT.match(name)
    return found[1].lower() if found else client[0] if client else ""


@contextmanager
def in_turn(name: str) -> Iterator[None]:
    """Wait until this thread may send requests to the server of a file; nested blocks do not wait again."""
    limit = requests_per_host()
    if limit is None or getattr(_of_thread, "has_turn", False) or not (host := host_of(name)):
        yield
        return
    with _gates.setdefault((host, limit), threading.BoundedSemaphore(limit)):
        _of_thread.has_turn = True
        try:
            yield
        finally:
            _of_thread.has_turn = False
