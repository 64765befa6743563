"""The layer definition of QGIS with all maps of a run."""

import re
import sqlite3
from contextlib import closing
from xml.etree import ElementTree as ET

import pytest
import rasterio

from geouq.maps import polygons
from geouq.maps.layer_definition import MOST, Layer, layer_definition

ALL = "output: {maps: [cells, z, status], figures: none}\n"
DOCTYPE = "<!DOCTYPE qgis-layer-definition>\n"


def read(text):
    assert text.startswith(DOCTYPE)
    return ET.fromstring(text.removeprefix(DOCTYPE))  # noqa: S314  the program wrote it


@pytest.fixture
def opened(tile_folder, geouq, tmp_path):
    """Run a configuration; the folder of its maps, and the layer definition as read."""

    def run(text=ALL, names=("a1", "a2", "b1")):
        assert geouq("run", tile_folder(names, text=text), "--quiet").exit_code == 0
        folder = tmp_path / "results/small/maps"
        return folder, read((folder / "maps.qlr").read_text(encoding="utf-8"))

    return run


def groups_of(root):
    """Names of the layers of each group."""
    (top,) = root.findall("layer-tree-group/layer-tree-group")
    assert top.get("name") == "small"
    return {
        group.get("name"): [layer.get("name") for layer in group.findall("layer-tree-layer")]
        for group in top.findall("layer-tree-group")
    }


def layers_of(root, kind="raster"):
    return {layer.findtext("layername"): layer for layer in root.iter("maplayer") if layer.get("type") == kind}


def drawn(root):
    """Names of the layers that are drawn when the file is opened: those that are ticked, in groups that are."""
    top, ticked = root.find("layer-tree-group/layer-tree-group"), "Qt::Checked"
    assert top.get("checked") == ticked
    groups = [group for group in top.findall("layer-tree-group") if group.get("checked") == ticked]
    return [
        layer.get("name")
        for group in groups
        for layer in group.findall("layer-tree-layer")
        if layer.get("checked") == ticked
    ]


def test_all_maps_stand_in_groups_and_files_of_a_mosaic_do_not(opened):
    _, root = opened()

    cells = [f"cells_{name}: coverage of 90 %" for name in ("height", "cover", "gini")]
    assert groups_of(root) == {
        "cells (polygons)": cells,
        "cells (rasters)": cells,
        "z": [f"z {name}" for name in ("height", "cover", "gini")],
        "status": [f"status {name}" for name in ("height", "cover", "gini")],
    }


def test_every_layer_has_a_file_its_crs_and_one_entry_in_the_tree(opened):
    folder, root = opened()
    listed = {layer.findtext("id"): layer.findtext("datasource") for layer in root.iter("maplayer")}

    assert {entry.get("id"): entry.get("source") for entry in root.iter("layer-tree-layer")} == listed
    assert len(listed) == 12
    for source in listed.values():
        assert source.startswith("./")
        assert (folder / source.partition("|")[0]).is_file()
    assert {layer.findtext("srs/spatialrefsys/authid") for layer in root.iter("maplayer")} == {"EPSG:32633"}


def test_each_variable_of_a_map_of_pixels_is_shown_in_its_band(opened):
    folder, root = opened()
    with rasterio.open(folder / "z.vrt") as file:
        bands = {name.removeprefix("z_"): band for band, name in enumerate(file.descriptions, 1)}

    for name, band in bands.items():
        (renderer,) = layers_of(root)[f"z {name}"].findall("pipe/rasterrenderer")
        assert renderer.get("band") == str(band)
        assert len(renderer.findall(".//item")) > 2
        assert layers_of(root)[f"status {name}"].find("pipe/rasterrenderer").get("type") == "paletted"


def test_polygons_have_the_first_style_of_their_package(opened):
    folder, root = opened()
    with closing(sqlite3.connect(folder / "cells_cover.gpkg")) as package:
        ((style,),) = package.execute("SELECT styleQML FROM layer_styles WHERE useAsDefault").fetchall()
    (expected,) = re.findall(r'attr="(\w+)"', style)

    own = layers_of(root, "vector")["cells_cover: coverage of 90 %"]
    assert own.find("renderer-v2").get("attr") == expected == "coverage_90"


def test_files_of_a_single_tile_are_layers(opened):
    folder, root = opened(names=("a1",))

    assert {layer.findtext("datasource") for layer in root.iter("maplayer")} >= {"./a1_z.tif", "./a1_status.tif"}
    assert not list(folder.glob("*.vrt"))


