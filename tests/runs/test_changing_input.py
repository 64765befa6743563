"""Files that change while they are read, or between two runs: no number is made from two of them."""

import os
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
import rasterio

import geouq
from geouq.core.errors import DataError
from geouq.pipeline.data import Options
from geouq.rasters.raster import read_header, unchanged
from geouq.runs.progress import Silent

TEXT = "variables: [height]\noutput: {maps: none, figures: none}\n"
TALL = (2600, 30)  # so many pieces of a tile that the last ones wait


class Spoiler(Silent):
    """Does something to the input, so many times, each time that the first tile begins to be under way."""

    def __init__(self, spoil, times=1):
        self.spoil, self.times, self.said = spoil, times, []

    def stage(self, name, total):
        self.waiting = name == "sweep" and total

    def under_way(self, tile, share):  # noqa: ARG002  what all reporters are told
        if self.times and self.waiting and tile == "a1":
            self.spoil()
            self.times, self.waiting = self.times - 1, False

    def say(self, line):
        self.said.append(line)


def negated(path):
    """Write other values of the same size, as soon as the clock tells a difference."""
    before = path.stat().st_mtime_ns
    with rasterio.open(path, "r+") as target:
        target.write(-target.read())
    os.utime(path, ns=(before + 1, before + 1))


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def replaced(path):
    shutil.copy(path, path.with_suffix(".new"))
    negated(path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def removed(path):
    path.unlink()


def metrics(folder):
    return (folder / "tables" / "metrics.csv").read_bytes()


@pytest.mark.parametrize("change", [negated, replaced])
@pytest.mark.parametrize("layer", ["predictions/a1_mean.tif", "truth/a1.tif"])
def test_a_tile_whose_file_changes_while_it_is_read_is_read_once_more(tile_folder, tmp_path, change, layer):
    config = tile_folder(("a1", "a2"), shape=TALL, text=TEXT)
    spoiler = Spoiler(lambda: change(tmp_path / layer))

    results = geouq.run(config, Options(out=tmp_path / "out", workers=1), spoiler)
    geouq.run(config, Options(out=tmp_path / "undisturbed"))

    assert "files of tile a1 changed while they were read, and are read once more" in spoiler.said
    assert (results.record.failures, results.record.tiles, results.record.reused) == ((), ("a1", "a2"), 0)
    assert metrics(tmp_path / "out") == metrics(tmp_path / "undisturbed")


def test_a_tile_whose_file_changes_again_and_again_fails_and_the_next_run_reads_it(tile_folder, tmp_path):
    config, path = tile_folder(("a1", "a2"), shape=TALL, text=TEXT), tmp_path / "truth" / "a1.tif"

    first = geouq.run(config, Options(out=tmp_path / "out", workers=1), Spoiler(lambda: negated(path), 2))

    assert [(failure.tile, failure.stage) for failure in first.record.failures] == [("a1", "sweep")]
    assert first.record.failures[0].message == f"{path} changed while it was read; run again, which reads its tile anew"
    assert first.record.tiles == ("a2",)

    again = geouq.run(config, Options(out=tmp_path / "out"))
    geouq.run(config, Options(out=tmp_path / "undisturbed"))
    assert (again.record.reused, again.record.failures) == (1, ())
    assert metrics(tmp_path / "out") == metrics(tmp_path / "undisturbed")


@pytest.mark.parametrize(("change", "told"), [(cut, "{} cannot be read"), (removed, "there is no file {}")])
def test_a_tile_whose_file_is_lost_while_it_is_read_fails_by_what_is_left(tile_folder, tmp_path, change, told):
    config, path = tile_folder(("a1", "a2"), shape=TALL, text=TEXT), tmp_path / "truth" / "a1.tif"

    results = geouq.run(config, Options(out=tmp_path / "out", workers=1), Spoiler(lambda: change(path)))

    assert results.record.tiles == ("a2",)
    (failure,) = results.record.failures
    assert told.format(path) in failure.message


def test_the_only_file_of_a_layer_that_is_lost_while_it_is_read_is_named(tile_folder, tmp_path):
    config, path = tile_folder(("a1",), shape=TALL, text=TEXT), tmp_path / "truth" / "a1.tif"

    results = geouq.run(config, Options(out=tmp_path / "out", workers=1), Spoiler(lambda: removed(path)))

    (failure,) = results.record.failures
    assert failure.message.startswith(f"{path} changed while it was read")


def test_a_file_that_changed_between_runs_has_its_tile_read_again_alone(tile_folder, tmp_path):
    config = tile_folder(("a1", "a2", "b1"), text=TEXT)
    before = geouq.run(config, Options(out=tmp_path / "out"))
    negated(tmp_path / "truth" / "a2.tif")

    after = geouq.run(config, Options(out=tmp_path / "out"))
    geouq.run(config, Options(out=tmp_path / "undisturbed"))

    assert (before.record.reused, after.record.reused) == (0, 2)
    assert metrics(tmp_path / "out") == metrics(tmp_path / "undisturbed")


@pytest.mark.parametrize("seconds", [0, 1, 4_102_444_800, 2**33])
def test_times_of_change_of_any_century_are_times(tile_folder, tmp_path, seconds):
    config = tile_folder(("a1",), text=TEXT)
    for path in tmp_path.rglob("*.tif"):
        os.utime(path, (seconds, seconds))

    first = geouq.run(config, Options(out=tmp_path / "out"))
    second = geouq.run(config, Options(out=tmp_path / "out"))

    assert (first.record.failures, first.record.reused, second.record.reused) == ((), 0, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: None, nullcontext()),
        (removed, pytest.raises(DataError, match=r"a\.tif changed while it was read")),
        (cut, pytest.raises(DataError, match=r"a\.tif changed while it was read")),
    ],
)
def test_files_are_as_they_were_when_the_block_ends(tmp_path, write_raster, change, said):
    raster = read_header(str(write_raster(tmp_path / "a.tif", np.ones((8, 8), np.float32))))

    with said, unchanged([raster]):
        change(tmp_path / "a.tif")


def test_another_error_in_the_block_stays_where_nothing_changed(tmp_path, write_raster):
    raster = read_header(str(write_raster(tmp_path / "a.tif", np.ones((8, 8), np.float32))))

    with pytest.raises(DataError, match="negative"), unchanged([raster]):
        raise DataError("negative")
