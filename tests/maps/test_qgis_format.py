"""Styles and layers hold what QGIS reads, as far as that can be told without it."""

import re
import sqlite3
from contextlib import closing
from itertools import pairwise
from xml.etree import ElementTree as ET

import landscape
import numpy as np
import pytest
import rasterio
from form_files import CLASSES, ENSEMBLES, PARTS, QUANTILES, TRUTH, experiment_of, options, write_forms

import geouq
from geouq.pipeline.data import Options
from geouq.pipeline.run import run

GAUSSIAN = (
    "variables: [height, cover]\nintervals: {resamples: 100}\noutput: {maps: [cells, z, status], figures: none}\n"
)
DATA = {
    "ensemble": (ENSEMBLES["files"] | TRUTH, "epistemic_share"),
    "quantiles": (QUANTILES | TRUTH, "status"),
    "classes": (CLASSES, "brier, correct"),
    "parts of a variance": (PARTS, "std"),
}


@pytest.fixture(scope="module", params=["gaussian", *DATA])
def folder(request, tmp_path_factory):
    """The folder of a run of each form."""
    place = tmp_path_factory.mktemp("qgis_format")
    if request.param == "gaussian":
        geouq.run(landscape.write_tiles(place, text=GAUSSIAN), Options(out=place / "out"))
        return place / "out"
    data, maps = DATA[request.param]
    text = "variables: [forest]\n" if data is CLASSES else ""
    text += f"intervals: {{resamples: 100}}\noutput: {{maps: [cells, {maps}], figures: none}}\n"
    run(experiment_of(write_forms(place, landscape.write_raster), data, text), options(place / "out"))
    return place / "out"


def styles_in(package):
    with closing(sqlite3.connect(package)) as database:
        rows = database.execute("SELECT f_table_name, styleName, styleQML FROM layer_styles").fetchall()
        return {name: (ET.fromstring(text), columns_of(database, table)) for table, name, text in rows}  # noqa: S314


def columns_of(database, table):
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def is_colour(text):
    return re.fullmatch(r"#[0-9a-f]{6}", text) is not None


def require_polygons(renderer, attributes):
    """Contiguous classes, each with a label and a symbol, which fills in one colour."""
    ranges, symbols = renderer.findall("ranges/range"), renderer.findall("symbols/symbol")
    assert renderer.get("type") == "graduatedSymbol"
    assert renderer.get("attr") in attributes
    assert [one.get("symbol") for one in ranges] == [one.get("name") for one in symbols]
    assert [one.get("render") for one in ranges] == ["true"] * len(ranges)
    edges = [float(ranges[0].get("lower")), *(float(one.get("upper")) for one in ranges)]
    assert [float(one.get("lower")) for one in ranges] == edges[:-1]
    assert all(low < high for low, high in pairwise(edges))
    assert len({one.get("label") for one in ranges}) == len(ranges)
    for symbol in symbols:
        fill = {one.get("name"): one.get("value") for one in symbol.findall("layer/Option/Option")}
        assert (symbol.get("type"), symbol.find("layer").get("class")) == ("fill", "SimpleFill")
        assert fill["color"] == fill["outline_color"]
        assert fill["color"].endswith(",255")
        assert all(0 <= int(part) <= 255 for part in fill["color"].split(","))


def require_raster(renderer, bands):
    """Increasing values with a colour and a label each, on a band that exists."""
    assert 1 <= int(renderer.get("band")) <= bands
    entries = renderer.findall("rastershader/colorrampshader/item") or renderer.findall("colorPalette/paletteEntry")
    values = [float(one.get("value")) for one in entries]
    assert len(values) >= 2
    assert all(low < high for low, high in pairwise(values))
    assert len({one.get("label") for one in entries}) == len(entries)
    assert all(is_colour(one.get("color")) and one.get("alpha") == "255" for one in entries)
    if renderer.get("type") == "singlebandpseudocolor":
        shader = renderer.find("rastershader/colorrampshader")
        for ends in ((renderer, "classificationMin", "classificationMax"), (shader, "minimumValue", "maximumValue")):
            assert [float(ends[0].get(end)) for end in ends[1:]] == [values[0], values[-1]]
        options = {one.get("name"): one.get("value") for one in shader.findall("colorramp/Option/Option")}
        stops = [float(stop.partition(";")[0]) for stop in options["stops"].split(":")]
        np.testing.assert_allclose(stops, (np.array(values[1:-1]) - values[0]) / (values[-1] - values[0]), atol=1e-5)
    else:
        assert renderer.get("type") == "paletted"
        assert values == list(range(len(values)))


def test_each_style_of_polygons_has_classes_of_an_attribute_with_a_symbol_each(folder):
    packages = sorted((folder / "maps").glob("*.gpkg"))
    assert packages
    for package in packages:
        styles = styles_in(package)
        assert len(styles) > 5
        for name, (root, columns) in styles.items():
            require_polygons(root.find("renderer-v2"), columns & {name})


def test_each_style_of_a_raster_has_colours_of_one_of_its_bands(folder):
    paths = sorted((folder / "maps").rglob("*.qml"))
    assert paths
    for path in paths:
        of = path.parent.parent.parent if path.parent.parent.name == "styles" else path.parent
        stem = path.parent.name if path.parent.parent.name == "styles" else path.stem
        raster = next(own for kind in ("vrt", "tif") for own in of.glob(f"{stem}.{kind}"))
        with rasterio.open(raster) as file:
            require_raster(ET.parse(path).find("pipe/rasterrenderer"), file.count)  # noqa: S314  written here


def test_each_layer_of_the_layer_definition_has_a_style_that_fits_what_it_shows(folder):
    text = (folder / "maps/maps.qlr").read_text(encoding="utf-8")
    root = ET.fromstring(text.partition("\n")[2])  # noqa: S314  written here
    layers = {layer.findtext("id"): layer for layer in root.iter("maplayer")}
    assert {entry.get("id") for entry in root.iter("layer-tree-layer")} == set(layers)
    for layer in layers.values():
        path, _, table = layer.findtext("datasource").partition("|layername=")
        source = folder / "maps" / path
        if layer.get("type") == "vector":
            assert layer.findtext("provider") == "ogr"
            with closing(sqlite3.connect(source)) as database:
                require_polygons(layer.find("renderer-v2"), columns_of(database, table))
        else:
            assert layer.findtext("provider") == "gdal"
            with rasterio.open(source) as file:
                require_raster(layer.find("pipe/rasterrenderer"), file.count)
