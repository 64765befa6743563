"""Windows of arrays in netCDF and Zarr files, as they are stored, with chunks that are decoded once.

All threads of a process share open arrays and decoded chunks: xarray locks HDF5, and Zarr needs no lock.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import product
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from rasterio.windows import Window

from geouq.config.layer_file import whole_array
from geouq.rasters.array_layout import ArrayLayout, Axis, Run
from geouq.rasters.arrays import explained_array, open_array, stored_type
from geouq.rasters.chunk_files import ChunkFiles
from geouq.rasters.gdal import cache_of_thread
from geouq.rasters.raster import Raster

MOST_OPEN = 64  # arrays of a process

Values = NDArray[Any]
Box = tuple[slice, ...]


@dataclass
class _Shared:
    """What is found once by any thread and used by all: the last ones used of so many, by their weight."""

    lock: Lock = field(default_factory=Lock)
    found: OrderedDict[Hashable, Future[Any]] = field(default_factory=OrderedDict)
    weight: int = 0

    def get(self, key: Hashable, find: Callable[[], Any], weigh: Callable[[Any], int], most: int) -> Any:
        """Return what is found for a key; the thread that needs it first finds it while others wait."""
        with self.lock:
            known = self.found.get(key)
            if known is not None:
                self.found.move_to_end(key)
            own = self.found.setdefault(key, Future())
        if known is not None:
            return known.result()
        try:
            result = find()
        except BaseException as error:
            with self.lock:
                del self.found[key]
            own.set_exception(error)
            raise
        own.set_result(result)
        with self.lock:
            self.weight += weigh(result)
            self._drop(weigh, most)
        return result

    def _drop(self, weigh: Callable[[Any], int], most: int) -> None:
        for key in list(self.found)[:-1]:
            if self.weight <= most:
                return
            if self.found[key].done():
                self.weight -= weigh(self.found.pop(key).result())


_arrays, _chunks = _Shared(), _Shared()


def _begin_anew() -> None:
    """Let a forked process have locks and arrays of its own: a thread that it does not have may hold those."""
    global _arrays, _chunks
    _arrays, _chunks = _Shared(), _Shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class _Opened(NamedTuple):
    """An array, and the files of its chunks where these can be read without xarray."""

    variable: xr.Variable
    files: ChunkFiles | None


def _opened(path: str) -> _Opened:
    with explained_array(path):
        return _Opened(open_array(path)[1], ChunkFiles.of(path))


class _Part(NamedTuple):
    """The part of a run that lies in a chunk: number of the chunk, places in the run and in the chunk.

    is_whole : whether it is all of the chunk.
    """

    number: int
    in_run: slice
    in_chunk: slice
    is_whole: bool


class ArraySource:
    """An array that is open for reading; it has the methods of an open raster that readers of windows call."""

    def __init__(self, raster: Raster, layout: ArrayLayout) -> None:
        self._raster, self._layout = raster, layout
        whole, _ = whole_array(raster.path)
        self._key = whole, raster.files, raster.read_at
        self._variable, self._files = _arrays.get(self._key, lambda: _opened(whole), lambda _: 1, MOST_OPEN)
        self._type = stored_type(self._variable)

    def read(self, numbers: int | Sequence[int] = 1, *, window: Window, out: Values | None = None) -> Values:
        """Return stored values (rows, columns), or (1, rows, columns) for a list of the only band."""
        shape = (int(window.height), int(window.width))
        values = np.empty(shape, self._type) if out is None else out.reshape(shape)
        rows, columns = self._layout.rows, self._layout.columns
        with explained_array(self._raster.path):
            for down in rows.runs(int(window.row_off), shape[0]):
                for along in columns.runs(int(window.col_off), shape[1]):
                    self._fill(values[_target(rows, down)][:, _target(columns, along)], down, along)
        return values if isinstance(numbers, int) else values.reshape(1, *shape)

    def read_masks(self, _: int, *, window: Window) -> NDArray[np.uint8]:
        """Return 0 where a stored value stands for no value or is not in the valid range, else 255."""
        values, (low, high) = self.read(window=window), self._layout.valid
        hidden = (values < low) | (values > high) | np.isin(values, self._layout.missing)
        return np.where(hidden, 0, 255).astype(np.uint8)

    def _fill(self, target: Values, down: Run, along: Run) -> None:
        """Fill in a part of the map, in the order of the array."""
        parts = [list(_parts(axis, run)) for axis, run in ((self._layout.rows, down), (self._layout.columns, along))]
        is_whole = self._layout.depth == 1 and all(part.is_whole for own in parts for part in own)
        if is_whole and self._files is None:  # one call for several chunks, which zarr decodes together
            names = self._layout.rows.dimension, self._layout.columns.dimension
            box = {
                name: slice(run.start, run.start + run.length) for name, run in zip(names, (down, along), strict=True)
            }
            target[...] = self._map(self._decoded(box))
            return
        for row, column in product(*parts):
            keep = self._layout.depth > 1 or not (row.is_whole and column.is_whole)
            chunk = self._chunk(row.number, column.number, keep=keep)
            target[row.in_run, column.in_run] = chunk[row.in_chunk, column.in_chunk]

    def _chunk(self, row: int, column: int, *, keep: bool) -> Values:
        """Return the map in a chunk; keep : whether other windows or other steps may need it too."""
        layout = self._layout
        lengths = dict(zip(layout.dimensions, layout.chunks, strict=True))
        numbers = {name: place // lengths[name] for name, place in layout.fixed}
        numbers |= {layout.rows.dimension: row, layout.columns.dimension: column}
        first = {name: number * lengths[name] for name, number in numbers.items()}
        of_array = tuple(numbers[name] for name in layout.dimensions)
        if not keep:
            return self._map(self._whole(of_array), first)
        most = cache_of_thread()
        whole = _chunks.get((*self._key, of_array), lambda: self._whole(of_array), lambda v: int(v.nbytes), most)
        return self._map(whole, first)

    def _whole(self, numbers: tuple[int, ...]) -> Values:
        """Return a chunk in the order of the array, by its number along each dimension."""
        if self._files is not None:
            return self._as_meant(self._files.read(numbers))
        ends = zip(self._layout.dimensions, numbers, self._layout.chunks, strict=True)
        return self._decoded({name: slice(n * length, (n + 1) * length) for name, n, length in ends})

    def _decoded(self, box: dict[str, slice]) -> Values:
        """Return stored values of a box, of one place along dimensions that are not in it."""
        one = {name: slice(place, place + 1) for name, place in self._layout.fixed}
        return self._as_meant(np.asarray(self._variable[one | box].values))

    def _as_meant(self, values: Values) -> Values:
        """Return stored values in the order of bytes of this machine; unsigned where they are meant so."""
        return values.astype(values.dtype.newbyteorder("="), copy=False).view(self._type)

    def _map(self, values: Values, first: dict[str, int] | None = None) -> Values:
        """Return values as rows and columns, at the fixed place along the other dimensions."""
        layout, start = self._layout, first or {}
        fixed = {name: place - start.get(name, place) for name, place in layout.fixed}
        found = values[tuple(fixed.get(name, slice(None)) for name in layout.dimensions)]
        on_map = [name for name in layout.dimensions if name not in fixed]
        return found if on_map[0] == layout.rows.dimension else found.T


def _target(axis: Axis, run: Run) -> slice:
    """Return the places of a run in a window, in the order of the array."""
    first, last = run.place, run.place + run.length
    return slice(last - 1, first - 1 if first else None, -1) if axis.flipped else slice(first, last)


def _parts(axis: Axis, run: Run) -> Iterator[_Part]:
    last = run.start + run.length
    for number in range(run.start // axis.chunk, -(-last // axis.chunk)):
        start = number * axis.chunk
        end = min(start + axis.chunk, axis.length)
        a, b = max(run.start, start), min(last, end)
        yield _Part(number, slice(a - run.start, b - run.start), slice(a - start, b - start), (a, b) == (start, end))
