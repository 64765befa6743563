"""What stands beside maps: mosaics, styles of QGIS, and cells as polygons."""

import json
import re
import sqlite3
from contextlib import closing
from xml.etree import ElementTree as ET

import numpy as np
import pyogrio
import pyogrio.raw
import pytest
import rasterio
import shapely
from affine import Affine
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.warp import transform

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, Variable, load_experiment
from geouq.core.grid import Grid
from geouq.core.validity import REASONS
from geouq.maps import polygons as polygons_room
from geouq.maps.cell_metrics import Cellwise
from geouq.maps.cells import write_cell_maps
from geouq.maps.pixel_maps import PIXEL_MAPS, has_map
from geouq.maps.pixels import path_of_map, write_pixel_maps
from geouq.maps.scales import Scale, cell_scale, colours_of_codes
from geouq.maps.sidecars import write_mosaics, write_sidecars
from geouq.maps.style import style_of_codes, style_of_polygons, style_of_scale
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.rasters.catalog import find_tiles
from geouq.summary import TilePlace, TileSummary, add_all, empty_summary
from geouq.summary.form import GAUSSIAN

PLACE = Affine(10, 0, 500_000, 0, -10, 7_000_000)
UTM33, UTM34 = (rasterio.CRS.from_epsg(32600 + zone).to_wkt() for zone in (33, 34))
COVER = Variable(name="cover", band=1, units="%")
SCALED = [name for name, one in PIXEL_MAPS.items() if one.scale and has_map(one, GAUSSIAN)]
SUMMARY = summarize_arrays(*heteroscedastic((40, 48)), (0.5, 0.9), cell_size=16)


def swept(name, column, shape=(40, 48), crs=UTM33):
    part = summarize_arrays(*heteroscedastic(shape, column), (0.5, 0.9), cell_size=16)
    return TileSummary(name, Grid(shape, PLACE @ Affine.translation(column, 0), crs), 16, {"cover": part})


def cell_maps(tiles, folder, names=("cells",)):
    cells = {t.tile: [(np.arange(len(t.variables["cover"].cells)), t.variables["cover"].cells)] for t in tiles}
    whole = add_all(tile.variables["cover"].whole for tile in tiles)
    return list(
        write_cell_maps(tiles, Cellwise(COVER, cells.pop, names, MetricOptions((0.5, 0.9), ()), whole), folder, {})
    )


def style(text):
    """The renderer of a style, and its values and colours."""
    assert text.startswith("<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n<qgis ")
    renderer = ET.fromstring(text).find("pipe/rasterrenderer")  # noqa: S314  written here
    items = [*renderer.iter("item"), *renderer.iter("paletteEntry")]
    return renderer, [float(one.get("value")) for one in items], [one.get("color") for one in items]


# mosaics


@pytest.fixture
def mapped(tile_folder, tmp_path):
    """Maps of three tiles side by side, and where these are."""
    tiles = find_tiles(load_experiment(tile_folder())).tiles
    for tile in tiles:
        write_pixel_maps(tile, ["z", "status"], tmp_path / "maps", {})
    return [TilePlace(tile.name, tile.grid, 16) for tile in tiles], tiles[0].variables


@pytest.mark.parametrize("name", ["z", "status"])
def test_a_mosaic_shows_the_maps_of_all_tiles_wherever_the_folder_is_moved(mapped, tmp_path, name):
    places, variables = mapped
    (path,) = write_mosaics(name, [places[2], places[0]], variables, tmp_path / "maps")
    (tmp_path / "maps").rename(tmp_path / "moved")
    path = tmp_path / "moved" / path.name

    with rasterio.open(path) as mosaic:
        values, nodata = mosaic.read(), mosaic.nodatavals[0]
        assert mosaic.descriptions == (f"{name}_height", f"{name}_cover", f"{name}_gini")
        assert mosaic.transform == places[0].grid.transform
        assert mosaic.crs.to_wkt() == places[0].grid.crs
        assert "long_name" in mosaic.tags(1)
        assert {file.rsplit("/", 1)[1] for file in mosaic.files} == {f"{name}.vrt", f"a1_{name}.tif", f"b1_{name}.tif"}
    assert values.shape == (3, 40, 150)
    for place, column in ((places[0], 0), (places[2], 100)):
        with rasterio.open(tmp_path / "moved" / f"{place.tile}_{name}.tif") as source:
            np.testing.assert_array_equal(values[:, :, column : column + 50], source.read())
    np.testing.assert_array_equal(values[:, :, 50:100], np.full((3, 40, 50), nodata, values.dtype))


