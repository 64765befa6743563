"""Figures of means of areas show the rows of the tables."""

import numpy as np
import pytest
from pictures import assert_readable

from geouq.figures import error_correlation_figure, scales_figure

MODELS = ("independent", "fitted", "full", "calibrated")
SIDES = (1000.0, 2000.0, 4000.0)
SCALES = [
    {"kind": "block", "side_metres": side, "metric": metric, "value": value / (k + 1), "ci_low": None, "ci_high": None}
    for k, side in enumerate(SIDES)
    for model in MODELS
    for metric, value in ((f"aggregate_zms_{model}", 30.0), (f"aggregate_coverage_{model}_90", 0.8))
]
PAIRS = [
    {
        "same_tile": same, "distance": d, "correlation": np.exp(-d), "standard_error": 0.05,
        "fitted": 0.9 * np.exp(-d), "fitted_error": 0.1 * np.exp(-d),
    }
    for same in ("yes", "no")
    for d in (0.0, 100.0, 200.0, 900.0)
]  # fmt: skip


def test_scales_show_every_model_by_the_side_of_the_block_in_kilometres():
    left, right = scales_figure([*SCALES, SCALES[0] | {"kind": "tile", "side_metres": 9e9}], title="t").axes

    for model in MODELS:
        for axes, first in ((left, 30.0), (right, 0.8)):
            (line,) = (one for one in axes.lines if one.get_label() == model)
            assert line.get_xdata().tolist() == [1.0, 2.0, 4.0]
            assert line.get_ydata().tolist() == [first, first / 2, first / 3]


def test_the_correlation_of_errors_shows_pairs_of_cells_and_the_model():
    (axes,) = error_correlation_figure(PAIRS, title="t").axes
    (points,) = (one for one in axes.lines if one.get_label() == "in one tile")
    (model,) = (one for one in axes.lines if one.get_label() == "fitted, in one tile")

    assert points.get_xdata().tolist() == [0.1, 0.2, 0.9]
    np.testing.assert_allclose(model.get_ydata(), 0.9 * points.get_ydata())


def test_the_correlation_of_errors_has_the_standard_errors_of_points_and_line():
    (axes,) = error_correlation_figure(PAIRS, title="t").axes
    bars, band, *_ = axes.collections
    away = np.exp(-np.array([100.0, 200.0, 900.0]))

    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.stack([away - 0.05, away + 0.05], axis=1))
    corners = band.get_paths()[0].vertices
    for low, high, x in zip(0.8 * away, away, (0.1, 0.2, 0.9), strict=True):
        at = corners[np.isclose(corners[:, 0], x), 1]
        np.testing.assert_allclose([at.min(), at.max()], [low, high])


def test_the_correlation_of_errors_names_the_removed_error_of_the_truth():
    def notes(**more):
        return " ".join(text.get_text() for text in error_correlation_figure(PAIRS, title="t", **more).texts)

    assert "without the truth's own error, 35 % of z²" in " ".join(notes(removed=0.346).split())
    assert "truth" not in notes()


def test_correlations_that_are_hardly_known_are_not_shown():
    (axes,) = error_correlation_figure([*PAIRS, PAIRS[-1] | {"standard_error": 0.6, "distance": 5e4}], title="t").axes

    assert all(line.get_xdata().max() < 1.1 for line in axes.lines if line.get_label().startswith(("in", "fitted")))


@pytest.mark.parametrize("rows", [[], [SCALES[0] | {"side_metres": None}], [SCALES[0] | {"kind": "tile"}]])
def test_without_blocks_of_a_known_size_there_is_no_figure_of_scales(rows):
    assert scales_figure(rows, title="t") is None


def test_without_pairs_there_is_no_figure_of_the_correlation():
    assert error_correlation_figure(PAIRS[:1], title="t") is None


@pytest.mark.parametrize("width", [85, 180])
def test_figures_of_areas_can_be_read(width):
    assert_readable(scales_figure(SCALES, title="Above-ground biomass", width=width))
    assert_readable(error_correlation_figure(PAIRS, title="Above-ground biomass", width=width))
