"""The summaries of many small tiles on disk, in one NetCDF file, as each file and each array takes time and room.

A part is a variable of a tile: all of the first tile, then all of the second. Arrays have the names that they have in
the file of one tile, with the dimension `part` instead of `variable`. Values are stored in the smallest type that holds
them. If all pixels of a variable are kept, the file has these pixels (`pixels_variance`, `pixels_error` and
`pixels_number`) instead of the profiles of the variance, which are computed from them.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.core.errors import SummaryError, as_path
from geouq.core.grid import Grid
from geouq.core.interrupts import deferred_interrupts
from geouq.core.validity import REASONS
from geouq.summary.all_pixels import AllPixels
from geouq.summary.form import GAUSSIAN, Form, form_of_words
from geouq.summary.netcdf import NetCDFWriter, Widened, sealed_file
from geouq.summary.statistic import Statistic
from geouq.summary.statistics_file import (
    SavedArrays,
    Variable,
    Words,
    arrays_of,
    distinct_words,
    labels_of,
    span,
)
from geouq.summary.summary import Summary
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole
from geouq.summary.tile_file import CELL, EXPLAINED, RANGE, load_one_tile, opened
from geouq.summary.variance_profile import SparseProfiles

FORMAT = "geouq tile summaries 3"
PART = "part"
PIXELS = "pixels"  # stands for the variance of a part of which all pixels are there
OPEN = 4  # files whose arrays are kept: t1, t10, t100 and t1000 follow each other where tiles go by their names
ENTRY = {"cell_entry_cell": "cell", "cell_entry_key": "key", "cell_entry_sums": "sums"}

Array = NDArray[Any]


def save_tiles(tiles: Sequence[TileSummary], keys: Sequence[str], path: Path) -> None:
    """Write the summaries of tiles with the same grid shape, CRS and variables.

    keys : digests of the input of each tile. The file gets its name when it is complete.
    """
    with sealed_file(path, lambda file, _: _Writer(file)) as writer, deferred_interrupts():
        writer.write(tiles, keys)


class _Writer:
    """A file in the making."""

    def __init__(self, file: h5py.File) -> None:
        self._file, self.finished = file, False

    def write(self, tiles: Sequence[TileSummary], keys: Sequence[str]) -> None:
        """Write all of it."""
        parts = [part for tile in tiles for part in tile.variables.values()]
        pixels = [_pixels(tile, part) for tile in tiles for part in tile.variables.values()]
        wholes = [_with_pixels(*pair) for pair in zip(parts, pixels, strict=True)]
        netcdf = NetCDFWriter(self._file, compressed=True, narrowed=True)
        self._describe(netcdf, tiles, keys, wholes, pixels)
        for variable in chain(_arrays(tiles, parts, wholes), _entries(parts, pixels)):
            if variable.values.size:
                netcdf.variable(*variable)
        self.finished = True

    def _describe(
        self,
        netcdf: NetCDFWriter,
        tiles: Sequence[TileSummary],
        keys: Sequence[str],
        wholes: Sequence[Summary],
        pixels: Sequence[AllPixels | None],
    ) -> None:
        """Write attributes, the words of the statistics, and the values of dimensions."""
        first = tiles[0]
        cells = [part.cells for tile in tiles for part in tile.variables.values()]
        netcdf.attributes(
            {
                "format": FORMAT,
                "keys": " ".join(keys),
                "cell_size": first.cell_size,
                "shape": list(first.grid.shape),
                "crs": first.grid.crs,
                "summary": "What the valid pixels of some tiles contribute to every metric; tiles add up to regions.",
            }
        )
        words = {
            "statistics": distinct_words(wholes),
            f"{CELL}statistics": distinct_words([own.statistics for own in cells]),
        }
        self._file.create_dataset("words", data=json.dumps(words))
        netcdf.coordinate("tile", [tile.tile for tile in tiles], "names of the tiles")
        netcdf.coordinate("variable", list(first.variables), EXPLAINED["variable"])
        netcdf.coordinate("reason", list(REASONS), EXPLAINED["reason"])
        labelled: set[str] = set()
        columns = cells[0].entry_sums.shape[-1]
        for whole in {own is None: whole for whole, own in zip(wholes, pixels, strict=True)}.values():
            for coordinate in labels_of(whole.levels, whole, columns):
                if coordinate.name not in labelled:
                    labelled.add(coordinate.name)
                    netcdf.coordinate(*coordinate)


def _pixels(tile: TileSummary, part: VariableSummary) -> AllPixels | None:
    return AllPixels.of(part.whole.variance, part.cells, tile.grid, tile.cell_size)


def _with_pixels(part: VariableSummary, pixels: AllPixels | None) -> Summary:
    """Return the summary with the pixels in the place of the variance profile, where there are pixels."""
    if pixels is None:
        return part.whole
    statistics = {(PIXELS if name == "variance" else name): own for name, own in part.whole.items()}
    return Summary(part.whole.levels, {**statistics, PIXELS: pixels})


def _arrays(
    tiles: Sequence[TileSummary], parts: Sequence[VariableSummary], wholes: Sequence[Summary]
) -> Iterator[Variable]:
    """Yield all arrays but the entries of the cells' profiles."""
    transforms = np.array([tuple(tile.grid.transform)[:6] for tile in tiles])
    yield Variable("transform", ("tile", "coefficient"), transforms, "affine transform of the grid of each tile")
    excluded = np.stack([part.excluded for part in parts])
    yield Variable("excluded", (PART, "reason"), excluded, "pixels that do not count, each under its first reason")
    sizes: dict[str, int] = {}
    yield from arrays_of("", wholes, (), sizes, PART)
    yield from arrays_of(CELL, [part.cells.statistics for part in parts], ("cell",), sizes, PART)
    extremes = np.stack([part.cells.extremes for part in parts])
    yield Variable(RANGE, (PART, "cell", "bound"), extremes, "lowest and highest predicted variance, by cell")