def test_without_maps_the_file_of_an_earlier_run_goes(opened, tile_folder, geouq):
    folder, _ = opened()
    assert geouq("run", tile_folder(text="output: {maps: none, figures: none}\n"), "--quiet").exit_code == 0

    assert not (folder / "maps.qlr").exists()
    assert not (folder / "cells.parquet").exists()


def test_without_pyogrio_polygons_are_opened_from_geojson(opened, monkeypatch):
    monkeypatch.setattr(polygons, "find_spec", lambda _: None)
    _, root = opened()

    sources = {layer.findtext("datasource") for layer in root.iter("maplayer")}
    assert {"./cells_height.geojson", "./cells_cover.geojson"} <= sources
    own = layers_of(root, "vector")["cells_cover: coverage of 90 %"]
    assert own.find("renderer-v2").get("attr") == "coverage_90"


def test_of_very_many_files_the_group_says_how_many_are_shown():
    layers = [Layer("z", "", f"z {i}", f"./{i}.tif", "gdal", "raster", None, ()) for i in range(MOST + 5)]
    root = read(layer_definition(layers, "run"))

    assert len(list(root.iter("maplayer"))) == MOST
    assert f"z: {MOST} of {MOST + 5}" in {group.get("name") for group in root.iter("layer-tree-group")}


def test_one_variable_of_the_first_group_is_drawn_and_ticked_in_all_groups():
    names = [f"{group} {variable}" for group in ("cells", "z") for variable in ("a", "b")]
    layers = [Layer(*name.split(), name, f"./{name}.tif", "gdal", "raster", None, ()) for name in names]
    ticked = [
        entry.get("name")
        for entry in read(layer_definition(layers, "run", "b")).iter("layer-tree-layer")
        if entry.get("checked") == "Qt::Checked"
    ]

    assert drawn(read(layer_definition(layers, "run", "b"))) == ["cells b"]
    assert ticked == ["cells b", "z b"]
    assert drawn(read(layer_definition(layers, "run"))) == ["cells a"]
    assert drawn(read(layer_definition(layers, "run", "unknown"))) == ["cells a"]


def test_all_parts_of_the_variable_are_drawn():
    """Such as the polygons of tiles in two CRS."""
    layers = [Layer("cells", of, f"{of}{k}", f"./{of}{k}", "ogr", "vector", None, ()) for of in "ab" for k in (1, 2)]

    assert drawn(read(layer_definition(layers, "run", "b"))) == ["b1", "b2"]


def test_the_legend_of_what_is_drawn_is_open(opened):
    _, root = opened()
    expanded = [entry.get("name") for entry in root.iter("layer-tree-layer") if entry.get("expanded") == "1"]

    assert expanded == drawn(root)
    assert len(expanded) == 1


def test_of_layers_on_each_other_only_the_first_is_drawn():
    boxes = {"jan": (0, 0, 10, 10), "feb": (0, 0, 10, 10), "east": (9, 0, 19, 10)}  # the last overlaps by a margin
    layers = [Layer("z", "a", name, name, "gdal", "raster", None, (), box) for name, box in boxes.items()]

    assert drawn(read(layer_definition(layers, "run"))) == ["jan", "east"]


def test_tiles_on_each_other_are_layers_of_their_own_in_the_package(tmp_path, geouq, tile_folder):
    config = tile_folder(("a", "b's"), text=ALL)
    for path in tmp_path.glob("*/b's*.tif"):
        with rasterio.open(path.with_name(path.name.replace("b's", "a"))) as other:
            transform = other.transform
        with rasterio.open(path, "r+") as file:
            file.transform = transform
    assert geouq("run", config, "--quiet").exit_code == 0
    folder = tmp_path / "results/small/maps"
    root = read((folder / "maps.qlr").read_text(encoding="utf-8"))
    polygons = layers_of(root, "vector")

    assert groups_of(root)["cells (polygons)"][:2] == [
        f"{tile} cells_height: coverage of 90 %" for tile in ("a", "b's")
    ]
    assert len(polygons) == 6
    assert len(drawn(root)) == 1
    assert drawn(root)[0].startswith("a cells_")
    for name, layer in polygons.items():
        path, table, condition = layer.findtext("datasource").split("|")
        with closing(sqlite3.connect(folder / path)) as package:
            where, table = condition.removeprefix("subset="), table.removeprefix("layername=")
            found = package.execute(f"SELECT DISTINCT tile FROM {table} WHERE {where}").fetchall()  # noqa: S608  written here
        assert found == [(name.partition(" cells_")[0],)]
