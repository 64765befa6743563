"""Where a run keeps the summaries of its tiles, and which of them are still valid."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import digest_of_sources
from geouq.core.naming import file_name
from geouq.rasters.catalog import Tile
from geouq.runs.provenance import code_target
from geouq.summary import CellSummaries, TilePlace, TileSummary, TileWholes
from geouq.summary.form import GAUSSIAN, Form
from geouq.summary.netcdf import checksum_of
from geouq.summary.tile_file import (
    FORMAT,
    WHOLE,
    TileWriter,
    cells_in_parts,
    form_of_file,
    key_of_file,
    levels_of_file,
    load_place,
    load_wholes,
    rewrite_tile,
    statistics_of_file,
    tile_writer,
)
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED
from geouq.summary.zone_file import FORMAT as ZONE_FORMAT
from geouq.summary.zone_file import ZonesWriter, zones_keep, zones_of_file, zones_writer
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import Entries
from geouq.version import __version__
from geouq.zones.masks import Zones

SHOWN = 5


def key_of_tile(tile: Tile, settings: Settings) -> str:
    """Return a digest of all that a tile's summary is made from: files as they are now, bands, settings, code and CPU.

    Levels, bins and groupings are not part of it: a summary with more of them serves fewer, and any serves all bins.
    """
    settings = replace(settings, levels=(), tail=0, groups=(), ordering=False, form=settings.form.at_levels(()))
    rasters = [(layer, raster.fingerprint) for layer, raster in tile.rasters.items()]
    bands = [(v.name, v.model, tile.bands_of(v), v.thresholds, v.noise) for v in tile.variables]
    models = [(model, prediction.read_as) for model, prediction in tile.predictions.items()]
    own = (bands, models, tile.common if len(models) > 1 else None, tile.area_weighted)
    made_from = (FORMAT, __version__, digest_of_sources(), code_target(), rasters, own, settings)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()


def path_of_tile(folder: Path, tile: str) -> Path:
    """Return the file of a tile's summary in a run's folder."""
    return folder / "summaries" / f"{file_name(tile)}.nc"


def is_valid(folder: Path, tile: Tile, settings: Settings) -> bool:
    """Return whether a saved summary is there that tells what a new sweep would."""
    path = path_of_tile(folder, tile.name)
    if not path.exists() or key_of_file(path) != key_of_tile(tile, settings):
        return False
    return set(levels_of_file(path)) >= set(settings.levels) and statistics_of_file(path) >= settings.statistics


def outdated(folder: Path, tiles: Sequence[Tile], settings: Settings) -> list[str]:
    """Return a note on the tiles whose saved summaries other files or settings made; [] where there are none."""
    saved = [(tile, key_of_file(path)) for tile in tiles if (path := path_of_tile(folder, tile.name)).exists()]
    names = [tile.name for tile, key in saved if key and key != key_of_tile(tile, settings)]
    if not names:
        return []
    why = "their files, the settings or the version changed since they were summarised"
    return [f"{len(names)} of {len(tiles)} tiles ({_listed(names)}) are read again: {why}"]


def unidentified(tile: Tile, zones: Iterable[Zones] = ()) -> tuple[str, ...]:
    """Return the names of a tile's files whose changes cannot be recognised."""
    rasters = [*tile.rasters.values(), *(raster for own in zones for raster in own.rasters)]
    return tuple(dict.fromkeys(name for raster in rasters for name in raster.unidentified))


