"""NetCDF-4 files through h5py alone: dimensions, coordinates, and variables that say what they are.

A NetCDF-4 file is HDF5 whose dimensions are dimension scales. Small files are made of many small parts, and the low
level of h5py writes these in a fraction of the time that its own high level or any other writer takes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5ds, h5p, h5s, h5t
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]

COMPRESSION: Mapping[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
WORTHWHILE = 4096  # bytes
# What the standard calls a dimension scale that holds no values
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:>10}"


class NetCDFWriter:
    """A file, or a group of one, being written; a dimension comes to be with the first variable that has it.

    compressed : whether variables that are large enough for that are.
    """

    def __init__(self, group: h5py.Group, *, compressed: bool = False) -> None:
        self._file, self._compressed = group, compressed
        self._scales: dict[str, tuple[Any, int]] = {}

    def attributes(self, attributes: Mapping[str, Any]) -> None:
        """Write what the file says of itself."""
        for name, value in attributes.items():
            self._file.attrs[name] = value

    def coordinate(self, name: str, values: Array | Sequence[str], long_name: str) -> None:
        """Write the dimension `name` with a value for each of its places; text, or numbers."""
        kind = None if isinstance(values, np.ndarray) else h5py.string_dtype()
        made = self._file.create_dataset(name, data=values, dtype=kind).id
        h5ds.set_scale(made, name.encode())
        _describe(made, long_name)
        self._scales[name] = made, len(values)

    def variable(self, name: str, dimensions: Sequence[str], values: Array, long_name: str) -> None:
        """Write a variable with all its values."""
        values = np.asarray(values, order="C")
        if self._compressed and values.nbytes > WORTHWHILE:
            made = self._file.create_dataset(name, data=values, chunks=values.shape, **COMPRESSION).id
        else:
            space = h5s.create_simple(values.shape) if values.ndim else h5s.create(h5s.SCALAR)
            kind = h5t.py_create(values.dtype)
            made = h5d.create(self._file.id, name.encode(), kind, space, dcpl=_without_times())
            made.write(h5s.ALL, h5s.ALL, values)
        self._label(made, dimensions, values.shape, long_name)

    def growing(self, name: str, dtype: DTypeLike, columns: tuple[int, ...], chunk: int, *, compressed: bool) -> Any:
        """Return a dataset without rows, to be resized; `label_grown` gives it its dimensions when it is complete."""
        how = COMPRESSION if compressed else {}
        shape = {"shape": (0, *columns), "maxshape": (None, *columns), "chunks": (chunk, *columns)}
        return self._file.create_dataset(name, dtype=dtype, **shape, **how)

    def label_grown(self, dataset: Any, dimensions: Sequence[str], long_name: str) -> None:
        """Write the dimensions of a complete dataset; the first is unlimited."""
        self._scale(dimensions[0], len(dataset), unlimited=True)
        self._label(dataset.id, dimensions, dataset.shape, long_name)

    def _label(self, made: Any, dimensions: Sequence[str], shape: Sequence[int], long_name: str) -> None:
        for axis, (dimension, size) in enumerate(zip(dimensions, shape, strict=True)):
            h5ds.attach_scale(made, self._scale(dimension, size), axis)
        _describe(made, long_name)

    def _scale(self, name: str, size: int, *, unlimited: bool = False) -> Any:
        if name not in self._scales:
            limits = {"maxshape": (None,), "chunks": (1024,)} if unlimited else {}
            made = self._file.create_dataset(name, shape=(size,), dtype=">f4", **limits).id
            h5ds.set_scale(made, NO_VARIABLE.format(size).encode())
            self._scales[name] = made, size
        scale, length = self._scales[name]
        if length != size:
            raise ValueError(f"the dimension {name} has the lengths {length} and {size}")
        return scale


def read_variable(file: h5py.Group, name: str) -> Array:
    """All values of a variable of numbers; KeyError where the file has none of that name."""
    variable = h5d.open(file.id, name.encode())
    values = np.empty(variable.shape, variable.dtype)
    variable.read(h5s.ALL, h5s.ALL, values)
    return values


def _without_times() -> Any:
    """How a dataset is created that does not record when: the same values give the same bytes."""
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_obj_track_times(False)
    return created


def _describe(made: Any, long_name: str) -> None:
    text = np.array(long_name.encode("ascii"))
    h5a.create(made, b"long_name", h5t.py_create(text.dtype), h5s.create(h5s.SCALAR)).write(text)
