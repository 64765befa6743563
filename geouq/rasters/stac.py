"""STAC items as tiles: from an ItemCollection in JSON, or from stac-geoparquet. Nothing is requested."""

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from affine import Affine

from geouq.core.errors import DataError
from geouq.core.redaction import remember_secrets
from geouq.rasters.files import Stamp, relative_to
from geouq.rasters.source_file import is_parquet, rows_of_parquet, stamp_of_source
from geouq.rasters.tile_files import BandSaid, PlaceSaid, TileFile, TileTable

NOTHING: Mapping[str, Any] = {}
COLUMNS = ("id", "assets", "links", "proj:code", "proj:epsg", "proj:shape", "proj:transform")  # of stac-geoparquet
FIELDS = {"scale": ("raster:scale", "scale"), "offset": ("raster:offset", "offset"), "nodata": ("nodata",)}


def stac_table(path: str, assets: Collection[str]) -> TileTable:
    """Return the items of a file as tiles, with these assets of each.

    Raises
    ------
    DataError
        If the file holds no items, or two of one id, or an item is not as STAC has it.
    """
    stamp = stamp_of_source(path)
    items = [*map(_without_nulls, rows_of_parquet(path, COLUMNS))] if is_parquet(path) else _items_in(path)
    files: dict[str, Mapping[str, TileFile]] = {}
    known = dict[str, None]()
    for place, item in enumerate(items):
        name = _text(item.get("id"))
        if not name:
            raise DataError(f"{path}: item {place + 1} has no id")
        if name in files:
            raise DataError(f"{path}: two items have the id {name!r}; keep one of them")
        own = _mapping(item.get("assets"))
        known |= dict.fromkeys(own)
        files[name] = _files(path, stamp, item, {key: own[key] for key in assets if key in own})
    return TileTable(stamp, "asset", files, tuple(known))


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
