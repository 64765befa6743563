"""Tile indices: the scheme of BlueTopo, indices as GDAL makes them, and GeoParquet."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from landscape import write_raster
from products import SHAPE, bluetopo, calibrated, numbers, numbers_of_run, write_features

from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles

SCHEME = {"index": "scheme.gpkg", "path": "GeoTIFF_Link", "name": "tile"}
PRODUCT = {"mean": {"band": "Elevation"}, "std": {"band": "Uncertainty"}, "truth": "sonar/{tile}.tif"}
pytestmark = [pytest.mark.usefixtures("_in_folder")]


@pytest.fixture
def _in_folder(tmp_path, monkeypatch):
    pytest.importorskip("pyogrio")
    monkeypatch.chdir(tmp_path)


def experiment(tiles=None, data=None, **more):
    written = {"version": 1, "name": "topo", "variables": ["depth"]}
    output = {"directory": "out", "maps": "none", "figures": "none"}
    return load_experiment(written | {"data": data or PRODUCT, "tiles": tiles or SCHEME, "output": output} | more)


def test_a_bluetopo_product_gives_the_numbers_of_its_pixels(geouq, tmp_path):
    layers = bluetopo(tmp_path)
    Path("topo.yaml").write_text(to_yaml(experiment()), "utf-8")

    assert geouq("run", "topo.yaml").exit_code == 0

    found = numbers_of_run("out")
    assert found.keys() == layers.keys()
    for name, own in layers.items():
        assert found[name] == pytest.approx(numbers(*own), rel=1e-6), name
        assert found[name]["coverage_90"] == pytest.approx(0.9, abs=0.03)


def test_tiles_without_a_file_are_left_out_with_a_note(tmp_path):
    layers = bluetopo(tmp_path)

    found = find_tiles(experiment())

    assert {tile.name for tile in found.tiles} == layers.keys()
    assert not found.failures
    assert found.notes == (f"{tmp_path}/scheme.gpkg: left aside: 1 feature without a path",)


def test_an_index_is_read_in_every_format(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    bluetopo(tmp_path)
    for driver, name in (("FlatGeobuf", "scheme.fgb"), ("GeoJSON", "scheme.geojson")):
        bluetopo(tmp_path, driver=driver, scheme=name)
    links = ["UTM19/BlueTopo_BH4QK58D_20250101.tiff", None]
    table = pa.table({"tile": ["BH4QK58D", "BH9ZZ999"], "GeoTIFF_Link": links, "geometry": [b"", b""]})
    pq.write_table(table, "scheme.parquet")

    found = {}
    for ending in ("gpkg", "fgb", "geojson", "parquet"):
        tiles = find_tiles(experiment(SCHEME | {"index": f"scheme.{ending}"})).tiles
        found[ending] = [(tile.name, tile.predictions[""].mean.path) for tile in tiles]

    path = str(tmp_path / "UTM19/BlueTopo_BH4QK58D_20250101.tiff")
    assert found["gpkg"] == found["fgb"] == found["geojson"]
    assert found["parquet"] == [("BH4QK58D", path)] == found["gpkg"][1:]


def test_an_index_of_gdal_names_tiles_by_their_files(tmp_path):
    for name in ("t10", "t9"):
        mean, std, truth = calibrated(1)
        write_raster(tmp_path / f"maps/{name}.tif", np.stack([mean, std]), nodata=np.nan)
        write_raster(tmp_path / f"truth/{name}.tif", truth, nodata=np.nan)
    write_features(tmp_path / "i.gti.gpkg", {"location": [str(tmp_path / "maps/t10.tif"), "maps/t9.tif"]})
    data = {"mean": {"band": 1}, "std": {"band": 2}, "truth": "truth/{tile}.tif"}

    found = find_tiles(experiment({"index": "i.gti.gpkg"}, data)).tiles

    assert [(tile.name, tile.grid.shape) for tile in found] == [("t9", SHAPE), ("t10", SHAPE)]
    assert found[0].predictions[""].mean.path == str(tmp_path / "maps/t9.tif")


def test_truth_is_joined_from_another_index_by_name(tmp_path):
    layers = bluetopo(tmp_path)
    write_features(tmp_path / "sonar/index.gpkg", {"location": [f"{name}.tif" for name in layers]})

    own = experiment(data={**PRODUCT, "truth": {"tiles": {"index": "sonar/index.gpkg"}}})

    assert [tile.truth.path for tile in find_tiles(own).tiles] == sorted(
        str(tmp_path / f"sonar/{n}.tif") for n in layers
    )
    assert list(find_tiles(own).sources) == ["tiles.index", "data.truth.tiles.index"]
    assert load_experiment(yaml.safe_load(to_yaml(own))) == own


@pytest.mark.parametrize(
    ("tiles", "said"),
    [
        ({"path": "GeoTIFF"}, r"tiles\.index: .*scheme\.gpkg has no attribute 'GeoTIFF'; did you mean 'GeoTIFF_Link'"),
        ({"name": "til"}, r"tiles\.index: .*scheme\.gpkg has no attribute 'til'; did you mean 'tile'"),
        ({"name": "UTM"}, r"tiles\.index: .*two features are tile '19'"),
        ({"layer": "x"}, r"tiles\.index: layer: .*scheme\.gpkg has no layer 'x'"),
        ({"index": "none.gpkg"}, r"tiles\.index: there is no file .*none\.gpkg"),
        ({"index": "sonar/BH4QK58D.tif"}, r"tiles\.index: .*it is no GPKG or GeoJSON .* file"),
    ],
)
def test_a_wrong_index_is_refused_by_its_key(tmp_path, tiles, said):
    bluetopo(tmp_path)

    with pytest.raises(ConfigError, match=said):
        find_tiles(experiment(SCHEME | tiles))


def test_a_file_that_the_index_names_and_that_is_gone_fails_its_tile_alone(tmp_path):
    first, second = bluetopo(tmp_path)
    (tmp_path / f"UTM19/BlueTopo_{first}_20250101.tiff").unlink()

    found = find_tiles(experiment())

    assert [tile.name for tile in found.tiles] == [second]
    assert [(failure.tile, failure.stage) for failure in found.failures] == [(first, "header")]
