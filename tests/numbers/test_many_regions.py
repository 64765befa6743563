"""Runs of many regions and variables: what does not stay in memory is the same to the last bit."""

import numpy as np
import pytest
from alike import same
from landscape import write_raster, write_tiles

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


@pytest.fixture(scope="module")
def run_of_classes(tmp_path_factory):
    """Return the folder of a run with one variable and 64 classes as regions."""
    folder = tmp_path_factory.mktemp("classes")
    names = ", ".join(f"{code}: field_{code}" for code in range(1, 65))
    text = f"variables: [height]\nregions: {{fields: {{classes: fields.tif, names: {{{names}}}}}}}\n"
    config = write_tiles(folder, ("a",), (256, 64), text + "output: {maps: none, figures: none}\n")
    rows = np.repeat(np.arange(1, 65), 4).astype(np.uint8)
    write_raster(folder / "fields.tif", np.broadcast_to(rows[:, None], (1, 256, 64)))
    return geouq.run(str(config), options=geouq.Options(out=folder / "out")).folder


def test_many_polygons_or_classes_have_pages_and_rows_on_the_scorecard(run_of_classes):
    pages = {path.stem for path in (run_of_classes / "report").glob("*.html")}
    assert pages == {"index", *(f"field_{code}" for code in range(1, 65))}
    assert 'href="field_64.html"' in (run_of_classes / "report/index.html").read_text(encoding="utf-8")


def test_of_too_many_polygons_or_classes_only_the_tables_tell(run_of_classes, monkeypatch):
    monkeypatch.setattr(run_metrics, "ZONES_SHOWN", 63)
    results = geouq.report(run_of_classes)

    assert "field_64.html" not in (run_of_classes / "report/index.html").read_text(encoding="utf-8")
    assert any(
        warning.startswith("64 regions from polygons and classes stand in the tables") for warning in results.warnings
    )
    assert {row["name"] for row in results.tables["metrics"].rows if row["level"] == "region"} >= {
        "field_1",
        "field_64",
    }
