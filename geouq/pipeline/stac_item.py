"""A STAC item of the folder of a run: where and when it was, and what files it has, for catalogs."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rasterio.crs import CRS
from rasterio.warp import transform_bounds

from geouq.core.atomic import write_text
from geouq.core.grid import Grid
from geouq.pipeline.results import Results

NAME = "item.json"
MOST = 1000  # assets that are maps
DEGREES = CRS.from_epsg(4326)
WORLD = (-180.0, -90.0, 180.0, 90.0)
SCHEMAS = "https://stac-extensions.github.io"
PROJECTION = f"{SCHEMAS}/projection/v2.0.0/schema.json"
PROCESSING = f"{SCHEMAS}/processing/v1.2.0/schema.json"
COG = "image/tiff; application=geotiff; profile=cloud-optimized"
TYPES = {
    ".csv": "text/csv",
    ".geojson": "application/geo+json",
    ".gpkg": "application/geopackage+sqlite3",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".qlr": "application/xml",
    ".tif": COG,
    ".vrt": "application/x-gdal-vrt",
    ".yaml": "application/yaml",
}
FILES: Mapping[str, tuple[str, str]] = {  # title and role
    "report/index.html": ("Report", "overview"),
    "results.json": ("Gates, verdicts and main numbers", "metadata"),
    "tables/metrics.csv": ("Metrics of the whole, of regions and of tiles", "data"),
    "tables/metrics.parquet": ("Metrics of the whole, of regions and of tiles", "data"),
    "config.yaml": ("Configuration", "metadata"),
    "run.json": ("Versions, inputs and checksums", "metadata"),
}
Box = tuple[float, float, float, float]


def write_item(results: Results, grids: Iterable[Grid], maps: Sequence[Path], date: str) -> Path:
    """Write `item.json`; return its path.

    Parameters
    ----------
    grids : iterable of Grid
        The grid of each tile.
    maps : sequence of Path
        Files of maps.
    date : str
        Day of the run, such as 2026-05-01.
    """
    path = results.folder / NAME
    content = stac_item(results, list(grids), maps, date)
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return path


def stac_item(results: Results, grids: Sequence[Grid], maps: Sequence[Path], date: str) -> dict[str, Any]:
    """Return the item as STAC 1.1 has it; its geometry is null if no tile has a CRS."""
    record, box = results.record, _union(filter(None, map(_box_in_degrees, grids)))
    systems = list(dict.fromkeys(grid.crs for grid in grids))
    item: dict[str, Any] = {
        "type": "Feature",
        "stac_version": "1.1.0",
        "stac_extensions": [PROJECTION, PROCESSING],
        "id": record.name,
        "geometry": None if box is None else _polygon(box),
    }
    if box is not None:
        item["bbox"] = list(box)
    item["properties"] = {
        "datetime": f"{date}T00:00:00Z",
        "title": f"Calibration of {record.name}",
        **(_system(systems[0]) if len(systems) == 1 else {}),
        "processing:software": {"geouq": record.versions["geouq"]},
        "geouq:success": results.success,
        "geouq:variables": [variable.name for variable in record.variables],
        "geouq:tiles": len(record.tiles),
    }
    return item | {"links": [], "assets": _assets(results, maps)}


def _assets(results: Results, maps: Sequence[Path]) -> dict[str, Any]:
    """Return the files of the run by their names without folder and suffix."""
    there = [name for name in FILES if (results.folder / name).exists() or name == "results.json"]
    assets = {name: _asset(name, *FILES[name]) for name in there}
    shown = [path.relative_to(results.folder).as_posix() for path in maps if path.suffix in TYPES]
    return assets | {name: _asset(name, Path(name).stem, "data") for name in shown[:MOST]}


def _asset(name: str, title: str, role: str) -> dict[str, Any]:
    return {"href": f"./{name}", "title": title, "type": TYPES[Path(name).suffix], "roles": [role]}


def _box_in_degrees(grid: Grid) -> Box | None:
    """Return west, south, east and north of a grid; None without a CRS."""
    if not grid.crs or grid.control:
        return None
    rows, columns = grid.shape
    x, y = zip(*(grid.transform @ corner for corner in ((0, 0), (columns, 0), (0, rows), (columns, rows))), strict=True)
    west, south, east, north = transform_bounds(CRS.from_wkt(grid.crs), DEGREES, min(x), min(y), max(x), max(y))
    if not all(map(math.isfinite, (west, south, east, north))):
        return None
    if west > east:  # across 180 degrees
        west, east = -180.0, 180.0
    return west, south, east, north


def _union(boxes: Iterable[Box]) -> Box | None:
    sides = list(zip(*boxes, strict=True))
    if not sides:
        return None
    west, south, east, north = (round(end(side), 8) for end, side in zip((min, min, max, max), sides, strict=True))
    return max(west, WORLD[0]), max(south, WORLD[1]), min(east, WORLD[2]), min(north, WORLD[3])


def _polygon(box: Box) -> dict[str, Any]:
    west, south, east, north = box
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def _system(wkt: str) -> dict[str, str]:
    """Return the CRS of all tiles as the projection extension has it."""
    if not wkt:
        return {}
    crs = CRS.from_wkt(wkt)
    authority = crs.to_authority()
    return {"proj:code": ":".join(authority)} if authority else {"proj:wkt2": crs.to_wkt(version="WKT2_2019")}
