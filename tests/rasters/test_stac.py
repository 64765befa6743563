"""STAC items as tiles: in JSON of STAC 1.0 and 1.1, and in stac-geoparquet."""

import json
from pathlib import Path

import numpy as np
import pytest
from landscape import NORTH_UP, write_raster
from products import boreal, boreal_grid, calibrated, item, numbers, numbers_of_run, write_items

from geouq.config import StacTiles, load_experiment, to_yaml
from geouq.core.errors import ConfigError, DataError
from geouq.rasters.catalog import find_tiles
from geouq.rasters.stac import stac_table
from geouq.rasters.tile_names import Place

PRODUCT = {"mean": {"band": 1}, "std": {"band": 2}, "truth": "lidar/{tile}.tif"}
QUIET = {"maps": "none", "figures": "none"}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def experiment(data=None, tiles=None, **more):
    written = {"version": 1, "name": "boreal", "variables": ["agb"], "output": {"directory": "out", **QUIET}}
    tiles = {"stac": "items.json", "asset": "cog"} if tiles is None else tiles
    return load_experiment(written | {"data": data or PRODUCT, "tiles": tiles} | more)


def saved(own, name="boreal.yaml"):
    Path(name).write_text(to_yaml(own), "utf-8")
    return name


def failure(own):
    (found,) = find_tiles(own).failures
    return found.message


def test_a_boreal_product_gives_the_numbers_of_its_pixels(geouq, tmp_path):
    layers = boreal(tmp_path)

    assert geouq("run", saved(experiment())).exit_code == 0

    found = numbers_of_run("out")
    assert found.keys() == layers.keys()
    for name, own in layers.items():
        assert found[name] == pytest.approx(numbers(*own), rel=1e-6), name
        assert found[name]["zms"] == pytest.approx(1, abs=0.1)


def test_a_run_keeps_the_checksum_of_its_items_and_can_be_opened_again(geouq, tmp_path):
    layers = boreal(tmp_path)
    first = next(iter(layers))

    assert geouq("run", saved(experiment()), "--only", first).exit_code == 0

    record = json.loads(Path("out/run.json").read_text("utf-8"))["sources"]["tiles.stac"]
    assert (record["file"], record["bytes"]) == ("items.json", Path("items.json").stat().st_size)
    assert len(record["sha256"]) == 64
    assert [tile.name for tile in find_tiles(load_experiment("out/config.yaml")).tiles] == [first]
    assert geouq("verify", "out").exit_code == 0
    with Path("items.json").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert "input tiles.stac, items.json, has other bytes" in geouq("verify", "out").output


