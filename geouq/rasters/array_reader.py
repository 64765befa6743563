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

from geouq.rasters.array_layout import ArrayLayout, Axis, Run
from geouq.rasters.arrays import explained_array, open_array, stored_type
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


class _Place(NamedTuple):
    """A run of rows and one of columns of a window."""

    rows: Run
    columns: Run

    def in_window(self) -> Box:
        """Return where it is in the window."""
        return tuple(slice(run.place, run.place + run.length) for run in self)

    def box(self) -> tuple[tuple[int, int], ...]:
        """Return the first and the last place and one more along rows and columns of the array."""
        return tuple((run.start, run.start + run.length) for run in self)


class ArraySource:
    """An array that is open for reading; it has the methods of an open raster that readers of windows call."""

    def __init__(self, raster: Raster, layout: ArrayLayout) -> None:
        self._raster, self._layout = raster, layout
        self._key = raster.path, raster.files
        self._variable: xr.Variable = _arrays.get(self._key, lambda: open_array(raster.path)[1], lambda _: 1, MOST_OPEN)

    def read(self, numbers: int | Sequence[int] = 1, *, window: Window, out: Values | None = None) -> Values:
        """Return stored values (rows, columns), or (1, rows, columns) for a list of the only band."""
        shape = (int(window.height), int(window.width))
        values = np.empty(shape, stored_type(self._variable)) if out is None else out.reshape(shape)
        with explained_array(self._raster.path):
            for place in self._places(window):
                rows, columns = self._layout.rows, self._layout.columns
                found = self._box(place)
                values[place.in_window()] = found[:: -1 if rows.flipped else 1, :: -1 if columns.flipped else 1]
        return values if isinstance(numbers, int) else values.reshape(1, *shape)

    def read_masks(self, _: int, *, window: Window) -> NDArray[np.uint8]:
        """Return 0 where a stored value stands for no value or is not in the valid range, else 255."""
        values, (low, high) = self.read(window=window), self._layout.valid
        hidden = (values < low) | (values > high) | np.isin(values, self._layout.missing)
        return np.where(hidden, 0, 255).astype(np.uint8)

    def _places(self, window: Window) -> Iterator[_Place]:
        rows = self._layout.rows.runs(int(window.row_off), int(window.height))
        columns = list(self._layout.columns.runs(int(window.col_off), int(window.width)))
        return (_Place(*runs) for runs in product(rows, columns))

    def _box(self, place: _Place) -> Values:
        """Return a part of the map, in the order of the array."""
        axes, ends = (self._layout.rows, self._layout.columns), place.box()
        if self._layout.depth == 1 and all(map(_is_whole, axes, ends)):
            return self._map(self._decoded({a.dimension: slice(*own) for a, own in zip(axes, ends, strict=True)}))
        values = np.empty([last - first for first, last in ends], stored_type(self._variable))
        for numbers in product(*map(_chunks_of, axes, ends)):
            parts = [
                (max(first, number * axis.chunk), min(last, (number + 1) * axis.chunk))
                for number, axis, (first, last) in zip(numbers, axes, ends, strict=True)
            ]
            to = tuple(slice(a - first, b - first) for (a, b), (first, _) in zip(parts, ends, strict=True))
            own = tuple(
                slice(a - n * axis.chunk, b - n * axis.chunk)
                for (a, b), n, axis in zip(parts, numbers, axes, strict=True)
            )
            values[to] = self._chunk(numbers)[own]
        return values

    def _chunk(self, numbers: Sequence[int]) -> Values:
        """Return the map in a chunk, which other windows and other steps may need too."""
        layout = self._layout
        lengths = dict(zip(layout.dimensions, layout.chunks, strict=True))
        first = {name: place // lengths[name] * lengths[name] for name, place in layout.fixed}
        first |= {
            axis.dimension: number * axis.chunk
            for axis, number in zip((layout.rows, layout.columns), numbers, strict=True)
        }
        box = {name: slice(start, start + lengths[name]) for name, start in first.items()}
        key = (*self._key, tuple(first[name] for name in layout.dimensions))
        whole = _chunks.get(key, lambda: self._decoded(box), lambda values: int(values.nbytes), cache_of_thread())
        return self._map(whole, first)

    def _decoded(self, box: dict[str, slice]) -> Values:
        """Return stored values in the order of bytes of this machine; of dimensions besides the map in a box or one."""
        one = {name: slice(place, place + 1) for name, place in self._layout.fixed}
        values = np.asarray(self._variable[one | box].values)
        return values.astype(values.dtype.newbyteorder("="), copy=False).view(stored_type(self._variable))

    def _map(self, values: Values, first: dict[str, int] | None = None) -> Values:
        """Return values as rows and columns, at the fixed place along the other dimensions."""
        layout, start = self._layout, first or {}
        fixed = {name: place - start.get(name, place) for name, place in layout.fixed}
        found = values[tuple(fixed.get(name, slice(None)) for name in layout.dimensions)]
        on_map = [name for name in layout.dimensions if name not in fixed]
        return found if on_map[0] == layout.rows.dimension else found.T


def _is_whole(axis: Axis, ends: tuple[int, int]) -> bool:
    """Return whether a part of an axis is made of whole chunks."""
    first, last = ends
    return first % axis.chunk == 0 and (last % axis.chunk == 0 or last == axis.length)


def _chunks_of(axis: Axis, ends: tuple[int, int]) -> range:
    return range(ends[0] // axis.chunk, -(-ends[1] // axis.chunk))
