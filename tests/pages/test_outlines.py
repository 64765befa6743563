"""Outlines of polygons on the map of cells: cut at the borders of tiles, few lines, the regions that are wanted."""

import base64
import gzip
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
from rasterio import Affine
from rasterio.crs import CRS
from vectors import feature, geojson, square

from geouq.core.grid import Grid
from geouq.pages import outlines, outlines_on
from geouq.pages.cells import Layout, Placed
from geouq.zones import Polygons

shapely = pytest.importorskip("shapely")

CRS_WKT = CRS.from_epsg(32633).to_wkt()


@dataclass(frozen=True)
class Place:
    """A tile of 100 x 100 pixels of 10 m."""

    grid: Grid


def layout(*corners):
    """Tiles with their upper left corners (row, column) on the map, where they lie on the ground."""
    grids = [Grid((100, 100), Affine(10, 0, 10.0 * left, 0, -10, -10.0 * top), CRS_WKT) for top, left in corners]
    placed = [
        Placed(Place(grid), *corner, (4, 4), 16 * k)
        for k, (grid, corner) in enumerate(zip(grids, corners, strict=True))
    ]
    return Layout(placed, 1)


def polygons(*shapes, names=("a", "b")):
    """Polygons in metres, one zone each."""
    return Polygons("p.gpkg", CRS_WKT, names[: len(shapes)], np.array(shapes), np.arange(len(shapes)), ())


def lines(found, name):
    return np.array(found.lines[name]).reshape(-1, 4)


def length(some):
    return np.hypot(*(some[:, 2:] - some[:, :2]).T).sum()


def test_a_polygon_within_a_tile_keeps_its_edges_in_pixels_of_the_map():
    found = outlines_on(layout((0, 0)), [polygons(shapely.box(100, -400, 300, -200))], {"a"})

    assert {tuple(point) for line in lines(found, "a") for point in (line[:2], line[2:])} == {
        (10, 20), (30, 20), (30, 40), (10, 40)
    }  # fmt: skip
    assert found.note == ""


def test_a_polygon_is_cut_at_the_borders_of_tiles_and_goes_on_in_the_next_tile():
    over_both = shapely.box(500, -700, 1500, -300)
    found = lines(outlines_on(layout((0, 0), (0, 100)), [polygons(over_both)], {"a"}), "a")

    assert length(found) == pytest.approx(2 * 100 + 2 * 40)
    assert found.min(0).tolist() == [50, 30, 50, 30]
    alone = lines(outlines_on(layout((0, 0)), [polygons(over_both)], {"a"}), "a")
    assert alone[:, [0, 2]].max() == 100


def test_edges_along_a_border_and_outside_do_not_fail():
    found = outlines_on(
        layout((0, 0)), [polygons(shapely.box(0, -1000, 1000, 0), shapely.box(5000, 0, 6000, 100))], {"a", "b"}
    )

    assert length(lines(found, "a")) == pytest.approx(400)
    assert set(found.lines) == {"a"}


def test_only_the_regions_that_are_wanted_are_drawn():
    found = outlines_on(
        layout((0, 0)), [polygons(shapely.box(0, -100, 100, 0), shapely.box(0, -300, 200, -100))], {"b"}
    )

    assert set(found.lines) == {"b"}


def test_a_file_without_a_region_that_is_wanted_is_not_brought_to_the_tiles(monkeypatch):
    brought, bring = [], outlines.outlines
    monkeypatch.setattr(outlines, "outlines", lambda own, grid: brought.append(own.names) or bring(own, grid))
    box = shapely.box(0, -100, 100, 0)

    found = outlines_on(layout((0, 0)), [polygons(box, names=("far",)), polygons(box)], {"a"})

    assert set(found.lines) == {"a"}
    assert brought == [("a",)]


def note_of(folder):
    """The note about outlines below the map of a report."""
    text = (folder / "report/assets/data/layout_0_0.js").read_text(encoding="utf-8")
    packed = re.fullmatch(r'geouq\.take\("layout",0,0,"(.*)"\);\n', text)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))["regions"]["note"]


def test_a_report_without_the_file_of_polygons_says_what_is_missing(tile_folder, geouq, tmp_path):
    text = (
        "variables: [height]\nregions: {counties: {polygons: counties.geojson, name: NAME}}\n"
        "output: {maps: none, figures: none}\n"
    )
    config = tile_folder(("a1", "a2"), text=text)
    file = geojson(config.parent / "counties.geojson", feature("kent", square(500_100, 6_999_700, 200)))
    assert geouq("run", config, "--out", tmp_path / "out", "--quiet").exit_code == 0
    assert note_of(tmp_path / "out") == ""
    file.unlink()

    done = geouq("report", tmp_path / "out", "--quiet")

    assert done.exit_code == 0, done.output
    assert "Outlines of polygons are missing: " in note_of(tmp_path / "out")
    assert "counties.geojson" in note_of(tmp_path / "out")
    assert (tmp_path / "out/report/kent.html").exists()


def test_a_polygon_of_very_many_points_is_drawn_with_few_lines(monkeypatch):
    monkeypatch.setattr(outlines, "MOST_LINES", 60)
    circle = shapely.Point(500, -500).buffer(300, quad_segs=2000)

    found = lines(outlines_on(layout((0, 0)), [polygons(circle)], {"a"}), "a")

    assert len(found) <= 60
    middle = (found[:, :2] + found[:, 2:]) / 2
    np.testing.assert_allclose(np.hypot(*(middle - 50).T), 30, atol=4)


def test_the_name_of_a_region_stands_inside_it_where_it_is_widest():
    parts = shapely.union_all([shapely.box(0, -400, 100, 0), shapely.box(500, -900, 1000, -500)])
    found = outlines_on(layout((0, 0)), [polygons(parts)], {"a"})

    x, y, width = found.spots["a"]
    assert (x, width) == (75, 50)
    assert 50 < y < 90
    assert parts.contains(shapely.Point(10 * x, -10 * y))


def test_the_name_of_a_region_with_a_hole_is_not_in_the_hole():
    ring = shapely.box(100, -900, 900, -100) - shapely.box(150, -850, 700, -150)
    x, y, _ = outlines_on(layout((0, 0)), [polygons(ring)], {"a"}).spots["a"]

    assert ring.contains(shapely.Point(10 * x, -10 * y))


def test_a_region_over_several_tiles_has_one_name():
    found = outlines_on(layout((0, 0), (0, 100)), [polygons(shapely.box(900, -600, 1800, -100))], {"a"})

    assert found.spots["a"] == [140, pytest.approx(35, abs=1), 80]