def test_paths_in_a_file_are_relative_to_it_wherever_geouq_starts(tmp_path, monkeypatch):
    boreal(tmp_path / "data")
    keys = ("version: 1", "name: far", "variables: [agb]", "tiles: {stac: items.json, asset: cog}")
    layers = "data: {mean: {band: 1}, std: {band: 2}, truth: 'lidar/{tile}.tif'}"
    (tmp_path / "data/boreal.yaml").write_text("\n".join([*keys, layers]), "utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert len(find_tiles(load_experiment("../data/boreal.yaml")).tiles) == 2


def test_a_recalibrated_run_is_evaluated_with_the_same_items(geouq, tmp_path):
    layers = boreal(tmp_path, tuple("abcdef"))
    assert geouq("run", saved(experiment())).exit_code == 0

    assert geouq("recalibrate", "out", "--method", "scale", "--apply", "all").exit_code == 0

    again = find_tiles(load_experiment("out/recalibration/evaluate.yaml"))
    assert {tile.name for tile in again.tiles} == layers.keys()
    assert not again.failures


def test_truth_is_joined_from_another_collection_by_id(tmp_path):
    layers = boreal(tmp_path)
    names = list(layers)
    files = [item(name, {"dtm": {"href": f"{name}.tif"}}, version="1.0.0") for name in reversed(names)]
    write_items(tmp_path / "lidar/items.json", *files, item("another", {"dtm": {"href": "x.tif"}}))
    truth = {"asset": "dtm", "tiles": {"stac": "lidar/items.json"}}

    own = experiment({**PRODUCT, "truth": truth})
    found = find_tiles(own)

    assert [tile.truth.path for tile in found.tiles] == [str(tmp_path / f"lidar/{name}.tif") for name in names]
    assert list(found.sources) == ["tiles.stac", "data.truth.tiles.stac"]
    assert load_experiment(saved(own)) == own


def test_items_without_truth_are_left_aside_and_counted(tmp_path):
    layers = boreal(tmp_path)
    first, second = layers
    (tmp_path / f"lidar/{second}.tif").unlink()

    found = find_tiles(experiment())

    assert [tile.name for tile in found.tiles] == [first]
    assert not found.failures
    assert f"left aside: 1 tile without truth ({second})" in found.notes


def test_items_on_s3_give_the_numbers_of_the_same_files_on_disk(geouq, bucket, tmp_path):
    boreal(tmp_path)
    assert geouq("run", saved(experiment())).exit_code == 0
    items = Path("items.json").read_text("utf-8")
    Path("items.json").write_text(items.replace('"cog/', '"s3://bucket/maps/cog/'), "utf-8")
    for path in [*Path().glob("cog/*.tif"), *Path().glob("lidar/*.tif")]:
        bucket.upload_file(str(path), "bucket", f"maps/{path}")
        path.unlink()
    remote = experiment({**PRODUCT, "truth": "s3://bucket/maps/lidar/{tile}.tif"}, output={"directory": "far", **QUIET})

    assert geouq("run", saved(remote, "far.yaml")).exit_code == 0

    assert numbers_of_run("far") == numbers_of_run("out")
    assert len(numbers_of_run("far")) == 2


def stored(folder, bands, *, version, **header):
    """A raster of stored integers, and its item; returns the layers."""
    mean, std, truth = calibrated(3)
    mean, std = (np.where(np.isnan(layer), 30, layer) for layer in (mean, std))
    counts = np.stack([np.round((mean + 5) / 0.1), np.round(std / 0.1)]).astype(np.int16)
    counts[:, :5] = -9999
    write_raster(folder / "p.tif", counts, **header)
    write_raster(folder / "y.tif", truth, nodata=np.nan)
    assets = {"data": {"href": "./p.tif", **bands}, "truth": {"href": "./y.tif"}}
    write_items(folder / "items.json", item("t1", assets, version=version))
    mean, std = counts[0] * 0.1 - 5, counts[1] * 0.1
    mean[:5] = np.nan
    return mean, std, truth


OLD = [
    {"data_type": "int16", "scale": 0.1, "offset": -5, "nodata": -9999, "unit": "Mg ha-1"},
    {"data_type": "int16", "scale": 0.1, "nodata": -9999, "unit": "Mg ha-1"},
]
NEW = [
    {"name": "agb", "raster:scale": 0.1, "raster:offset": -5},
    {"name": "se", "description": "error", "raster:scale": 0.1},
]
VERSIONS = {
    "1.0": ("1.0.0", {"raster:bands": OLD, "eo:bands": [{"name": "agb"}, {"name": "se", "description": "error"}]}),
    "1.1": ("1.1.0", {"nodata": -9999, "unit": "Mg ha-1", "bands": NEW}),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("band", [2, "se", "error"])
def test_bands_are_found_and_scaled_as_their_item_says(geouq, tmp_path, version, band):
    number, bands = VERSIONS[version]
    layers = stored(tmp_path, bands, version=number)
    data = {
        "mean": {"asset": "data", "band": "agb"},
        "std": {"asset": "data", "band": band},
        "truth": {"asset": "truth"},
    }

    own = experiment(data, {"stac": "items.json"})
    assert geouq("run", saved(own)).exit_code == 0

    assert numbers_of_run("out")["t1"] == pytest.approx(numbers(*layers), rel=1e-6)
    (tile,) = find_tiles(own).tiles
    assert [(b.scale, b.offset, b.nodata, b.units) for b in tile.predictions[""].mean.bands] == [
        (0.1, -5, -9999, "Mg ha-1"),
        (0.1, 0, -9999, "Mg ha-1"),
    ]


def test_the_configuration_comes_before_the_item(tmp_path):
    stored(tmp_path, {"raster:bands": OLD}, version="1.0.0")
    data = {"mean": {"band": 1, "scale": 0.2, "nodata": -1}, "std": {"band": 2}, "truth": {"asset": "truth"}}

    (tile,) = find_tiles(experiment(data, {"stac": "items.json", "asset": "data"})).tiles

    first = tile.predictions[""].mean.bands[0]
    assert (first.scale, first.offset, first.nodata) == (0.2, -5, -1)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"scales": (0.5, 0.5)}, "says scale 0.1 of band 1, but the file has 0.5"),
        ({"scales": (0.1, 0.1)}, "says offset -5 of band 1, but the file has 0"),
        ({"nodata": -1}, "says nodata -9999 of band 1, but the file has -1"),
        ({"units": ("kg m-2", "kg m-2")}, "says units Mg ha-1 of band 1, but the file has kg m-2"),
    ],
)
def test_a_file_that_contradicts_its_item_is_refused(tmp_path, header, said):
    stored(tmp_path, {"raster:bands": OLD}, version="1.0.0", **header)
    data = {"mean": {"band": 1}, "std": {"band": 2}, "truth": {"asset": "truth"}}

    with_item = experiment(data, {"stac": "items.json", "asset": "data"})

    assert said in failure(with_item)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"proj:shape": [60, 71]}, "says 60 x 71 pixels, but the file has 60 x 70"),
        ({"proj:epsg": 32634}, "says the CRS EPSG:32634, but the file has EPSG:32633"),
        ({"proj:code": "EPSG:4326"}, "says the CRS EPSG:4326, but the file has EPSG:32633"),
        ({"proj:transform": [10, 0, 500_010, 0, -10, 7_000_000]}, "1 pixels away"),
    ],
)
def test_a_raster_elsewhere_than_its_item_is_refused(tmp_path, place, said):
    stored(tmp_path, {}, version="1.1.0")
    right = {"proj:shape": [60, 70], "proj:epsg": 32633, "proj:transform": list(NORTH_UP)}
    data = {"mean": {"band": 1}, "std": {"band": 2}, "truth": {"asset": "truth"}}
    found = {}
    for name, own in (("right", right), ("wrong", right | place)):
        files = {"data": {"href": "p.tif"}, "truth": {"href": "y.tif"}}
        write_items(tmp_path / f"{name}.json", item("t1", files, **own))
        found[name] = find_tiles(experiment(data, {"stac": f"{name}.json", "asset": "data"}))

    assert not found["right"].failures
    assert said in found["wrong"].failures[0].message


