"""No more requests to a server at the same time than the environment allows.

A thread makes one request at a time where there is such a limit: GDAL's own requests in parallel are switched off.
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
    """Return how many requests to a server may be under way at the same time; None without a limit.

    Raises ConfigError where the environment says something else than a number.
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
    """Return GDAL's options with which a thread makes one request at a time; {} without a limit."""
    return dict(ONE_AFTER_ANOTHER) if os.environ.get(REQUESTS_PER_HOST, "").strip() else {}


def host_of(name: str) -> str:
    """Return the server of a file by GDAL's name of it; of a store without an address, its client.

    >>> host_of("/vsicurl/https://me:word@server:8000/a.tif"), host_of("/vsis3/bucket/a.tif")
    ('server:8000', '/vsis3')
    """
    found = HOST.search(name)
    client = CLIENT.match(name)
    return found[1].lower() if found else client[0] if client else ""


@contextmanager
def in_turn(name: str) -> Iterator[None]:
    """Wait until this thread may ask the server of a file; what it asks for in such a block needs no other turn."""
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
