"""Polygons of a mosaic as tiles: the pixels whose centres are inside, and no other."""

import json

import numpy as np
import pandas as pd
import pytest
import shapely
from landscape import NORTH_UP
from rasterio.features import rasterize
from rasterio.warp import transform
from vectors import feature, geojson

import geouq
from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.pipeline.data import Options
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack
from geouq.runs.store import key_of_tile
from geouq.sweep.settings import Settings

SHAPE = (350, 450)
RNG = np.random.default_rng(0)
STD = RNG.uniform(1, 3, SHAPE).astype(np.float32)
MEAN = RNG.uniform(20, 40, SHAPE).astype(np.float32)
TRUTH = (MEAN + STD * RNG.standard_normal(SHAPE)).astype(np.float32)
SHAPES = {  # columns and rows; two share a bent border, one has a hole
    "north": [[(10.2, 5.3), (350.4, 15.1), (250.6, 100.7), (7.3, 130.2), (10.2, 5.3)]],
    "south": [[(7.3, 130.2), (250.6, 100.7), (425.2, 325.9), (15.4, 345.3), (7.3, 130.2)]],
    "ring": [
        [(360.7, 30.6), (440.2, 30.6), (440.2, 100.1), (360.7, 30.6)],
        [(400, 40), (430, 40), (430, 60), (400, 40)],
    ],
}
QUICK = {"maps": "none", "figures": "none"}


def on_map(ring):
    return [list(NORTH_UP @ point) for point in ring]


def features(**shapes):
    return [feature(name, *map(on_map, rings)) for name, rings in shapes.items()]


@pytest.fixture
def folder(tmp_path, write_raster, monkeypatch):
    """A folder with a mosaic and its polygons."""
    layout = {"tiled": True, "blockxsize": 128, "blockysize": 128}
    for name, values in (("m", MEAN), ("s", STD), ("y", TRUTH)):
        write_raster(tmp_path / f"{name}.tif", values, **layout)
    geojson(tmp_path / "areas.geojson", *features(**SHAPES))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment(tiles, directory="out", **more):
    data = {"mean": "m.tif", "std": "s.tif", "truth": "y.tif"}
    output = QUICK | {"directory": directory}
    written = {"version": 1, "name": "country", "variables": ["v"], "data": data, "output": output, "tiles": tiles}
    return load_experiment(written | {"intervals": {"resamples": 100}} | more)


def areas(**more):
    return {"polygons": "areas.geojson", "name": "NAME"} | more


def values(configuration, level):
    results = geouq.run(configuration, Options(workers=2))
    table = results.metrics[results.metrics.level == level]
    table = table[~table.metric.str.contains("ence_null|ence_excess")]  # of blocks, which lie elsewhere
    return table.set_index(["name", "variable", "metric", "bins", "group"]).value.sort_index()


@pytest.mark.usefixtures("folder")
def test_numbers_are_those_of_regions_from_the_same_polygons():
    of_regions = experiment({"grid": 256}, regions={"areas": {"polygons": "areas.geojson", "name": "NAME"}})

    tiles, regions = values(experiment(areas(), "tiles"), "tile"), values(of_regions, "region")

    assert set(tiles.index.get_level_values("name")) == set(SHAPES)
    common = [key for key in tiles.index.intersection(regions.index) if not is_on_profile(key)]
    rounded = [key for key in common if key[2] in ("pit_mean", "pit_std")]  # regions keep fewer digits of these
    exact = [key for key in common if key not in rounded]
    assert len(exact) > 100
    pd.testing.assert_series_equal(tiles[exact], regions[exact], rtol=1e-9, check_exact=False)
    pd.testing.assert_series_equal(tiles[rounded], regions[rounded], rtol=1e-5, check_exact=False)


def is_on_profile(key):
    """Whether bins are those of a region of more than 65,536 pixels, whose edges are placed on the profile."""
    return key[0] == "south" and key[3] != ""


@pytest.mark.usefixtures("folder")
def test_all_is_the_union_of_the_polygons():
    union = {"of": list(SHAPES)}
    polygons = {"polygons": "areas.geojson", "name": "NAME"}
    of_regions = experiment({"grid": 256}, regions={"areas": polygons, "union": union})

    (bias,) = values(experiment(areas(), "tiles"), "all").xs("bias", level="metric")

    regions = values(of_regions, "region").xs("bias", level="metric")
    assert bias == pytest.approx(regions.xs("union").iloc[0], rel=1e-9)


@pytest.mark.usefixtures("folder")
def test_pixels_count_whose_centre_is_inside():
    for tile in find_tiles(experiment(areas())).tiles:
        part = open_stack(tile).load(scheduler="synchronous")
        shape = shapely.Polygon(on_map(SHAPES[tile.name][0]), [on_map(ring) for ring in SHAPES[tile.name][1:]])
        expected = rasterize([shape], tile.grid.shape, transform=tile.grid.transform).astype(bool)
        np.testing.assert_array_equal(part["valid"][0], expected)
        assert expected.sum() > 0.3 * expected.size


@pytest.mark.usefixtures("folder")
def test_tiles_without_an_attribute_are_named_by_number():
    names = [tile.name for tile in find_tiles(experiment({"polygons": "areas.geojson"})).tiles]

    assert names == ["1", "2", "3"]


