"""Where a run keeps the summaries of its tiles, and which of them are still valid."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from time import monotonic
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import digest_of_sources
from geouq.core.errors import SummaryError
from geouq.core.naming import file_name
from geouq.rasters.catalog import Tile
from geouq.runs.provenance import code_target
from geouq.summary import CellSummaries, TilePlace, TileSummary, TileWholes
from geouq.summary.form import GAUSSIAN, Form
from geouq.summary.netcdf import checksum_of
from geouq.summary.statistic import Statistic
from geouq.summary.tile_file import (
    ENTRIES,
    FORMAT,
    TileWriter,
    cells_in_parts,
    form_of_file,
    key_of_file,
    levels_of_file,
    load_place,
    load_wholes,
    rewrite_tile,
    statistics_of_cells,
    statistics_of_file,
    tile_writer,
)
from geouq.summary.tiles_file import release_tiles_files, save_tiles, tiles_file
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED
from geouq.summary.zone_batch import release_groups
from geouq.summary.zone_file import FORMAT as ZONE_FORMAT
from geouq.summary.zone_file import (
    ZonesWriter,
    cells_of_zone,
    load_zone,
    place_of_zone,
    statistics_of_zone,
    zones_keep,
    zones_of_file,
    zones_writer,
)
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import Entries, EntryStore, InMemory
from geouq.version import __version__
from geouq.zones.masks import Zones

SHOWN = 5
TOGETHER = "together"  # folder of the files with many tiles
SMALL = 1 << 15  # pixels of all variables of a tile whose summary may share a file
FULL = 1 << 19  # pixels of all tiles of such a file
FEWEST = 8  # neighbours of which such files are made
PATIENCE = 2.0  # seconds after which a tile that was read is on disk


def key_of_tile(tile: Tile, settings: Settings) -> str:
    """Return a digest of all that a tile's summary is made from: files as they are now, bands, settings, code and CPU.

    Levels, bins and groupings are not part of it: a summary with more of them serves fewer, and any serves all bins.
    """
    settings = replace(settings, levels=(), tail=0, groups=(), ordering=False, form=settings.form.at_levels(()))
    rasters = [(layer, raster.fingerprint) for layer, raster in tile.rasters.items()]
    bands = [(v.name, v.model, tile.bands_of(v), v.thresholds, v.noise, v.distributed) for v in tile.variables]
    models = [(model, prediction.read_as) for model, prediction in tile.predictions.items()]
    outline = () if tile.outline is None else (tile.outline.fingerprint,)
    own = (bands, models, tile.common if len(models) > 1 else None, tile.area_weighted, *outline)
    made_from = (FORMAT, __version__, digest_of_sources(), code_target(), rasters, own, settings)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()


def path_of_tile(folder: Path, tile: str) -> Path:
    """Return the file of a tile's summary in a run's folder, where it has one of its own."""
    return folder / "summaries" / f"{file_name(tile)}.nc"


class SavedFiles:
    """The files with the summaries of tiles in a run's folder: one of its own for a tile, or one with many tiles."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._together = {tile: path for path in _files_together(folder) for tile in _tiles_in(path)}

    def path(self, tile: str) -> Path:
        """Return the file of a tile, which need not be there."""
        own = path_of_tile(self._folder, tile)
        return self._together.get(tile, own) if not own.exists() else own

    def holds_many(self, tile: str) -> bool:
        """Return whether the file of a tile is one with many tiles."""
        return self.path(tile) == self._together.get(tile)

    def key(self, tile: str) -> str | None:
        """Return the key under which a tile was saved; None where there is no readable file."""
        path = self.path(tile)
        return tiles_file(path).keys[tile] if self.holds_many(tile) else key_of_file(path) if path.exists() else None

    def is_valid(self, tile: Tile, settings: Settings) -> bool:
        """Return whether a saved summary is there that tells what a new sweep would."""
        if self.key(tile.name) != key_of_tile(tile, settings):
            return False
        path = self.path(tile.name)
        if self.holds_many(tile.name):
            levels, statistics = tiles_file(path).levels, tiles_file(path).statistics
        else:
            levels, statistics = levels_of_file(path), statistics_of_file(path)
        return set(levels) >= set(settings.levels) and statistics >= settings.statistics

    def remove_superseded(self) -> None:
        """Remove the files with many tiles that hold none whose summary is read from there, or are damaged."""
        for path in _files_together(self._folder):
            if all(self.path(tile) != path for tile in _tiles_in(path)):
                path.unlink()


