"""Lists of tiles: STAC items, and tile indices with an attribute for the paths of rasters."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from geouq.config import StacTiles
from geouq.core.errors import ConfigError, DataError
from geouq.rasters.files import relative_to
from geouq.rasters.raster import Raster
from geouq.rasters.stac import stac_table
from geouq.rasters.tile_files import TileFile
from geouq.starting.guess import Entry, Guess
from geouq.starting.layers_as_bands import stack_of
from geouq.starting.layers_as_files import SPREADS
from geouq.starting.look import header
from geouq.starting.named_files import RASTERS, ending, some
from geouq.starting.words import mark_of, truth_mark

ITEMS = (".json", ".geojson", ".parquet")
INDICES = (".gpkg", ".fgb", ".geojson", ".shp")
NAMES = ("tile", "tile_id", "tile_name", "name", "id")  # attributes that name the tiles
Layers = tuple[dict[str, Entry], dict[str, str], str]  # layers, their files in the first tile, and the usual asset


def recognise_items(paths: Sequence[str]) -> Guess | None:
    """Return the layers if a file has STAC items with assets for a prediction and its uncertainty."""
    for path in (own for own in paths if ending(own) in ITEMS):
        try:
            table = stac_table(StacTiles(stac=path))
        except DataError:
            continue  # it may be an index
        tiles = {place.tile: own for place, own in table.files.items() if _rasters(own)}
        if tiles:
            first = next(iter(tiles))
            found = _layers(_rasters(tiles[first]))
            if found is None:
                raise ConfigError(_unclear(path, "assets", tiles[first]))
            layers, files, asset = found
            usual = {"asset": asset} if asset else {}
            guess = Guess("STAC items", tuple(tiles), first, layers, files=files)
            return guess.with_other("tiles", {"stac": path, **usual}, f"assets of {first}: {some(tiles[first])}")
    return None


def recognise_index(paths: Sequence[str]) -> Guess | None:
    """Return the layers, if attributes of a vector file hold the paths of rasters."""
    for path in (own for own in paths if ending(own) in INDICES):
        columns = attributes_of(path)
        held = [name for name, values in columns.items() if _hold_paths(values)]
        if not held:
            continue
        place = next(i for i, value in enumerate(columns[held[0]]) if value)
        files = {name: TileFile(_address(path, columns[name][place])) for name in held if columns[name][place]}
        found = _layers(files)
        if found is None:
            raise ConfigError(_unclear(path, "attributes", files))
        layers, own_files, attribute = found
        name = next((own for own in columns if own.lower() in NAMES and _are_unique(columns[own])), "")
        names = columns[name] if name else [PurePosixPath(value).stem for value in columns[held[0]]]
        tiles = tuple(str(own) for own, value in zip(names, columns[held[0]], strict=True) if value)
        usual = {} if attribute in ("", "location") else {"path": attribute}
        value = {"index": path, **usual, **({"name": name} if name else {})}
        guess = Guess("a tile index", tiles, tiles[0], layers, files=own_files)
        return guess.with_other("tiles", value, f"attributes with paths: {some(held)}")
    return None


def _rasters(files: Mapping[str, TileFile]) -> dict[str, TileFile]:
    return {name: file for name, file in files.items() if ending(file.path) in RASTERS}


def _unclear(path: str, what: str, files: Mapping[str, TileFile]) -> str:
    return (
        f"{path}: names of {what} and descriptions of bands do not say which are a mean and its uncertainty; {what} "
        f"with rasters are {some(_rasters(files))}; write the layers by hand, such as mean: {{asset: mean}}"
    )


def _layers(files: Mapping[str, TileFile]) -> Layers | None:
    """Return the layers by words in the names of assets, or by the bands of one of them; None where neither says."""
    if found := _by_names(files):
        return found
    for name, file in files.items():
        try:
            stack = stack_of(_described(header(file.path), file), file.path)
        except ConfigError:
            continue
        if stack and len(stack.variables) == 1:
            bands = stack.variables[0].bands
            entries = {key: Entry({"band": bands[key]}, why) for key, why in stack.layers.items() if key in bands}
            return entries, dict.fromkeys(entries, file.path), name
    return None


def _by_names(files: Mapping[str, TileFile]) -> Layers | None:
    marks = {name: mark for name in files if (mark := mark_of(name))}
    spread = next((role for role in SPREADS for mark in marks.values() if mark.role == role), "")
    chosen = {role: next((name for name, mark in marks.items() if mark.role == role), "") for role in ("mean", spread)}
    if not (spread and chosen["mean"]):
        return None
    if true := next((name for name in files if truth_mark(name) and name not in chosen.values()), ""):
        chosen["truth"] = true
    entries = {role: Entry({"asset": name}, f"named '{name}'") for role, name in chosen.items()}
    return entries, {role: files[name].path for role, name in chosen.items()}, ""


def _described(raster: Raster, file: TileFile) -> Raster:
    """Return a raster with the names that an item gives its bands, where the file has none."""
    if len(file.bands) != len(raster.bands):
        return raster
    named = zip(raster.bands, file.bands, strict=True)
    bands = (replace(own, description=own.description or said.name or said.description) for own, said in named)
    return replace(raster, bands=tuple(bands))


def attributes_of(path: str) -> dict[str, Sequence[Any]]:
    """Return the attributes of the first layer of a vector file."""
    try:
        import pyogrio  # noqa: PLC0415  an optional extra
    except ImportError:
        raise ConfigError(f"{path}: an index needs pyogrio: pip install 'geouq[polygons]'") from None
    try:
        meta, _, _, columns = pyogrio.raw.read(path, read_geometry=False)
    except (pyogrio.errors.DataSourceError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    return dict(zip(meta["fields"], columns, strict=True))


def _hold_paths(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, str) and ending(value) in RASTERS for value in known)


def _are_unique(values: Sequence[Any]) -> bool:
    return len(set(values)) == len(values) and all(isinstance(value, str) for value in values)


def _address(index: str, path: str) -> str:
    found = relative_to(index, path)
    return found if "://" in found or found.startswith("/") else os.path.normpath(found)
