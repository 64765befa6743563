"""Polygons of a vector file, each with the name of its region."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.config import PolygonRegions, TilePolygons, suggestion
from geouq.core.errors import DataError
from geouq.core.naming import reads_as_missing
from geouq.rasters.files import require_regular

INSTALL = "needs pyogrio and shapely: pip install 'geouq[polygons]'"
FARTHEST = 720.0  # degrees, two turns; what lies beyond was written in metres
LARGEST_WHOLE = 2**53  # beyond, whole numbers that are stored as float64 run together
SHOWN = 5
BOM, ARCHIVE = b"\xef\xbb\xbf", b"PK"
SIGNATURES = {
    "GPKG": b"SQLite format 3\0",
    "GeoJSON": b"{",
    "ESRI Shapefile": b"\0\0\x27\x0a",
    "FlatGeobuf": b"fgb\x03",
}
LONGEST_SIGNATURE = 1024  # bytes, blanks before a brace with them


@dataclass(frozen=True)
class Polygons:
    """Polygons in their own CRS (WKT): `geometry` holds shapely polygons, `zone` which of `names` each belongs to.

    Polygons of one name are one zone. notes : what was left out or mended.
    """

    path: str
    crs: str
    names: tuple[str, ...]
    geometry: NDArray[Any]
    zone: NDArray[np.int64]
    notes: tuple[str, ...]


def read_polygons(regions: PolygonRegions | TilePolygons) -> Polygons:
    """Read the polygons that a configuration asks for; without an attribute, they are named by number, from 1.

    Features without a name or a geometry are left out, and rings that cross themselves mended by the even-odd rule;
    `notes` tell both. DataError where the file, its layer, the attribute or the filter is of no use; it begins with
    the key to mend, such as `where`.
    """
    pyogrio, shapely = _libraries()
    path = regions.polygons
    _require_signature("polygons", path, regions.drivers)
    layer = _layer(pyogrio, "polygons", path, regions.layer)
    fields, crs = _described(pyogrio, path, layer, regions.drivers)
    if regions.name is not None and regions.name not in fields:
        raise DataError(f"name: {path} has no attribute {regions.name!r}{suggestion(regions.name, fields)}")
    with _said_plainly(pyogrio, "polygons", path):
        try:
            # a FlatGeobuf file is filtered by attributes that are read only
            columns = None if regions.where else [regions.name] if regions.name else []
            meta, _, wkb, values = pyogrio.raw.read(
                path, layer=layer, columns=columns, where=regions.where, force_2d=True
            )
        except ValueError as error:
            known = ", ".join(fields)
            raise DataError(f"where: {regions.where!r} is no condition on {path} ({error}); it has {known}") from None
    if not len(wkb):
        chosen = f"of which {regions.where!r} holds" if regions.where else "at all"
        raise DataError(f"{'where' if regions.where else 'polygons'}: {path} has no feature {chosen}")
    if regions.name is None:
        return _named(shapely, path, crs, [str(number) for number in range(1, len(wkb) + 1)], wkb)
    names = values[list(meta["fields"]).index(regions.name)]
    return _named(shapely, path, crs, texts_of(path, regions.name, names), wkb)


def read_attributes(key: str, path: str, layer: str | None, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return attributes of all features of a vector file, without their geometries.

    key : name of the file in messages.

    Raises
    ------
    DataError
        If the file cannot be read, or has no such layer or attribute.
    """
    pyogrio, _ = _libraries(key)
    _require_signature(key, path, [*SIGNATURES])
    with _said_plainly(pyogrio, key, path):
        layer = _layer(pyogrio, key, path, layer)
        fields = [str(name) for name in pyogrio.read_info(path, layer=layer)["fields"]]
        for name in names:
            if name not in fields:
                raise DataError(f"{path} has no attribute {name!r}{suggestion(name, fields)}")
        meta, _, _, values = pyogrio.raw.read(path, layer=layer, columns=list(names), read_geometry=False)
    return dict(zip(map(str, meta["fields"]), values, strict=True))


def _libraries(key: str = "polygons") -> tuple[Any, Any]:
    try:
        import pyogrio  # noqa: PLC0415  an optional extra
        import pyogrio.raw  # noqa: PLC0415
        import shapely  # noqa: PLC0415
    except ImportError:
        raise DataError(f"{key}: {INSTALL}") from None
    return pyogrio, shapely


def _layer(pyogrio: Any, key: str, path: str, layer: str | None) -> str:
    with _said_plainly(pyogrio, key, path):
        layers = [str(name) for name, kind in pyogrio.list_layers(path) if kind is not None]
    if layer is None:
        if len(layers) != 1:
            what = (
                f"has the layers {', '.join(layers)}; name one with 'layer'" if layers else "has no layer of features"
            )
            raise DataError(f"{'layer' if layers else key}: {path} {what}")
        return layers[0]
    if layer not in layers:
        raise DataError(f"layer: {path} has no layer {layer!r}{suggestion(layer, layers)}")
    return layer


def _require_signature(key: str, path: str, drivers: Sequence[str]) -> None:
    """Raise DataError for a file that begins as none of these formats do, before GDAL opens what it may refer to.

    GDAL would wait for a pipe without end. GDAL identifies formats without a known beginning; folders, archives
    and what is not local too.
    """
    try:
        require_regular(path)
    except DataError as error:
        raise DataError(f"{key}: {error}") from None
    if not Path(path).is_file() or any(driver not in SIGNATURES for driver in drivers):
        return
    try:
        with Path(path).open("rb") as file:
            begin = file.read(LONGEST_SIGNATURE).removeprefix(BOM).lstrip(b" \t\r\n")
    except OSError as error:
        raise DataError(f"{key}: {path} cannot be read: {error.strerror}") from None
    if not begin.startswith((ARCHIVE, *(SIGNATURES[driver] for driver in drivers))):
        raise _of_no_format(key, path, drivers)


