"""Features of a tile index as tiles, as GDAL writes one: attributes hold the paths of rasters."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.config import TileIndex
from geouq.core.errors import DataError
from geouq.core.redaction import remember_secrets
from geouq.core.wording import counted
from geouq.rasters.files import relative_to
from geouq.rasters.remote_files import without_signature
from geouq.rasters.source_file import is_parquet, rows_of_parquet, stamp_of_source
from geouq.rasters.table_times import Entry, places_of
from geouq.rasters.tile_files import TileFile, TileTable
from geouq.rasters.tile_names import Place
from geouq.rasters.vector import read_attributes, texts_of


def index_table(index: TileIndex, attributes: Sequence[str]) -> TileTable:
    """Return the features of an index as tiles, with the files that these attributes name.

    Features whose attributes are all empty are left out.

    Raises
    ------
    DataError
        If the file cannot be read, has no such attribute, or two features have one name.
    """
    wanted = list(dict.fromkeys([index.name or index.path, *attributes, *filter(None, [index.time])]))
    stamp = stamp_of_source(index.index)
    columns = (_of_parquet if is_parquet(index.index) else _of_vectors)(index, wanted)
    names = columns[wanted[0]] if index.name else [_stem(path) for path in columns[index.path]]
    each = [
        {key: TileFile(_address(index.index, path)) for key in attributes if (path := columns[key][row])}
        for row in range(len(names))
    ]
    rows = [row for row, own in enumerate(each) if own]
    if unnamed := next((row + 1 for row in rows if not names[row]), 0):
        raise DataError(f"{index.index}: feature {unnamed} has no {index.name}")
    times = [columns[index.time][row] for row in rows] if index.time else None
    places = _places(index, [names[row] for row in rows], times)
    files = {place: each[row] for place, row in zip(places, rows, strict=True)}
    empty = len(names) - len(rows)
    left_out = f"{index.index}: left aside: {counted(empty, 'feature')} without a path"
    return TileTable(stamp, "attribute", files, tuple(columns), (left_out,) if empty else ())


def _places(index: TileIndex, names: Sequence[str], times: Sequence[str] | None) -> list[Place]:
    """Return the tile of each feature, and its time if the index has times."""
    if times is not None:
        tiles = names if index.name else [None] * len(names)
        try:
            return places_of([Entry(*own) for own in zip(names, times, tiles, strict=True)])
        except DataError as error:
            raise DataError(f"{index.index}: {error}") from None
    if twice := next((name for name, count in Counter(names).items() if count > 1), ""):
        remedy = "give the attribute of their names as tiles.name" if index.name is None else "keep one of them"
        remedy += ", or give the attribute of their times as tiles.time"
        raise DataError(f"{index.index}: two features are tile {twice!r}; {remedy}")
    return [Place(name) for name in names]


def _of_vectors(index: TileIndex, wanted: Sequence[str]) -> dict[str, list[str]]:
    columns = read_attributes("index", index.index, index.layer, wanted)
    return {name: texts_of(index.index, name, columns[name]) for name in wanted}


def _of_parquet(index: TileIndex, wanted: Sequence[str]) -> dict[str, list[str]]:
    rows = rows_of_parquet(index.index, wanted, all_of=True)
    return {name: texts_of(index.index, name, _objects([row[name] for row in rows])) for name in wanted}


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _stem(path: str) -> str:
    return PurePosixPath(without_signature(path).partition("?")[0]).stem


def _address(index: str, path: str) -> str:
    if any(sign in path for sign in "?@"):
        remember_secrets(path)
    found = relative_to(index, path)
    return found if "://" in path or path.startswith("/") else os.path.normpath(found)