def note_on_unidentified(tiles: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return a note on the tiles that each run reads again; [] where there are none.

    tiles : for each tile the names of its files that nothing identifies.
    """
    names = [tile for tile, files in tiles.items() if files]
    if not names:
        return []
    first = tiles[names[0]][0]
    what = f"nothing shows whether {first} changed, such as an ETag or a time of change of the file or store"
    return [f"{len(names)} of {len(tiles)} tiles ({_listed(names)}) are read again in each run: {what}"]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")


def path_of_zones(folder: Path, tile: str, layer: str) -> Path:
    """Return the file of the summaries of a tile's zones of a layer."""
    return folder / "summaries" / "zones" / file_name(layer) / f"{file_name(tile)}.nc"


def key_of_zones(tile: Tile, zones: Zones, settings: Settings) -> str:
    """Return the digest of all that the summaries of a tile's zones are made from."""
    return hashlib.sha256(f"{key_of_tile(tile, settings)} {zones.fingerprint} {zones.names}".encode()).hexdigest()


def zones_are_valid(folder: Path, tile: Tile, layer: str, zones: Zones, settings: Settings) -> bool:
    """Return whether saved summaries of a tile's zones are there that tell what a new sweep would."""
    path = path_of_zones(folder, tile.name, layer)
    if not path.exists() or key_of_file(path, ZONE_FORMAT) != key_of_zones(tile, zones, settings):
        return False
    return zones_keep(path, settings.levels, settings.statistics)


def summary_files(folder: Path, tile: str, layers: Iterable[str]) -> list[Path]:
    """Return the files of a tile's summary and of its zones in these layers."""
    return [path_of_tile(folder, tile), *(path_of_zones(folder, tile, layer) for layer in layers)]


def damaged_summaries(folder: Path, tile: str, layers: Iterable[str]) -> list[str]:
    """Return a sentence for each summary file of a tile whose content does not match its checksum."""
    return [
        f"tile {tile} is swept again, as its saved summary {path.relative_to(folder).as_posix()} is damaged: "
        "its content does not match its checksum, or an earlier version wrote it"
        for path in summary_files(folder, tile, layers)
        if path.exists() and checksum_of(path) is None
    ]


def checksums_of_summaries(folder: Path, layers: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the checksum of each intact summary file, by its path in the folder.

    layers : those of the zones of each tile, by its name.
    """
    files = [path for tile, own in layers.items() for path in summary_files(folder, tile, own)]
    return {path.relative_to(folder).as_posix(): sum_ for path in files if (sum_ := checksum_of(path))}


def change_summary(folder: Path, tile: Tile, change: Callable[[TileSummary], TileSummary], settings: Settings) -> None:
    """Save another summary in the place of a tile's; `change` gets it without the profiles of its cells, which stay."""
    rewrite_tile(path_of_tile(folder, tile.name), key_of_tile(tile, settings), change)


@dataclass(frozen=True)
class Part:
    """Pixels of a tile that have a summary: all, or those of a zone of a layer, in a group."""

    tile: str
    path: Path
    group: str = WHOLE
    layer: str = ""


@dataclass(frozen=True)
class SavedSummaries:
    """The saved summaries of some tiles at some levels, read one at a time, at each use.

    layers : names of the layers of zones. whole_tiles : those that lie wholly in regions of these layers.
    """

    folder: Path
    tiles: tuple[str, ...]
    levels: tuple[float, ...]
    layers: tuple[str, ...] = ()
    whole_tiles: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def part(self, tile: str) -> Part:
        """Return all of a tile."""
        return Part(tile, path_of_tile(self.folder, tile))

    def zones(self) -> dict[str, list[Part]]:
        """Return the parts with the summaries of each zone, in the order of layers, zones and tiles."""
        found: dict[str, list[Part]] = {}
        for layer in self.layers:
            for tile in self.tiles:
                if tile in self.whole_tiles.get(layer, ()):
                    found.setdefault(layer, []).append(replace(self.part(tile), layer=layer))
                    continue
                path = path_of_zones(self.folder, tile, layer)
                for zone, group in (zones_of_file(path) if path.exists() else {}).items():
                    found.setdefault(zone, []).append(Part(tile, path, group, layer))
        return found

    def whole(self, part: Part) -> TileWholes:
        """Return the summary of a part without its cells."""
        return load_wholes(part.path, part.group).at_levels(self.levels)

    def wholes(self) -> Iterator[TileWholes]:
        """Return the summaries of the tiles without their cells."""
        return (self.whole(self.part(tile)) for tile in self.tiles)

    def form(self) -> Form:
        """Return the form of the predictions; mean and variance without a tile."""
        if not self.tiles:
            return GAUSSIAN
        return form_of_file(self.part(self.tiles[0]).path).at_levels(self.levels)

    def place(self, part: Part) -> TilePlace:
        """Return where a part is."""
        return load_place(part.path, part.group)

    def places(self) -> Iterator[TilePlace]:
        """Yield where the tiles are."""
        return (self.place(self.part(tile)) for tile in self.tiles)

    def cells(self, tile: str, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
        """Return the cells of a tile and variable, some at a time: their numbers and summaries."""
        return self.cells_of(self.part(tile), variable)

    def cells_of(self, part: Part, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
        """Return the same of one part."""
        found = cells_in_parts(part.path, variable, part.group)
        return ((numbers, cells.at_levels(self.levels)) for numbers, cells in found)


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
        """Return a new file for a tile; entries of cells are written to it as they come."""
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
        """Write entries of a variable."""
        self.writer.append(variable, cell, key, sums)

    def entries(self, variable: int) -> Entries:  # noqa: ARG002  there are none of any
        """No entry."""
        return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, self.columns), np.float32)


class ZonesUnderWay:
    """The files of the zones of tiles; what is not kept when the block ends is removed.

    zones : by tile and layer, those that are being swept.
    """

    def __init__(self, folder: Path, zones: Mapping[str, Mapping[str, Zones]], settings: Settings) -> None:
        self._folder, self._zones, self._settings = folder, zones, settings
        self._open: dict[tuple[str, str], tuple[ExitStack, ZonesWriter]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stack, _writer in self._open.values():
            stack.close()

    def begin(self, tile: Tile, layer: str, zone: str) -> "_EntriesOnDisk":
        """Return where entries of the cells of a zone are written as they come."""
        return _EntriesOnDisk(self._writer(tile, layer).begin(zone), len(FIELDS) if tile.weighted else UNWEIGHTED)

    def add(self, tile: Tile, layer: str, zone: str, summary: TileSummary) -> None:
        """Write the summary of one more zone of a tile."""
        self._writer(tile, layer).add(zone, summary)

    def keep(self, tile: Tile) -> None:
        """Complete the files of a tile; a later run with the same zones, files and settings takes them as they are."""
        for layer in self._zones[tile.name]:
            writer, (stack, _) = self._writer(tile, layer), self._open.pop((tile.name, layer))
            with stack:
                writer.finish(self._settings.levels, self._settings.statistics)

    def abandon(self, tile: str) -> None:
        """Remove the files of a tile, complete or under way."""
        for layer in self._zones[tile]:
            if (tile, layer) in self._open:
                self._open.pop((tile, layer))[0].close()
            forget_zones(self._folder, tile, layer)

    def _writer(self, tile: Tile, layer: str) -> ZonesWriter:
        place = tile.name, layer
        if place not in self._open:
            zones = self._zones[tile.name][layer]
            key, path = key_of_zones(tile, zones, self._settings), path_of_zones(self._folder, tile.name, layer)
            stack = ExitStack()
            writer = stack.enter_context(zones_writer(path, key, zones.names))
            self._open[place] = stack, writer
        return self._open[place][1]


def forget_zones(folder: Path, tile: str, layer: str) -> None:
    """Remove the summaries of a tile's zones of a layer, if there are any."""
    path_of_zones(folder, tile, layer).unlink(missing_ok=True)
