"""A figure from outside the package: one function with its record is all that is written."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from geouq.drawing import FIGURES, figure

TEXT = "variables: [height]\nregions: {west: [a1]}\noutput: {maps: none, figures: [bars], region_figures: [bars]}\n"


@pytest.fixture
def titles():
    """Titles of the figures drawn."""
    return []


@pytest.fixture
def bars(titles):
    @figure(needs="bars needs pixels with an error")
    def bars(case):
        """Bars.

        One bar for the pixels of the whole.
        """
        titles.append(case.title)
        drawn = Figure()
        drawn.subplots().bar(0, np.asarray(case.summary.n))
        return drawn

    yield bars
    del FIGURES["bars"]


@pytest.mark.usefixtures("bars")
def test_a_figure_from_outside_is_drawn_of_the_whole_and_of_regions_and_stands_on_the_page(
    tile_folder, geouq, tmp_path, titles
):
    done = geouq("run", tile_folder(("a1", "b1"), text=TEXT), "--out", tmp_path / "out", "--quiet")

    assert done.exit_code == 0, done.output
    assert {path.parent.name for path in (tmp_path / "out/figures").rglob("*_bars.png")} == {"all", "west"}
    assert set(titles) == {"Bars: height, all", "Bars: height, west"}
    assert "height_bars.png" in (tmp_path / "out/report/index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("bars")
def test_the_title_and_the_text_are_those_of_the_docstring():
    assert (FIGURES["bars"].title, FIGURES["bars"].shows) == ("Bars", "One bar for the pixels of the whole.")


@pytest.mark.usefixtures("bars")
def test_two_figures_of_one_name_are_refused(bars):
    with pytest.raises(TypeError, match="there is a figure 'bars' already"):
        figure()(bars)


def test_an_unknown_figure_is_named_with_the_nearest_one(tile_folder, geouq):
    done = geouq("check", tile_folder(("a1",), text=TEXT.replace("bars", "calibraton")))

    assert done.exit_code == 2
    assert "'calibraton' is not a figure of a run; did you mean 'calibration'?" in done.output


def test_the_example_of_the_page_runs_as_it_stands(tile_folder, geouq, tmp_path):
    page = (Path(__file__).parents[2] / "docs/development/add-a-figure.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})  # noqa: S102  written here
    try:
        done = geouq("run", tile_folder(("a1",), text=TEXT), "--out", tmp_path / "out", "--quiet")
    finally:
        del FIGURES["bars"]

    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/figures/all/height_bars.png").exists()


@pytest.mark.loses_items
def test_an_error_in_a_figure_costs_that_figure_alone(tile_folder, geouq, tmp_path):
    @figure()
    def broken(_):
        raise RuntimeError("no ink")

    text = TEXT.replace("bars", "reliability")
    try:
        assert geouq("run", tile_folder(("a1",), text=text), "--out", tmp_path / "out", "--quiet").exit_code == 0
        done = geouq("figures", tmp_path / "out", "--only", "broken", "--only", "pit", "--region", "all", "--quiet")
    finally:
        del FIGURES["broken"]

    assert done.exit_code == 3
    assert "broken of height, all" in done.stderr
    assert "no ink" in done.stderr
    assert "1 figure in " in done.stdout
