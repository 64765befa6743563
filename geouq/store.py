"""Where a run keeps the summaries of its tiles, and which of them are still valid."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.catalog import Tile
from geouq.compiled import digest_of_sources
from geouq.naming import file_name
from geouq.settings import Settings
from geouq.summary import CellSummaries, TilePlace, TileSummary, TileWholes
from geouq.summary.file import (
    TileWriter,
    cells_in_parts,
    groupings_of_file,
    keeps_ordering,
    key_of_file,
    levels_of_file,
    load_place,
    load_wholes,
    rewrite_tile,
    tile_writer,
)
from geouq.summary.layout import FORMAT
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED
from geouq.tile_sum import Entries
from geouq.version import __version__


def key_of_tile(tile: Tile, settings: Settings) -> str:
    """Digest of all that a tile's summary is made from: files as they are now, bands, settings, and this version.

    Levels, bins and groupings are not part of it: a summary with more of them serves fewer, and any serves all bins.
    """
    settings = replace(settings, levels=(), tail=0, groups=(), ordering=False)
    rasters = [(layer, raster.fingerprint) for layer, raster in tile.rasters.items()]
    bands = [(v.name, v.band, v.thresholds, v.truth_variance) for v in tile.variables]
    made_from = (FORMAT, __version__, digest_of_sources(), rasters, bands, tile.area_weighted, tile.level, settings)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()


def path_of_tile(folder: Path, tile: str) -> Path:
    """File of a tile's summary in a run's folder."""
    return folder / "summaries" / f"{file_name(tile)}.nc"


def is_valid(folder: Path, tile: Tile, settings: Settings) -> bool:
    """Whether a saved summary is there that tells what a new sweep would."""
    path = path_of_tile(folder, tile.name)
    if not path.exists() or key_of_file(path) != key_of_tile(tile, settings):
        return False
    return (
        set(levels_of_file(path)) >= set(settings.levels)
        and set(groupings_of_file(path)) >= set(settings.groups)
        and (keeps_ordering(path) or not settings.ordering)
    )


def change_summary(folder: Path, tile: Tile, change: Callable[[TileSummary], TileSummary], settings: Settings) -> None:
    """Save another summary in the place of a tile's; `change` gets it without the profiles of its cells, which stay."""
    rewrite_tile(path_of_tile(folder, tile.name), key_of_tile(tile, settings), change)


@dataclass(frozen=True)
class SavedSummaries:
    """The saved summaries of some tiles at some levels, read one at a time, each time that they are asked for."""

    folder: Path
    tiles: tuple[str, ...]
    levels: tuple[float, ...]

    def wholes(self) -> Iterator[TileWholes]:
        """The summaries without their cells."""
        return (load_wholes(path_of_tile(self.folder, tile)).at_levels(self.levels) for tile in self.tiles)

    def places(self) -> Iterator[TilePlace]:
        """Where the tiles are."""
        return (load_place(path_of_tile(self.folder, tile)) for tile in self.tiles)

    def cells(self, tile: str, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
        """The cells of one tile and variable, some at a time: their numbers and summaries."""
        parts = cells_in_parts(path_of_tile(self.folder, tile), variable)
        return ((numbers, cells.at_levels(self.levels)) for numbers, cells in parts)


class SummariesUnderWay:
    """The files of tiles that are being summarised; what is not kept when the block ends is removed."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._open: dict[str, tuple[ExitStack, TileWriter]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._open):
            self.abandon(name)

    def begin(self, tile: Tile) -> "_EntriesOnDisk":
        """A new file for a tile, to which entries of cells are written as they come."""
        stack = ExitStack()
        path, key = path_of_tile(self._folder, tile.name), key_of_tile(tile, self._settings)
        self._open[tile.name] = stack, stack.enter_context(tile_writer(path, key))
        return _EntriesOnDisk(self._open[tile.name][1], len(FIELDS) if tile.weighted else UNWEIGHTED)

    def keep(self, summary: TileSummary) -> None:
        """Complete the file of a tile; a later run with the same files and settings does not read the tile again."""
        stack, writer = self._open.pop(summary.tile)
        with stack:
            writer.finish(summary)

    def abandon(self, name: str) -> None:
        """Remove the file of a tile, if there is one."""
        if name in self._open:
            self._open.pop(name)[0].close()


@dataclass(frozen=True)
class _EntriesOnDisk:
    """Hands entries on to a tile's file, and keeps none."""

    writer: TileWriter
    columns: int

    def append(
        self, variable: int, cell: NDArray[np.uint32], key: NDArray[np.uint16], sums: NDArray[np.float32]
    ) -> None:
        """Write entries of one variable."""
        self.writer.append(variable, cell, key, sums)

    def entries(self, variable: int) -> Entries:  # noqa: ARG002  there are none of any
        """No entry."""
        return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, self.columns), np.float32)
