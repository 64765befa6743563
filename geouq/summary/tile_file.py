"""A tile's summaries on disk: one NetCDF file that plain `xarray.open_dataset` reads, and that explains itself.

The name of an array is the name of its statistic and its own: `moments_sums`, and for cells `cell_moments_sums`. Arrays
whose length differs between variables are joined; `..._variable` holds the number of the variable of each element.
What belongs to single cells is most of the file; it can be written as it comes, and is read only by those who ask.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from affine import Affine
from numpy.typing import ArrayLike, NDArray

from geouq.core.errors import GeouqError, SummaryError
from geouq.core.grid import Grid
from geouq.core.interrupts import deferred_interrupts
from geouq.core.validity import REASONS
from geouq.summary.form import GAUSSIAN, Form, form_of_words
from geouq.summary.netcdf import NetCDFWriter, Stored, intact_file, read_variable, sealed_file
from geouq.summary.statistic import Statistic
from geouq.summary.statistics_file import (
    DAMAGED,
    Coordinate,
    SavedArrays,
    Variable,
    arrays_of,
    as_text,
    labels_of,
    saved_statistics,
    statistics_of,
    words_of,
)
from geouq.summary.summary import Summary
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole

FORMAT = "geouq tile summary 9"
CELL = "cell_"
RANGE = "cell_variance_range"
EXPLAINED = {
    "variable": "names of the variables",
    "reason": "why a pixel does not count",
    "cell_entry_variable": "number of the variable that an entry of the cells' profiles belongs to, from 0",
    "cell_entry_cell": "number of the cell that an entry belongs to, in rows from the top left, from 0",
    "cell_key": "leading bits of the float32 variance, shifted right by 19",
    "cell_entry_sums": "sums over the pixels of one cell and key of the predicted variance",
}
ENTRY = {
    "cell_entry_variable": ("cell_entry",),
    "cell_entry_cell": ("cell_entry",),
    "cell_key": ("cell_entry",),
    "cell_entry_sums": ("cell_entry", "field"),
}


def global_attributes(summary: TileSummary, key: str) -> dict[str, Any]:
    """Return what the file says of itself."""
    parts = summary.variables.values()
    return {
        "format": FORMAT,
        "key": key,
        "tile": summary.tile,
        "cell_size": summary.cell_size,
        "shape": list(summary.grid.shape),
        "transform": list(summary.grid.transform)[:6],
        "crs": summary.grid.crs,
        "statistics": as_text(part.whole for part in parts),
        "cell_statistics": as_text(part.cells.statistics for part in parts),
        "summary": "What the valid pixels of one tile contribute to every metric; such files add up to regions.",
    }


def coordinates(summary: TileSummary, columns: int) -> Iterator[Coordinate]:
    """Yield dimensions with a value for each place; `columns` is the number of fields of an entry."""
    yield Coordinate("variable", list(summary.variables), EXPLAINED["variable"])
    yield Coordinate("reason", list(REASONS), EXPLAINED["reason"])
    whole = next(iter(summary.variables.values())).whole
    yield from labels_of(whole.levels, whole, columns)


def variables(summary: TileSummary) -> Iterator[Variable]:
    """Yield all but the entries of the cells' profiles, made one after the other."""
    parts = list(summary.variables.values())
    excluded = np.stack([part.excluded for part in parts])
    yield Variable(
        "excluded", ("variable", "reason"), excluded, "pixels that do not count, each under its first reason"
    )
    sizes: dict[str, int] = {}
    yield from chain(
        arrays_of("", [part.whole for part in parts], (), sizes),
        arrays_of(CELL, [part.cells.statistics for part in parts], ("cell",), sizes),
    )
    extremes = np.stack([part.cells.extremes for part in parts])
    yield Variable(RANGE, ("variable", "cell", "bound"), extremes, "lowest and highest predicted variance, by cell")


ENTRIES = 1 << 16  # of cells' profiles; more than these go to the file before it is complete

Array = NDArray[Any]


