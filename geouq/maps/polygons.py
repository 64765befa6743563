"""Cells as polygons with all metrics as attributes: a GeoPackage, or GeoJSON where pyogrio is not installed."""

import errno
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.util import find_spec
from io import TextIOBase
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.warp import transform

from geouq.config import CELLS
from geouq.core.atomic import atomic_write
from geouq.maps.cell_metrics import PIXELS, Measured
from geouq.maps.geotiff import source_date_epoch
from geouq.summary import TilePlace

Floats = NDArray[np.float64]

TOGETHER = 1000  # cells; of small tiles those of many are written at once
MANY = 5000  # cells
CORNERS = (
    (0, 0),
    (1, 0),
    (1, 1),
    (0, 1),
    (0, 0),
)  # rows and columns, from the upper left down: anticlockwise where north is up
POLYGON = np.dtype(
    [("order", "u1"), ("kind", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("ring", "<f8", (len(CORNERS), 2))]
)
DECIMALS = 8  # of degrees: a millimetre
PAGES = 1 << 12, 1 << 14  # bytes of a page of a GeoPackage; of the large ones of many cells less stays empty
STYLES = "layer_styles"  # the table in which QGIS looks for styles
GEOPACKAGE = "1.2"  # version, which GDAL reads without a warning from 2.3 to the newest
GEOJSON = ".geojson"
COLUMNS_OF_STYLES = {  # that are the same for all; QGIS reads and writes them by name
    "f_table_catalog": "",
    "f_table_schema": "",
    "f_geometry_column": "geom",
    "styleSLD": "",
    "owner": "",
    "ui": "",
}
ARCHIVE = "!"  # pyogrio takes what stands before it for an archive, and writes elsewhere


@dataclass(frozen=True)
class CellPolygons:
    """Cells of a tile that hold pixels: rings (cells, 5, 2) in the CRS of the tile, and a column for each attribute."""

    rings: Floats
    columns: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class PolygonStyle:
    """A QGIS style: its text, and a description for the list of styles in QGIS."""

    text: str
    about: str


class Polygons(Protocol):
    """A file of cells under way."""

    path: Path

    def add(self, tile: Measured) -> None:
        """Add the cells of a tile."""


def cell_polygons(tile: Measured) -> CellPolygons:
    """Return the cells of a tile that hold pixels, cut at its border."""
    has_pixels = np.isfinite(tile.values).any(axis=0)
    row, column = np.nonzero(has_pixels)
    ends = np.array(tile.place.grid.shape)
    corners = np.minimum((np.stack([row, column], -1)[:, None] + np.array(CORNERS)) * tile.place.cell_size, ends)
    x, y = tile.place.grid.transform @ (corners[..., 1].astype(float), corners[..., 0].astype(float))
    columns = {
        "tile": np.full(len(row), tile.place.tile, object),
        "row": row.astype(np.int32),
        "col": column.astype(np.int32),
    }
    for label, values in zip(tile.bands, tile.values, strict=True):
        own = values[has_pixels]
        columns[label.name] = own.astype(np.int32) if label.name == PIXELS else own
    return CellPolygons(np.stack([x, y], -1), columns)


@contextmanager
def polygon_writer(stem: Path, places: Sequence[TilePlace], styles: Mapping[str, PolygonStyle]) -> Iterator[Polygons]:
    """Yield a writer of `<stem>.gpkg`, or `<stem>.geojson` without pyogrio. The file is complete, or absent.

    Parameters
    ----------
    places : sequence of TilePlace
        Where the tiles are that will be added.
    styles : mapping
        QGIS styles by name, which a GeoPackage holds. The layers open in the first one.
    """
    has_library = find_spec("pyogrio") is not None and ARCHIVE not in str(stem)
    path = stem.with_name(f"{stem.name}{'.gpkg' if has_library else GEOJSON}")
    with atomic_write(path) as part:
        if has_library:
            cells = sum(place.cell_grid.pixels for place in places)
            layers = layers_of(stem.name, [place.grid.crs for place in places])
            package = _Package(path, part, layers, PAGES[cells >= MANY])
            yield package
            package.flush()
            package.save_styles(styles)
        else:
            with part.open("w", encoding="utf-8") as file:
                file.write('{"type": "FeatureCollection", "features": [')
                yield _GeoJson(path, file)
                file.write("\n]}\n")


def style_beside(polygons: Path, folder: Path) -> Path:
    """Return the path of the style of GeoJSON. It is elsewhere, as QGIS expects the style of the raster next to it."""
    return folder / "styles" / CELLS / f"{polygons.stem}.qml"


def layers_of(name: str, crs: Sequence[str]) -> dict[str, str]:
    """Return the name of the layer of each CRS; the first has the name itself."""
    return {wkt: name if number == 0 else f"{name}_{number + 1}" for number, wkt in enumerate(dict.fromkeys(crs))}


@dataclass
class _Package:
    """A GeoPackage; the cells of many tiles are written to it at once."""

    path: Path
    part: Path
    layers: dict[str, str]
    page: int
    waiting: dict[str, list[CellPolygons]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)

    def add(self, tile: Measured) -> None:
        """Keep the polygons of the cells of a tile until there are enough to write."""
        self.waiting.setdefault(tile.place.grid.crs, []).append(cell_polygons(tile))
        if self._count() >= TOGETHER:
            self.flush()

    def _count(self) -> int:
        """Return how many cells are waiting."""
        return sum(len(cells.rings) for own in self.waiting.values() for cells in own)

    def flush(self) -> None:
        """Write what is waiting."""
        for crs, parts in self.waiting.items():
            self._write(crs, parts)
        self.waiting.clear()

    def _write(self, crs: str, parts: Sequence[CellPolygons]) -> None:
        rings = np.concatenate([part.rings for part in parts])
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="'crs' was not provided")  # as the rasters have none
            self._write_layer(
                self.layers[crs],
                columns,
                as_wkb(rings),
                geometry_type="Polygon",
                crs=crs or None,
                append=crs in self.begun,
            )
        self.begun.add(crs)

    def save_styles(self, styles: Mapping[str, PolygonStyle]) -> None:
        """Save styles for all layers, in the columns that QGIS writes; layers open in the first one."""
        layers = [name for crs, name in self.layers.items() if crs in self.begun]
        rows = [(layer, name, style.text, style.about) for layer in layers for name, style in styles.items()]
        if not rows:
            return
        names = ("f_table_name", "styleName", "styleQML", "description")
        columns = {name: np.full(len(rows), text, object) for name, text in COLUMNS_OF_STYLES.items()}
        columns |= {name: np.array(column, object) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        columns["useAsDefault"] = np.arange(len(rows)) % len(styles) == 0
        columns["update_time"] = np.full(len(rows), _time_of_change(), object)
        self._write_layer(STYLES, columns, None, FID="id")

    def _write_layer(
        self, layer: str, columns: Mapping[str, NDArray[Any]], geometry: NDArray[np.object_] | None, **options: Any
    ) -> None:
        import pyogrio.raw  # noqa: PLC0415  an optional extra

        with _options_of_gdal(self.page):
            try:
                pyogrio.raw.write(
                    self.part,
                    geometry,
                    list(columns.values()),
                    list(columns),
                    layer=layer,
                    driver="GPKG",
                    dataset_options={"VERSION": GEOPACKAGE},
                    **options,
                )
            except RuntimeError as error:  # as those of pyogrio are
                raise OSError(errno.EIO, f"the GeoPackage cannot be written ({error})", str(self.path)) from error


@contextmanager
def _options_of_gdal(page: int) -> Iterator[None]:
    """Let pyogrio write a GeoPackage with the time of `_time_of_change`, in pages of so many bytes."""
    import pyogrio  # noqa: PLC0415  an optional extra

    options = {"OGR_CURRENT_DATE": _time_of_change(), "OGR_SQLITE_PRAGMA": f"page_size={page}"}
    pyogrio.set_gdal_config_options(options)
    try:
        yield
    finally:
        pyogrio.set_gdal_config_options(dict.fromkeys(options))


def _time_of_change() -> str:
    """Return the time of the last change that a GeoPackage holds: SOURCE_DATE_EPOCH, or the first second of 1970."""
    time = source_date_epoch() or datetime.fromtimestamp(0, UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass
class _GeoJson:
    """GeoJSON in degrees of WGS 84 (RFC 7946), or in the coordinates of the rasters where these have no CRS."""

    path: Path
    file: TextIOBase
    is_first: bool = True

    def add(self, tile: Measured) -> None:
        """Write the polygons of the cells of a tile."""
        cells = cell_polygons(tile)
        rings = in_degrees(cells.rings, tile.place.grid.crs)
        for i, ring in enumerate(rings.tolist()):
            properties = {name: _plain(values[i]) for name, values in cells.columns.items()}
            geometry = {"type": "Polygon", "coordinates": [ring]}
            feature = {"type": "Feature", "properties": properties, "geometry": geometry}
            self.file.write("\n" if self.is_first else ",\n")
            self.file.write(json.dumps(feature, ensure_ascii=False, allow_nan=False))
            self.is_first = False


def as_wkb(rings: Floats) -> NDArray[np.object_]:
    """Return polygons with a ring each, (cells, 5, 2), as well-known binary, one bytes object each."""
    records = np.zeros(len(rings), POLYGON)
    records["order"], records["kind"], records["rings"], records["points"] = 1, 3, 1, len(CORNERS)
    records["ring"] = rings
    found = np.empty(len(rings), object)
    found[:] = [record.tobytes() for record in records]
    return found


def in_degrees(rings: Floats, crs: str) -> Floats:
    """Return the rings (cells, 5, 2) of a CRS in longitude and latitude; as they are where there is no CRS."""
    if not crs:
        return rings
    x, y = transform(CRS.from_wkt(crs), CRS.from_epsg(4326), rings[..., 0].ravel(), rings[..., 1].ravel())
    return np.round(np.stack([x, y], -1), DECIMALS).reshape(rings.shape)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; None where it is not a number."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