def _of_no_format(key: str, path: str, drivers: Sequence[str]) -> DataError:
    known = " or ".join(drivers)
    remedy = "; `drivers` there names the formats to read" if key == "polygons" else ""
    return DataError(f"{key}: {path} cannot be read: it is no {known} file{remedy}")


def _described(pyogrio: Any, path: str, layer: str, drivers: Sequence[str]) -> tuple[list[str], str]:
    """Return the attributes, and the CRS as WKT."""
    with _said_plainly(pyogrio, "polygons", path):
        described = pyogrio.read_info(path, layer=layer)
    if described["driver"] not in drivers:
        raise _of_no_format("polygons", path, drivers)
    if not described["crs"]:
        raise DataError(
            f"polygons: {path} has no CRS; give it the one that its coordinates are in, for example with "
            "ogr2ogr -a_srs EPSG:4326, or add the .prj of a Shapefile"
        )
    try:
        return [str(name) for name in described["fields"]], CRS.from_user_input(described["crs"]).to_wkt()
    except CRSError as error:
        raise DataError(f"polygons: {path}: its CRS cannot be used: {error}") from None


def texts_of(path: str, attribute: str, values: NDArray[Any]) -> list[str]:
    """Return the values of the attribute as names, "" if missing; a whole number has no fraction."""
    if values.dtype.kind == "f":
        if (np.abs(values) >= LARGEST_WHOLE).any():
            raise DataError(f"name: {path}: {attribute} holds numbers too large to be names; make the attribute text")
        return ["" if np.isnan(v) else str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values]
    missing = np.isnat(values) if values.dtype.kind == "M" else [value is None for value in values]
    return ["" if none else str(value).strip() for value, none in zip(values, missing, strict=True)]


def _named(shapely: Any, path: str, crs: str, texts: list[str], wkb: NDArray[Any]) -> Polygons:
    features = _geometries(shapely, path, wkb)
    named = np.array([text != "" for text in texts])
    parts, feature = shapely.get_parts(features, return_index=True)
    parts, inner = shapely.get_parts(parts, return_index=True)  # a collection holds multipolygons
    feature = feature[inner]
    polygons = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & ~shapely.is_empty(parts)
    notes = list(_left_out(path, named, np.bincount(feature[polygons], minlength=len(texts)) > 0))
    kept = polygons & named[feature]
    if not kept.any():
        raise DataError(f"polygons: {path} holds no polygon that has a name")
    parts, feature = parts[kept], feature[kept]
    _require_kept_in_tables(path, [(int(i), texts[i]) for i in np.unique(feature)])
    _require_degrees(shapely, path, crs, parts)
    names = tuple(dict.fromkeys(texts[i] for i in feature))
    number = {name: i for i, name in enumerate(names)}
    crossing = ~shapely.is_valid(parts)
    if crossing.any():
        first = int(np.flatnonzero(crossing)[0])
        why = shapely.is_valid_reason(parts[first])
        notes.append(
            f"{path}: {int(crossing.sum())} polygons are not valid, the first one of "
            f"{texts[feature[first]]!r} ({why}); they are filled by the even-odd rule"
        )
    return Polygons(path, crs, names, parts, np.array([number[texts[i]] for i in feature]), tuple(notes))


def _require_kept_in_tables(path: str, names: Iterable[tuple[int, str]]) -> None:
    """Raise DataError where a name is one that programs which read tables take for a missing value."""
    for feature, name in names:
        if reads_as_missing(name):
            raise DataError(
                f"name: {path}: feature {feature + 1} is called {name!r}, which pandas and other programs read as a "
                "missing value; name the regions by another attribute, or leave it out by `where`"
            )


def _require_degrees(shapely: Any, path: str, crs: str, parts: NDArray[Any]) -> None:
    """DataError where a CRS of longitudes and latitudes has coordinates that are none, as of GeoJSON without a CRS."""
    found = CRS.from_wkt(crs)
    largest = float(np.abs(shapely.total_bounds(parts)).max())
    if found.is_geographic and largest > FARTHEST:
        raise DataError(
            f"polygons: {path} has coordinates up to {largest:.0f}, which are no degrees, but its CRS is "
            f"{found.to_string()}, that of GeoJSON which names none; give it the one that they are in, for example "
            "with ogr2ogr -a_srs EPSG:32633"
        )


def _geometries(shapely: Any, path: str, wkb: NDArray[Any]) -> NDArray[Any]:
    try:
        return shapely.from_wkb(wkb)
    except shapely.errors.ShapelyError as error:
        raise DataError(
            f"polygons: {path}: a geometry cannot be read ({error}); "
            "make curves straight with ogr2ogr -nlt CONVERT_TO_LINEAR"
        ) from None


def _left_out(path: str, named: NDArray[np.bool_], has_polygon: NDArray[np.bool_]) -> Iterator[str]:
    for lack, where in (("name", ~named), ("polygon", named & ~has_polygon)):
        if where.any():
            rows = ", ".join(str(i + 1) for i in np.flatnonzero(where)[:SHOWN])
            more = ", ..." if where.sum() > SHOWN else ""
            yield f"{path}: {int(where.sum())} features without a {lack} are in no region (number {rows}{more})"


@contextmanager
def _said_plainly(pyogrio: Any, key: str, path: str) -> Iterator[None]:
    if "://" not in path and not path.startswith("/vsi") and not Path(path).exists():
        raise DataError(f"{key}: there is no file {path}")
    try:
        yield
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError) as error:
        reason = str(error).split("; ")[0]
        raise DataError(f"{key}: {path} cannot be read: {reason}") from None
