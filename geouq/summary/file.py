"""A tile's summaries on disk: one NetCDF file that plain `xarray.open_dataset` reads, and that explains itself.

What belongs to single cells is most of the file; it can be written as it comes, and is read only by those who ask.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.errors import GeouqError, SummaryError
from geouq.grid import Grid
from geouq.summary.file_writer import TileWriter
from geouq.summary.form import GAUSSIAN, Form, form_of_words
from geouq.summary.layout import CELL, ENTRY, FORMAT, RANGE
from geouq.summary.netcdf import read_variable
from geouq.summary.sealed_file import intact_file, sealed_file
from geouq.summary.statistic import Statistic
from geouq.summary.statistics_file import DAMAGED, saved_statistics, statistics_of, words_of
from geouq.summary.summary import Summary
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole

ENTRIES = 1 << 16  # of cells' profiles; more than these go to the file before it is complete
WHOLE = "/"  # the part of a file that is all of it
READ_AT_ONCE = 1 << 20
UNREADABLE = (SummaryError, *DAMAGED)

Array = NDArray[Any]


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
    """Return the form in which the variables of a file are given."""
    with opened(path) as file:
        words = words_of(file)[0].get("form")
        return GAUSSIAN if words is None else form_of_words(words["form"])


def load_tile(path: str | Path) -> TileSummary:
    """Read all of a tile's summaries; SummaryError where the file is damaged or of another kind."""
    with opened(Path(path)) as file:
        return _tile(file)


def load_wholes(path: Path, group: str = WHOLE) -> TileWholes:
    """Read a tile's summaries without its cells; SummaryError where the file is damaged or of another kind.

    group : part of the file that holds them, such as that of a zone.
    """
    with opened(path, group) as file:
        place = _place(file)
        return TileWholes(place.tile, place.grid, place.cell_size, _wholes(file))


def load_place(path: Path, group: str = WHOLE) -> TilePlace:
    """Read where a tile is, or one of its zones; SummaryError where the file is damaged or of another kind."""
    with opened(path, group) as file:
        return _place(file)


def cells_in_parts(path: Path, variable: str, group: str = WHOLE) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
    """Numbers of some cells of one variable and their summaries, until each cell has come once.

    Of a large tile they come in the order in which they were written, so that memory holds few of them at a time.
    SummaryError where the file is damaged, of another kind, or without that variable.
    """
    with opened(path, group) as file:
        number = _names(file).index(variable)
        bare = _cells(file, number, statistics_of(file, number, _levels(file), CELL), entries=False)
        left, held = np.ones(len(bare), np.bool_), _no_entries(file)
        for block in _blocks(file, number):
            columns = [np.concatenate(pair) for pair in zip(held, block[1:], strict=True)]
            open_still = columns[0] == columns[0][-1]  # a cell's entries stand together; more of this one may come
            held = tuple(column[open_still] for column in columns)
            yield _some_cells(bare, left, [column[~open_still] for column in columns])
        yield _some_cells(bare, left, held)
        nothing = np.flatnonzero(left)
        yield nothing, bare.some(nothing)


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
    bare: CellSummaries, left: NDArray[np.bool_], entries: Sequence[Array]
) -> tuple[NDArray[np.int64], CellSummaries]:
    """Return the cells of these entries, which are no longer left."""
    numbers, place = np.unique(entries[0], return_inverse=True)
    left[numbers] = False
    order = np.lexsort((entries[1], place))
    cell, key, sums = place[order].astype(np.uint32), entries[1][order], entries[2][order]
    return numbers.astype(np.int64), replace(bare.some(numbers), entry_cell=cell, entry_key=key, entry_sums=sums)


def _joined(file: h5py.Group, number: int | None) -> tuple[Array, ...]:
    """Cell, key and sums of the entries of one variable, or of none, ordered by cell, then key."""
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
    """Entries of the cells' profiles as they stand in the file, some at a time: all, or those of one variable."""
    owner, *others = (file.get(name) for name in ENTRY)
    for start in range(0, 0 if owner is None else len(owner), READ_AT_ONCE):
        some = slice(start, start + READ_AT_ONCE)
        variable = owner[some]
        own = slice(None) if number is None else variable == number
        if len(variable[own]):
            yield variable[own], *(dataset[some][own] for dataset in others)