def _files_together(folder: Path) -> list[Path]:
    """Return the files with many tiles, the oldest first."""
    return sorted((folder / "summaries" / TOGETHER).glob("[0-9]*.nc"))


def _tiles_in(path: Path) -> Iterable[str]:
    """Return the tiles in a file; none where it cannot be read."""
    try:
        return tiles_file(path).tiles
    except SummaryError:
        return ()


def outdated(files: SavedFiles, tiles: Sequence[Tile], settings: Settings) -> list[str]:
    """Return a note on the tiles whose saved summaries other files or settings made; [] where there are none."""
    saved = [(tile, files.key(tile.name)) for tile in tiles]
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


def damaged_summaries(folder: Path, layers: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a sentence for each summary file whose content does not match its checksum.

    layers : those of the zones of each tile, by its name.
    """
    why = "its content does not match its checksum, or an earlier version wrote it"
    found = [
        f"tile {tile} is swept again, as its saved summary {path.relative_to(folder).as_posix()} is damaged: {why}"
        for tile, own in layers.items()
        for path in (path_of_tile(folder, tile), *(path_of_zones(folder, tile, layer) for layer in own))
        if path.exists() and checksum_of(path) is None
    ]
    return found + [
        f"the tiles in {path.relative_to(folder).as_posix()} are swept again, as it is damaged: {why}"
        for path in _files_together(folder)
        if checksum_of(path) is None
    ]


def checksums_of_summaries(folder: Path, layers: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the checksum of each intact summary file, by its path in the folder.

    layers : those of the zones of each tile, by its name.
    """
    saved = SavedFiles(folder)
    files = dict.fromkeys(
        path
        for tile, own in layers.items()
        for path in (saved.path(tile), *(path_of_zones(folder, tile, layer) for layer in own))
    )
    return {path.relative_to(folder).as_posix(): sum_ for path in files if (sum_ := checksum_of(path))}


@dataclass(frozen=True)
class Part:
    """Pixels of a tile that have a summary: all pixels, or the pixels of a zone of a layer.

    zone : name of the zone; "" for all pixels of the tile. among_many : whether the file holds many tiles.
    """

    tile: str
    path: Path
    zone: str = ""
    layer: str = ""
    among_many: bool = False


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
        return Part(tile, self._files.path(tile), among_many=self._files.holds_many(tile))

    @cached_property
    def _files(self) -> SavedFiles:
        return SavedFiles(self.folder)

    def zones(self) -> dict[str, list[Part]]:
        """Return the parts with the summaries of each zone, in the order of layers, zones and tiles."""
        found: dict[str, list[Part]] = {}
        for layer in self.layers:
            for tile in self.tiles:
                if tile in self.whole_tiles.get(layer, ()):
                    found.setdefault(layer, []).append(replace(self.part(tile), layer=layer))
                    continue
                path = path_of_zones(self.folder, tile, layer)
                for zone in zones_of_file(path) if path.exists() else ():
                    found.setdefault(zone, []).append(Part(tile, path, zone, layer))
        return found

    def whole(self, part: Part, variables: Collection[str] | None = None) -> TileWholes:
        """Return the summary of a part without its cells, of all variables or of some."""
        if part.zone:
            found = load_zone(part.path, part.zone, variables)
        elif part.among_many:
            found = tiles_file(part.path).wholes(part.tile, variables)
        else:
            found = load_wholes(part.path, variables=variables)
        return found.at_levels(self.levels)

    def wholes(self, tiles: Collection[str] | None = None) -> Iterator[TileWholes]:
        """Return the summaries of the tiles, or of some of them, without their cells."""
        return (self.whole(self.part(tile)) for tile in self.tiles if tiles is None or tile in tiles)

    def release(self) -> None:
        """Release the arrays of summaries that are kept in memory for the next use."""
        release_tiles_files()
        release_groups()

    def form(self) -> Form:
        """Return the form of the predictions; mean and variance without a tile."""
        if not self.tiles:
            return GAUSSIAN
        part = self.part(self.tiles[0])
        return (tiles_file(part.path).form() if part.among_many else form_of_file(part.path)).at_levels(self.levels)

    def keeps(self, name: str) -> bool:
        """Return whether the summaries of tiles have a statistic."""
        if not self.tiles:
            return False
        part = self.part(self.tiles[0])
        return name in (tiles_file(part.path).statistics if part.among_many else statistics_of_file(part.path))

    def place(self, part: Part) -> TilePlace:
        """Return where a part is."""
        if part.zone:
            return place_of_zone(part.path, part.zone)
        return tiles_file(part.path).place(part.tile) if part.among_many else load_place(part.path)

    def places(self) -> Iterator[TilePlace]:
        """Yield where the tiles are."""
        return (self.place(self.part(tile)) for tile in self.tiles)

    def cells(self, tile: str, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
        """Return the cells of a tile and variable, some at a time: their numbers and summaries."""
        return self.cells_of(self.part(tile), variable)

    def cells_of(self, part: Part, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
        """Return the same of one part."""
        if part.among_many:
            cells = tiles_file(part.path).cells(part.tile, variable)
            return iter([(np.arange(len(cells)), cells.at_levels(self.levels))])
        zone = part.zone
        found = cells_of_zone(part.path, zone, variable) if zone else cells_in_parts(part.path, variable)
        return ((numbers, cells.at_levels(self.levels)) for numbers, cells in found)

    def statistics_of(
        self, part: Part, variable: str, names: Sequence[str]
    ) -> tuple[NDArray[np.int64], dict[str, Statistic]]:
        """Return the numbers of the cells of a part and some of their statistics, without the rest of the cells."""
        if part.among_many:
            rows, columns = self.place(part).cell_grid.shape
            return np.arange(rows * columns), tiles_file(part.path).cell_statistics(part.tile, variable, names)
        if part.zone:
            return statistics_of_zone(part.path, part.zone, variable, names)
        return statistics_of_cells(part.path, variable, names)


class SummariesUnderWay:
    """The files of tiles that are being summarised; what is not kept when the block ends is removed.

    tiles : all that may come, in their order. Many small ones share a file, which is written anew as more of them are
    kept, after a few seconds at the latest. saved : called with the name of each tile whose summary is on disk.
    """

    def __init__(self, folder: Path, settings: Settings, tiles: Sequence[Tile], saved: Callable[[str], None]) -> None:
        self._folder, self._settings, self._saved = folder, settings, saved
        self._open: dict[str, tuple[ExitStack, TileWriter]] = {}
        last = max((int(path.stem) for path in _files_together(folder)), default=0)
        self._together = {
            tile.name: group
            for number, own in enumerate(_groups(tiles), last + 1)
            for group in [_Group(folder, number, own, settings)]
            for tile in own
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._open):
            self.abandon(name)
        self.write_waiting(0)
        if self._together:
            SavedFiles(self._folder).remove_superseded()

    def is_shared(self, tile: str) -> bool:
        """Return whether the file of a tile is to hold others as well."""
        return tile in self._together

    def begin(self, tile: Tile) -> EntryStore:
        """Return where the entries of the cells of a tile go: to a new file as they come, or to memory."""
        self.write_waiting()
        if tile.name in self._together:
            return InMemory()
        stack = ExitStack()
        path, key = path_of_tile(self._folder, tile.name), key_of_tile(tile, self._settings)
        self._open[tile.name] = stack, stack.enter_context(tile_writer(path, key))
        return _EntriesOnDisk(self._open[tile.name][1], len(FIELDS) if tile.weighted else UNWEIGHTED)

    def keep(self, summary: TileSummary) -> None:
        """Complete the file of a tile; a later run with the same files and settings does not read the tile again."""
        if group := self._together.get(summary.tile):
            self._tell(group.keep(summary))
            return
        stack, writer = self._open.pop(summary.tile)
        with stack:
            writer.finish(summary)
        self._saved(summary.tile)

    def change(self, tile: Tile, change: Callable[[TileSummary], TileSummary]) -> None:
        """Save another summary in the place of a saved one; `change` may get it without the profiles of its cells."""
        path, key = path_of_tile(self._folder, tile.name), key_of_tile(tile, self._settings)
        if not self._before.holds_many(tile.name):
            rewrite_tile(path, key, change)
            self._saved(tile.name)
            return
        self.begin(tile)
        self.keep(change(tiles_file(self._before.path(tile.name)).summary(tile.name)))

    @cached_property
    def _before(self) -> SavedFiles:
        return SavedFiles(self._folder)

    def abandon(self, name: str) -> None:
        """Remove the file of a tile, if there is one."""
        if name in self._open:
            self._open.pop(name)[0].close()
        if group := self._together.get(name):
            self._tell(group.expect_no(name))

    def write_waiting(self, patience: float = PATIENCE) -> None:
        """Write the files in which a tile has waited for that for so many seconds."""
        groups = {id(group): group for group in self._together.values()}.values()
        self._tell([tile for group in groups for tile in group.write_waiting(patience)])

    def _tell(self, tiles: Iterable[str]) -> None:
        for tile in tiles:
            self._saved(tile)


def _groups(tiles: Iterable[Tile]) -> Iterator[list[Tile]]:
    """Yield groups of small tiles whose summaries share a file: neighbours with grids of the same shape."""
    small = (tile for tile in tiles if _size(tile) <= SMALL)
    for _, alike in groupby(small, lambda tile: (tile.grid.shape, tile.grid.crs, tile.weighted)):
        own = list(alike)
        if len(own) >= FEWEST:
            files = -(-len(own) * _size(own[0]) // FULL)
            ends = [len(own) * number // files for number in range(files + 1)]
            yield from (own[start:end] for start, end in pairwise(ends))


def _size(tile: Tile) -> int:
    return tile.grid.shape[0] * tile.grid.shape[1] * len(tile.variables)


class _Group:
    """Small tiles that share a file; what writes the file returns the names of the tiles that are new in it."""

    def __init__(self, folder: Path, number: int, tiles: Sequence[Tile], settings: Settings) -> None:
        self._path = folder / "summaries" / TOGETHER / f"{number:04d}.nc"
        self._own = {tile.name: path_of_tile(folder, tile.name) for tile in tiles}
        self._keys = {tile.name: key_of_tile(tile, settings) for tile in tiles}
        self._awaited = dict.fromkeys(self._keys)
        self._kept: dict[str, TileSummary] = {}
        self._waiting: list[str] = []
        self._since = 0.0

    def keep(self, summary: TileSummary) -> Sequence[str]:
        """Take one more tile; the last one completes the file."""
        if not self._waiting:
            self._since = monotonic()
        self._kept[summary.tile] = summary
        self._waiting.append(summary.tile)
        return self.expect_no(summary.tile)

    def expect_no(self, tile: str) -> Sequence[str]:
        """Wait for that tile no longer."""
        self._awaited.pop(tile, None)
        if self._awaited:
            return ()
        written = self.write_waiting(0)
        self._kept.clear()
        return written

    def write_waiting(self, patience: float) -> Sequence[str]:
        """Write the file if a tile has waited for that for so many seconds."""
        if not self._waiting or monotonic() - self._since < patience:
            return ()
        names = [name for name in self._keys if name in self._kept]
        save_tiles([self._kept[name] for name in names], [self._keys[name] for name in names], self._path)
        written, self._waiting = self._waiting, []
        for name in written:
            self._own[name].unlink(missing_ok=True)
        return written


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


class _EntriesOfZone:
    """Keeps entries in memory, and hands all of them on once they are many.

    many : gives what takes them then. columns : number of sums of an entry.
    """

    def __init__(self, many: Callable[[], EntryStore], columns: int) -> None:
        self._many, self._columns = many, columns
        self._store: EntryStore | None = None
        self._few: list[tuple[int, Entries]] = []
        self._count = 0

    def append(
        self, variable: int, cell: NDArray[np.uint32], key: NDArray[np.uint16], sums: NDArray[np.float32]
    ) -> None:
        """Keep entries of a variable."""
        if self._store is not None:
            self._store.append(variable, cell, key, sums)
            return
        self._few.append((variable, (cell, key, sums)))
        self._count += len(cell)
        if self._count >= ENTRIES:
            self._store = self._many()
            for number, entries in self._few:
                self._store.append(number, *entries)
            self._few.clear()

    def entries(self, variable: int) -> Entries:
        """Return the entries of a variable that are in memory."""
        own = InMemory()
        for number, entries in self._few:
            if number == variable:
                own.append(number, *entries)
        if variable not in own:
            return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, self._columns), np.float32)
        return own.entries(variable)


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

    def begin(self, tile: Tile, layer: str, zone: str) -> EntryStore:
        """Return where entries of the cells of a zone go: to memory, or if they are many, to disk as they come."""
        columns = len(FIELDS) if tile.weighted else UNWEIGHTED
        return _EntriesOfZone(lambda: _EntriesOnDisk(self._writer(tile, layer).begin(zone), columns), columns)

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
