"""What fails in a stage of a run costs its item alone, and is reported in every place where one looks."""

import json
from dataclasses import replace
from importlib import import_module

import pytest
from click.testing import CliRunner
from csv_rows import rows_of

from geouq import verdict
from geouq.cli import main
from geouq.drawing import FIGURES, FigureRecord
from geouq.inference import FAILED
from geouq.maps.pixel_maps import map_named
from geouq.numbers.unit_numbers import MAKERS

pytestmark = pytest.mark.loses_items

TEXT = (
    "variables: [height]\nregions: {west: [a1]}\nintervals: {resamples: 100}\ncell_size: 16\n"
    "output: {maps: [cells], figures: [pit, reliability]}\n"
)
OUT = "results/small"


def outcome_of(folder):
    return json.loads((folder / OUT / "results.json").read_text(encoding="utf-8"))


def broken(*_, **__):
    return 1 / 0


def break_numbers(monkeypatch):
    monkeypatch.setitem(MAKERS, "curves", broken)


def break_intervals(monkeypatch):
    monkeypatch.setattr("geouq.inference.intervals.bands_of", broken)


def break_maps(monkeypatch):
    monkeypatch.setattr("geouq.maps.pipeline.write_cell_maps", broken)


def break_figures(monkeypatch):
    monkeypatch.setitem(FIGURES, "pit", FigureRecord("pit", broken, "PIT histogram", ""))


def break_pages(monkeypatch):
    monkeypatch.setattr("geouq.pages.html._Report.region", broken)


def break_verdicts(monkeypatch):
    monkeypatch.setattr("geouq.verdict.verdict_of", broken)


def break_tables(monkeypatch):
    monkeypatch.setattr("geouq.pipeline.publish.write_parquet", broken)


def break_checks(monkeypatch):
    monkeypatch.setattr(import_module("geouq.checks.examine"), "of_masks", broken)


def break_notes(monkeypatch):
    monkeypatch.setattr("geouq.pipeline.publish.heavy_bins", broken)


CASES = {
    "input checks": (break_checks, "height", "tables/metrics.csv"),
    "verdicts": (break_verdicts, "height in west", "figures/all/height_pit.png"),
    "tables": (break_tables, "metrics.parquet", "tables/metrics.csv"),
    "notes": (break_notes, "bins that hold nearly all pixels", "report/west.html"),
    "numbers": (break_numbers, "curves of height in all", "tables/metrics.csv"),
    "intervals": (break_intervals, "bands of the curves, height in all", "figures/all/height_reliability.png"),
    "maps": (break_maps, "cells of height", "figures/all/height_pit.png"),
    "figures": (break_figures, "pit of height in all", "figures/all/height_reliability.png"),
    "pages": (break_pages, "west.html", "report/index.html"),
}


@pytest.mark.parametrize("stage", CASES)
def test_a_failure_costs_its_item_and_is_reported_everywhere(stage, tile_folder, geouq, tmp_path, monkeypatch):
    break_it, item, kept = CASES[stage]
    config = tile_folder(("a1", "a2"), text=TEXT)
    break_it(monkeypatch)
    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    assert f"failed: {item} ({stage}): ZeroDivisionError: division by zero" in done.output
    rows = rows_of(tmp_path / OUT / "tables/failures.csv")
    assert {row["stage"] for row in rows} == {stage}
    assert item in {row["item"] for row in rows}
    assert {(row["error"], row["tile"]) for row in rows} == {("ZeroDivisionError", "")}
    outcome = outcome_of(tmp_path)
    assert not outcome["success"]
    assert outcome["failures"] == rows
    assert outcome["numbers"]
    assert (tmp_path / OUT / kept).is_file()
    if stage != "pages":
        page = (tmp_path / OUT / "report/index.html").read_text(encoding="utf-8")
        assert item in page
        assert "none failed" in page  # of the tiles
        assert "missing</strong>" in page
    assert geouq("verify", OUT).exit_code == 0


def test_pages_do_not_show_a_default_figure_that_fails(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT.replace(", figures: [pit, reliability]", ""))
    monkeypatch.setitem(FIGURES, "calibration", replace(FIGURES["calibration"], draws=broken))
    done = geouq("run", config, "--quiet")

    page = (tmp_path / OUT / "report/index.html").read_text(encoding="utf-8")
    assert done.exit_code == 3
    assert "height_reliability.png" in page
    assert "height_calibration.png" not in page
    assert "calibration of height in all" in page