def test_tiles_of_several_grids_make_several_mosaics(tmp_path):
    grids = {
        "a": Grid((40, 50), PLACE, UTM33),
        "b": Grid((40, 50), PLACE @ Affine.translation(50, 0), UTM33),
        "half": Grid((40, 50), PLACE @ Affine.translation(100.5, 0), UTM33),
        "other": Grid((40, 50), PLACE, UTM34),
        "nowhere": Grid((40, 50), PLACE, ""),
    }
    places = [TilePlace(name, grid, 16) for name, grid in grids.items()]
    (tmp_path / "z.vrt").write_text("of an earlier run")

    paths = write_mosaics("z", places, [COVER], tmp_path)

    names = ["z_EPSG32633.vrt", "z_EPSG32633_2.vrt", "z_EPSG32634.vrt", "z_local.vrt"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert re.findall(r">(\w+_z.tif)<", paths[0].read_text()) == ["a_z.tif", "b_z.tif"]


def test_tiles_on_each_other_and_a_single_tile_make_no_mosaic(tmp_path):
    jan, feb = (TilePlace(name, Grid((40, 50), PLACE, UTM33), 16) for name in ("jan", "feb"))

    assert write_mosaics("z", [jan, feb], [COVER], tmp_path) == []
    assert write_mosaics("z", [jan], [COVER], tmp_path) == []


def test_names_of_tiles_stay_text_in_a_mosaic(tmp_path):
    places = [
        TilePlace(name, Grid((40, 50), PLACE @ Affine.translation(column, 0), UTM33), 16)
        for name, column in (('<a href="x">&', 0), ("b", 50))
    ]
    (path,) = write_mosaics("z", places, [Variable(name="<h> & co", band=1, units="<m>")], tmp_path)

    root = ET.parse(path).getroot()  # noqa: S314  written here
    assert root.find("VRTRasterBand/Description").text == "z_<h> & co"
    assert (
        root.find("VRTRasterBand/SimpleSource/SourceFilename").text == path_of_map(places[0].tile, "z", tmp_path).name
    )


# styles


def test_every_mosaic_has_a_style_next_to_it_and_bands_of_other_colours_one_of_their_own(mapped, tmp_path):
    places, variables = mapped
    wholes = {variable.name: SUMMARY.whole for variable in variables}
    stale = tmp_path / "maps/styles/z" / f"{variables[1].name}.qml"
    stale.parent.mkdir(parents=True)
    stale.touch()

    for name in ("z", "status", "error"):
        written = write_sidecars(name, places, variables, wholes, tmp_path / "maps")
        others = variables[1:] if name == "error" else ()  # their labels have other units
        own = [tmp_path / "maps/styles" / name / f"{variable.name}.qml" for variable in others]
        assert written == [tmp_path / "maps" / f"{name}.vrt", tmp_path / "maps" / f"{name}.qml", *own]
        assert [style(path.read_text())[0].get("band") for path in own] == ["2", "3"][: len(own)]
    assert not stale.exists()


def test_without_a_mosaic_the_map_of_each_tile_has_a_style_next_to_it(mapped, tmp_path):
    places, variables = mapped
    wholes = {variable.name: SUMMARY.whole for variable in variables}

    written = write_sidecars("z", places[:1], variables[:1], wholes, tmp_path / "maps")

    assert written == [tmp_path / "maps/a1_z.qml"]


@pytest.mark.parametrize("name", ["z", "error"])
def test_what_has_a_sign_is_symmetric_about_0(name):
    renderer, values, colours = style(style_of_scale(PIXEL_MAPS[name].scale(SUMMARY.whole), "m"))

    assert renderer.get("type") == "singlebandpseudocolor"
    assert float(renderer.get("classificationMin")) == -float(renderer.get("classificationMax")) < 0
    assert values == [-value for value in values[::-1]]
    assert values[len(values) // 2] == 0
    assert colours[len(values) // 2] == "#f7f7f7"


def test_ratios_are_symmetric_about_1_and_coverage_about_its_level():
    scales = {
        value.name: cell_scale(value, SUMMARY.whole)
        for value in evaluate_metrics(SUMMARY.whole, MetricOptions((0.5, 0.9), (EQUAL_COUNT_10,)))
    }

    for name in ("zms", "z_std"):
        assert [a * b for a, b in zip(scales[name].values, scales[name].values[::-1], strict=True)] == pytest.approx(
            [1] * 7, rel=1e-2
        )
        assert scales[name].values[3] == 1
    for name, level in (("coverage_50", 0.5), ("coverage_90", 0.9)):
        assert [a + b for a, b in zip(scales[name].values, scales[name].values[::-1], strict=True)] == pytest.approx(
            [2 * level] * 7
        )
    assert scales["zms"].colours == scales["coverage_90"].colours[::-1]  # over-confident is one colour
    for name in ("bias", "z_mean", "rce", "nbias", "ence_excess"):
        assert scales[name].values[3] == 0
        assert scales[name].values[0] == -scales[name].values[-1]


@settings(deadline=None, max_examples=30)
@given(size=st.floats(1e-30, 1e30), units=st.text(max_size=5).filter(str.isprintable))
def test_a_style_is_valid_and_increasing_for_numbers_of_any_size_and_any_unit(size, units):
    mean, variance, truth = heteroscedastic((20, 20))
    whole = summarize_arrays(mean * np.sqrt(size), variance * size, truth * np.sqrt(size), (0.9,)).whole
    for name in SCALED:
        _, values, colours = style(style_of_scale(PIXEL_MAPS[name].scale(whole), units))
        assert len(values) == len(colours) == 7
        assert all(np.diff(values) > 0)
        assert np.isfinite(values).all()


def test_a_run_without_a_pixel_has_styles_too():
    nothing = empty_summary((0.9,))
    for name in SCALED:
        style(style_of_scale(PIXEL_MAPS[name].scale(nothing), "m"))
    for value in evaluate_metrics(nothing, MetricOptions((0.9,), ())):
        assert np.isfinite(cell_scale(value, nothing).values).all()


@pytest.mark.parametrize("codes", [("valid", *REASONS), ("missed", "covered")])
def test_codes_have_a_colour_and_a_label_each(codes):
    renderer, values, colours = style(style_of_codes(codes, 2))

    assert (renderer.get("type"), renderer.get("band")) == ("paletted", "2")
    assert values == list(range(len(codes)))
    assert len(set(colours)) == len(codes) == len(colours_of_codes(codes))
    assert [one.get("label") for one in renderer.iter("paletteEntry")] == [code.replace("_", " ") for code in codes]


def labels_of(text):
    root = ET.fromstring(text)  # noqa: S314  written here
    return [one.get("label") for one in (*root.iter("item"), *root.iter("range"))]


def test_labels_have_units_and_say_where_values_lie_beyond_an_end():
    scale = Scale((0.0, 0.25, 0.5), ((0, 0, 0), (128, 128, 128), (255, 255, 255)))

    assert labels_of(style_of_scale(scale, "m")) == ["≤ 0 m", "0.25 m", "≥ 0.5 m"]
    assert labels_of(style_of_scale(scale, "1", 2, (0.0, np.inf))) == ["0", "0.25", "≥ 0.5"]
    assert labels_of(style_of_polygons("uce", scale, "m^2")) == [
        "below 0.125 m^2", "0.125 to 0.375 m^2", "above 0.375 m^2",
    ]  # fmt: skip


def test_labels_have_as_many_digits_as_tell_values_apart():
    scale = Scale((286.0, 286.5, 287.0), ((0, 0, 0), (128, 128, 128), (255, 255, 255)))

    assert labels_of(style_of_scale(scale, "K")) == ["≤ 286 K", "286.5 K", "≥ 287 K"]


def test_the_legend_of_a_raster_lists_its_values():
    """By default QGIS shows the two ends of a ramp alone, without their unit."""
    renderer, _, _ = style(style_of_scale(PIXEL_MAPS["z"].scale(SUMMARY.whole), "1"))

    assert renderer.find(".//rampLegendSettings").get("useContinuousLegend") == "0"


# polygons


def read_package(path, layer="cells_cover"):
    meta, _, geometry, columns = pyogrio.raw.read(path, layer=layer)
    return meta, shapely.from_wkb(geometry), dict(zip(meta["fields"], columns, strict=True))


def styles_in(package):
    """The styles of the first layer, by name."""
    with closing(sqlite3.connect(package)) as database:
        rows = database.execute("SELECT styleName, styleQML, useAsDefault FROM layer_styles ORDER BY id").fetchall()
    assert [default for _, _, default in rows] == [1] + [0] * (len(rows) - 1)
    return {name: text for name, text, _ in rows}


def test_the_layer_opens_with_a_class_for_each_colour_around_the_values_of_the_scale(tmp_path):
    cell_maps([swept("a", 0)], tmp_path)
    scale = cell_scale(
        next(v for v in evaluate_metrics(SUMMARY.whole, MetricOptions((0.5, 0.9), ())) if v.name == "coverage_90"),
        SUMMARY.whole,
    )

    name, text = next(iter(styles_in(tmp_path / "cells_cover.gpkg").items()))
    renderer = ET.fromstring(text).find("renderer-v2")  # noqa: S314  written here
    ranges = [(float(one.get("lower")), float(one.get("upper"))) for one in renderer.iter("range")]
    fills, outlines = (
        [one.get("value") for one in renderer.iter("Option") if one.get("name") == part]
        for part in ("color", "outline_color")
    )

    assert (name, renderer.get("attr"), renderer.get("type")) == ("coverage_90", "coverage_90", "graduatedSymbol")
    assert fills == outlines == [",".join(map(str, (*colour, 255))) for colour in scale.colours]
    assert all(low < high for low, high in ranges)
    assert [high for _, high in ranges[:-1]] == [low for low, _ in ranges[1:]]


def test_styles_have_the_columns_that_qgis_reads_and_a_description(tmp_path):
    cell_maps([swept("a", 0)], tmp_path)

    with closing(sqlite3.connect(tmp_path / "cells_cover.gpkg")) as database:
        names = [column[1] for column in database.execute("PRAGMA table_info(layer_styles)")]
        about = dict(database.execute("SELECT styleName, description FROM layer_styles").fetchall())
        version = database.execute("PRAGMA user_version").fetchone()
    assert set(names) == {
        "id", "f_table_catalog", "f_table_schema", "f_table_name", "f_geometry_column", "styleName", "styleQML",
        "styleSLD", "useAsDefault", "description", "owner", "ui", "update_time",
    }  # fmt: skip
    assert (about["zms"], about["coverage_90"]) == ("mean z²", "coverage of 90 %")
    assert version == (10200,)  # which also older programs know


def test_cells_of_tiles_that_are_cut_make_one_virtual_raster(tmp_path):
    """The second tile begins in the middle of the last cell of the first: 40 columns are two and a half cells."""
    tiles = [swept("a", 0), swept("far", 48 * 200 + 5)]
    paths = cell_maps(tiles, tmp_path, ("n", "bias"))

    assert [path.name for path in paths] == [
        "a_cells_cover.tif", "far_cells_cover.tif", "cells_cover.gpkg", "cells_cover.vrt", "cells_cover.qml",
    ]  # fmt: skip
    with rasterio.open(tmp_path / "cells_cover.vrt") as virtual:
        assert virtual.descriptions == ("bias", "n")
        assert virtual.res == (10.0, 10.0)  # 9605 columns and cells of 16 share no other divisor
        for tile in tiles:
            with rasterio.open(tmp_path / f"{tile.tile}_cells_cover.tif") as own:
                cells = own.read(2).repeat(16, 0).repeat(16, 1)[: tile.grid.shape[0], : tile.grid.shape[1]]
            window = virtual.window(*rasterio.transform.array_bounds(*tile.grid.shape, tile.grid.transform))
            np.testing.assert_array_equal(virtual.read(2, window=window), cells)


@pytest.mark.parametrize("side", [91, 88, 96])
def test_a_virtual_raster_shows_each_cell_on_its_pixels_where_it_is_coarser_than_these(tmp_path, side):
    """Cells of 16 pixels and tiles far apart, at a whole number of 8 pixels: the last cell of a tile is cut."""
    tiles = [swept("a", 0, (side, side)), swept("far", 8 * 40_001, (side, side))]
    cell_maps(tiles, tmp_path, ("n",))

    with rasterio.open(tmp_path / "cells_cover.vrt") as virtual, rasterio.open(tmp_path / "a_cells_cover.tif") as own:
        cells, pixels = own.read(1).repeat(2, 0).repeat(2, 1), -(-side // 8)
        assert virtual.res == (80.0, 80.0)
        np.testing.assert_array_equal(virtual.read(1)[:pixels, :pixels], cells[:pixels, :pixels])
        assert len(np.unique(cells)) > 1 or side == 96


def test_the_virtual_rasters_of_other_variables_stay(tmp_path):
    (tmp_path / "cells_cover_local.vrt").write_text(
        "<VRTDataset><Metadata><MDI key='GEOUQ_MAP'>cells</MDI><MDI key='GEOUQ_VARIABLE'>cover_local</MDI></Metadata>"
        "</VRTDataset>"
    )
    cell_maps([swept("a", 0), swept("far", 48 * 200 + 5)], tmp_path, ("n",))
    assert (tmp_path / "cells_cover_local.vrt").exists()
    assert (tmp_path / "cells_cover.vrt").exists()

    cell_maps([swept("a", 0), swept("b", 48)], tmp_path, ("n",))  # which make one GeoTIFF

    assert (tmp_path / "cells_cover_local.vrt").exists()
    assert not (tmp_path / "cells_cover.vrt").exists()


def test_every_cell_with_pixels_is_a_polygon_with_every_metric_of_the_map(tmp_path):
    tiles = [swept("a", 0), swept("b", 48)]
    paths = cell_maps(tiles, tmp_path)
    meta, squares, columns = read_package(tmp_path / "cells_cover.gpkg")

    assert [path.name for path in paths][:3] == ["cells_cover.tif", "cells_cover.gpkg", "cells_cover.qml"]
    assert meta["crs"] == "EPSG:32633"
    assert list(columns["tile"]) == ["a"] * 9 + ["b"] * 9
    with rasterio.open(tmp_path / "cells_cover.tif") as source:
        assert list(columns) == ["tile", "row", "col", *source.descriptions]
        assert set(source.descriptions) >= {"zms", "crps", "nll", "coverage_90", "width_50", "mace", "r2", "n"}
        inside = shapely.point_on_surface(squares)
        places = list(zip(shapely.get_x(inside), shapely.get_y(inside), strict=True))
        sampled = np.array(list(source.sample(places)))
        for name, values in zip(source.descriptions, sampled.T, strict=True):
            np.testing.assert_array_equal(columns[name], values.astype(columns[name].dtype), err_msg=name)
        assert set(styles_in(tmp_path / "cells_cover.gpkg")) == set(source.descriptions)
    assert shapely.area(squares).sum() == 2 * 40 * 48 * 100  # cut at the border of the tiles
    assert shapely.is_valid(squares).all()
    assert not shapely.is_empty(shapely.union_all(squares))
    renderer, _, _ = style((tmp_path / "cells_cover.qml").read_text())
    assert list(columns)[2 + int(renderer.get("band"))] == "coverage_90"


def test_a_cell_without_a_pixel_is_no_polygon(tmp_path):
    mean, variance, truth = heteroscedastic((40, 48))
    truth[:16, 16:32] = np.nan
    part = summarize_arrays(mean, variance, truth, (0.5, 0.9), cell_size=16)
    cell_maps([TileSummary("a", Grid((40, 48), PLACE, UTM33), 16, {"cover": part})], tmp_path)

    _, _, columns = read_package(tmp_path / "cells_cover.gpkg")
    assert list(zip(columns["row"], columns["col"], strict=True)) == [
        (row, column) for row in range(3) for column in range(3) if (row, column) != (0, 1)
    ]


@pytest.mark.parametrize(("many", "size"), [(9, 1 << 14), (10, 1 << 12)])
def test_a_package_of_many_cells_has_larger_pages(tmp_path, monkeypatch, many, size):
    monkeypatch.setattr(polygons_room, "MANY", many)
    part = summarize_arrays(*heteroscedastic((40, 48)), (0.5, 0.9), cell_size=16)
    cell_maps([TileSummary("a", Grid((40, 48), PLACE, UTM33), 16, {"cover": part})], tmp_path)

    with closing(sqlite3.connect(tmp_path / "cells_cover.gpkg")) as database:
        assert database.execute("PRAGMA page_size").fetchone() == (size,)
    assert len(read_package(tmp_path / "cells_cover.gpkg")[1]) == 9


def test_tiles_of_two_crs_are_two_layers(tmp_path):
    cell_maps([swept("a", 0), swept("b", 0, crs=UTM34), swept("c", 48)], tmp_path, ("n",))

    layers = [name for name, _ in pyogrio.list_layers(tmp_path / "cells_cover.gpkg")]
    found = [read_package(tmp_path / "cells_cover.gpkg", layer) for layer in layers[:2]]
    assert layers == ["cells_cover", "cells_cover_2", "layer_styles"]
    assert [meta["crs"] for meta, *_ in found] == ["EPSG:32633", "EPSG:32634"]
    assert [set(columns["tile"]) for *_, columns in found] == [{"a", "c"}, {"b"}]


def test_rasters_without_a_crs_give_polygons_without_one(tmp_path):
    cell_maps([swept("a", 0, crs="")], tmp_path, ("n",))

    meta, squares, _ = read_package(tmp_path / "cells_cover.gpkg")
    assert (
        meta["crs"] in (None, "Undefined Cartesian SRS", 'ENGCRS["Undefined Cartesian SRS"]')
        or "ndefined" in meta["crs"]
    )
    assert len(squares) == 9


def test_without_pyogrio_cells_are_geojson_in_degrees(tmp_path, monkeypatch):
    monkeypatch.setattr(polygons_room, "find_spec", lambda _: None)
    tile = swept('"><img>', 0)
    paths = cell_maps([tile], tmp_path, ("zms", "n"))
    assert [path.relative_to(tmp_path).as_posix() for path in paths][1:] == [
        "cells_cover.geojson", "cells_cover.qml", "styles/cells/cells_cover.qml",
    ]  # fmt: skip

    content = json.loads((tmp_path / "cells_cover.geojson").read_text())
    first = content["features"][0]
    assert len(content["features"]) == 9
    assert first["properties"]["tile"] == '"><img>'
    assert (first["properties"]["row"], first["properties"]["col"]) == (0, 0)
    assert first["properties"]["n"] == tile.variables["cover"].cells.summary().n[0]
    ring = np.array(first["geometry"]["coordinates"][0])
    x, y = transform("EPSG:32633", "EPSG:4326", [500_000, 500_000, 500_160], [7_000_000, 6_999_840, 6_999_840])
    np.testing.assert_allclose(ring[:3], np.stack([x, y], -1), atol=1e-7)
    assert shapely.is_ccw(shapely.linearrings(ring))
