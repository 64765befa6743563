"""Regions of an experiment on its tiles: names, unions and differences, and what is wrong with them."""

import pickle

import numpy as np
import pytest
from affine import Affine
from configurations import SMALLEST, written
from landscape import NORTH_UP
from rasterio.crs import CRS
from vectors import feature, geojson, mask_of, square

from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.core.grid import Grid
from geouq.zones import open_regions, without_pixels

TILE = Grid((40, 50), NORTH_UP, CRS.from_epsg(32633).to_wkt())
NEXT = Grid((40, 50), NORTH_UP @ Affine.translation(50, 0), TILE.crs)


@pytest.fixture
def regions_of(tmp_path, write_raster):
    """Regions of a configuration, beside a file of two polygons that overlap, one far away, and a land cover."""
    x, y = 500_000, 7_000_000
    geojson(
        tmp_path / "counties.geojson",
        feature("kent", square(x + 100, y - 300, 200)),
        feature("essex", square(x + 200, y - 350, 200)),
        feature("far", square(x + 9000, y, 200)),
    )
    cover = np.random.default_rng(0).integers(1, 4, (40, 100)).astype(np.uint8)
    write_raster(tmp_path / "cover.tif", cover)

    def make(text):
        return open_regions(load_experiment(written(tmp_path, f"{SMALLEST}regions:\n{text}")))

    return make


COUNTIES = "  counties: {polygons: counties.geojson, name: NAME}\n"
COVER = "  cover: {classes: cover.tif, names: {1: forest, 2: shrub}}\n"


def layers_on(regions, tile, grid):
    """Masks of all regions of which the tile may hold a part."""
    masks = {}
    for layer in regions.on(tile, grid).layers.values():
        masks |= mask_of(layer, grid.windows(16), grid.shape)
    return masks


def test_every_kind_of_region_is_brought_to_a_tile(regions_of):
    regions = regions_of(f"  west: [a, b]\n  east: [c]\n{COUNTIES}{COVER}")
    zones = regions.on("a", TILE)

    assert regions.names == ("west", "east", "kent", "essex", "far", "forest", "shrub")
    assert zones.whole == ("all", "west")
    assert {key: layer.names for key, layer in zones.layers.items()} == {
        "counties": ("kent", "essex"),
        "cover": ("forest", "shrub"),
    }
    assert list(regions.on("c", NEXT).layers) == ["cover"]
    assert without_pixels(regions, [zones]) == [
        "1 of 3 regions of counties hold no pixel centre: outside all tiles, or smaller than a pixel: far"
    ]


def test_unions_and_differences_are_those_of_masks(regions_of):
    regions = regions_of(
        f"  west: [a]\n{COUNTIES}{COVER}"
        "  deep: {of: [rest, kent], without: shrub}\n"  # made of what is written below
        "  both: {of: [kent, essex]}\n"
        "  rest: {of: all, without: [forest]}\n"
        "  wood: {of: forest, without: counties}\n"
        "  wild: {of: [west, forest], without: kent}\n"
    )
    masks = layers_on(regions, "a", TILE)
    kent, essex, forest, shrub = (masks[name] for name in ("kent", "essex", "forest", "shrub"))

    assert (kent & essex).any()
    expected = {
        "both": kent | essex,
        "rest": ~forest,
        "wood": forest & ~(kent | essex),
        "wild": ~kent,
        "deep": (~forest | kent) & ~shrub,
    }
    assert all((masks[name] == mask).all() for name, mask in expected.items())
    there = layers_on(regions, "b", NEXT)
    assert {"rest", "wood", "wild", "deep", "forest", "shrub"} == set(there)
    assert (there["wild"] == there["forest"]).all()


def test_regions_made_of_tiles_hold_whole_tiles(regions_of):
    regions = regions_of("  west: [a, b]\n  rest: {of: all, without: west}\n  two: {of: [west, rest]}\n")

    assert regions.on("a", TILE).whole == ("all", "west", "two")
    assert regions.on("z", TILE).whole == ("all", "rest", "two")
    assert not regions.on("z", TILE).layers


