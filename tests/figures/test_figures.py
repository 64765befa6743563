"""Figures by their data."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from correlated import Tiles, forecast
from forecasts import heteroscedastic
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from pictures import assert_readable
from PIL import Image

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10
from geouq.core.errors import ConfigError
from geouq.figures import correlogram_figure, pit_histogram, reliability_diagram, save_figure
from geouq.figures.style import notes_of
from geouq.inference import Intervals
from geouq.metrics import binned
from geouq.summary import empty_summary


@pytest.fixture(scope="module")
def summary():
    return summarize_arrays(*heteroscedastic((150, 150))).whole


@pytest.mark.parametrize("scheme", [EQUAL_WIDTH_10, EQUAL_COUNT_10], ids=lambda scheme: scheme.name)
def test_the_reliability_diagram_shows_each_used_bin(summary, scheme):
    figure = reliability_diagram(summary, scheme, title="P95, WEST", units="m")
    top, bottom = figure.axes
    per_bin = binned(summary, scheme)
    used = per_bin.n > 0

    points, _ = top.lines
    np.testing.assert_allclose(points.get_xdata(), per_bin.mean_variance[used])
    np.testing.assert_allclose(points.get_ydata(), per_bin.mse[used])
    density = bottom.patches[0].get_data()
    np.testing.assert_allclose(density.values, summary.variance.binned(density.edges).share)
    np.testing.assert_allclose(density.edges[[0, -1]], top.get_xlim())
    (edges,) = bottom.collections
    np.testing.assert_allclose([line[0, 0] for line in edges.get_segments()], per_bin.edges)
    assert top.get_ylabel() == "observed: mean squared error (m²)"
    assert bottom.get_xlabel() == "predicted: mean variance (m²)"
    assert f"{int(summary.n):,}".replace(",", "\u202f") in notes_of(top.figure)
    assert " m², ENCE " in notes_of(top.figure)
    assert top.get_xscale() == "log"


def test_bins_within_a_decade_are_drawn_linearly():
    arrays = heteroscedastic((60, 60))
    summary = summarize_arrays(arrays[0], np.clip(arrays[1], 1, 2), arrays[2]).whole

    assert reliability_diagram(summary, EQUAL_WIDTH_10, title="t", units="m").axes[0].get_xscale() == "linear"


def test_errors_of_zero_are_drawn():
    summary = summarize_arrays(np.ones((9, 9)), np.linspace(1, 100, 81).reshape(9, 9), np.ones((9, 9))).whole

    (top, _) = reliability_diagram(summary, EQUAL_WIDTH_10, title="t", units="m").axes

    assert top.get_yscale() == "linear"


def test_the_pit_histogram_has_mean_density_one(summary):
    (axes,) = pit_histogram(summary, title="t").axes
    (outline,) = (patch for patch in axes.patches if isinstance(patch, StepPatch))
    heights = outline.get_data().values

    assert np.mean(heights) == pytest.approx(1)
    np.testing.assert_allclose(np.array(heights) * int(summary.n) / 20, summary.z.regular(20))


def test_without_pixels_a_figure_says_so():
    nothing = empty_summary((0.9,))
    for figure in (
        reliability_diagram(nothing, EQUAL_COUNT_10, title="t", units="m"),
        pit_histogram(nothing, title="t"),
    ):
        assert [text.get_text() for text in figure.texts if "pixels" in text.get_text()] == ["no valid pixels"]


def test_the_same_summary_gives_the_same_bytes(summary, tmp_path):
    for name in ("a.png", "b.png"):
        save_figure(pit_histogram(summary, title="t"), tmp_path / name)

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a.png", "b.png"}


def test_a_png_is_drawn_once_and_has_alpha_only_if_something_is_transparent(summary, tmp_path, monkeypatch):
    drawn, draw = [], Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda figure, renderer: drawn.append(figure) or draw(figure, renderer))
    opaque, clear = pit_histogram(summary, title="t"), pit_histogram(summary, title="t")
    clear.patch.set_alpha(0)
    modes = []
    for figure in (opaque, clear):
        save_figure(figure, tmp_path / "a.png", 120)
        with Image.open(tmp_path / "a.png") as image:
            modes.append(image.mode)
            assert np.round(image.info["dpi"]).tolist() == [120, 120]

    assert drawn == [opaque, clear]
    assert modes == ["RGB", "RGBA"]


def test_letters_without_a_font_are_no_warning(summary, tmp_path):
    save_figure(pit_histogram(summary, title="森林 \U0001f332"), tmp_path / "a.png")


@pytest.mark.parametrize("name", ["a.jpg", "a"])
def test_other_formats_are_refused(summary, tmp_path, name):
    with pytest.raises(ConfigError, match="figures are written as png, pdf, svg, not as"):
        save_figure(pit_histogram(summary, title="t"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("units", "label"), [("%", " (%²)"), ("Mg ha-1", " ((Mg ha-1)²)"), ("1", " (1)"), ("", "")])
def test_axes_carry_squared_units(summary, units, label):
    axes = reliability_diagram(summary, EQUAL_COUNT_10, title="t", units=units).axes[1]

    assert axes.get_xlabel().removeprefix("predicted: mean variance") == label


def test_a_long_title_stays_on_the_figure(summary):
    figure = pit_histogram(summary, title="x" * 300)

    assert figure.get_suptitle().count("\n") == 1
    assert "…" in figure.get_suptitle()
    assert_readable(figure)


@pytest.mark.parametrize("decades", [1.1, 1.5, 2, 3, 9])
def test_numbers_on_logarithmic_axes_do_not_overlap(decades):
    rng = np.random.default_rng(0)
    variance = 10 ** np.linspace(2.25, 2.25 + decades * 1.15, 10_000).reshape(100, 100)
    summary = summarize_arrays(np.zeros((100, 100)), variance, rng.normal(0, np.sqrt(variance))).whole
    figure = reliability_diagram(summary, EQUAL_COUNT_10, title="t", units="m")
    figure.draw_without_rendering()

    axis, frame = figure.axes[1].xaxis, figure.axes[1].get_window_extent()
    boxes = [label.get_window_extent() for label in axis.get_ticklabels(which="both") if label.get_text()]
    shown = sorted((box for box in boxes if frame.x0 <= (box.x0 + box.x1) / 2 <= frame.x1), key=lambda box: box.x0)
    assert len(shown) >= 2
    assert all(one.x1 < other.x0 for one, other in pairwise(shown))


def test_the_pit_histogram_shows_mean_and_std_of_z_and_the_verdict_that_it_is_given():
    mean, variance, truth = heteroscedastic((60, 60))
    (axes,) = pit_histogram(summarize_arrays(mean, variance / 9, truth).whole, title="t", verdict="biased").axes

    assert "biased" in notes_of(axes.figure)


def test_the_correlogram_shows_all_residuals_by_distance():
    blocks = Tiles(forecast(0, 256, 16)).infer(Intervals(resamples=100)).blocks

    (axes,) = correlogram_figure(blocks, title="t").axes

    for reach, line in zip(blocks.correlation_ranges.values(), axes.lines[::2], strict=False):
        one = reach.correlogram
        np.testing.assert_allclose(line.get_xdata(), one.lags * 0.16)
        np.testing.assert_array_equal(line.get_ydata(), one.correlation)
    assert axes.get_xlabel() == "distance (km)"
    assert f"{blocks.count} blocks, " in notes_of(axes.figure)


def test_of_predictions_without_a_std_the_correlogram_has_no_line_of_z():
    blocks = Tiles(forecast(0, 256, 16)).infer(Intervals(resamples=100)).blocks
    alike = replace(
        blocks, correlation_ranges=blocks.correlation_ranges | {"z_square": blocks.correlation_ranges["squared_error"]}
    )
    noise = "95 % if uncorrelated"
    keys = [correlogram_figure(one, title="t").legends[0] for one in (blocks, alike)]
    names = [[text.get_text() for text in key.get_texts()] for key in keys]

    assert names == [["error", "squared error", "z²", noise], ["error", "squared error", noise]]


def test_a_figure_without_axes_is_saved_without_a_word(tmp_path):
    save_figure(pit_histogram(empty_summary((0.9,)), title="t"), tmp_path / "nothing.png")

    assert (tmp_path / "nothing.png").stat().st_size > 1000
