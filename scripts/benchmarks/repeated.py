"""Large GeoTIFFs that take little disk: the compressed blocks of a small one, stored once and used again and again."""

import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import rasterio
from numpy.typing import NDArray

from benchmarks.tiles import unfinished

ENTRY, VALUE = 20, 12  # bytes of an entry of a BigTIFF's directory, and where its value is in it
TYPES = {3: "<u2", 4: "<u4", 16: "<u8"}
OFFSETS, SIZES = {273, 324}, {279, 325}  # of strips, of tiles


class Column(NamedTuple):
    """Where the offsets or sizes of all blocks stand in a file, and as what."""

    position: int
    type: str
    count: int


def repeat_blocks(source: Path, target: Path, profile: dict[str, Any]) -> None:
    """Write a GeoTIFF of that profile with the blocks of another, again and again across and down.

    Both are in band order; the source consists of whole blocks, and all are there.
    """
    with rasterio.open(source) as small:
        shape = small.count, *_blocks_in(small)
        descriptions = small.descriptions
    part = unfinished(target)
    with rasterio.open(part, "w", **profile | {"sparse_ok": True, "bigtiff": "YES"}) as large:
        large.descriptions = descriptions
        rows, columns = (np.arange(count) % own for count, own in zip(_blocks_in(large), shape[1:], strict=True))
    with source.open("rb") as small, part.open("r+b") as large:
        start = large.seek(0, 2)
        large.write(small.read())
        for tags, moved in ((OFFSETS, start), (SIZES, 0)):
            values = _read(small, _column(small, tags)).reshape(shape)[:, rows][:, :, columns]
            _write(large, _column(large, tags), values + np.uint64(moved))
    part.rename(target)


def _blocks_in(file: rasterio.DatasetReader) -> tuple[int, int]:
    """Return the number of blocks down and across."""
    (height, width) = file.block_shapes[0]
    return -(-file.height // height), -(-file.width // width)


def _column(file: BinaryIO, tags: set[int]) -> Column:
    """Return the column that has one of these tags; one value alone stands in the directory itself."""
    file.seek(8)
    (directory,) = struct.unpack("<Q", file.read(8))
    file.seek(directory)
    (entries,) = struct.unpack("<Q", file.read(8))
    for entry in range(directory + 8, directory + 8 + entries * ENTRY, ENTRY):
        file.seek(entry)
        tag, kind, count, value = struct.unpack("<HHQQ", file.read(ENTRY))
        if tag in tags:
            inside = count * np.dtype(TYPES[kind]).itemsize <= ENTRY - VALUE
            return Column(entry + VALUE if inside else value, TYPES[kind], count)
    raise ValueError(f"no tag of {tags}: is this a BigTIFF?")


def _read(file: BinaryIO, column: Column) -> NDArray[np.uint64]:
    file.seek(column.position)
    return np.frombuffer(file.read(column.count * np.dtype(column.type).itemsize), column.type).astype(np.uint64)


def _write(file: BinaryIO, column: Column, values: NDArray[np.uint64]) -> None:
    file.seek(column.position)
    file.write(values.astype(column.type).tobytes())