def test_a_report_again_makes_what_was_missing(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    with monkeypatch.context() as patched:
        break_figures(patched)
        geouq("run", config, "--quiet")
    assert geouq("report", OUT, "--quiet").exit_code == 0

    assert (tmp_path / OUT / "figures/all/height_pit.png").is_file()
    assert rows_of(tmp_path / OUT / "tables/failures.csv") == []


def test_verbose_prints_the_traceback_of_a_failure(tile_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tile_folder(("a1",), text=TEXT)
    break_figures(monkeypatch)
    done = CliRunner().invoke(main, ["run", str(config), "--verbose"])

    assert done.exit_code == 3
    assert "Traceback (most recent call last)" in done.output
    assert "in broken" in done.output


def test_a_page_that_an_earlier_run_left_does_not_stand_for_one_that_failed(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    assert geouq("run", config, "--quiet").exit_code == 0
    break_pages(monkeypatch)
    geouq("report", OUT, "--quiet")

    assert not (tmp_path / OUT / "report/west.html").exists()


def test_a_verdict_that_fails_is_missing_and_the_others_stay(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    assert geouq("run", config, "--quiet").exit_code == 0
    before = outcome_of(tmp_path)["verdicts"]

    def all_but_west(rows, tests, judge=verdict.verdict_of):
        return broken() if rows[0]["name"] == "west" else judge(rows, tests)

    monkeypatch.setattr("geouq.verdict.verdict_of", all_but_west)
    assert geouq("report", OUT, "--quiet").exit_code == 3

    assert [one["name"] for one in before] == ["all", "west"]
    assert outcome_of(tmp_path)["verdicts"] == before[:1]
    assert (tmp_path / OUT / "report/west.html").is_file()


def test_a_number_whose_certainty_fails_loses_its_interval_alone(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    monkeypatch.setattr("geouq.inference.bin_gaps._variance_gaps", broken)
    assert geouq("run", config, "--quiet").exit_code == 3

    rows = [row for row in rows_of(tmp_path / OUT / "tables/metrics.csv") if row["level"] == "all"]
    failed = {row["metric"] for row in rows if row["ci_method"] == FAILED}
    assert {"uce", "ence"} <= failed
    assert {row["metric"] for row in rows if row["ci_low"]} >= {"bias", "zms", "coverage_90"}


@pytest.mark.parametrize("earlier", [False, True])
def test_a_map_of_pixels_that_fails_costs_itself_alone(earlier, tile_folder, geouq, tmp_path, monkeypatch):
    maps = "output: {maps: [z, error], figures: none}\n"
    config = tile_folder(("a1", "a2"), text=f"variables: [height]\n{maps}")
    if earlier:
        assert geouq("run", config, "--quiet").exit_code == 0
        (tmp_path / "truth/a1.tif").touch()
    own = replace(map_named("z"), function=lambda forecast: forecast.mean / broken())
    monkeypatch.setattr("geouq.maps.pixels.map_named", lambda name: own if name == "z" else map_named(name))
    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    assert "failed: z of tile a1 (maps): ZeroDivisionError: division by zero" in done.output
    kept = {path.name for path in (tmp_path / OUT / "maps").glob("*.*") if path.suffix != ".qml"}
    expected = {"a1_error.tif", "a2_error.tif", "error.vrt", "maps.qlr"}
    assert kept == (expected | {"a2_z.tif"} if earlier else expected)  # the second tile did not change
    assert outcome_of(tmp_path)["tiles"] == 2
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert geouq("run", config, "--quiet").exit_code == 0
    assert (tmp_path / OUT / "maps/a1_z.tif").is_file()


def test_a_map_of_cells_whose_place_cannot_be_found_costs_itself_alone(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    monkeypatch.setattr("geouq.maps.pipeline.paths_of_cells", broken)

    assert geouq("run", config, "--quiet").exit_code == 3
    assert {row["item"] for row in outcome_of(tmp_path)["failures"]} == {"cells of height"}


def test_an_input_check_that_failed_is_made_again_by_the_next_run(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT)
    with monkeypatch.context() as patched:
        break_checks(patched)
        done = geouq("check", config, "--deep")
        assert (done.exit_code, geouq("run", config, "--quiet").exit_code) == (3, 3)
    assert "failed: height (input checks): ZeroDivisionError" in done.output

    assert geouq("run", config, "--quiet").exit_code == 0
    assert outcome_of(tmp_path)["failures"] == []


def test_a_recalibration_that_is_not_possible_costs_itself_alone(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=TEXT + "recalibration: best\n")
    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    assert "failed: recalibration (recalibration): recalibration: auto needs two tiles" in done.output
    assert outcome_of(tmp_path)["numbers"]
    assert (tmp_path / OUT / "report/index.html").is_file()


def test_a_figure_of_a_recalibration_that_fails_costs_itself_alone(tile_folder, geouq, tmp_path, monkeypatch):
    config = tile_folder(("a1", "a2"), text=TEXT + "recalibration: scale\n")
    monkeypatch.setattr("geouq.recalibration.figures.correction_figure", broken)
    assert geouq("run", config, "--quiet").exit_code == 3
    again = geouq("recalibrate", OUT, "--quiet")

    assert again.exit_code == 3
    assert "failed: correction of height (figures): ZeroDivisionError" in again.output
    (failure,) = outcome_of(tmp_path)["failures"]
    assert (failure["stage"], failure["item"]) == ("figures", "correction of height, recalibration")
    assert {"height.json", "recalibration.csv"} <= {path.name for path in (tmp_path / OUT / "recalibration").iterdir()}
    assert (tmp_path / OUT / "recalibration/figures/height_correction.png").exists() is False
