"""Tiles in an object store: listed by their keys, read with the credentials of the environment."""

import pytest

from geouq.core.errors import DataError
from geouq.rasters.listing import paths_like
from geouq.rasters.tile_names import match_names, others

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
    assert match_names(patterns["all"], others(patterns, "all")) == {"a1_var"}
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
