"""Runs of many regions and variables: what does not stay in memory is the same to the last bit."""

import pytest
from alike import same

import geouq
from geouq import regions
from geouq.config import load_experiment
from geouq.numbers import run_metrics, saved_sums
from geouq.numbers.saved_sums import SavedSums, of_variable
from geouq.runs.provenance import load_record
from geouq.runs.store import SavedSummaries

TILES = ("a1", "a2", "b1", "b2")
TEXT = """variables: [height, cover]
regions:
  west: [a1, a2]
  east: [b1, b2]
  north: [a1, b1]
  rest: {of: all, without: west}
output: {maps: none, figures: [reliability, calibration, std], region_figures: [reliability]}
"""
UNLIKE = {"run.json", ".geouq.lock"}  # they tell when a run was


def written(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name not in UNLIKE)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if "summaries" not in path.parts}


@pytest.fixture
def run_of_regions(tile_folder, tmp_path):
    """Return a function that runs an experiment with overlapping regions into a folder."""
    config = tile_folder(TILES, shape=(96, 96), text=TEXT)
    return lambda name: geouq.run(str(config), options=geouq.Options(out=tmp_path / name)).folder


def test_files_are_the_same_whether_sums_and_rows_stay_in_memory_or_not(run_of_regions, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    kept = written(run_of_regions("kept"))
    monkeypatch.setattr(regions, "SUMS", 1)
    monkeypatch.setattr(saved_sums, "SUMS", 1)
    monkeypatch.setattr(run_metrics, "AS_THEY_ARE", 3)

    again = written(run_of_regions("again"))

    assert {"tables/metrics.csv", "report/index.html", "results.json", "figures/all/height_std.png"} <= kept.keys()
    assert again.keys() == kept.keys()
    assert [name for name in kept if kept[name] != again[name]] == []


def test_sums_that_are_read_again_have_the_same_bits(run_of_regions):
    folder = run_of_regions("run")
    record, experiment = load_record(folder), load_experiment(folder / "config.yaml")
    summaries = SavedSummaries(folder, record.tiles, experiment.levels)
    units = list(regions.evaluation_units(experiment, ("height", "cover"), summaries.wholes))

    for unit in units[len(TILES) :]:
        read = saved_sums.without_sums(unit, saved_sums.parts_of(unit, {}, summaries), summaries)
        assert isinstance(read.variables, SavedSums)
        assert same(dict(read.variables), dict(unit.variables))
        one = of_variable(read, "cover")
        assert list(one.variables) == ["cover"] == list(of_variable(unit, "cover").variables)
        with pytest.raises(KeyError):
            one.variables["height"]