def _entries(parts: Sequence[VariableSummary], pixels: Sequence[AllPixels | None]) -> Iterator[Variable]:
    """Yield the entries of the cells' profiles of parts whose pixels are not kept."""
    of_parts = {number: part.cells for number, part in enumerate(parts) if pixels[number] is None}
    if not of_parts:
        return
    owner = np.repeat(np.array(list(of_parts), np.uint16), [len(own.entry_cell) for own in of_parts.values()])
    yield Variable("cell_entry_part", ("cell_entry",), owner, "number of the part that an entry belongs to, from 0")
    for name, field in ENTRY.items():
        values = np.concatenate([getattr(own, f"entry_{field}") for own in of_parts.values()])
        said = EXPLAINED.get(name, EXPLAINED["cell_key"])
        yield Variable(name, ("cell_entry", "field")[: values.ndim], values, said)


class TilesFile:
    """The summaries in a file; its arrays are read when they are needed, and kept as they are stored."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with opened(path, kind=FORMAT) as file:
            self._attributes = dict(file.attrs)
            words = json.loads(file["words"].asstr()[()])
            self._names = [str(name) for name in file["variable"].asstr()[()]]
            self._there = frozenset(file)
            self._transforms = Widened.of(file, "transform")
            self.levels = tuple(map(float, file["level"][()]))
            self.tiles = {str(name): number for number, name in enumerate(file["tile"].asstr()[()])}
        self._words = {name: Words.of_plain(own) for name, own in words.items()}
        self._arrays: dict[str, Widened] = {}

    @cached_property
    def keys(self) -> dict[str, str]:
        """Return what tells from what the summaries of each tile were made."""
        return dict(zip(self.tiles, str(self._attributes["keys"]).split(" "), strict=True))

    @property
    def statistics(self) -> set[str]:
        """Return the names of the statistics that every part has."""
        return set.intersection(*({*own} for own in self._words["statistics"].distinct))

    def form(self) -> Form:
        """Return the form of the variables."""
        words = self._words["statistics"][0].get("form")
        return GAUSSIAN if words is None else form_of_words(words["form"])

    def place(self, tile: str) -> TilePlace:
        """Return where a tile is."""
        rows, columns = (int(length) for length in self._attributes["shape"])
        transform = Affine(*map(float, self._transforms[self.tiles[tile]]))
        grid = Grid((rows, columns), transform, str(self._attributes["crs"]))
        return TilePlace(tile, grid, int(self._attributes["cell_size"]))

    def wholes(self, tile: str, variables: Collection[str] | None = None) -> TileWholes:
        """Return a tile without its cells, with all variables or with some."""
        place = self.place(tile)
        names = [name for name in self._names if variables is None or name in variables]
        return TileWholes(tile, place.grid, place.cell_size, {name: self._whole(tile, name) for name in names})

    def summary(self, tile: str) -> TileSummary:
        """Return a tile with its cells."""
        place = self.place(tile)
        variables = {
            name: VariableSummary((own := self._whole(tile, name)).whole, self.cells(tile, name), own.excluded)
            for name in self._names
        }
        return TileSummary(tile, place.grid, place.cell_size, variables)

    def cells(self, tile: str, variable: str) -> CellSummaries:
        """Return all cells of a variable of a tile."""
        number = self._number(tile, variable)
        statistics, extremes = self._of_cells.statistics(number), self._read(RANGE)[number]
        return CellSummaries(self.levels, statistics, extremes, *self._entries(number))

    def cell_statistics(self, tile: str, variable: str, names: Sequence[str]) -> dict[str, Statistic]:
        """Return some statistics of all cells of a variable of a tile, by name."""
        return self._of_cells.some(names, self._number(tile, variable))

    def _number(self, tile: str, variable: str) -> int:
        return self.tiles[tile] * len(self._names) + self._names.index(variable)

    def _whole(self, tile: str, variable: str) -> VariableWhole:
        number = self._number(tile, variable)
        statistics = {
            ("variance" if name == PIXELS else name): own.profile(tile) if isinstance(own, AllPixels) else own
            for name, own in self._of_wholes.statistics(number).items()
        }
        return VariableWhole(Summary(self.levels, statistics), self._read("excluded")[number])

    def _entries(self, number: int) -> SparseProfiles:
        """Return the entries of the cells' profiles of a part."""
        words = self._words["statistics"][number]
        if PIXELS in words and isinstance(pixels := self._of_wholes.statistic(PIXELS, number), AllPixels):
            return pixels.entries
        if "cell_entry_part" not in self._there:
            none = np.empty((0, words["variance"]["columns"]), np.float32)
            return SparseProfiles(np.empty(0, np.uint32), np.empty(0, np.uint16), none)
        own = span(self._read("cell_entry_part")[()], number)
        return SparseProfiles(*(self._read(name)[own] for name in ENTRY))

    @property
    def _of_wholes(self) -> SavedArrays:
        return self._saved("statistics", "")

    @property
    def _of_cells(self) -> SavedArrays:
        return self._saved(f"{CELL}statistics", CELL)

    def _saved(self, name: str, prefix: str) -> SavedArrays:
        """Return arrays that read from this file; they are not kept, as a cycle would hold the file in memory."""
        return SavedArrays(self._words[name], self._there, self._read, self.levels, prefix, PART)

    def _read(self, name: str) -> Widened:
        """Return an array; those of cells, those of pixels, and all others are read together."""
        if name not in self._arrays:
            with opened(self._path, kind=FORMAT) as file:
                alike = [one for one in self._there if _group(one) == _group(name)]
                self._arrays |= {one: Widened.of(file, one) for one in alike if file[one].dtype.kind in "iuf"}
        return self._arrays[name]


