"""Figures of a finished run, by name, and the page that shows all of them."""

import re
import shutil
from pathlib import Path

import pytest
from pictures import assert_readable
from PIL import Image

from geouq.drawing import FIGURES, Case
from geouq.drawing.saved import Selection, draw_saved, saved_rows
from geouq.figures import save_figure
from geouq.regions import EvaluationUnit
from geouq.runs import default_figures
from geouq.runs.default_figures import OF_SUMS, OF_VARIANCE, by_default
from geouq.runs.progress import Silent
from geouq.tables.columns import COLUMN, COLUMNS
from geouq.tables.rows import Table, write_csv

ROOT = Path(__file__).parents[2]
MORE = (
    "variables: {height: {band: 1}, gini: {band: 3}}\nregions: {west: [a1, a2]}\nordering: true\n"
    "splits: {in: [a1], out: [b1]}\n"
    "output: {maps: none, figures: [reliability, shift], region_figures: [reliability]}\n"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of a run, which tests must not change but in its figures."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture
def finished(run, tile_folder, geouq):
    if not (run / "out").exists():
        done = geouq("run", tile_folder(text=MORE), "--out", run / "out", "--quiet")
        assert done.exit_code == 0, done.output
    return run / "out"


def drawn(folder):
    return sorted(path.relative_to(folder / "figures").as_posix() for path in (folder / "figures").rglob("*.*"))


def test_a_run_draws_what_it_is_asked_for(finished):
    names = drawn(finished)

    assert {"all/height_reliability.png", "west/gini_reliability.png", "all/gini_shift.png"} <= set(names)
    assert {name.rpartition("_")[2] for name in names} <= {"reliability.png", "shift.png", "bias.svg"}


def test_every_figure_can_be_drawn_again_in_every_format(finished, geouq):
    for kind, head in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        only = [option for name in FIGURES for option in ("--only", name)] if kind == "pdf" else ["--only", "pit"]
        done = geouq("figures", finished, "--format", kind, *only, "--region", "all", "--variable", "height", "--quiet")
        assert done.exit_code == 0, done.output
        found = [path for path in (finished / "figures" / "all").glob(f"*.{kind}") if path.stem != "height_cells_bias"]
        assert all(path.read_bytes().startswith(head) for path in found)
        if kind == "pdf":
            assert {path.stem.removeprefix("height_") for path in found} == set(FIGURES) - {"ranks"}  # of ensembles
            assert done.output == f"{len(FIGURES) - 1} figures in {finished / 'figures'}\n"
        for path in found:
            path.unlink()


@pytest.mark.parametrize("width", [85, 180])
def test_every_figure_is_as_wide_as_asked_and_can_be_read(finished, geouq, monkeypatch, width):
    widths = {}

    def check(figure, path, dots_per_inch):
        assert_readable(figure)
        save_figure(figure, path, dots_per_inch)
        with Image.open(path) as image:
            widths[path.stem.removeprefix("height_")] = image.width / dots_per_inch * 25.4

    monkeypatch.setattr("geouq.drawing.saved.save_figure", check)
    only = [option for name in FIGURES for option in ("--only", name)]
    done = geouq("figures", finished, "--width", width, *only, "--region", "all", "--variable", "height", "--quiet")

    assert done.exit_code == 0, done.output
    assert set(widths) == set(FIGURES) - {"ranks"}
    assert all(abs(found - width) < 1 for found in widths.values())


def test_a_figure_is_as_wide_as_a_column_or_a_page_of_several_panels(finished, geouq):
    geouq("figures", finished, "--only", "pit", "--only", "shift", "--region", "all", "--dpi", "100", "--quiet")
    widths = []
    for name in ("pit", "shift"):
        with Image.open(finished / "figures" / "all" / f"height_{name}.png") as image:
            widths.append(image.width / 100 * 25.4)

    assert widths == pytest.approx([85, 180], abs=1)


def test_tiles_and_other_metrics_of_cells_can_be_asked_for(finished, geouq):
    done = geouq(
        "figures", finished, "--only", "cells", "--metric", "bias", "--region", "b1", "--format", "svg", "--quiet"
    )

    assert done.exit_code == 0, done.output
    assert "b1/gini_cells_bias.svg" in drawn(finished)
    first = (finished / "figures/b1/gini_cells_bias.svg").read_bytes()
    geouq("figures", finished, "--only", "cells", "--metric", "bias", "--region", "b1", "--format", "svg", "--quiet")
    assert (finished / "figures/b1/gini_cells_bias.svg").read_bytes() == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "reliabilty"), "--only reliabilty: the run has no such name; did you mean 'reliability'?"),
        (("--region", "wets"), "--region wets: the run has no such name; did you mean 'west'?"),
        (("--variable", "heigth"), "--variable heigth: the run has no such name; did you mean 'height'?"),
        (("--only", "cells", "--metric", "zsm"), "--metric zsm: the run has no such name; did you mean 'zms'?"),
        (("--only", "shift", "--region", "west"), "nothing to draw: shift is of the whole"),
    ],
)
def test_a_name_that_the_run_does_not_know_is_told_in_one_line(finished, geouq, options, message):
    done = geouq("figures", finished, *options, "--quiet")

    assert done.exit_code == 2
    assert message in done.output
    assert done.output.count("\n") == 1