class TileWriter:
    """A tile's part of a file: entries of the cells' profiles as they come, then all the rest at once.

    One thread at a time may use it.
    """

    def __init__(
        self, group: h5py.Group, key: str, require_room: Callable[[], None], *, compressed: bool = False
    ) -> None:
        self._file = NetCDFWriter(group, compressed=compressed)
        self._key = key
        self._require_room = require_room
        self._waiting: list[tuple[Array, ...]] = []
        self._count = 0
        self._grown: tuple[Any, ...] = ()
        self.finished = False

    def append(self, variable: ArrayLike, cell: ArrayLike, key: ArrayLike, sums: ArrayLike) -> None:
        """Entries of the profiles of some cells, copied.

        They may come in any order, but the entries of a cell and variable come together: none of another cell of that
        variable lies between them, in this call or another, as `cells_in_parts` takes such a cell for a new one.

        variable : number of the variable that they belong to, from 0, or one for each. cell, key (entries) and sums
        (entries, 4, or 6 where pixels have weights, in the order of `FIELDS`).
        """
        keys = np.array(key, np.uint16)
        owner = np.full(len(keys), variable, np.uint16)
        self._waiting.append((owner, np.array(cell, np.uint32), keys, np.array(sums, np.float32)))
        self._count += len(keys)
        if self._count >= ENTRIES:
            with deferred_interrupts():
                self._write_waiting(self._count // ENTRIES * ENTRIES)

    def finish(self, summary: TileSummary) -> None:
        """Write the summary, with the entries that its cells still hold."""
        self._require_room()
        with deferred_interrupts():
            self._write_all(summary)
        self.finished = True

    def _write_all(self, summary: TileSummary) -> None:
        for number, part in enumerate(summary.variables.values()):
            self.append(number, part.cells.entry_cell, part.cells.entry_key, part.cells.entry_sums)
        columns = next(iter(summary.variables.values())).cells.entry_sums.shape[-1]
        self._file.attributes(global_attributes(summary, self._key))
        for coordinate in coordinates(summary, columns):
            self._file.coordinate(*coordinate)
        for variable in variables(summary):
            if variable.values.size:
                self._file.variable(*variable)
        self._write_entries()

    def _write_waiting(self, count: int) -> None:
        """Move that many of the waiting entries to the end of the file."""
        self._require_room()
        columns = self._gathered()
        if not self._grown:
            self._grown = tuple(
                self._file.growing(name, values.dtype, values.shape[1:], ENTRIES, compressed=values.ndim == 1)
                for name, values in zip(ENTRY, columns, strict=True)
            )
        for dataset, values in zip(self._grown, columns, strict=True):
            before = len(dataset)
            dataset.resize(before + count, axis=0)
            dataset[before:] = values[:count]
        self._waiting = [tuple(values[count:] for values in columns)]
        self._count -= count

    def _write_entries(self) -> None:
        """Write what is left of the entries; few of them need no room to grow."""
        if self._grown:
            self._write_waiting(self._count)
            for (name, dimensions), dataset in zip(ENTRY.items(), self._grown, strict=True):
                self._file.label_grown(dataset, dimensions, EXPLAINED[name])
        elif self._count:
            for (name, dimensions), values in zip(ENTRY.items(), self._gathered(), strict=True):
                self._file.variable(name, dimensions, values, EXPLAINED[name])

    def _gathered(self) -> tuple[Array, ...]:
        return tuple(np.concatenate(column) for column in zip(*self._waiting, strict=True))


WHOLE = "/"  # the part of a file that is all of it
READ_AT_ONCE = 1 << 20
UNREADABLE = (SummaryError, *DAMAGED)


@contextmanager
def tile_writer(path: Path, key: str) -> Iterator[TileWriter]:
    """Write a tile's summary part by part; `key` tells what it is made from.

    The file takes its name when the block ends well after `finish`; otherwise there is none.
    """
    with sealed_file(path, lambda file, require_room: TileWriter(file, key, require_room)) as writer:
        yield writer


def save_tile(summary: TileSummary, path: Path, key: str) -> None:
    """Write a tile's summaries under a temporary name, then rename; `key` tells what they were made from."""
    with tile_writer(path, key) as writer:
        writer.finish(summary)


def rewrite_tile(path: Path, key: str, change: Callable[[TileSummary], TileSummary]) -> None:
    """Put another summary in the place of a saved one; `change` gets it, and the entries of its cells stay.

    The cells of the summary that `change` gets, and of the one that it gives, hold no entries: they are copied some at
    a time. SummaryError where the file is damaged or of another kind.
    """
    with opened(path) as file, tile_writer(path, key) as writer:
        for columns in _blocks(file):
            writer.append(*columns)
        writer.finish(change(_tile(file, entries=False)))


def key_of_file(path: Path, kind: str = FORMAT) -> str | None:
    """Return the key under which a file of that kind was saved; None where there is no readable one."""
    try:
        with intact_file(path) as file:
            return str(file.attrs["key"]) if file.attrs["format"] == kind else None
    except UNREADABLE:
        return None


def levels_of_file(path: Path) -> tuple[float, ...]:
    """Return the levels whose coverage and interval scores a file holds; none where it cannot be read."""
    try:
        with intact_file(path) as file:
            return tuple(map(float, file["level"][()]))
    except UNREADABLE:
        return ()


def statistics_of_file(path: Path) -> set[str]:
    """Return the names of the statistics that every variable of a file has; none where it cannot be read."""
    try:
        with intact_file(path) as file:
            return set.intersection(*(set(own) for own in words_of(file)))
    except UNREADABLE:
        return set()


def form_of_file(path: Path) -> Form:
    """Return the form of the variables of a file."""
    with opened(path) as file:
        words = words_of(file)[0].get("form")
        return GAUSSIAN if words is None else form_of_words(words["form"])


def load_one_tile(path: Path) -> TileSummary:
    """Return the summaries of a tile from its own file; SummaryError where it is damaged or of another kind."""
    with opened(path) as file:
        return _tile(file)


def load_wholes(path: Path, group: str = WHOLE, variables: Collection[str] | None = None) -> TileWholes:
    """Read a tile's summaries without its cells; SummaryError where the file is damaged or of another kind.

    group : part of the file with the summaries, such as the group of a zone. variables : names to read; None for all.
    """
    with opened(path, group) as file:
        place = _place(file)
        wholes = _wholes(file) if variables is None else _some_wholes(file, variables)
        return TileWholes(place.tile, place.grid, place.cell_size, wholes)


def load_place(path: Path, group: str = WHOLE) -> TilePlace:
    """Read where a tile is, or one of its zones; SummaryError where the file is damaged or of another kind."""
    with opened(path, group) as file:
        return _place(file)


def cells_in_parts(path: Path, variable: str, group: str = WHOLE) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
    """Yield the numbers of some cells of a variable and their summaries, until each cell has come once.

    Of a large tile they come in the order in which they were written, so that memory holds few of them at a time.
    SummaryError where the file is damaged, of another kind, or without that variable.
    """
    with opened(path, group) as file:
        number = _names(file).index(variable)
        bare = _cells(file, number, statistics_of(file, number, _levels(file), CELL), entries=False)
        left, held = np.ones(len(bare), np.bool_), _no_entries(file)
        for block in _blocks(file, number):
            if len(held[0]):
                open_still = held[0] == held[0][-1]  # a cell's entries stand together; more of this one may come
                some = [column[~open_still] for column in held]
                numbers = np.unique(some[0])
                left[numbers] = False
                yield _some_cells(bare, numbers, some)
                held = tuple(column[open_still] for column in held)
            held = tuple(np.concatenate(pair) for pair in zip(held, block[1:], strict=True))
        left[held[0]] = True
        yield _some_cells(bare, np.flatnonzero(left), held)


def statistics_of_cells(
    path: Path, variable: str, names: Sequence[str], group: str = WHOLE
) -> tuple[NDArray[np.int64], dict[str, Statistic]]:
    """Return the numbers of all cells of a variable and some of their statistics; errors as `cells_in_parts`."""
    with opened(path, group) as file:
        saved = SavedArrays(words_of(file, CELL), set(file), partial(Stored, file), _levels(file), CELL)
        found = saved.some(names, _names(file).index(variable))
        shape = _place(file).cell_grid.shape
    return np.arange(shape[0] * shape[1]), found


@contextmanager
def opened(path: Path, group: str = WHOLE, kind: str = FORMAT) -> Iterator[h5py.Group]:
    """Yield a part of a file of that kind; raise SummaryError if it is damaged or of another kind."""
    try:
        with intact_file(path) as file:
            if file[group].attrs["format"] != kind:
                raise SummaryError(f"{path} is no tile summary of this version; run again with --fresh")
            yield file[group]
    except GeouqError:
        raise
    except DAMAGED as error:
        raise SummaryError(f"{path} cannot be read as a tile summary ({error}); run again with --fresh") from error


def _names(file: h5py.Group) -> list[str]:
    return [str(name) for name in file["variable"].asstr()[()]]


def _levels(file: h5py.Group) -> tuple[float, ...]:
    return tuple(map(float, read_variable(file, "level")))


def _place(file: h5py.Group) -> TilePlace:
    rows, columns = (int(length) for length in file.attrs["shape"])
    grid = Grid((rows, columns), Affine(*map(float, file.attrs["transform"])), str(file.attrs["crs"]))
    return TilePlace(str(file.attrs["tile"]), grid, int(file.attrs["cell_size"]))


def _wholes(file: h5py.Group) -> dict[str, VariableWhole]:
    """Return the variables by name."""
    levels, excluded = _levels(file), read_variable(file, "excluded")
    statistics = saved_statistics(file, levels)
    return {
        name: VariableWhole(Summary(levels, own), excluded[i])
        for i, (name, own) in enumerate(zip(_names(file), statistics, strict=True))
    }


def _some_wholes(file: h5py.Group, wanted: Collection[str]) -> dict[str, VariableWhole]:
    """Return some of the variables by name; of the arrays, only their elements are read."""
    levels = _levels(file)
    return {
        name: VariableWhole(Summary(levels, statistics_of(file, number, levels, "")), file["excluded"][number])
        for number, name in enumerate(_names(file))
        if name in wanted
    }


def _tile(file: h5py.Group, *, entries: bool = True) -> TileSummary:
    place = _place(file)
    wholes, statistics = _wholes(file), saved_statistics(file, _levels(file), CELL)
    variables = {
        name: VariableSummary(part.whole, _cells(file, number, statistics[number], entries=entries), part.excluded)
        for number, (name, part) in enumerate(wholes.items())
    }
    return TileSummary(place.tile, place.grid, place.cell_size, variables)


def _cells(
    file: h5py.Group, number: int, statistics: Mapping[str, Statistic], *, entries: bool = True
) -> CellSummaries:
    """Return the cells of the variable of that number."""
    return CellSummaries(_levels(file), statistics, file[RANGE][number], *_joined(file, number if entries else None))


def _no_entries(file: h5py.Group) -> tuple[Array, ...]:
    return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, len(file["field"])), np.float32)


