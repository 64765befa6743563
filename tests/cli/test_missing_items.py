"""What fails in a stage of a run costs its item alone, and is reported in every place where one looks."""

import json

import pytest
from click.testing import CliRunner
from csv_rows import rows_of

from geouq.cli import main
from geouq.drawing.case import DRAWERS
from geouq.numbers.of_run import MAKERS

pytestmark = pytest.mark.loses_items

TEXT = (
    "variables: [height]\nregions: {west: [a1]}\nintervals: {resamples: 100}\ncell_size: 16\n"
    "output: {maps: [cells], figures: [pit, reliability]}\n"
)
OUT = "results/small"


def broken(*_, **__):
    return 1 / 0


def break_numbers(monkeypatch):
    monkeypatch.setitem(MAKERS, "curves", broken)


def break_intervals(monkeypatch):
    monkeypatch.setattr("geouq.inference.intervals.bands_of", broken)


def break_maps(monkeypatch):
    monkeypatch.setattr("geouq.maps.of_run.write_cell_maps", broken)


def break_figures(monkeypatch):
    monkeypatch.setitem(DRAWERS, "pit", broken)


def break_pages(monkeypatch):
    monkeypatch.setattr("geouq.pages.html._Report.region", broken)


CASES = {
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
    outcome = json.loads((tmp_path / OUT / "results.json").read_text(encoding="utf-8"))
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
