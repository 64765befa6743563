"""A layer definition of QGIS: one file that opens all maps of a run, in groups and in their colours."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

import rasterio
from rasterio.crs import CRS

from geouq.config import CELLS, Variable
from geouq.core.atomic import write_text
from geouq.maps.virtual import sources_of

NAME = "maps.qlr"
MOST = 200  # layers of a group: of more files, as of tiles without a mosaic, QGIS is slow to open
CHECKED = {True: "Qt::Checked", False: "Qt::Unchecked"}
RASTER_STYLE, POLYGON_STYLE = ("pipe", "blendMode"), ("renderer-v2",)
GROUPS = {CELLS: "cells (rasters)"}
POLYGONS = "cells (polygons)"


@dataclass(frozen=True)
class Layer:
    """A layer of QGIS.

    Parameters
    ----------
    group, name : str
        The group, and the name in it.
    source, provider, kind : str
        Data source relative to the file, data provider, and type of the layer.
    crs : CRS or None
        The CRS, if it is known.
    style : sequence of Element
        The parts of a style.
    """

    group: str
    name: str
    source: str
    provider: str
    kind: str
    crs: CRS | None
    style: Sequence[ET.Element]

    @property
    def key(self) -> str:
        """Return the identifier, which is unique in a project."""
        return f"geouq_{sha256(f'{self.group}/{self.name}/{self.source}'.encode()).hexdigest()[:16]}"


def write_layer_definition(maps: Sequence[Path], variables: Sequence[Variable], title: str, folder: Path) -> list[Path]:
    """Write `maps.qlr` for the maps of a run; return its path. Without maps, the file of an earlier run is removed.

    Parameters
    ----------
    maps : sequence of Path
        All files of maps. Rasters that a virtual raster shows, and styles, are no layers of their own.
    variables : sequence of Variable
        Variables in the order of the bands of maps of pixels.
    title : str
        Name of the group that holds all others.
    """
    layers = list(_layers(maps, variables, folder))
    path = folder / NAME
    if not layers:
        path.unlink(missing_ok=True)
        return []
    write_text(path, layer_definition(layers, title))
    return [path]


def layer_definition(layers: Sequence[Layer], title: str) -> str:
    """Return the text of a layer definition; the first layer of each group is drawn, in the first group only."""
    root = ET.Element("qlr")
    tree = _group(ET.SubElement(root, "layer-tree-group", {"name": ""}), title, shown=True)
    listed = ET.SubElement(root, "maplayers")
    for position, name in enumerate(dict.fromkeys(layer.group for layer in layers)):
        own = [layer for layer in layers if layer.group == name]
        label = name if len(own) <= MOST else f"{name}: {MOST} of {len(own)}"
        group = _group(tree, label, shown=position == 0)
        for place, layer in enumerate(own[:MOST]):
            _entry(group, layer, shown=place == 0)
            _map_layer(listed, layer)
    ET.indent(root)
    return f"<!DOCTYPE qgis-layer-definition>\n{ET.tostring(root, encoding='unicode')}\n"


def _layers(maps: Sequence[Path], variables: Sequence[Variable], folder: Path) -> Iterator[Layer]:
    """Yield polygons of cells, then rasters of cells, then maps of pixels."""
    virtual = [path for path in maps if path.suffix == ".vrt"]
    inside = {(path.parent / source).resolve() for path in virtual for source in sources_of(path)}
    rasters = [path for path in maps if path.suffix == ".tif" and path.resolve() not in inside]
    for path in maps:
        if path.suffix == ".gpkg":
            yield from _of_package(path, folder)
        elif path.suffix == ".geojson":
            yield Layer(POLYGONS, path.stem, _relative(path, folder), "ogr", "vector", None, ())
    found = [layer for path in (*virtual, *rasters) for layer in _of_raster(path, variables, folder)]
    yield from sorted(found, key=lambda layer: layer.group != GROUPS[CELLS])


def _of_package(path: Path, folder: Path) -> Iterator[Layer]:
    """Yield the layers of polygons of a GeoPackage, each in its first style."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as package:
        tables = package.execute(
            "SELECT table_name, definition FROM gpkg_contents JOIN gpkg_spatial_ref_sys USING (srs_id) "
            "WHERE data_type = 'features' ORDER BY table_name"
        ).fetchall()
        styles = dict(
            package.execute("SELECT f_table_name, styleQML FROM layer_styles WHERE useAsDefault ORDER BY id DESC")
        )
    for table, wkt in tables:
        crs = None if wkt == "undefined" else CRS.from_wkt(wkt)
        style = _parts(styles.get(table, ""), POLYGON_STYLE)
        yield Layer(POLYGONS, table, f"{_relative(path, folder)}|layername={table}", "ogr", "vector", crs, style)


