"""A tile's summaries on disk: one NetCDF file that plain `xarray.open_dataset` reads, and that explains itself.

What belongs to single cells is most of the file; it can be written as it comes, and is read only by those who ask.
"""

import json
from collections.abc import Callable, Iterator, Sequence
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
from geouq.summary.coverage_profile import ClassCoverage, CoverageProfile
from geouq.summary.file_writer import TileWriter
from geouq.summary.form import Form, FormSums, form_of_words, no_sums
from geouq.summary.joint_sample import JointSample
from geouq.summary.kept_pixels import KeptPixels
from geouq.summary.layout import (
    ENTRY,
    FORMAT,
    MOMENTS,
)
from geouq.summary.moments import Moments
from geouq.summary.netcdf import read_variable
from geouq.summary.ordering_profile import OrderingProfile
from geouq.summary.sealed_file import intact_file, sealed_file
from geouq.summary.summary import Summary
from geouq.summary.threshold_sums import BINS, FIELDS, ThresholdSums
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole
from geouq.summary.variance_profile import FINE_SHIFT, VarianceProfile
from geouq.summary.z_histogram import FINE, ZHistogram, edge_probabilities

ENTRIES = 1 << 16  # of cells' profiles; more than these go to the file before it is complete
WHOLE = "/"  # the part of a file that is all of it
READ_AT_ONCE = 1 << 20
DAMAGED = (OSError, ValueError, KeyError, IndexError, TypeError, RuntimeError)
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


def groupings_of_file(path: Path) -> tuple[str, ...]:
    """By what coverage is kept in a file; by nothing where it cannot be read."""
    try:
        with intact_file(path) as file:
            return _groupings(file)
    except UNREADABLE:
        return ()


def keeps_ordering(path: Path) -> bool:
    """Whether a file keeps pixels by variance and |z|; not where it cannot be read."""
    try:
        with intact_file(path) as file:
            return bool(file.attrs["ordering"])
    except UNREADABLE:
        return False


def form_of_file(path: Path) -> Form | None:
    """Return the form in which the variables of a file are given; None for mean and variance."""
    with opened(path) as file:
        return _form_given(file)


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
        bare = _cells(file, number, entries=False)
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


def _given(file: h5py.Group, number: int) -> float | None:
    """Level of the intervals that the forecast gives of the variable of that number."""
    level = float(file.attrs["given_levels"][number])
    return level if level > 0 else None


def _place(file: h5py.Group) -> TilePlace:
    rows, columns = (int(length) for length in file.attrs["shape"])
    grid = Grid((rows, columns), Affine(*map(float, file.attrs["transform"])), str(file.attrs["crs"]))
    return TilePlace(str(file.attrs["tile"]), grid, int(file.attrs["cell_size"]))


def _wholes(file: h5py.Group) -> dict[str, VariableWhole]:
    """Return the variables by name; of what comes in entries, nothing is in the file where there is no entry."""
    names, levels, columns = _names(file), _levels(file), len(file["field"])
    edges, moments = edge_probabilities(levels, FINE), [read_variable(file, name) for name in MOMENTS]
    scores, z_counts, excluded = (read_variable(file, name) for name in ("interval_scores", "z_counts", "excluded"))
    ranges, tails = read_variable(file, "variance_range"), read_variable(file, "kept_tail")
    profile_of, keys = _optional(file, "profile_variable", np.uint16), _optional(file, "profile_key", np.uint32)
    sums = _optional(file, "profile_sums", np.float64, columns)
    kept_of, wanted_of = _optional(file, "kept_variable", np.uint16), _optional(file, "wanted_variable", np.uint16)
    pixels = _optional(file, "kept_pixels", np.float64, len(file["kept_field"]))
    wanted = _optional(file, "wanted_key", np.uint32).astype(np.int64)
    every, places, start = read_variable(file, "kept_every"), _optional(file, "kept_place", np.int64), 0
    groups, ordering = _groups(file, len(names), len(levels)), _orderings(file, len(names))
    thresholds, forms = _thresholds(file, len(names)), _forms(file, len(names))
    found = {}
    for i, name in enumerate(names):
        own, kept = profile_of == i, None
        if tails[i] >= 0:
            kept = KeptPixels(int(tails[i]), wanted[wanted_of == i], pixels[kept_of == i])
        if kept and every[i]:
            place, start = places[start : start + len(kept.pixels)], start + len(kept.pixels)
            owner, tiles = np.zeros(len(place), np.int64), (str(file.attrs["tile"]),)
            kept = replace(kept, every=True, place=place, owner=owner, tiles=tiles)
        lowest, highest = ranges[i]
        profile = VarianceProfile(FINE_SHIFT, keys[own].astype(np.int64), sums[own], lowest, highest, kept)
        z = ZHistogram(edges, z_counts[i])
        own_moments = Moments(*(each[i] for each in moments))
        found[name] = VariableWhole(
            Summary(
                levels,
                own_moments,
                scores[i],
                z,
                profile,
                groups[i],
                ordering[i],
                thresholds[i],
                _given(file, i),
                forms[i],
            ),
            excluded[i],
        )
    return found