def _some_cells(
    bare: CellSummaries, numbers: NDArray[np.integer], entries: Sequence[Array]
) -> tuple[NDArray[np.int64], CellSummaries]:
    """Return the cells of these numbers, which increase, with their entries; some may have none."""
    place = np.searchsorted(numbers, entries[0])
    order = np.lexsort((entries[1], place))
    cell, key, sums = place[order].astype(np.uint32), entries[1][order], entries[2][order]
    some = bare if len(numbers) == len(bare) else bare.some(numbers)
    return numbers.astype(np.int64), replace(some, entry_cell=cell, entry_key=key, entry_sums=sums)


def _joined(file: h5py.Group, number: int | None) -> tuple[Array, ...]:
    """Return the cell, key and sums of the entries of a variable, or of none, ordered by cell, then key."""
    found = [_no_entries(file)]
    if number is not None:
        found += [columns[1:] for columns in _blocks(file, number)]
    cell, key, sums = (np.concatenate(column) for column in zip(*found, strict=True))
    place = cell.astype(np.uint64) << np.uint64(16) | key
    if (place[1:] > place[:-1]).all():
        return cell, key, sums
    order = np.argsort(place, kind="stable")
    return cell[order], key[order], sums[order]


def _blocks(file: h5py.Group, number: int | None = None) -> Iterator[tuple[Array, ...]]:
    """Entries of the cells' profiles as they stand in the file, some at a time: all, or those of a variable."""
    owner, *others = (file.get(name) for name in ENTRY)
    for start in range(0, 0 if owner is None else len(owner), READ_AT_ONCE):
        some = slice(start, start + READ_AT_ONCE)
        variable = owner[some]
        own = slice(None) if number is None else variable == number
        if len(variable[own]):
            yield variable[own], *(dataset[some][own] for dataset in others)