def _of_raster(path: Path, variables: Sequence[Variable], folder: Path) -> Iterator[Layer]:
    """Yield a layer for a raster of cells, in the band of its style, or one for each band of a map of pixels."""
    with rasterio.open(path) as file:
        crs, map_name, bands = file.crs, file.tags().get("GEOUQ_MAP", path.stem), file.count
    own = path.with_suffix(".qml")
    style = own.read_text(encoding="utf-8") if own.exists() else ""
    source = _relative(path, folder)
    if map_name == CELLS:
        yield Layer(GROUPS[CELLS], path.stem, source, "gdal", "raster", crs, _parts(style, RASTER_STYLE))
        return
    for band, variable in zip(range(1, bands + 1), variables, strict=False):
        special = path.parent / "styles" / map_name / f"{variable.file_name}.qml"
        text = special.read_text(encoding="utf-8") if special.exists() else style
        parts = _parts(text, RASTER_STYLE, band)
        yield Layer(map_name, f"{path.stem} {variable.name}", source, "gdal", "raster", crs, parts)


def _parts(style: str, names: Sequence[str], band: int | None = None) -> list[ET.Element]:
    """Return the parts of a style of QGIS, with the renderer on this band."""
    if not style:
        return []
    root = ET.fromstring(re.sub(r"^<!DOCTYPE[^>]*>", "", style))  # noqa: S314  the run wrote it
    for renderer in root.iter("rasterrenderer") if band else ():
        renderer.set("band", str(band))
    return [part for name in names for part in root.findall(name)]


def _relative(path: Path, folder: Path) -> str:
    return f"./{path.relative_to(folder).as_posix()}"


def _group(parent: ET.Element, name: str, *, shown: bool) -> ET.Element:
    group = ET.SubElement(parent, "layer-tree-group", {"name": name, "expanded": "1", "checked": CHECKED[shown]})
    ET.SubElement(group, "customproperties")
    return group


def _entry(group: ET.Element, layer: Layer, *, shown: bool) -> None:
    """Add a layer to the tree."""
    about = {"id": layer.key, "name": layer.name, "source": layer.source, "providerKey": layer.provider}
    entry = ET.SubElement(group, "layer-tree-layer", about | {"expanded": "0", "checked": CHECKED[shown]})
    ET.SubElement(entry, "customproperties")


def _map_layer(listed: ET.Element, layer: Layer) -> None:
    """Add a layer with its source, CRS and style."""
    shape = {"geometry": "Polygon"} if layer.kind == "vector" else {}
    element = ET.SubElement(listed, "maplayer", {"type": layer.kind} | shape)
    texts: Mapping[str, str] = {"id": layer.key, "datasource": layer.source, "layername": layer.name}
    for name, text in texts.items():
        ET.SubElement(element, name).text = text
    if layer.crs is not None:
        system = ET.SubElement(ET.SubElement(element, "srs"), "spatialrefsys")
        ET.SubElement(system, "wkt").text = layer.crs.to_wkt()
        if authority := layer.crs.to_authority():
            ET.SubElement(system, "authid").text = ":".join(authority)
    ET.SubElement(element, "provider").text = layer.provider
    element.extend(layer.style)
