"""Whether rasters on servers have sidecar files: from the list of their folder where there is one, or asked for each.

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
NAMES_OF_REQUEST = 1000  # that a store lists
WORTH = 30  # names that are listed for each raster: to ask for two sidecars in many threads takes as long


@dataclass
class _Folder:
    names: Collection[str] | None = None
    is_listed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(eq=False)
class _Listings:
    """Folders that were listed, each with no more than `most` names."""

    most: int
    folders: dict[str, _Folder] = field(default_factory=dict)

    def names_in(self, path: str) -> Collection[str] | None:
        """Return the names in a folder; None where it is not listed, or has too many."""
        folder = self.folders.setdefault(path, _Folder())
        with folder.lock:
            if not folder.is_listed:
                folder.names, folder.is_listed = _listed(path, self.most), True
        return folder.names


_in_use: list[_Listings] = []


@contextmanager
def folders_listed_once(rasters: int) -> Iterator[None]:
    """List folders on servers instead of asking for each sidecar, as long as this lasts and that is quicker."""
    listings = _Listings(max(NAMES_OF_REQUEST, WORTH * rasters))
    _in_use.append(listings)
    try:
        yield
    finally:
        _in_use.remove(listings)


def has_no_sidecars(name: str) -> bool:
    """Return whether a server says that a raster has no sidecar files; False also where it does not say so clearly.

    An address with a query has none.
    """
    if "?" in name:
        return True
    is_alone = alone_in_list(name)
    return all(is_there(f"{name}{end}") is False for end in READ_WITH_IT) if is_alone is None else is_alone


def alone_in_list(name: str) -> bool | None:
    """Return whether the list of its folder names a raster without sidecar files; None where it does not name it."""
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
    if not LISTED.search(page) or not page.rstrip().lower().endswith(END):  # what is cut off may be a mask
        return None
    return frozenset(unquote(html.unescape(link)) for link in LINK.findall(page))
