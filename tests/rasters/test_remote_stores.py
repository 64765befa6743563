"""Zarr and Icechunk stores on servers: the numbers of the same stores on disk, with few requests."""

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from arrays_in_files import DAYS, layers, on_map, save, with_crs

import geouq
from geouq.config import load_experiment
from geouq.core.errors import DataError
from geouq.pipeline.data import Options
from geouq.rasters.arrays import array_header
from geouq.rasters.catalog import find_tiles

zarr = pytest.importorskip("zarr")
SHAPE = (300, 270)
MOST = 100  # requests for headers, coordinates and what places three arrays, when they are opened and read
KEYS = ("mean", "variance", "truth")
QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}, "variables": ["v"]}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with two times in chunks of 128 pixels, on disk."""
    monkeypatch.chdir(tmp_path)
    dataset = with_crs(on_map(layers(2, shape=SHAPE), dims=("time",)).assign_coords(time=DAYS[:2]))
    return save(dataset, tmp_path / "store.zarr", {"time": 1, "y": 128, "x": 128})


def uploaded(client, folder, prefix="store.zarr"):
    for path in folder.rglob("*"):
        if path.is_file():
            key = f"{prefix}/{path.relative_to(folder).as_posix()}"
            client.put_object(Bucket="bucket", Key=key, Body=path.read_bytes())


@pytest.fixture
def web(tmp_path):
    """The address of a web server that lists nothing, and its requests."""
    requests = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            requests.append(f"{self.command} {self.path}")

        def list_directory(self, _):
            self.send_error(403)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()


def experiment(path, directory="far"):
    data = {key: {"path": str(path), "variable": key} for key in KEYS}
    output = QUICK["output"] | {"directory": directory}
    return load_experiment({"version": 1, "name": "store", "data": data} | QUICK | {"output": output})


def numbers(path, directory="far", **options):
    results = geouq.run(experiment(path, directory), Options(**options))
    assert not results.failures
    table = results.metrics
    return table[["level", "name", "variable", "metric", "bins", "value"]].reset_index(drop=True)


def test_numbers_of_a_store_in_a_bucket_are_those_of_the_store_on_disk(store, bucket):
    uploaded(bucket, store)

    found = numbers("s3://bucket/store.zarr", workers=2)

    pd.testing.assert_frame_equal(found, numbers(store, "near"), check_exact=True)


def test_numbers_of_a_store_on_a_web_server_are_those_of_the_store_on_disk(store, web):
    found = numbers(f"{web[0]}/store.zarr", workers=2)

    pd.testing.assert_frame_equal(found, numbers(store, "near"), check_exact=True)


def test_a_store_of_version_2_is_read_too(tmp_path, web, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset = with_crs(on_map(layers(shape=SHAPE)))
    dataset.to_zarr(tmp_path / "two.zarr", zarr_format=2, consolidated=False)

    found = numbers(f"{web[0]}/two.zarr")

    pd.testing.assert_frame_equal(found, numbers(tmp_path / "two.zarr", "near"), check_exact=True)


@pytest.mark.usefixtures("store")
def test_a_sweep_requests_each_chunk_once_and_lists_nothing(web, sweep_one):
    address, requests = web

    sweep_one(experiment(f"{address}/store.zarr"))

    chunks = [own for own in requests if any(f"/{key}/c/" in own for key in KEYS)]
    assert len(chunks) == len(set(chunks)) == 3 * 2 * 9
    assert not [own for own in requests if own.endswith("/")]
    assert len(requests) - len(chunks) < MOST


def test_a_chunk_in_a_bucket_takes_at_most_two_requests(store, bucket, asked, sweep_one):
    uploaded(bucket, store)
    before = len(asked.read_text().splitlines())

    sweep_one(experiment("s3://bucket/store.zarr"))

    requests = asked.read_text().splitlines()[before:]
    chunks = [own for own in requests if any(f"/{key}/c/" in own for key in KEYS)]
    assert len(set(chunks)) == 3 * 2 * 9
    assert max(chunks.count(own) for own in chunks) <= 2
    assert not [own for own in requests if "list-type" in own]


def test_chunks_that_are_not_there_hold_the_fill_value(store, web):
    (store / "truth/c/0/0/0").unlink()

    found = numbers(f"{web[0]}/store.zarr")

    pd.testing.assert_frame_equal(found, numbers(store, "near"), check_exact=True)


@pytest.mark.usefixtures("store")
def test_chunks_that_are_refused_fail_and_are_not_taken_for_missing_ones(tmp_path, monkeypatch):
    class Refusing(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            if "/truth/c/" in self.path:
                self.send_error(403)
            else:
                super().do_GET()

    monkeypatch.setenv("GDAL_HTTP_MAX_RETRY", "0")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Refusing, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        results = geouq.run(experiment(f"http://127.0.0.1:{server.server_address[1]}/store.zarr"))
        server.shutdown()

    assert sorted(failure.tile for failure in results.failures) == ["2019-12", "2020-01"]
    assert all("HTTP response code: 403" in failure.message for failure in results.failures)


def test_a_changed_store_is_read_again(store, web):
    path = f"{web[0]}/store.zarr"
    before = numbers(path)
    array = zarr.open_array(store / "mean", mode="r+")
    array[...] = array[...] + np.float32(1)

    (bias, changed) = (
        table.query("level == 'all' and metric == 'bias'").value.item() for table in (before, numbers(path))
    )

    assert changed == pytest.approx(bias + 1, abs=1e-4)


def test_a_store_that_is_not_there_is_named_in_one_message(bucket):
    del bucket

    (failure,) = find_tiles(experiment("s3://bucket/none.zarr")).failures

    assert (
        failure.message
        == "there is no Zarr store s3://bucket/none.zarr: the server has none of zarr.json, .zgroup, .zarray there"
    )


@pytest.mark.usefixtures("store")
def test_an_array_that_is_not_there_is_named(web):
    with pytest.raises(DataError, match=r"store.zarr has no array height"):
        array_header(f'ARRAY:"{web[0]}/store.zarr":height')


def test_a_store_without_credentials_says_which_are_missing(bucket, monkeypatch, tmp_path):
    del bucket
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))

    (failure,) = find_tiles(experiment("s3://bucket/secret.zarr")).failures

    assert "AWS_SECRET_ACCESS_KEY" in failure.message
    assert len(failure.message.splitlines()) == 1


def test_other_files_on_servers_are_for_gdal():
    with pytest.raises(DataError, match="Zarr stores and Icechunk repositories are read alone; give GDAL's name"):
        array_header('ARRAY:"https://server/a.nc":height')


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)

    with pytest.raises(DataError, match=r"pip install geouq\[zarr\]"):
        array_header('ARRAY:"s3://bucket/a.zarr":height')


def test_a_group_and_what_its_arrays_refer_to_are_found(tmp_path, web, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset = with_crs(on_map(layers(shape=SHAPE)))
    dataset["mean"].attrs["ancillary_variables"] = "error"
    dataset["error"] = dataset["variance"] ** 0.5
    dataset["error"].attrs["standard_name"] = "height standard_error"
    dataset.to_zarr(tmp_path / "a.zarr", group="daily", consolidated=False)
    path = f"{web[0]}/a.zarr"
    data = {key: {"path": path, "variable": f"daily/{key}"} for key in ("mean", "truth")}

    (tile,) = find_tiles(load_experiment({"version": 1, "name": "cf", "data": data} | QUICK)).tiles

    assert tile.rasters["std"].grid == tile.grid
    assert "EPSG:32633" in tile.grid.crs_name


def test_an_icechunk_repository_in_a_bucket_is_read(bucket, tmp_path, monkeypatch):
    icechunk = pytest.importorskip("icechunk")
    monkeypatch.chdir(tmp_path)
    import os

    storage = icechunk.s3_storage(
        bucket="bucket",
        prefix="repo.icechunk",
        endpoint_url=os.environ["AWS_ENDPOINT_URL"],
        allow_http=True,
        force_path_style=True,
        from_env=True,
        region="us-east-1",
    )
    session = icechunk.Repository.create(storage).writable_session("main")
    dataset = with_crs(on_map(layers(shape=SHAPE)))
    dataset.to_zarr(session.store, consolidated=False)
    session.commit("first")
    save(dataset, tmp_path / "near.zarr")
    del bucket

    found = numbers("s3://bucket/repo.icechunk")

    pd.testing.assert_frame_equal(found, numbers(tmp_path / "near.zarr", "near"), check_exact=True)


@pytest.mark.usefixtures("store")
def test_a_run_records_that_nothing_identifies_the_version_of_a_store(web):
    results = geouq.run(experiment(f"{web[0]}/store.zarr"))

    record = json.loads((results.folder / "run.json").read_text("utf-8"))
    (tile, *_) = record["inputs"].values()
    assert tile["mean"]["unidentified"] == [f"{web[0]}/store.zarr"]
