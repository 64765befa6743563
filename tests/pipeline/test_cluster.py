"""A run on a cluster writes the files of a run on this machine, whether workers share the folder or send results."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from affine import Affine
from clusters import cluster
from landscape import NORTH_UP

import geouq
from geouq import Options
from geouq.pipeline.cluster import _carry_out, _Order, _token
from geouq.pipeline.prepare import prepare
from geouq.pipeline.tiles import TileWork
from geouq.runs.progress import Silent
from geouq.runs.provenance import code_target

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.loses_items,
]
CLASSES = (
    "variables: [height]\nbins: {exact: true}\n"
    "regions: {cover: {classes: 'cover/{tile}.tif', names: {0: bare, 1: wood}}}\n"
    "intervals: {resamples: 100}\noutput: {maps: [z], figures: none}\n"
)
NAMES = [f"t{number}" for number in range(10)]
ALONE = ["unshare", "--mount", "sh", "-c"]


class Noted(Silent):
    """Keeps what is said."""

    def __init__(self):
        self.said = []

    def say(self, line):
        self.said.append(line)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("two") / "cluster", 2) as found:
        yield found


@pytest.fixture
def with_classes(tile_folder, tmp_path, write_raster):
    """Tiles with two classes, of which one file of predictions and one of classes are damaged."""

    def make(shape):
        config = tile_folder(NAMES, shape=shape, text=CLASSES)
        codes = (np.arange(np.prod(shape)).reshape(shape) % 7 > 2).astype(np.uint8)
        for index, name in enumerate(NAMES):
            transform = NORTH_UP @ Affine.translation(index * shape[1], 0)
            write_raster(tmp_path / f"cover/{name}.tif", codes, transform=transform)
        for damaged in ("predictions/t3_mean.tif", "cover/t5.tif"):
            whole = (tmp_path / damaged).read_bytes()
            (tmp_path / damaged).write_bytes(whole[: -len(whole) // 3])
        return config

    return make


def files_of(out):
    """What a run wrote, by name, but what holds times."""
    found = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    kinds = ("summaries/", "tables/", "maps/t")
    return {name: path.read_bytes() for name, path in found.items() if name.startswith(kinds)}


@pytest.mark.parametrize("shape", [(60, 70), (300, 290)], ids=["tiles that share files", "tiles with own files"])
def test_the_files_of_a_run_on_a_cluster_are_those_of_this_machine(two, with_classes, tmp_path, shape):
    """With regions from classes, exact bins and maps; two of the tiles fail."""
    config = with_classes(shape)
    here = geouq.run(config, Options(out=tmp_path / "here"))
    there = geouq.run(config, Options(out=tmp_path / "there", scheduler=two.address))

    assert {failure.tile for failure in here.failures} == {"t3", "t5"}
    assert sorted(map(str, there.failures)) == sorted(map(str, here.failures))
    different = {
        name
        for name, content in files_of(tmp_path / "here").items()
        if content != files_of(tmp_path / "there").get(name)
    }
    assert different <= {"tables/failures.csv"}  # in the order in which they failed
    assert files_of(tmp_path / "there").keys() == files_of(tmp_path / "here").keys()


def test_a_large_tile_is_swept_by_several_workers(two, tile_folder, tmp_path, monkeypatch):
    config = tile_folder(("a1",), shape=(1200, 300))
    geouq.run(config, Options(out=tmp_path / "here"))
    monkeypatch.setattr("geouq.pipeline.cluster.LARGE", 1200)
    noted = Noted()
    geouq.run(config, Options(out=tmp_path / "there", scheduler=two.address), noted)

    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")
    assert not any("results" in line for line in noted.said)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can hide a folder from a process")
def test_workers_that_do_not_see_the_folder_send_their_results(two, with_classes, tmp_path):
    """The run sees another disk in the place of its folder."""
    if subprocess.run([*ALONE, ""], check=False).returncode:
        pytest.skip("unshare cannot give a process mounts of its own")
    config, out, kept = with_classes((300, 290)), tmp_path / "apart", tmp_path / "kept"
    geouq.run(config, Options(out=tmp_path / "here"))
    out.mkdir()
    run = f"{sys.executable} -m geouq run {config} --out {out} --scheduler {two.place}"
    ended = subprocess.run(
        [*ALONE, f"mount -t tmpfs none {out} && {run}; echo $?; cp -r {out} {kept}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ended.stdout.splitlines()[-1] == "3"
    assert f"workers send results back, as they cannot write into {out}" in ended.stderr
    assert f"this machine writes maps of 8 tiles, as workers cannot write into {out}" in ended.stderr
    assert not list(out.iterdir())
    wanted, found = files_of(tmp_path / "here"), files_of(kept)
    assert found.keys() == wanted.keys()
    assert {name for name in wanted if found[name] != wanted[name]} <= {"tables/failures.csv"}


def test_another_cpu_is_said_once_and_the_next_run_reads_no_tile_again(tile_folder, tmp_path):
    other = "from geouq.runs import provenance\nprovenance._target_here = lambda: ('another',)\n"
    config, noted, again = tile_folder(shape=(300, 290)), Noted(), Noted()
    with cluster(tmp_path / "cluster", 1, preload=other) as there:
        geouq.run(config, Options(out=tmp_path / "out", scheduler=there.address), noted)
    geouq.run(config, Options(out=tmp_path / "out"), again)

    assert sum("another CPU" in line for line in noted.said) == 1
    assert "3 of 3 tiles are summarised already and are not swept again" in again.said


def test_one_process_sweeps_a_tile_for_two_runs_in_turn(tile_folder, tmp_path):
    """One of the runs was killed, and a worker of several threads still works for it."""
    job = prepare(tile_folder(("a1",), shape=(300, 290)), Options(out=tmp_path / "out"), None)
    work = TileWork(job.settings, job.plan.readings, {"a1": {}})
    with _token(tmp_path / "out") as token, ThreadPoolExecutor(4) as threads:
        order = _Order(job.tiles, work, tmp_path / "out", token, code_target(), together=False)
        done = list(threads.map(_carry_out, [order] * 12))

    assert [one.refused for one in done] == [None] * 12
    assert not [failure for one in done for failure in one.failures]
    assert all(one.shared for one in done)