def test_fields_of_an_asset_come_before_those_of_its_item(tmp_path):
    stored(tmp_path, {"proj:shape": [60, 70]}, version="1.1.0")
    content = json.loads(Path("items.json").read_text("utf-8"))
    content["features"][0]["properties"]["proj:shape"] = [1, 1]
    content["features"][0]["assets"]["truth"]["proj:shape"] = [60, 70]
    Path("items.json").write_text(json.dumps(content), "utf-8")
    data = {"mean": {"band": 1}, "std": {"band": 2}, "truth": {"asset": "truth"}}

    assert not find_tiles(experiment(data, {"stac": "items.json", "asset": "data"})).failures


@pytest.mark.parametrize(
    ("own", "reference", "found"),
    [
        (None, "./a/b.tif", "{folder}/a/b.tif"),
        (None, "../b.tif", "{parent}/b.tif"),
        (None, "/data/b.tif", "/data/b.tif"),
        (None, "file:///data/a%20b.tif", "/data/a b.tif"),
        (None, "s3://bucket/b.tif", "s3://bucket/b.tif"),
        ("https://server/items/t1.json?x=1", "./b.tif", "https://server/items/b.tif"),
        ("/other/t1.json", "b.tif", "/other/b.tif"),
        ("t1.json", "b.tif", "{folder}/b.tif"),
    ],
)
def test_references_are_relative_to_the_item_or_the_file(tmp_path, own, reference, found):
    one = item("t1", {"data": {"href": reference}})
    one["links"] += [{"rel": "self", "href": own}] if own else []
    path = write_items(tmp_path / "in/items.json", one)

    table = stac_table(StacTiles(stac=str(path)), ["data"])

    assert table.files[Place("t1")]["data"].path == found.format(folder=tmp_path / "in", parent=tmp_path)


