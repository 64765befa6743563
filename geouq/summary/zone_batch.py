"""Zones of a tile whose summaries share arrays in a group of a file, as each array takes time and room.

A part is a variable of a zone: all of the first zone, then all of the second. Arrays of wholes have the names that they
have in the file of a tile, with the dimension `part` instead of `variable`. Arrays by cell hold the cells of all zones
one after the other, without cells that hold no pixel of any variable; `zone_cells` is the number of cells of each zone.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.core.grid import Grid
from geouq.core.validity import REASONS
from geouq.summary.netcdf import NetCDFWriter, read_variable
from geouq.summary.statistic import Statistic
from geouq.summary.statistics_file import (
    Coordinate,
    SavedArrays,
    Statistics,
    Variable,
    Words,
    arrays_of,
    as_text,
    distinct_words,
    labels_of,
    words_of,
)
from geouq.summary.summary import Summary
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole
from geouq.summary.tile_file import CELL, EXPLAINED, RANGE, opened

FORMAT = "geouq zones together 4"
PART = "part"
COUNT = "_count"  # and before it a dimension: number of elements of each part
ENTRY = {"cell_entry_cell": "cell", "cell_key": "key", "cell_entry_sums": "sums"}
OPEN = 4  # groups that are kept in memory
FEW = 4  # zones: all arrays of a group with so few are kept
MOST = np.iinfo(np.uint16).max  # parts in a batch: the owner of an element has 16 bits

Array = NDArray[Any]


class Batch:
    """Zones that wait for being written together."""

    def __init__(self) -> None:
        self._zones: dict[str, TileSummary] = {}
        self._cells: list[Array] = []
        self._alike: tuple[Any, ...] = ()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._zones)

    def takes(self, zone: TileSummary) -> bool:
        """Return whether a zone can share arrays with those that are here."""
        few = (len(self._zones) + 1) * len(zone.variables) <= MOST
        return not self._zones or (few and self._alike == _alike(zone))

    def add(self, name: str, zone: TileSummary) -> None:
        """Take one more zone."""
        self._alike = self._alike or _alike(zone)
        numbers, zone = _with_pixels(zone)
        self._zones[name] = zone
        self._cells.append(numbers)
        self.bytes += sum(map(_bytes_of, zone.variables.values()))

    def write(self, group: h5py.Group) -> Sequence[str]:
        """Write all zones, at least one, and return their names."""
        zones = list(self._zones.values())
        netcdf = NetCDFWriter(group, compressed=True, in_pieces=True)
        group.attrs["format"] = FORMAT
        group.create_dataset("words", data=json.dumps(distinct_words(_wholes(zones))))
        netcdf.attributes(
            {
                "cell_statistics": as_text(part.cells.statistics for part in zones[0].variables.values()),
                "tile": zones[0].tile,
                "cell_size": zones[0].cell_size,
                "crs": zones[0].grid.crs,
                "summary": "Sums of the valid pixels of some zones of a tile, from which every metric follows.",
            }
        )
        for coordinate in _coordinates(list(self._zones), zones):
            netcdf.coordinate(*coordinate)
        for variable in _variables(zones, np.concatenate(self._cells)):
            if variable.values.size:
                netcdf.variable(*variable)
        return list(self._zones)


def _alike(zone: TileSummary) -> tuple[Any, ...]:
    """Return what zones that share arrays have in common."""
    cells = as_text(part.cells.statistics for part in zone.variables.values())
    levels = next(iter(zone.variables.values())).whole.levels
    return zone.tile, zone.grid.crs, zone.cell_size, tuple(zone.variables), levels, cells


def _with_pixels(zone: TileSummary) -> tuple[Array, TileSummary]:
    """Return the numbers of the cells with pixels of any variable, at least one, and the zone with these cells."""
    parts = zone.variables
    has = np.any([part.cells.moments.n > 0 for part in parts.values()], axis=0)
    has[0] |= not has.any()  # the file has no arrays without elements
    numbers = np.flatnonzero(has)
    if has.all():
        return numbers, zone
    return numbers, replace(
        zone, variables={name: replace(part, cells=part.cells.some(numbers)) for name, part in parts.items()}
    )


def _bytes_of(part: VariableSummary) -> int:
    cells = part.cells
    statistics: list[Statistic] = [*part.whole.values(), *cells.statistics.values()]
    arrays: list[Array] = [own for one in statistics for own in one.to_arrays().values()]
    arrays += [cells.extremes, cells.entry_cell, cells.entry_key, cells.entry_sums]
    return sum(array.nbytes for array in arrays)


def _wholes(zones: Sequence[TileSummary]) -> list[Summary]:
    return [part.whole for zone in zones for part in zone.variables.values()]


def _coordinates(names: Sequence[str], zones: Sequence[TileSummary]) -> Iterator[Coordinate]:
    """Yield dimensions with a value for each place, each once."""
    first, labelled = zones[0].variables, set[str]()
    yield Coordinate("zone", names, "names of the zones")
    yield Coordinate("variable", list(first), EXPLAINED["variable"])
    yield Coordinate("reason", list(REASONS), EXPLAINED["reason"])
    columns = next(iter(first.values())).cells.entry_sums.shape[-1]
    for whole in _kinds(zones):
        for coordinate in labels_of(whole.levels, whole, columns):
            if coordinate.name not in labelled:
                labelled.add(coordinate.name)
                yield coordinate


def _kinds(zones: Sequence[TileSummary]) -> Iterable[Summary]:
    """Return a summary for each set of statistics that a part has."""
    return {frozenset(whole): whole for whole in _wholes(zones)}.values()


def _variables(zones: Sequence[TileSummary], numbers: Array) -> Iterator[Variable]:
    """Yield all arrays, made one after the other; numbers : of the cells of all zones."""
    parts = [part for zone in zones for part in zone.variables.values()]
    shapes = np.array([zone.grid.shape for zone in zones])
    yield Variable("shape", ("zone", "side"), shapes, "rows and columns of pixels of each zone")
    transforms = np.array([tuple(zone.grid.transform)[:6] for zone in zones])
    yield Variable("transform", ("zone", "coefficient"), transforms, "affine transform of the grid of each zone")
    counts = np.array([len(next(iter(zone.variables.values())).cells) for zone in zones])
    yield Variable("zone_cells", ("zone",), counts, "number of cells; those of each zone stand together")
    yield Variable("cell_number", ("cell",), numbers, "number of the cell in its zone, in rows from the top left")
    excluded = np.stack([part.excluded for part in parts])
    yield Variable("excluded", (PART, "reason"), excluded, "pixels that do not count, each under its first reason")
    sizes: dict[str, int] = {}
    yield from arrays_of("", _wholes(zones), (), sizes, PART, counted=True)
    cells = [_cells_of(zones, name) for name in zones[0].variables]
    yield from arrays_of(CELL, [own for own, _ in cells], ("cell",), sizes)
    extremes = np.stack([own for _, own in cells])
    yield Variable(RANGE, ("variable", "cell", "bound"), extremes, "lowest and highest predicted variance, by cell")
    counts = np.array([len(part.cells.entry_cell) for part in parts])
    yield Variable(f"cell_entry{COUNT}", (PART,), counts, "number of entries of each part, which stand together")
    for name, field in ENTRY.items():
        values = np.concatenate([getattr(part.cells, f"entry_{field}") for part in parts])
        yield Variable(name, ("cell_entry", "field")[: values.ndim], values, EXPLAINED[name])


def _cells_of(zones: Sequence[TileSummary], name: str) -> tuple[Statistics, Array]:
    """Return the statistics and extremes of a variable, of the cells of all zones one after the other."""
    cells = [zone.variables[name].cells for zone in zones]
    statistics = {key: own.joined([one.statistics[key] for one in cells]) for key, own in cells[0].statistics.items()}
    return statistics, np.concatenate([own.extremes for own in cells])


@dataclass(frozen=True)
class _Head:
    """Names, places and words of the zones in a group.

    starts : where the cells of each zone begin, and the end. starts_of : the same of the elements of each part, by the
    name of their dimension.
    """

    names: tuple[str, ...]
    variables: tuple[str, ...]
    levels: tuple[float, ...]
    tile: str
    cell_size: int
    crs: str
    words: Words
    cell_words: Words
    starts: NDArray[np.int64]
    starts_of: Mapping[str, NDArray[np.int64]]
    columns: int

    @classmethod
    def of(cls, group: h5py.Group) -> Self:
        """Read it."""
        own = group.attrs
        return cls(
            tuple(map(str, group["zone"].asstr()[()])),
            tuple(map(str, group["variable"].asstr()[()])),
            tuple(map(float, read_variable(group, "level"))),
            str(own["tile"]),
            int(own["cell_size"]),
            str(own["crs"]),
            Words.of_plain(json.loads(group["words"].asstr()[()])),
            words_of(group, CELL),
            _starts(read_variable(group, "zone_cells")),
            {name.removesuffix(COUNT): _starts(read_variable(group, name)) for name in group if name.endswith(COUNT)},
            len(group["field"]),
        )

    def span_of(self, entry: str, number: int) -> slice:
        """Return where the elements of a part are."""
        return _between(self.starts_of[entry], number)


def _starts(counts: Array) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _between(starts: NDArray[np.int64], number: int) -> slice:
    return slice(int(starts[number]), int(starts[number + 1]))


@dataclass(frozen=True)
class _Pieces:
    """An array in memory. A piece of it is a copy, as a piece of an array in a file is."""

    whole: Array

    def __getitem__(self, place: Any) -> Any:
        return np.array(self.whole[place])


class _Group:
    """A group of zones: the head that they share, and their arrays.

    A run of one tile with many zones reads each array once. A run of many tiles reads one zone of a tile, then one of
    the next; there, other zones are not read. So arrays stay in memory from the second zone on, or if zones are few.
    """

    def __init__(self, path: Path, group: str) -> None:
        self._path, self._name = path, group
        with opened(path, group, FORMAT) as own:
            self.head = _Head.of(own)
        self._asked: set[str] = set()

    @contextmanager
    def arrays_for(self, zone: str) -> Iterator[Mapping[str, Any]]:
        """Yield the arrays from which a zone is read."""
        self._asked.add(zone)
        if len(self._asked) > 1 or len(self.head.names) <= FEW:
            yield self._all
            return
        with opened(self._path, self._name, FORMAT) as own:
            yield own

    @cached_property
    def _all(self) -> Mapping[str, _Pieces]:
        with opened(self._path, self._name, FORMAT) as own:
            return {name: _Pieces(array[()]) for name, array in own.items()}


@lru_cache(OPEN)
def _group(path: Path, name: str, *_signature: int) -> _Group:
    return _Group(path, name)


def release_groups() -> None:
    """Release the arrays that are in memory."""
    _group.cache_clear()


@contextmanager
def saved_zone(path: Path, group: str, zone: str) -> Iterator["SavedZone"]:
    """Yield a zone in a group of a file; raise SummaryError where the file is damaged or of another kind."""
    status = path.stat()
    own = _group(path, group, status.st_size, status.st_mtime_ns, status.st_ino)
    with own.arrays_for(zone) as arrays:
        yield SavedZone(own.head, arrays, zone)


class SavedZone:
    """A zone in a group; of each array, only the elements of this zone are taken."""

    def __init__(self, head: _Head, arrays: Mapping[str, Any], zone: str) -> None:
        self._head, self._arrays = head, arrays
        self._datasets: dict[str, Any] = {}  # open, so that HDF5 keeps the pieces that parts share
        self._number = head.names.index(zone)

    def place(self) -> TilePlace:
        """Return where the zone is."""
        rows, columns = (int(length) for length in self._arrays["shape"][self._number])
        transform = Affine(*map(float, self._arrays["transform"][self._number]))
        return TilePlace(self._head.tile, Grid((rows, columns), transform, self._head.crs), self._head.cell_size)

    def wholes(self, wanted: Collection[str] | None = None) -> TileWholes:
        """Return the zone without its cells, with all variables or with those that are wanted."""
        place, saved = self.place(), self._saved(self._head.words, "", self._read, PART, self._head.span_of)
        variables = {
            name: VariableWhole(Summary(self._head.levels, saved.statistics(part)), self._arrays["excluded"][part])
            for name in self._head.variables
            if wanted is None or name in wanted
            for part in [self._part(name)]
        }
        return TileWholes(place.tile, place.grid, place.cell_size, variables)

    def cells(self, variable: str) -> tuple[NDArray[np.int64], CellSummaries]:
        """Return the numbers of the cells that hold pixels, and these cells of a variable."""
        head, number = self._head, self._head.variables.index(variable)
        statistics = self._saved(head.cell_words, CELL, self._read_cells, "variable").statistics(number)
        extremes = self._arrays[RANGE][number, self._own_cells]
        cells = CellSummaries(head.levels, statistics, extremes, *self._entries(self._part(variable)))
        return self._arrays["cell_number"][self._own_cells], cells

    def cell_statistics(self, variable: str, names: Sequence[str]) -> tuple[NDArray[np.int64], dict[str, Statistic]]:
        """Return the numbers of the cells that hold pixels, and some of their statistics by name."""
        head, number = self._head, self._head.variables.index(variable)
        saved = self._saved(head.cell_words, CELL, self._read_cells, "variable")
        return self._arrays["cell_number"][self._own_cells], saved.some(names, number)

    def _part(self, variable: str) -> int:
        return self._number * len(self._head.variables) + self._head.variables.index(variable)

    def _saved(
        self,
        words: Words,
        prefix: str,
        read: Callable[[str], Any],
        each: str,
        span_of: Callable[[str, int], slice] | None = None,
    ) -> SavedArrays:
        return SavedArrays(words, set(self._arrays), read, self._head.levels, prefix, each, span_of)

    def _read(self, name: str) -> Any:
        if name not in self._datasets:
            self._datasets[name] = self._arrays[name]
        return self._datasets[name]

    def _read_cells(self, name: str) -> "_OfCells":
        return _OfCells(self._arrays[name], self._own_cells)

    @property
    def _own_cells(self) -> slice:
        return _between(self._head.starts, self._number)

    def _entries(self, part: int) -> tuple[Array, ...]:
        own = self._head.span_of("cell_entry", part)
        if own.start == own.stop:
            return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, self._head.columns), np.float32)
        return tuple(self._arrays[name][own] for name in ENTRY)


class _OfCells:
    """An array by variable and cell; only some cells are read."""

    def __init__(self, array: h5py.Dataset | _Pieces, cells: slice) -> None:
        self._array, self._cells = array, cells

    def __getitem__(self, number: int) -> Any:
        return self._array[number, self._cells]
