"""A layer definition of QGIS: one file that opens all maps of a run, in groups and in their colours."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree as ET

import rasterio
from rasterio.crs import CRS

from geouq.config import CELLS, Variable
from geouq.core.atomic import write_text
from geouq.maps.boxes import Box, lie_on_each_other, visible_together
from geouq.maps.polygons import GEOJSON, style_beside
from geouq.maps.virtual import sources_of
from geouq.metrics import heading_of

NAME = "maps.qlr"
MOST = 200  # layers of a group: of more files, as of tiles without a mosaic, QGIS is slow to open
CHECKED = {True: "Qt::Checked", False: "Qt::Unchecked"}
RASTER_STYLE, POLYGON_STYLE = ("pipe", "blendMode"), ("renderer-v2",)
GROUPS = {CELLS: "cells (rasters)"}
POLYGONS = "cells (polygons)"
QUOTE = "'"


@dataclass(frozen=True)
class Layer:
    """A layer of QGIS.

    Parameters
    ----------
    group, variable, name : str
        The group, the variable that is shown, and the name in the group.
    source, provider, kind : str
        Data source relative to the file, data provider, and type of the layer.
    crs : CRS or None
        The CRS, if it is known.
    style : sequence of Element
        The parts of a style.
    box : Box or None
        Where it lies, in its CRS, if that is known.
    """

    group: str
    variable: str
    name: str
    source: str
    provider: str
    kind: str
    crs: CRS | None
    style: Sequence[ET.Element]
    box: Box | None = None

    @property
    def wkt(self) -> str:
        """Return the CRS as text; empty if it is unknown."""
        return "" if self.crs is None else self.crs.to_wkt()

    @property
    def key(self) -> str:
        """Return the identifier, which is unique in a project."""
        return f"geouq_{sha256(f'{self.group}/{self.name}/{self.source}'.encode()).hexdigest()[:16]}"


def write_layer_definition(
    maps: Sequence[Path], variables: Sequence[Variable], title: str, folder: Path, first: str = ""
) -> list[Path]:
    """Write `maps.qlr` for the maps of a run; return its path. Without maps, the file of an earlier run is removed.

    Parameters
    ----------
    maps : sequence of Path
        All files of maps. Rasters that a virtual raster shows, and styles, are no layers of their own.
    variables : sequence of Variable
        Variables in the order of the bands of maps of pixels.
    title : str
        Name of the group that holds all others.
    first : str
        Name of the variable that is drawn when the file is opened.
    """
    layers = list(_layers(maps, variables, folder))
    path = folder / NAME
    if not layers:
        path.unlink(missing_ok=True)
        return []
    write_text(path, layer_definition(layers, title, first))
    return [path]


def layer_definition(layers: Sequence[Layer], title: str, first: str = "") -> str:
    """Return the text of a layer definition, which draws one variable of the first group.

    That is the variable `first`, or the first one of the group. It is ticked in the other groups too, so that a group
    shows the same variable when it is ticked. Of layers that lie on each other, only the first one is ticked.
    """
    root = ET.Element("qlr")
    tree = _group(ET.SubElement(root, "layer-tree-group", {"name": ""}), title, shown=True)
    listed = ET.SubElement(root, "maplayers")
    for position, name in enumerate(dict.fromkeys(layer.group for layer in layers)):
        own = [layer for layer in layers if layer.group == name]
        label = name if len(own) <= MOST else f"{name}: {MOST} of {len(own)}"
        group = _group(tree, label, shown=position == 0)
        ticked = _ticked(own[:MOST], first)
        for layer in own[:MOST]:
            _entry(group, layer, shown=layer.key in ticked, expanded=position == 0 and layer.key in ticked)
            _map_layer(listed, layer)
    ET.indent(root)
    return f"<!DOCTYPE qgis-layer-definition>\n{ET.tostring(root, encoding='unicode')}\n"


def _ticked(layers: Sequence[Layer], first: str) -> set[str]:
    """Return the keys of layers of a variable that do not hide each other; layers of other CRS lie elsewhere."""
    variable = first if first in {layer.variable for layer in layers} else layers[0].variable
    own = [layer for layer in layers if layer.variable == variable]
    systems = dict.fromkeys(layer.wkt for layer in own)
    return {
        key for wkt in systems for key in visible_together({layer.key: layer.box for layer in own if layer.wkt == wkt})
    }


def _layers(maps: Sequence[Path], variables: Sequence[Variable], folder: Path) -> Iterator[Layer]:
    """Yield polygons of cells, then rasters of cells, then maps of pixels."""
    of_cells = {f"cells_{variable.file_name}": variable.name for variable in variables}
    virtual = [path for path in maps if path.suffix == ".vrt"]
    inside = {(path.parent / source).resolve() for path in virtual for source in sources_of(path)}
    rasters = [path for path in maps if path.suffix == ".tif" and path.resolve() not in inside]
    for path in maps:
        if path.suffix == ".gpkg":
            yield from _of_package(path, of_cells[path.stem], folder)
        elif path.suffix == GEOJSON:
            yield _of_geojson(path, of_cells[path.stem], folder)
    found = [layer for path in (*virtual, *rasters) for layer in _of_raster(path, variables, folder)]
    yield from sorted(found, key=lambda layer: layer.group != GROUPS[CELLS])


def _of_package(path: Path, variable: str, folder: Path) -> Iterator[Layer]:
    """Yield the layers of polygons of a GeoPackage, each in its first style.

    Where tiles lie on each other, each tile is a layer.
    """
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as package:
        tables = package.execute(
            "SELECT table_name, definition FROM gpkg_contents JOIN gpkg_spatial_ref_sys USING (srs_id) "
            "WHERE data_type = 'features' ORDER BY table_name"
        ).fetchall()
        styles = dict(
            package.execute("SELECT f_table_name, styleQML FROM layer_styles WHERE useAsDefault ORDER BY id DESC")
        )
        of_tiles = {table: _boxes_of_tiles(package, table) for table, *_ in tables}
    for table, wkt in tables:
        crs = None if wkt == "undefined" else CRS.from_wkt(wkt)
        style = _parts(styles.get(table, ""), POLYGON_STYLE)
        name, source = _named(table, _attribute(style)), f"{_relative(path, folder)}|layername={table}"
        whole = Layer(POLYGONS, variable, name, source, "ogr", "vector", crs, style)
        tiles = of_tiles[table] if len(of_tiles[table]) <= MOST else {}
        if not lie_on_each_other(tiles.values()):
            yield whole
            continue
        for tile, place in tiles.items():
            chosen = f"{source}|subset=\"tile\" = '{tile.replace(QUOTE, 2 * QUOTE)}'"
            yield replace(whole, name=f"{tile} {name}", source=chosen, box=place)


def _boxes_of_tiles(package: sqlite3.Connection, table: str) -> dict[str, Box]:
    """Return where the cells of each tile lie, from the index of the table."""
    rows = package.execute(
        f'SELECT tile, min(minx), min(miny), max(maxx), max(maxy) FROM "{table}" '  # noqa: S608  written here
        f'JOIN "rtree_{table}_geom" AS place ON fid = place.id GROUP BY tile ORDER BY min(fid)'
    )
    return {tile: (west, south, east, north) for tile, west, south, east, north in rows}


def _of_geojson(path: Path, variable: str, folder: Path) -> Layer:
    """Return the layer of polygons of GeoJSON, in the style that stands in another file."""
    own = style_beside(path, folder)
    style = _parts(own.read_text(encoding="utf-8"), POLYGON_STYLE) if own.exists() else []
    name = _named(path.stem, _attribute(style))
    return Layer(POLYGONS, variable, name, _relative(path, folder), "ogr", "vector", None, style)


def _attribute(style: Sequence[ET.Element]) -> str:
    """Return the attribute that a style of polygons shows; empty without a style."""
    return style[0].get("attr", "") if style else ""


def _named(layer: str, metric: str) -> str:
    """Return the name of a layer with what it shows, which the legend of QGIS does not tell.

    >>> _named("cells_height", "coverage_90"), _named("cells_height", "")
    ('cells_height: coverage of 90 %', 'cells_height')
    """
    return f"{layer}: {heading_of(metric)}" if metric else layer


def _of_raster(path: Path, variables: Sequence[Variable], folder: Path) -> Iterator[Layer]:
    """Yield a layer for a raster of cells, in the band of its style, or one for each band of a map of pixels."""
    with rasterio.open(path) as file:
        crs, tags, names, box = file.crs, file.tags(), file.descriptions, _box_of(file)
    own = path.with_suffix(".qml")
    style = own.read_text(encoding="utf-8") if own.exists() else ""
    source, map_name = _relative(path, folder), tags.get("GEOUQ_MAP", path.stem)
    if map_name == CELLS:
        parts = _parts(style, RASTER_STYLE)
        shown = [names[int(one.get("band", "1")) - 1] for part in parts for one in part.iter("rasterrenderer")]
        name = _named(path.stem, "".join(shown))
        yield Layer(GROUPS[CELLS], tags.get("GEOUQ_VARIABLE", ""), name, source, "gdal", "raster", crs, parts, box)
        return
    for band, variable in zip(range(1, len(names) + 1), variables, strict=False):
        special = path.parent / "styles" / map_name / f"{variable.file_name}.qml"
        text = special.read_text(encoding="utf-8") if special.exists() else style
        parts = _parts(text, RASTER_STYLE, band)
        name = f"{path.stem} {variable.name}"
        yield Layer(map_name, variable.name, name, source, "gdal", "raster", crs, parts, box)


def _box_of(file: rasterio.DatasetReader) -> Box:
    """Return the box around a raster, however its rows run."""
    corners = [file.transform @ (column, row) for column in (0, file.width) for row in (0, file.height)]
    x, y = zip(*corners, strict=True)
    return min(x), min(y), max(x), max(y)


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


def _entry(group: ET.Element, layer: Layer, *, shown: bool, expanded: bool) -> None:
    """Add a layer to the tree; expanded : whether its legend is open."""
    about = {"id": layer.key, "name": layer.name, "source": layer.source, "providerKey": layer.provider}
    state = {"expanded": str(int(expanded)), "checked": CHECKED[shown]}
    entry = ET.SubElement(group, "layer-tree-layer", about | state)
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
