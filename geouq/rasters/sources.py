"""Find the files of each tile: by patterns of file names, STAC items, or a tile index."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from geouq.config import (
    VARIABLE,
    Experiment,
    FileTiles,
    LayerFile,
    Problem,
    StacTiles,
    asset_in,
    config_error,
    suggestion,
)
from geouq.config.layer_file import is_array
from geouq.core.errors import DataError
from geouq.core.naming import file_in_name
from geouq.rasters.file_times import FileTimes, file_times
from geouq.rasters.files import Stamp
from geouq.rasters.listing import is_in_folders
from geouq.rasters.raster import Raster, read_header
from geouq.rasters.remote_files import as_gdal_names_it, is_remote
from geouq.rasters.stac import stac_table
from geouq.rasters.stored import as_written
from geouq.rasters.tile_files import TileFile, TileTable, described
from geouq.rasters.tile_index import index_table
from geouq.rasters.tile_names import (
    Place,
    has_times,
    listed_places,
    only_name,
    patterns_of_variables,
    problems_without_files,
)
from geouq.rasters.variable_files import raster_of_variables

SHOWN = 3


@dataclass(frozen=True)
class Sources:
    """The files of the layers of all tiles.

    patterns : of each layer, a path, or what stands for an asset. names : of the tiles for which a layer has a file, of
    layers whose files are known. tables : of the layers whose files a source names; assets : what they take from it.
    stamps : the files of these sources, by their keys in the configuration. times : those of files and of sources,
    whose steps are then the tiles.
    """

    experiment: Experiment
    patterns: Mapping[str, str]
    names: Mapping[str, set[str]]
    tables: Mapping[str, TileTable] = field(default_factory=dict)
    assets: Mapping[str, str] = field(default_factory=dict)
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    times: FileTimes = field(default_factory=lambda: FileTimes({}))

    @property
    def notes(self) -> list[str]:
        """Return what the sources leave out."""
        of_tables = dict.fromkeys(note for table in self.tables.values() for note in table.notes)
        return [*of_tables, *self.times.notes]

    @property
    def tiles(self) -> set[str]:
        """Return the names of the tiles of `tiles`, also of those without some layers."""
        if has_times(self.experiment):
            return set(self.times.steps)
        of_tiles = (layer for layer in self.tables if self.experiment.source_of(layer) == self.experiment.tiles)
        return {place.tile for layer in of_tiles for place in self.tables[layer].files}

    @property
    def remote(self) -> bool:
        """Return whether there are files on servers."""
        patterns = (own for layer, own in self.patterns.items() if layer not in self.tables)
        named = (
            file.path for layer, table in self.tables.items() for own in table.files.values()
            if (file := own.get(self.assets[layer]))
        )  # fmt: skip
        files = (file_in_name(path) if is_array(path) else path for paths in (patterns, named) for path in paths)
        return any(is_remote(as_gdal_names_it(path)) for path in files)

    def file(self, layer: str, tile: str) -> TileFile:
        """Return the file of a layer of a tile, and what its source says of it."""
        if layer not in self.tables:
            return TileFile(self._path(layer, tile))
        return self.tables[layer].files[self.times.place(layer, tile)][self.assets[layer]]

    def _path(self, layer: str, tile: str) -> str:
        return self.times.path(layer, self.patterns[layer], tile)

    def raster(self, layer: str, tile: str) -> Raster:
        """Return the header of a layer of a tile, with what its source and the configuration say of it.

        Raises
        ------
        DataError
            If the file cannot be read, or is not as its source or the configuration say.
        """
        file, written = self.file(layer, tile), self.experiment.settings.get(layer)
        if VARIABLE in self.patterns[layer] and layer not in self.tables:
            return raster_of_variables(self.experiment, layer, self._path(layer, tile))
        path = file.path
        if layer in self.tables and written is not None:
            path, written = (
                _with_array(file, written),
                written.model_copy(update={"band": file.number_of(written.band)}),
            )
        given = () if written is None else written.settings
        raster = described(read_header(path, self.experiment.drivers), file, given)
        return as_written(raster, layer, written)

    def missing(self, tile: str) -> list[str]:
        """Return what is missing of a tile, a layer each."""
        return [
            self._missing(layer, tile)
            for layer in self.patterns
            if tile not in self.names.get(layer, {tile}) or self._lost(layer, tile)
        ]

    def _lost(self, layer: str, tile: str) -> list[str]:
        """Return the files of single variables that are not there, of a layer with {variable} in folders."""
        pattern = self.patterns[layer]
        if VARIABLE not in pattern or layer in self.tables or not is_in_folders(pattern):
            return []
        paths = [self.times.path(layer, own, tile) for own in patterns_of_variables(pattern, self.experiment)]
        return [own for own in paths if not Path(file_in_name(own)).exists()]

    def _missing(self, layer: str, tile: str) -> str:
        if layer not in self.tables:
            lost = self._lost(layer, tile) or [self._path(layer, tile)]
            return f"there is no file {', '.join(lost)}"
        table = self.tables[layer]
        is_there = self.times.place(layer, tile) in table.files
        lacks = f"has no {table.what} {self.assets[layer]}" if is_there else "is not there"
        return f"{layer}: tile {tile} of {table.stamp.path} {lacks}"

    def problems(self) -> list[Problem]:
        """Return a problem for each layer without a file."""
        patterns = {layer: own for layer, own in self.patterns.items() if layer not in self.tables}
        listed = {layer: own for layer, own in self.names.items() if layer not in self.tables}
        found = problems_without_files(self.experiment, patterns, listed)
        without = (layer for layer in self.tables if not self.names[layer])
        return found + [self.experiment.problem_of_layer(layer, self._empty(layer)) for layer in without]

    def _empty(self, layer: str) -> str:
        table, asset = self.tables[layer], self.assets[layer]
        if not table.files:
            return f"{table.stamp.path} names no tile"
        return f"no tile of {table.stamp.path} has the {table.what} {asset!r}{suggestion(asset, table.assets)}"


def sources_of(experiment: Experiment) -> Sources:
    """Find the files of all layers; no header is read.

    Raises
    ------
    ConfigError
        If items or an index cannot be read, or predictions cannot be listed.
    """
    patterns = experiment.patterns
    sources = {layer: source for layer in patterns if (source := experiment.source_of(layer))}
    assets = {layer: asset_in(patterns[layer]) or source.usual or "" for layer, source in sources.items()}
    read = {source: _named(table, experiment) for source, table in _tables(experiment, sources, assets)}
    tables = {layer: read[source] for layer, source in sources.items()}
    places = listed_places(experiment, {layer: own for layer, own in patterns.items() if layer not in tables})
    for layer, table in tables.items():
        own = {place for place, files in table.files.items() if assets[layer] in files}
        chosen = None if sources[layer] is experiment.tiles else sources[layer].names
        places[layer] = own if chosen is None else {place for place in own if place.tile in chosen}
    times = FileTimes({layer: {place.tile for place in own} for layer, own in places.items()})
    if has_times(experiment) and all(places.values()):
        times = file_times(experiment, places)
    stamps = {".".join(_key(experiment, layer, source)): read[source].stamp for layer, source in sources.items()}
    return Sources(experiment, patterns, times.names, tables, assets, stamps, times)


def _named(table: TileTable, experiment: Experiment) -> TileTable:
    """Return a table whose only tile has the name of the experiment, where names of entries are times alone."""
    only = only_name(experiment)
    return replace(table, files={Place(tile or only, time): own for (tile, time), own in table.files.items()})


def _tables(
    experiment: Experiment, sources: Mapping[str, FileTiles], assets: Mapping[str, str]
) -> Iterator[tuple[FileTiles, TileTable]]:
    """Yield each source with its tiles; ConfigError where it cannot be read."""
    for source in dict.fromkeys(sources.values()):
        layers = [layer for layer, own in sources.items() if own == source]
        wanted = list(dict.fromkeys(assets[layer] for layer in layers))
        try:
            if isinstance(source, StacTiles):
                yield source, stac_table(source, wanted)
            else:
                yield source, index_table(source, wanted)
        except DataError as error:
            steps = _key(experiment, layers[0], source)
            message = str(error).removeprefix(f"{steps[-1]}: ")
            raise config_error([experiment.problem(*steps, message=message)]) from None


def _key(experiment: Experiment, layer: str, source: FileTiles) -> tuple[str, ...]:
    """Return the keys that lead to the file of a source."""
    last = "stac" if isinstance(source, StacTiles) else "index"
    if source is experiment.tiles:
        return "tiles", last
    return (*map(str, experiment.problem_of_layer(layer, "").path), "tiles", last)


def _with_array(file: TileFile, written: LayerFile) -> str:
    """Return the path of a file, or GDAL's name of the array in it that the configuration names."""
    try:
        return written.gdal_path(file.path)
    except KeyError:
        raise DataError(f"{file.path} holds no arrays, so that there is no {written.variable!r} in it") from None