def test_items_in_parquet_are_the_same_tiles(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    number, bands = VERSIONS["1.0"]
    stored(tmp_path, bands, version=number)
    content = json.loads(Path("items.json").read_text("utf-8"))["features"]
    rows = [{k: v for k, v in one.items() if k != "properties"} | one["properties"] for one in content]
    rows[0] |= {"proj:shape": [60, 70], "proj:transform": list(NORTH_UP), "proj:epsg": 32633, "geometry": b""}
    rows.append(rows[0] | {"id": "t2", "assets": {"other": {"href": "z.tif"}}})
    pq.write_table(pa.Table.from_pylist(rows), "items.parquet")
    data = {"mean": {"band": 1}, "std": {"band": "error"}, "truth": {"asset": "truth"}}

    both = [find_tiles(experiment(data, {"stac": f"items.{end}", "asset": "data"})) for end in ("json", "parquet")]

    assert [tile.name for tile in both[1].tiles] == ["t1"]
    assert both[0].tiles[0].rasters == both[1].tiles[0].rasters
    assert "left aside: 1 tile without mean (t2)" in both[1].notes


def test_parquet_without_its_extra_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(ConfigError, match=r"tiles\.stac: .*items\.parquet: Parquet needs pyarrow: pip install"):
        find_tiles(experiment(tiles={"stac": "items.parquet", "asset": "cog"}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[1", "is neither JSON nor Parquet"),
        ('{"type": "Collection"}', "is a STAC Collection; give an ItemCollection"),
        ('{"a": 1}', "holds no items; give an ItemCollection"),
        ('{"type": "FeatureCollection", "features": [{"type": "Feature"}]}', "item 1 has no id"),
        ('{"type": "FeatureCollection", "features": [{"id": "a"}, {"id": "a"}]}', "two items have the id 'a'"),
        ('{"type": "Feature", "id": "a", "assets": {"cog": {}}}', "asset cog of item a has no href"),
        (
            '{"type": "Feature", "id": "a", "assets": {"cog": {"href": "x", "bands": [{"scale": 0}]}}}',
            "asset cog of item a: a band has the scale 0",
        ),
        (
            '{"type": "Feature", "id": "a", "assets": {"cog": {"href": "x", "proj:shape": [1]}}}',
            "asset cog of item a: not enough values",
        ),
    ],
)
def test_what_is_no_item_is_refused_by_name(tmp_path, content, said):
    (tmp_path / "items.json").write_text(content, "utf-8")

    with pytest.raises(DataError) as told:
        stac_table(StacTiles(stac="items.json"), ["cog"])

    assert said in str(told.value)
    assert str(told.value).startswith("items.json")


def test_an_asset_that_no_item_has_is_refused_with_those_there_are(tmp_path):
    boreal(tmp_path)

    with pytest.raises(
        ConfigError, match=r"data\.mean: no tile of .*items\.json has the asset 'cgo'; did you mean 'cog'"
    ):
        find_tiles(experiment({**PRODUCT, "mean": {"asset": "cgo", "band": 1}}))
    with pytest.raises(ConfigError, match=r"tiles\.stac: there is no file .*none\.json"):
        find_tiles(experiment(tiles={"stac": "none.json", "asset": "cog"}))


def test_a_model_is_part_of_the_name_of_an_asset(tmp_path):
    layers = boreal(tmp_path)
    content = json.loads(Path("items.json").read_text("utf-8"))
    for one in content["features"]:
        one["assets"] |= {f"map_{model}": one["assets"]["cog"] for model in ("a", "b")}
        one["assets"]["map_b"] = {**one["assets"]["cog"], "href": one["assets"]["cog"]["href"].replace("cog", "cog2")}
    for place, (name, (mean, std, _)) in enumerate(layers.items()):
        write_raster(tmp_path / f"cog2/{name}.tif", np.stack([mean, 2 * std]), **boreal_grid(place))
    Path("items.json").write_text(json.dumps(content), "utf-8")
    data = {**PRODUCT, "mean": {"asset": "map_{model}", "band": 1}, "std": {"asset": "map_{model}", "band": 2}}

    own = experiment(data, {"stac": "items.json"}, models=["a", "b"])

    found = find_tiles(own)
    assert [Path(p.mean.path).parent.name for p in found.tiles[0].predictions.values()] == ["cog", "cog2"]