def test_of_very_many_figures_those_of_the_whole_come_first(monkeypatch):
    monkeypatch.setattr(default_figures, "MOST", 20)
    shown = [EvaluationUnit("all", "all", (), {}), *(EvaluationUnit("region", f"r{k}", (), {}) for k in range(40))]

    wanted, left = by_default(shown, ["v"], FIGURES, ["reliability", "pit"])

    assert [one.figure for one in wanted[: len(FIGURES)]] == list(FIGURES)
    assert {one.figure for one in wanted[len(FIGURES) :]} == {"reliability"}
    assert (len(wanted), left) == (20, len(FIGURES) + 40 * 2 - 20)


def test_the_gallery_shows_every_figure_and_no_other():
    page = (ROOT / "docs" / "reference" / "gallery.md").read_text(encoding="utf-8")
    pictures = {path.stem for path in (ROOT / "docs" / "reference" / "gallery").glob("*.png")}

    assert {*FIGURES, "before_after"} == pictures
    assert set(re.findall(r"\]\(gallery/(\w+)\.png\)", page)) == pictures
    assert all(about.title in page and about.shows in page for about in FIGURES.values())
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "reference" / "gallery").glob("*.png")) < 1_500_000


@pytest.mark.parametrize("name", ["metrics", "tests", "shift"])
def test_rows_of_a_run_with_models_are_read_as_they_were_written(tmp_path, name):
    row = {column: "common" if COLUMN[column].kind == "text" else 0.5 for column in COLUMNS[name]}
    write_csv(Table(COLUMNS[name], (row,)), tmp_path / "tables" / f"{name}.csv")

    assert saved_rows(tmp_path, name) == [row]


@pytest.mark.parametrize("column", ["n_effective", "model"])
def test_figures_of_a_run_of_another_version_say_that_its_tables_must_be_written_anew(
    finished, geouq, tmp_path, column
):
    folder = tmp_path / "earlier"
    shutil.copytree(finished, folder)
    table = folder / "tables" / "metrics.csv"
    head, _, rest = table.read_text(encoding="utf-8").partition("\n")
    table.write_text(f"{head.replace(column, 'renamed')}\n{rest}", encoding="utf-8")

    done = geouq("figures", folder, "--only", "pit", "--quiet")
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert f"run `geouq report {folder}` first" in done.output
    assert geouq("report", folder, "--quiet").exit_code == 0
    assert geouq("figures", folder, "--only", "pit", "--quiet").exit_code == 0


@pytest.mark.parametrize("name", sorted(OF_SUMS))
def test_figures_of_sums_are_drawn_without_rows_of_tables(finished, monkeypatch, name):
    wanted = Selection(only=[name], regions=["all"], variables=["height"])
    with_rows = draw_saved(finished, wanted, Silent())[0].read_bytes()
    monkeypatch.setattr(Case, "rows", None)

    (path,) = draw_saved(finished, wanted, Silent())

    assert path.read_bytes() == with_rows


def test_titles_of_figures_that_pages_expect_are_those_of_the_records():
    assert {name: FIGURES[name].title for name in OF_SUMS} == dict(OF_SUMS)
    assert {name for name in OF_SUMS if FIGURES[name].needs_variance} == OF_VARIANCE
