"""Tiles in an object store: listed by their keys, read with the credentials of the environment."""

import numpy as np
import pytest
import rasterio
from affine import Affine

from geouq.core.errors import DataError
from geouq.rasters.gdal import gdal_options
from geouq.rasters.listing import paths_like
from geouq.rasters.raster import opened, read_header
from geouq.rasters.sidecars import folders_listed_once
from geouq.rasters.tile_names import longer, match_names

KEYS = (
    "maps/a1_mean.tif",
    "maps/a1_var.tif",
    "maps/.b_mean.tif",
    "maps/old/c_mean.tif",
    "t/a1/truth.tif",
    "t/a2/truth.tif",
)
CONFIG = """version: 1
name: far
data:
  mean: s3://bucket/predictions/{{tile}}_mean.tif
  variance: s3://bucket/predictions/{{tile}}_variance.tif
  truth: {truth}
variables: [height]
output: {{maps: none, figures: none}}
"""


def test_keys_that_match_a_pattern_name_the_tiles(bucket):
    for key in KEYS:
        bucket.put_object(Bucket="bucket", Key=key, Body=b"")
    patterns = {"mean": "s3://bucket/maps/{tile}_mean.tif", "all": "/vsis3/bucket/maps/{tile}.tif"}

    assert match_names(patterns["mean"]) == {"a1"}
    assert match_names(patterns["mean"], hidden=True) == {"a1", ".b"}
    assert match_names(patterns["all"], longer(patterns.values(), patterns["all"])) == {"a1_var"}
    assert match_names("s3://bucket/t/{tile}/truth.tif") == {"a1", "a2"}
    assert match_names("s3://bucket/t/{tile}/{tile}.tif") == set()
    assert match_names("s3://bucket/{tile}/a1_mean.tif") == {"maps"}
    assert match_names("s3://bucket/maps/{tile}_mean.tif?versionId=3") == set()


def test_more_keys_than_one_answer_of_the_store_holds_are_found(bucket):
    for k in range(1100):
        bucket.put_object(Bucket="bucket", Key=f"maps/t{k}.tif", Body=b"")

    assert match_names("s3://bucket/maps/{tile}.tif") == {f"t{k}" for k in range(1100)}


@pytest.mark.usefixtures("bucket")
def test_a_store_that_cannot_be_listed_is_one_message():
    with pytest.raises(DataError, match=r"/vsis3/other/maps cannot be listed: .*tiles: \[t1, t2\]"):
        list(paths_like("s3://other/maps/{tile}.tif"))


@pytest.mark.parametrize("truth", ["s3://bucket/truth/{tile}.tif", "truth/{tile}.tif"])
def test_a_run_finds_and_reads_all_tiles_of_a_store(bucket, tile_folder, geouq, tmp_path, truth):
    local = tile_folder(("a1", "a2"), text="variables: [height]\noutput: {maps: none, figures: none}\n")
    for path in tmp_path.rglob("*.tif"):
        bucket.upload_file(str(path), "bucket", path.relative_to(tmp_path).as_posix())
    far = tmp_path / "far.yaml"
    far.write_text(CONFIG.format(truth=truth))

    for config in (far, local):
        assert geouq("run", config, "--out", tmp_path / config.stem).exit_code == 0

    tables = [(tmp_path / stem / "tables/metrics.csv").read_text() for stem in ("far", local.stem)]
    assert tables[0] == tables[1]
    assert "a1" in tables[0]


def test_tiles_that_are_named_need_no_listing(bucket, tile_folder, geouq, tmp_path, monkeypatch):
    tile_folder(("a1",))
    for path in tmp_path.rglob("*.tif"):
        bucket.upload_file(str(path), "bucket", path.relative_to(tmp_path).as_posix())
    monkeypatch.setattr("geouq.rasters.listing.names_in", lambda _: None)
    config = tmp_path / "far.yaml"
    config.write_text(CONFIG.format(truth="s3://bucket/truth/{tile}.tif"))

    refused = geouq("check", config)
    config.write_text(config.read_text() + "tiles: [a1]\n")

    assert refused.exit_code == 2
    assert "far.yaml:4: data.mean: /vsis3/bucket/predictions cannot be listed" in refused.stderr
    assert geouq("check", config).exit_code == 0


def test_a_truth_whose_store_lists_nothing_is_opened_all_the_same(bucket, tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1",), text="variables: [height]\noutput: {maps: none, figures: none}\n")
    bucket.upload_file(str(tmp_path / "truth/a1.tif"), "bucket", "truth/a1.tif")
    config.write_text(config.read_text().replace("truth/{tile}.tif", "s3://bucket/truth/{tile}.tif"))
    monkeypatch.setattr("geouq.rasters.listing.names_in", lambda _: None)

    assert geouq("check", config).exit_code == 0


@pytest.mark.parametrize("masked", [False, True])
def test_a_folder_of_a_store_is_listed_instead_of_asked_for_sidecars(bucket, asked, tmp_path, write_raster, masked):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=Affine(30, 0, 5e5, 0, -30, 6e6))
    if masked:
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
            target.write_mask(np.eye(8, 9, dtype=np.uint8))
    for path in tmp_path.glob("*.tif*"):
        bucket.upload_file(str(path), "bucket", f"m/{path.name}")
    asked.write_text("")
    with folders_listed_once(3), gdal_options():
        header = read_header("s3://bucket/m/a.tif")
        with opened(header) as source:
            assert source.read().sum() == 72

    requests = asked.read_text().splitlines()
    assert header.bands[0].masked is masked
    assert header.has_no_sidecars is not masked
    assert requests[0] == "GET /bucket/?delimiter=%2F&prefix=m%2F"
    assert masked or requests[1:] == ["GET /bucket/m/a.tif"]


def test_a_folder_with_too_many_names_is_not_listed(bucket, asked, tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=Affine(30, 0, 5e5, 0, -30, 6e6))
    bucket.upload_file(str(tmp_path / "a.tif"), "bucket", "many/a.tif")
    for k in range(1100):
        bucket.put_object(Bucket="bucket", Key=f"many/t{k}.tif", Body=b"")
    asked.write_text("")
    with folders_listed_once(3), gdal_options():
        assert read_header("s3://bucket/many/a.tif").has_no_sidecars

    requests = asked.read_text().splitlines()
    assert sorted(requests[1:]) == [f"GET /bucket/many/a.tif{end}" for end in ("", ".aux.xml", ".msk")]