def _group(name: str) -> str:
    """Return which arrays are read with this one: pixels take most of the time."""
    return next((group for group in (CELL, f"{PIXELS}_") if name.startswith(group)), "")


def tiles_file(path: Path) -> TilesFile:
    """Return a file of the summaries of many tiles; SummaryError where it is damaged or of another kind."""
    status = path.stat()
    return _tiles_file(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(OPEN)
def _tiles_file(path: Path, *_signature: int) -> TilesFile:
    return TilesFile(path)


def release_tiles_files() -> None:
    """Release the arrays of all files that `tiles_file` keeps."""
    _tiles_file.cache_clear()


def load_tile(path: str | Path, tile: str | None = None) -> TileSummary:
    """Return the summaries of a tile from a file that a run saved.

    Parameters
    ----------
    path : path
        The file, such as `results/samples/summaries/e1.nc`.
    tile : str, optional
        Name of the tile, for a file that holds many, such as `results/samples/summaries/together/0001.nc`.

    Returns
    -------
    TileSummary
        The summary of each variable, with its cells.

    Raises
    ------
    SummaryError
        If the file is missing, damaged or of another kind, or if it does not hold the tile.
    ArgumentError
        If `path` is not a path.
    """
    path = as_path("path", path, "give the path of a file in the folder summaries of a run")
    if tile is None:
        return load_one_tile(path)
    file = TilesFile(path)
    if tile not in file.tiles:
        raise SummaryError(f"{path} does not hold tile {tile}; it holds {', '.join(file.tiles)}")
    return file.summary(tile)
