"""Paths that match a pattern with {tile}: in folders of this machine, and in object stores, which list their keys."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

from geouq.config.values import TILE
from geouq.core.errors import DataError
from geouq.core.naming import file_in_name, format_in_name
from geouq.rasters.gdal import gdal_options
from geouq.rasters.host_limit import in_turn
from geouq.rasters.object_stores import names_in
from geouq.rasters.remote_files import STORE, as_gdal_names_it, exists

REQUESTS = 32  # at a time


def is_in_folders(pattern: str) -> bool:
    """Return whether the names of tiles are those of files or folders on this machine."""
    file = file_in_name(pattern)
    elsewhere = "://" in file or file.startswith("/vsi") or format_in_name(file)
    return not elsewhere and (TILE in file or TILE not in pattern)


def is_in_store(pattern: str) -> bool:
    """Return whether the names of tiles are those of keys in an object store.

    >>> is_in_store("s3://bucket/{tile}.tif"), is_in_store("https://server/{tile}.tif")
    (True, False)
    """
    is_plain = not format_in_name(pattern) and "?" not in pattern
    return is_plain and TILE in pattern and bool(STORE.match(as_gdal_names_it(pattern)))


def tile_regex(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for the paths of a pattern; its group `tile` is the name of the tile."""
    first, *rest = (re.escape(part) for part in pattern.split(TILE))
    return re.compile(first + f"(?P<tile>[^{re.escape(os.sep)}/]+?)" + "(?P=tile)".join(rest))


def as_listed(pattern: str) -> str:
    """Return a pattern in the notation of the paths that `paths_like` yields."""
    return as_gdal_names_it(pattern) if is_in_store(pattern) else file_in_name(pattern)


def paths_like(pattern: str, *, hidden: bool = False) -> Iterator[str]:
    """Yield the paths that may match a pattern with {tile}; hidden : also names that begin with a dot.

    Raises DataError where a folder of an object store cannot be listed.
    """
    if is_in_store(pattern):
        yield from _in_store(as_listed(pattern), hidden=hidden)
    else:
        listed = glob.escape(file_in_name(pattern)).replace(TILE, "*")
        yield from glob.iglob(listed, include_hidden=hidden)  # noqa: PTH207  the pattern is absolute


def _in_store(pattern: str, *, hidden: bool) -> list[str]:
    """Return the keys that may match a pattern: a folder is listed for each part of the pattern with {tile}."""
    root, *parts = pattern.removeprefix("/").split("/")

    def deeper(folders: list[str], part: str) -> list[str]:
        """Return the paths in these folders that match a part of the pattern."""
        if TILE not in part:
            return [f"{folder}/{part}" for folder in folders]
        wanted = re.compile(".+?".join(map(re.escape, part.split(TILE))))
        return [
            f"{folder}/{name}"
            for folder in folders
            for name in _names_in(folder)
            if wanted.fullmatch(name) and (hidden or not name.startswith("."))
        ]

    with gdal_options():
        found = reduce(deeper, parts, [f"/{root}"])
    return found if TILE in parts[-1] else _those_there(found)


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
