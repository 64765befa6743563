"""STAC items as tiles: from an ItemCollection in JSON, or from stac-geoparquet. Nothing is requested."""

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from affine import Affine

from geouq.config import StacTiles, suggestion
from geouq.core.errors import DataError
from geouq.core.redaction import remember_secrets
from geouq.rasters.files import Stamp, relative_to
from geouq.rasters.source_file import is_parquet, rows_of_parquet, stamp_of_source
from geouq.rasters.table_times import Entry, places_of
from geouq.rasters.tile_files import BandSaid, PlaceSaid, TileFile, TileTable
from geouq.rasters.tile_names import Place

NOTHING: Mapping[str, Any] = {}
NOMINAL, START = "datetime", "start_datetime"  # of an item; without the first, the second is there
GRID = ("proj:code", "proj:epsg", "proj:shape", "proj:transform")
COLUMNS = ("id", "assets", "links", "bbox", NOMINAL, START, *GRID)  # of stac-geoparquet
FIELDS = {"scale": ("raster:scale", "scale"), "offset": ("raster:offset", "offset"), "nodata": ("nodata",)}


def stac_table(source: StacTiles, assets: Collection[str] | None = None) -> TileTable:
    """Return the items of a file as tiles, or as times of tiles, with these assets of each, or with all.

    Raises
    ------
    DataError
        If the file holds no items or two with the same id, or an item does not follow STAC, or has no time where the
        source has times.
    """
    path = source.stac
    stamp = stamp_of_source(path)
    columns = (*COLUMNS, *filter(None, (source.time, source.name)))
    items = [*map(_without_nulls, rows_of_parquet(path, columns))] if is_parquet(path) else _items_in(path)
    names = dict[str, None]()
    for number, item in enumerate(items):
        name = _text(item.get("id"))
        if not name:
            raise DataError(f"{path}: item {number + 1} has no id")
        if name in names:
            raise DataError(f"{path}: two items have the id {name!r}; keep one of them")
        names[name] = None
    found: dict[Place, Mapping[str, TileFile]] = {}
    known = dict[str, None]()
    for place, item in zip(_places(source, items), items, strict=True):
        own = _mapping(item.get("assets"))
        known |= dict.fromkeys(own)
        wanted = own if assets is None else {key: own[key] for key in assets if key in own}
        found[place] = _files(path, stamp, item, wanted)
    return TileTable(stamp, "asset", found, tuple(known))


def _places(source: StacTiles, items: Sequence[Mapping[str, Any]]) -> list[Place]:
    """Return the tile of each item, and its time if the source has times."""
    each = [{**item, **_mapping(item.get("properties"))} for item in items]
    tiles = [item["id"] for item in items] if source.name is None else [_tile(source, own) for own in each]
    if source.time is not None:
        entries = [
            Entry(own["id"], _time(source.time, own), tile if source.name else None, _footprint(own))
            for own, tile in zip(each, tiles, strict=True)
        ]
        try:
            return places_of(entries)
        except DataError as error:
            raise DataError(f"{source.stac}: {error}") from None
    if twice := next((tile for place, tile in enumerate(tiles) if tile in tiles[:place]), ""):
        raise DataError(f"{source.stac}: two items are tile {twice!r}; if they are times of it, write time: {NOMINAL}")
    return [Place(tile) for tile in tiles]


def _tile(source: StacTiles, properties: Mapping[str, Any]) -> str:
    """Return the name of the tile of an item, as one of its properties has it."""
    found = properties.get(source.name or "")
    if isinstance(found, str | int) and str(found).strip():
        return str(found).strip()
    named = suggestion(source.name or "", [*properties])
    raise DataError(f"name: {source.stac}: item {properties['id']} has no property {source.name!r}{named}")


def _time(name: str, properties: Mapping[str, Any]) -> Any:
    """Return the time of an item: a property, or the start of its time where it has no nominal one."""
    found = properties.get(name)
    return properties.get(START) if found is None and name == NOMINAL else found


def _footprint(properties: Mapping[str, Any]) -> str | None:
    """Return where an item lies, as it is written: its grid, or else its box."""
    keys = GRID if properties.get("proj:transform") else ("bbox",)
    found = [properties.get(key) for key in keys]
    return json.dumps(found) if any(found) else None


def _items_in(path: str) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise DataError(f"{path} is neither JSON nor Parquet: {' '.join(str(error).split())}") from None
    kind = found.get("type") if isinstance(found, dict) else None
    items = [found] if kind == "Feature" else found.get("features") if kind == "FeatureCollection" else None
    if not isinstance(items, list):
        what = f"is a STAC {kind}" if kind in ("Collection", "Catalog") else "holds no items"
        raise DataError(
            f"{path} {what}; give an ItemCollection, which pystac_client writes with item_collection().save_object()"
        )
    return [item for item in items if isinstance(item, dict)]