def test_a_region_made_of_others_depends_on_these_alone(regions_of, tmp_path):
    text = f"{COUNTIES}{COVER}  rest: {{of: all, without: kent}}\n"
    before = regions_of(text).on("a", TILE).layers

    path = tmp_path / "counties.geojson"
    path.write_text(path.read_text().replace('"essex"', '"sussex"'))
    after = regions_of(text.replace("shrub", "bush")).on("a", TILE).layers

    assert pickle.loads(pickle.dumps(after["rest"])).fingerprint == before["rest"].fingerprint  # noqa: S301  our own
    assert after["counties"].fingerprint != before["counties"].fingerprint
    assert after["cover"].fingerprint != before["cover"].fingerprint
    path.write_text(path.read_text().replace("500100", "500110"))
    assert regions_of(text).on("a", TILE).layers["rest"].fingerprint != before["rest"].fingerprint


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("  x: {of: kemt}\n" + COUNTIES, "x.yaml:5: regions.x.of: 'kemt' is not a region; did you mean 'kent'?"),
        ("  x: {of: y}\n  y: {of: all, without: x}\n", "regions.x: is made of itself in a circle: x, y"),
        ("  kent: [a]\n" + COUNTIES, "counties.geojson names a region 'kent', and so does regions.kent; rename"),
        (COUNTIES + COVER.replace("forest", "kent"), "names a region 'kent', and so does regions.cover.names; rename"),
        (COUNTIES.replace("NAME", "NAM"), "regions.counties.name: {folder}/counties.geojson has no attribute 'NAM'"),
        (COUNTIES.replace("}", ", where: X = 1}"), "x.yaml:5: regions.counties.where: 'X = 1' is no condition on"),
        (
            COUNTIES + "  Kent: [a]\n",
            "names a region 'kent', which differs from 'Kent' in case alone, and so would their",
        ),
        (COVER.replace("cover.tif", "clover.tif"), "x.yaml:5: regions.cover.classes: {folder}/clover.tif cannot be"),
        (
            COVER.replace("cover.tif", "'c/{tile}.tif'"),
            "regions.cover.classes: no file matches {folder}/c/{{tile}}.tif",
        ),
        (COVER.replace("{classes", "{band: 2, classes"), "cover.tif has 1 band, but classes are to be in band 2"),
        (COUNTIES.replace(".geo", ".go"), "x.yaml:5: regions.counties.polygons: there is no file {folder}/counties.go"),
        (COUNTIES + "gates: [{metric: uce, variable: v, region: kemt, max: 1}]\n", "gates.0.region: 'kemt' is not"),
    ],
)
def test_a_fault_names_its_place(regions_of, tmp_path, text, fault):
    with pytest.raises(ConfigError) as caught:
        regions_of(text)

    assert fault.format(folder=tmp_path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_polygons_of_two_files_share_no_name(regions_of):
    with pytest.raises(ConfigError) as caught:
        regions_of(COUNTIES + COUNTIES.replace("counties:", "again:"))

    assert len(str(caught.value).splitlines()) == 3
    assert "names a region 'kent', and so does regions.counties (" in str(caught.value)


def test_a_polygon_is_not_called_all(regions_of, tmp_path):
    geojson(tmp_path / "counties.geojson", feature("all", square(0, 0, 1)))

    with pytest.raises(ConfigError, match="names a region 'all', which always exists and holds all tiles"):
        regions_of(COUNTIES)


def test_regions_are_written_as_they_are_read(tmp_path):
    made = "  rest: {of: all, without: [west, forest]}\n  both: {of: [west, forest]}\n"
    more = f"{COUNTIES}{COVER}  west: [a]\n{made}"
    experiment = load_experiment(written(tmp_path, f"{SMALLEST}regions:\n{more}"))

    assert experiment.regions["counties"].polygons == str(tmp_path / "counties.geojson")
    assert experiment.tile_lists == {"west": ("a",)}
    assert load_experiment(written(tmp_path, to_yaml(experiment), "y.yaml")) == experiment


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "  a: {polygons: x.gpkg}\n",
            "regions.a: missing key 'name': attribute whose values are the names of the regions",
        ),
        ("  a: {polygons: x.gpkg, nam: N, name: N}\n", "regions.a.nam: unknown key; did you mean 'name'?"),
        ("  a: {classes: x.tif, names: {x: f}}\n", "regions.a.names.x: 'x' is not a whole number"),
        ("  a: {classes: '{til}.tif', names: {1: f}}\n", "the only placeholder is {tile}"),
        (
            "  a: {without: x}\n",
            "regions.a: needs a list of tiles, or a mapping with one of the keys polygons, classes",
        ),
        ("  a: {of: []}\n", "regions.a.of: is too short; give 1 or more"),
        ("  f: [t]\n  a: {classes: x.tif, names: {1: f}}\n", "regions.a.names.1: 'f' names a region already, at"),
        ("  a: [t]\n  A: [t]\n", "regions.A: 'A' differs from 'a' in case alone, and so would their files; rename it"),
        ("  All: [t]\n", "regions.All: 'All' differs from 'all' in case alone"),
        ("  a: {classes: x.tif, names: {1: all}}\n", "regions.a.names.1: the region 'all' always exists"),
    ],
)
def test_faults_of_the_configuration_name_line_and_key(tmp_path, text, fault):
    with pytest.raises(ConfigError) as caught:
        load_experiment(written(tmp_path, f"{SMALLEST}regions:\n{text}"))

    assert fault in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/x.yaml:")
    assert len(str(caught.value).splitlines()) == 1
