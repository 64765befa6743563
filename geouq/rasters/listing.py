"""Paths that match a pattern with {tile} or {time}: in folders of this machine, and in object stores."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

from geouq.config.values import TILE, TIME
from geouq.core.dates import DATE
from geouq.core.errors import DataError
from geouq.core.naming import file_in_name, format_in_name
from geouq.rasters.gdal import gdal_options
from geouq.rasters.host_limit import in_turn
from geouq.rasters.object_stores import names_in
from geouq.rasters.remote_files import STORE, as_gdal_names_it, exists

REQUESTS = 32  # at a time
NAMED = re.compile(r"(\{tile\}|\{time\})")


def is_in_folders(pattern: str) -> bool:
    """Return whether the names of tiles are those of files or folders on this machine."""
    file = file_in_name(pattern)
    elsewhere = "://" in file or file.startswith("/vsi") or format_in_name(file)
    return not elsewhere and all(name in file or name not in pattern for name in (TILE, TIME))


def is_listed(pattern: str) -> bool:
    """Return whether the files of a pattern are found by listing folders."""
    return TILE in pattern or TIME in pattern


def is_in_store(pattern: str) -> bool:
    """Return whether the names of tiles are those of keys in an object store.

    >>> is_in_store("s3://bucket/{tile}.tif"), is_in_store("https://server/{tile}.tif")
    (True, False)
    """
    is_plain = not format_in_name(pattern) and "?" not in pattern
    return is_plain and is_listed(pattern) and bool(STORE.match(as_gdal_names_it(pattern)))


def path_regex(pattern: str, *, dated: bool = False) -> re.Pattern[str]:
    """Return a regular expression for the paths of a pattern; its groups are `tile` and `time`.

    dated : whether a time must be a date.
    """
    name = f"[^{re.escape(os.sep)}/]+?"
    groups, found = {TILE: name, TIME: DATE if dated else name}, ""
    for part in NAMED.split(pattern):
        if part not in groups:
            found += re.escape(part)
        elif f"(?P<{part[1:-1]}>" in found:
            found += f"(?P={part[1:-1]})"
        else:
            found += f"(?P<{part[1:-1]}>{groups[part]})"
    return re.compile(found)


def as_listed(pattern: str) -> str:
    """Return a pattern in the notation of the paths that `paths_like` yields."""
    return as_gdal_names_it(pattern) if is_in_store(pattern) else file_in_name(pattern)


def paths_like(pattern: str, *, hidden: bool = False) -> Iterator[str]:
    """Yield the paths that may match a pattern with {tile} or {time}; hidden : also names that begin with a dot.

    Raises DataError where a folder of an object store cannot be listed.
    """
    if is_in_store(pattern):
        yield from _in_store(as_listed(pattern), hidden=hidden)
    else:
        listed = glob.escape(file_in_name(pattern)).replace(TILE, "*").replace(TIME, "*")
        yield from glob.iglob(listed, include_hidden=hidden)  # noqa: PTH207  the pattern is absolute


def _in_store(pattern: str, *, hidden: bool) -> list[str]:
    """Return the keys that may match a pattern: a folder is listed for each part with {tile} or {time}."""
    root, *parts = pattern.removeprefix("/").split("/")

    def deeper(folders: list[str], part: str) -> list[str]:
        """Return the paths in these folders that match a part of the pattern."""
        if not is_listed(part):
            return [f"{folder}/{part}" for folder in folders]
        wanted = re.compile("".join(".+?" if own in (TILE, TIME) else re.escape(own) for own in NAMED.split(part)))
        return [
            f"{folder}/{name}"
            for folder in folders
            for name in _names_in(folder)
            if wanted.fullmatch(name) and (hidden or not name.startswith("."))
        ]

    with gdal_options():
        found = reduce(deeper, parts, [f"/{root}"])
    return found if is_listed(parts[-1]) else _those_there(found)


def _those_there(paths: Sequence[str]) -> list[str]:
    """Return the keys that exist. Each takes a request."""

    def is_there(path: str) -> bool:
        """Return whether a key exists."""
        with in_turn(path), gdal_options():
            return exists(path)

    with ThreadPoolExecutor(REQUESTS) as pool:
        return [path for path, found in zip(paths, pool.map(is_there, paths), strict=True) if found]


def _names_in(folder: str) -> list[str]:
    with in_turn(folder):
        found = names_in(folder)
    if found is None:
        raise DataError(
            f"{folder} cannot be listed: it does not exist, or the credentials do not allow it; "
            "write the names of tiles, such as tiles: [t1, t2]"
        )
    return [name.rstrip("/") for name in found]