def _without_nulls(value: Any) -> Any:
    """Return a value without the keys that other rows of a table have."""
    if isinstance(value, dict):
        return {key: _without_nulls(own) for key, own in value.items() if own is not None}
    return [_without_nulls(own) for own in value] if isinstance(value, list) else value


def _files(path: str, stamp: Stamp, item: Mapping[str, Any], assets: Mapping[str, Any]) -> dict[str, TileFile]:
    base = _place_of(path, item)
    properties = {**item, **_mapping(item.get("properties"))}
    found = {}
    for name, asset in assets.items():
        if not isinstance(asset, Mapping) or not _text(asset.get("href")):
            raise DataError(f"{stamp.path}: asset {name} of item {item['id']} has no href")
        try:
            bands, of_all = _bands(asset)
            found[name] = TileFile(_address(base, asset["href"]), bands, of_all, _place(properties, asset))
        except (TypeError, ValueError) as error:
            raise DataError(f"{stamp.path}: asset {name} of item {item['id']}: {error}") from None
    return found


def _place_of(path: str, item: Mapping[str, Any]) -> str:
    """Return what relative references of an item are relative to: its own address if it has one, else the file."""
    links = item.get("links")
    for link in links if isinstance(links, list) else ():
        if isinstance(link, Mapping) and link.get("rel") == "self" and (own := _text(link.get("href"))):
            own = _of_file(own)
            return own if "://" in own or Path(own).is_absolute() else path
    return path


def _address(base: str, reference: str) -> str:
    """Return the path or address of a file."""
    reference = _of_file(reference)
    if any(sign in reference for sign in "?@"):
        remember_secrets(reference)
    if "://" in reference or reference.startswith("/"):
        return reference
    if "://" in base:
        folder = base.partition("?")[0].rpartition("/")[0]
        return f"{folder}/{reference.removeprefix('./')}"
    return os.path.normpath(relative_to(base, reference))


def _of_file(reference: str) -> str:
    """Return the path of an address of this machine; another one as it is.

    >>> _of_file("file:///data/a%20b.tif")
    '/data/a b.tif'
    """
    return unquote(reference.removeprefix("file://")) if reference.startswith("file://") else reference


def _place(properties: Mapping[str, Any], asset: Mapping[str, Any]) -> PlaceSaid:
    """Return the fields of the projection extension; those of an asset come before those of its item."""
    code, epsg, shape, transform = (
        asset.get(key, properties.get(key)) for key in ("proj:code", "proj:epsg", "proj:shape", "proj:transform")
    )
    crs = _text(code) or ("" if epsg is None else f"EPSG:{int(epsg)}")
    rows, columns = (int(side) for side in shape) if shape else (0, 0)
    return PlaceSaid(
        crs,
        (rows, columns) if shape else None,
        Affine(*(float(number) for number in list(transform)[:6])) if transform else None,
    )


def _bands(asset: Mapping[str, Any]) -> tuple[tuple[BandSaid, ...], BandSaid | None]:
    """Return what is said of each band, and what is said of all if none is alone.

    STAC 1.1 has `bands`, with fields of all bands in the asset; 1.0 has `raster:bands`, and names in `eo:bands`.
    """
    lists = [_list(asset.get(key)) for key in ("bands", "raster:bands", "eo:bands")]
    count = max(map(len, lists))
    each: list[Mapping[str, Any]] = [_of_all(asset)] * count
    for own in reversed(lists):
        each = [{**band, **more} for band, more in zip_longest(each, own, fillvalue=NOTHING)]
    said = BandSaid() if count else _said(_of_all(asset))
    return tuple(map(_said, each)), None if said == BandSaid() else said


def _of_all(asset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an asset that its bands share; its own name and description are not theirs."""
    shared = ("nodata", "unit", "raster:scale", "raster:offset")
    return {key: asset[key] for key in shared if asset.get(key) is not None}


def _said(band: Mapping[str, Any]) -> BandSaid:
    numbers = {
        field: next((band[key] for key in keys if band.get(key) is not None), None) for field, keys in FIELDS.items()
    }
    if numbers["scale"] == 0:
        raise ValueError("a band has the scale 0")
    return BandSaid(
        _text(band.get("name")),
        _text(band.get("description")),
        units=_text(band.get("unit")),
        **{field: _number(value) for field, value in numbers.items()},
    )


def _number(value: Any) -> float | None:
    """Return a number, None for nan and inf: pixels with these do not count in any case."""
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    entries: Iterable[Any] = value if isinstance(value, list) else ()
    return [_mapping(one) for one in entries]
