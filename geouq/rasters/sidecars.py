"""Find out whether rasters on servers have sidecar files, from the list of the folder or by requests.

A folder is listed once while the headers of a run are read. Stores list their keys; some web servers have a page with
the names of the files in a folder.
"""

import html
import os
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from geouq.rasters.object_stores import names_in
from geouq.rasters.remote_files import DECIDED_BY_USER, READ_WITH_IT, STORE, is_remote
from geouq.rasters.web_requests import is_there, page_at

LISTED = re.compile(r"<title>\s*(?:Index of|Directory listing for)\s", re.IGNORECASE)  # Apache, nginx, lighttpd, Python
LINK = re.compile(r"<a\s[^>]*?href=\"(?:\./)?([^\"/?#]+)\"", re.IGNORECASE)
END = "</html>"
NAMES_OF_REQUEST = 1000  # that a store lists in one request
WORTH = 30  # listed names for each raster; two requests for sidecars in many threads take as long


@dataclass
class _Folder:
    names: Collection[str] | None = None
    is_listed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False)
class _Listings:
    """Listed folders, each with at most `most` names."""

    most: int
    folders: dict[str, _Folder] = field(default_factory=dict)

    def names_in(self, path: str) -> Collection[str] | None:
        """Return the names in a folder; None if it is not listed or has too many."""
        folder = self.folders.setdefault(path, _Folder())
        with folder.lock:
            if not folder.is_listed:
                folder.names, folder.is_listed = _listed(path, self.most), True
        return folder.names


_in_use: list[_Listings] = []


@contextmanager
def folders_listed_once(rasters: int) -> Iterator[None]:
    """List folders on servers within this context, if this is faster than a request for each sidecar."""
    listings = _Listings(max(NAMES_OF_REQUEST, WORTH * rasters))
    _in_use.append(listings)
    try:
        yield
    finally:
        _in_use.remove(listings)


def has_no_sidecars(name: str) -> bool:
    """Return whether a server shows that a raster has no sidecar files; False also if this is unclear.

    An address with a query has no sidecar files.
    """
    if "?" in name:
        return True
    is_alone = alone_in_list(name)
    return all(is_there(f"{name}{end}") is False for end in READ_WITH_IT) if is_alone is None else is_alone


def alone_in_list(name: str) -> bool | None:
    """Return whether the folder list has the raster without sidecar files; None if it lacks the raster."""
    if not _in_use or not is_remote(name) or any(option in os.environ for option in DECIDED_BY_USER):
        return None
    folder, _, last = name.rpartition("/")
    names = _in_use[-1].names_in(folder)
    return None if names is None or last not in names else not any(f"{last}{end}" in names for end in READ_WITH_IT)


def _listed(folder: str, most: int) -> Collection[str] | None:
    if STORE.match(folder):
        names = names_in(folder, most)
        return None if names is None or len(names) >= most else frozenset(names)
    page = page_at(f"{folder}/")
    if not LISTED.search(page) or not page.rstrip().lower().endswith(END):  # the missing end may name a mask
        return None
    return frozenset(unquote(html.unescape(link)) for link in LINK.findall(page))