@pytest.mark.usefixtures("folder")
def test_some_of_the_polygons_are_evaluated():
    assert [tile.name for tile in find_tiles(experiment(areas(names=["ring", "north"]))).tiles] == ["north", "ring"]
    assert [tile.name for tile in find_tiles(experiment(areas(where="NAME = 'ring'"))).tiles] == ["ring"]
    with pytest.raises(ConfigError, match=r"no layer has a file for tile 'nort'; did you mean 'north'"):
        find_tiles(experiment(areas(names=["nort"])))


def test_polygons_that_overlap_are_refused(folder):
    other = {"middle": [[(200, 75), (300, 75), (300, 150), (200, 75)]]}
    geojson(folder / "areas.geojson", *features(**SHAPES, **other))

    with pytest.raises(ConfigError, match=r"the polygons north and middle of .* overlap, at row \d+, column \d+"):
        find_tiles(experiment(areas()))
    assert len(find_tiles(experiment(areas(names=["ring", "middle"]))).tiles) == 2


def test_polygons_that_share_no_pixel_centre_do_not_overlap(folder):
    between = [(360.5, 30.9), (440, 30.9), (440, 5), (360.5, 30.9)]  # no row has its middle from 30.6 to 30.9
    sliver = {"sliver": [between]}
    geojson(folder / "areas.geojson", *features(**SHAPES, **sliver))

    assert len(find_tiles(experiment(areas())).tiles) == 4


def test_polygons_of_one_name_are_one_tile(folder):
    geojson(folder / "areas.geojson", *features(**SHAPES), feature("ring", on_map([(0, 0), (9, 0), (9, 9), (0, 0)])))

    found = {tile.name: tile for tile in find_tiles(experiment(areas())).tiles}

    assert found["ring"].grid.shape == (100, 440)


def test_polygons_outside_the_mosaic_are_named(folder):
    away = {"away": [[(-90, 0), (-50, 0), (-50, 50), (-90, 0)]]}
    geojson(folder / "areas.geojson", *features(**SHAPES, **away))

    found = find_tiles(experiment(areas()))

    assert len(found.tiles) == 3
    assert any("1 of 4 tiles" in note and note.endswith("no pixel: away") for note in found.notes)


def test_polygons_that_all_lie_outside_are_refused(folder):
    geojson(folder / "areas.geojson", *features(away=[[(-90, 0), (-50, 0), (-50, 50), (-90, 0)]]))

    with pytest.raises(ConfigError, match=r"tiles: no polygon of .*areas.geojson holds the centre of a pixel"):
        find_tiles(experiment(areas()))


WRONG = {
    "no file": (areas(polygons="none.gpkg"), r"tiles.polygons: there is no file .*none.gpkg"),
    "no attribute": (areas(name="NAM"), r"tiles.name: .* has no attribute 'NAM'; did you mean 'NAME'"),
    "no condition": (areas(where="NAMES = 1"), r"tiles.where: .*NAMES"),
    "no format": (areas(drivers=["GPKG"]), r"tiles.polygons: .* cannot be read: it is no GPKG file"),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("tiles", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_named_with_their_key(tiles, message):
    with pytest.raises(ConfigError, match=message):
        find_tiles(experiment(tiles))


def test_a_moved_polygon_is_another_tile(folder):
    before, again = (find_tiles(experiment(areas())).tiles[0] for _ in range(2))
    geojson(folder / "areas.geojson", *features(north=[[(x + 0.4, y) for x, y in SHAPES["north"][0]]]))

    after = find_tiles(experiment(areas())).tiles[0]

    settings = Settings((0.9,), 64)
    assert before == again
    assert before != after
    assert key_of_tile(before, settings) == key_of_tile(again, settings) != key_of_tile(after, settings)


@pytest.mark.usefixtures("folder")
def test_a_run_keeps_the_checksum_of_the_polygons():
    results = geouq.run(experiment(areas()))

    record = json.loads((results.folder / "run.json").read_text("utf-8"))
    assert len(record["sources"]["tiles.polygons"]["sha256"]) == 64


@pytest.mark.usefixtures("folder")
def test_a_check_finds_no_overlap_of_the_boxes_of_polygons():
    found = geouq.check(experiment(areas()))

    assert not [one for one in found.findings if one.kind == "overlapping tiles"]


@pytest.mark.usefixtures("folder")
def test_a_configuration_with_polygons_is_written_and_read_again(tmp_path):
    path = tmp_path / "written.yaml"
    path.write_text(to_yaml(experiment(areas())), "utf-8")

    assert load_experiment(path) == experiment(areas())


def test_polygons_in_another_crs_are_brought_to_the_mosaic(folder):
    expected = find_tiles(experiment(areas())).tiles
    shapes = {name: [in_degrees(on_map(ring)) for ring in rings] for name, rings in SHAPES.items()}
    geojson(folder / "areas.geojson", *(feature(name, *rings) for name, rings in shapes.items()), crs="EPSG:4326")

    found = find_tiles(experiment(areas())).tiles

    assert [tile.grid.shape for tile in found] == [tile.grid.shape for tile in expected]


def in_degrees(ring):
    x, y = zip(*ring, strict=True)
    return list(map(list, zip(*transform("EPSG:32633", "EPSG:4326", x, y), strict=True)))
