"""Chunks of Zarr arrays in folders, decoded without the event loop of zarr, which takes as long as a small chunk.

Only the usual layout is read so: a file for each chunk, compressed as a whole. All else is left to zarr.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config.layer_file import array_in_name

Decode = Callable[[bytes], Any]


@dataclass(frozen=True)
class ChunkFiles:
    """The files of the chunks of an array; name : returns the file of a chunk, by its number along each dimension."""

    folder: Path
    name: Callable[[tuple[int, ...]], str]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill_value: Any
    decode: Decode

    @classmethod
    def of(cls, path: str) -> Self | None:
        """Return the chunks of an array by its name; None where they are not files of the usual layout."""
        file, name = array_in_name(path)
        folder = Path(file, name)
        if not any((folder / own).is_file() for own in ("zarr.json", ".zarray")):
            return None
        import zarr  # noqa: PLC0415  an optional dependency

        array = zarr.open_array(folder, mode="r")
        found = _of_version_3(array.metadata) if array.metadata.zarr_format == 3 else _of_version_2(array)
        if found is None or array.fill_value is None or array.dtype.kind not in "iuf":
            return None
        decode, order = found
        dtype = np.dtype(f"{order}{array.dtype.str[1:]}")
        return cls(folder, array.metadata.encode_chunk_key, tuple(array.chunks), dtype, array.fill_value, decode)

    def read(self, numbers: tuple[int, ...]) -> NDArray[Any]:
        """Return a chunk, which may reach beyond the array; of one that is not there, what stands for it."""
        try:
            stored = (self.folder / self.name(numbers)).read_bytes()
        except FileNotFoundError:
            return np.full(self.shape, self.fill_value, self.dtype)
        return np.frombuffer(self.decode(stored), self.dtype).reshape(self.shape)


def _of_version_3(metadata: Any) -> tuple[Decode, str] | None:
    """Return how chunks are decoded and their order of bytes; None where codecs do more than compress the whole."""
    first, *others = [codec.to_dict() for codec in metadata.codecs]
    if first["name"] != "bytes" or len(others) > 1:
        return None
    order = {"little": "<", "big": ">"}.get(first.get("configuration", {}).get("endian", ""), "|")
    decode = _decoder(others[0]["name"]) if others else bytes
    return None if decode is None else (decode, order)


def _of_version_2(array: Any) -> tuple[Decode, str] | None:
    metadata = array.metadata
    if metadata.filters or metadata.order != "C":
        return None
    return (bytes if metadata.compressor is None else metadata.compressor.decode), array.dtype.str[0]


def _decoder(name: str) -> Decode | None:
    import numcodecs  # noqa: PLC0415  zarr comes with it

    known = {"zstd": numcodecs.Zstd, "blosc": numcodecs.Blosc, "gzip": numcodecs.GZip}
    return known[name]().decode if name in known else None