def _groups(file: h5py.Group, variables: int, levels: int) -> list[dict[str, CoverageProfile]]:
    """Coverage by what pixels are grouped by, for each variable."""
    of, grouping = _optional(file, "coverage_variable", np.uint16), _optional(file, "coverage_grouping", np.uint8)
    keys = _optional(file, "coverage_key", np.int32).astype(np.int64)
    counts = _optional(file, "coverage_counts", np.float64, levels + 1)
    classes = set(map(str, file.attrs["class_groupings"]))
    return [
        {
            name: (ClassCoverage if name in classes else CoverageProfile)(keys[own], counts[own])
            for g, name in enumerate(_groupings(file))
            for own in [(of == i) & (grouping == g)]
        }
        for i in range(variables)
    ]


def _thresholds(file: h5py.Group, variables: int) -> list[ThresholdSums]:
    """Forecasts of exceeding the thresholds of each variable."""
    of, values = _optional(file, "threshold_variable", np.uint16), _optional(file, "threshold_value", np.float64)
    sums = _optional(file, "threshold_sums", np.float64, BINS, len(FIELDS))
    return [ThresholdSums(tuple(map(float, values[of == i])), sums[of == i]) for i in range(variables)]


def _orderings(file: h5py.Group, variables: int) -> Sequence[OrderingProfile | None]:
    """Pixels by variance and |z| of each variable, where they were kept."""
    if not file.attrs["ordering"]:
        return [None] * variables
    of, keys = _optional(file, "ordering_variable", np.uint16), _optional(file, "ordering_key", np.uint32)
    counts = _optional(file, "ordering_counts", np.float64)
    return [
        OrderingProfile(keys[own].astype(np.int64), counts[own][:, np.newaxis])
        for own in (of == i for i in range(variables))
    ]


def _groupings(file: h5py.Group) -> tuple[str, ...]:
    """Return what the pixels of an open file are grouped by."""
    return tuple(str(name) for name in file["grouping"].asstr()[()]) if "grouping" in file else ()


def _form_given(file: h5py.Group) -> Form | None:
    """Return the form in which the variables are given; None for mean and variance."""
    words = str(file.attrs["form"])
    return form_of_words(json.loads(words)) if words else None


def _forms(file: h5py.Group, variables: int) -> Sequence[FormSums | None]:
    """Return sums of the form of each variable, where they are given in one."""
    form = _form_given(file)
    if form is None:
        return [None] * variables
    found = [FormSums(form, own) for own in read_variable(file, "form_sums")]
    empty = no_sums(form).sample
    if empty is None:
        return found
    of, number = _optional(file, "sample_variable", np.uint16), _optional(file, "sample_number", np.uint64)
    density = _optional(file, "sample_log_density", np.float64, empty.log_density.shape[1])
    return [replace(one, sample=JointSample(number[of == i], density[of == i])) for i, one in enumerate(found)]


def _optional(file: h5py.Group, name: str, dtype: Any, *columns: int) -> Array:
    try:
        return read_variable(file, name)
    except KeyError:
        return np.empty((0, *columns), dtype)


def _tile(file: h5py.Group, *, entries: bool = True) -> TileSummary:
    place = _place(file)
    variables = {
        name: VariableSummary(part.whole, _cells(file, number, entries=entries), part.excluded)
        for number, (name, part) in enumerate(_wholes(file).items())
    }
    return TileSummary(place.tile, place.grid, place.cell_size, variables)


def _cells(file: h5py.Group, number: int, *, entries: bool = True) -> CellSummaries:
    """Return the cells of the variable of that number."""
    cell, key, sums = _joined(file, number if entries else None)
    return CellSummaries(
        _levels(file),
        Moments(*(file[f"cell_{name}"][number] for name in MOMENTS)),
        file["cell_interval_scores"][number],
        file["cell_z_counts"][number],
        file["cell_variance_range"][number],
        cell,
        key,
        sums,
        _given(file, number),
        None if (form := _form_given(file)) is None else FormSums(form, file["cell_form_sums"][number]),
    )


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
