"""Curves, quantiles, groups and dots of figures equal the numbers computed by themselves."""

import numpy as np
import pytest
from affine import Affine
from correlated import UTM
from everything import LEVELS, summary_of
from pictures import inferred, scale_of

from geouq.config import CALIBRATION_LEVELS, EQUAL_COUNT_10
from geouq.core.gaussian import cdf
from geouq.core.grid import Grid
from geouq.figures import (
    Curve,
    TileCells,
    before_after_figure,
    calibration_figure,
    cell_map,
    error_by_std_figure,
    group_coverage_figure,
    pit_histogram,
    region_figure,
    reliability_diagram,
    shift_figure,
    sparsification_figure,
    std_figure,
)
from geouq.figures.predicted_std import error_quantiles
from geouq.figures.style import notes_of
from geouq.inference import Bands, pit_half_width
from geouq.metrics import LEFT_OUT, binned, calibration_curve, oracle_curve


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(3)
    std = rng.lognormal(0, 0.6, (120, 120))
    truth = rng.normal(0, 2, std.shape)
    return truth + 1.3 * std * rng.standard_normal(std.shape), std**2, truth


@pytest.fixture(scope="module")
def summary(arrays):
    return summary_of(*arrays)


@pytest.fixture(scope="module")
def known():
    return inferred(factor=0.7)


def line(axes, label):
    (found,) = (line for line in axes.lines if line.get_label() == label)
    return found.get_xydata().T


def test_calibration_curves_are_shares_of_the_truth_below_the_quantiles(arrays, summary):
    mean, variance, truth = arrays
    top, bottom = calibration_figure({"west": Curve(summary)}, title="t").axes
    pit = np.vectorize(cdf)((truth - mean) / np.sqrt(variance))
    expected = [(pit <= level).mean() for level in CALIBRATION_LEVELS]

    x, y = line(top, "west (14\u202f400 pixels)")
    np.testing.assert_array_equal(x, CALIBRATION_LEVELS)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    np.testing.assert_allclose(line(bottom, "west (14\u202f400 pixels)")[1], expected - x, atol=1e-12)


def test_of_many_regions_those_farthest_from_the_diagonal_have_a_colour(arrays, summary):
    mean, variance, truth = arrays
    off = summary_of(mean + 5, variance, truth)
    curves = {"all": Curve(summary)} | {f"r{k}": Curve(off if k in (3, 9) else summary) for k in range(20)}
    figure = calibration_figure(curves, title="t")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]

    assert {"r3 (14\u202f400 pixels)", "r9 (14\u202f400 pixels)", "other regions"} < set(labels)
    assert labels[-1] == "calibrated"
    assert len(labels) == 8
    assert "6 of 21 regions in colour" in notes_of(figure)


def test_bands_hold_each_point_and_say_what_they_are(known):
    summary, inference = known
    bands = inference.bands
    low, high = bands.calibration
    own = calibration_curve(summary)
    assert ((low <= own) & (own <= high)).all()
    assert (high - low).max() > 0.01
    low, high = bands.mse[EQUAL_COUNT_10.name]
    mse = binned(summary, EQUAL_COUNT_10).mse
    assert ((low <= mse) & (mse <= high)).all()

    top, _ = reliability_diagram(summary, EQUAL_COUNT_10, title="t", units="m", bands=bands).axes
    (area, *_) = top.collections
    np.testing.assert_allclose(sorted(set(area.get_paths()[0].vertices[:, 1])), sorted({*low, *high}))
    assert f"95 % of each point, bootstrap of {bands.blocks} blocks" in notes_of(top.figure)


def test_the_band_of_the_pit_histogram_holds_all_bars_of_a_calibrated_forecast(known):
    summary, inference = known
    rng = np.random.default_rng(0)
    densities = 20 * rng.multinomial(1000, np.full(20, 1 / 20), 20_000) / 1000
    inside = (abs(densities - 1) < pit_half_width(1000, 0.95)).all(axis=1).mean()
    assert 0.935 < inside < 0.965
    effective = inference.bands.pit_effective
    assert 1 < effective < summary.n / 2  # as its pixels are correlated

    (axes,) = pit_histogram(summary, title="t", bands=inference.bands).axes
    (span,) = (patch for patch in axes.patches if patch.get_label() == "if calibrated")
    half = pit_half_width(effective, 0.95)
    assert span.get_y() == pytest.approx(max(0, 1 - half))
    assert span.get_y() + span.get_height() == pytest.approx(1 + half)
    (alone,) = pit_histogram(summary, title="t").axes
    assert "taken as independent" in notes_of(alone.figure).replace("\n", " ")


def test_quantiles_of_the_error_are_those_of_the_pixels(arrays, summary):
    mean, variance, truth = arrays
    std, error = np.sqrt(variance).ravel(), np.abs(mean - truth).ravel()
    order = np.argsort(std)
    (axes, _) = error_by_std_figure(summary, title="t", units="m").axes
    for level in (0.5, 0.9):
        x, y = line(axes, f"{100 * level:g} % of pixels")
        groups = np.array_split(order, 20)
        np.testing.assert_allclose(x, [std[own].mean() for own in groups], rtol=0.03)
        np.testing.assert_allclose(y, [np.quantile(error[own], level) for own in groups], rtol=0.09)
        np.testing.assert_array_equal(error_quantiles(summary, level), (x, y))


def test_sparsification_curves_are_those_of_the_tables(summary):
    (axes,) = sparsification_figure(summary, title="t", units="m").axes
    x, y = line(axes, "by error (oracle)")

    np.testing.assert_array_equal(x, 100 * LEFT_OUT)
    np.testing.assert_array_equal(y, oracle_curve(summary))
    assert axes.get_ylabel() == "RMSE of those that remain (m)"


def test_groups_have_the_coverage_of_their_pixels(arrays, summary):
    mean, variance, truth = arrays
    inside = np.abs(mean - truth) <= 1.6448536269514722 * np.sqrt(variance)
    groups = np.array_split(np.argsort(truth.ravel()), 10)
    (axes,) = group_coverage_figure(summary, title="t", groupings=["truth"], levels=LEVELS).axes

    expected = [100 * inside.ravel()[own].mean() for own in groups]
    np.testing.assert_allclose(line(axes, "90 %")[1], expected, atol=0.1)


@pytest.mark.parametrize("factor", [1 / 9, 9])
def test_the_lines_of_the_levels_lie_within_the_axis_of_groups(arrays, factor):
    mean, variance, truth = arrays
    found = summary_of(mean, factor * variance, truth)
    low, high = group_coverage_figure(found, title="t", levels=(0.9,), groupings=["truth"]).axes[0].get_ylim()

    assert low <= 89
    assert high >= 91


def test_the_axis_of_groups_shows_the_values_between_them_and_intervals_are_those_given(arrays, summary):
    truth = arrays[2].ravel()
    limits = {("truth", 0.9): np.array([np.full(10, 0.5), np.full(10, 0.75)])}
    figure = group_coverage_figure(
        summary, title="t", groupings=["truth"], levels=[0.9], units="m", limits=limits, confidence=0.95
    )
    (axes,) = figure.axes

    shown = {
        round(float(tick)): label.get_text()
        for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    }
    for k, label in shown.items():
        expected = np.quantile(truth, k / 10)
        assert float(label.replace("\N{MINUS SIGN}", "-")) == pytest.approx(expected, rel=0.02, abs=0.05)
    assert axes.get_xlabel() == "truth (m)"
    (bars,) = axes.collections
    assert [bar[:, 1].tolist() for bar in bars.get_segments()] == [[50, 75]] * 10
    assert "intervals: 95 %, bootstrap of tiles" in notes_of(figure)


def test_the_predicted_std_has_its_quantiles(arrays, summary):
    _, variance, _ = arrays
    axes = std_figure({"all": summary, "none": summary_of(*np.empty((3, 0)))}, title="t", units="m").axes[0]
    ends = [line(axes, label)[0] for label in ("5 to 95 %", "25 to 75 %", "median")]

    expected = np.quantile(np.sqrt(variance), [0.05, 0.95, 0.25, 0.75, 0.5])
    np.testing.assert_allclose(np.concatenate(ends), expected, rtol=3e-3)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all"]


def test_regions_are_sorted_and_those_without_an_interval_are_empty():
    values = {"all": 1.0, "b": 3.0, "a": 0.5, "none": None}
    rows = [
        {
            "level": "all" if name == "all" else "region", "name": name, "variable": "v", "model": "", "metric": "zms",
            "units": "1", "value": value, "ci_low": value - 0.1 if name == "a" else None,
            "ci_high": value + 0.1 if name == "a" else None, "ci_level": 0.95, "n": 10,
        }
        for name, value in values.items()
    ]  # fmt: skip
    (axes,) = region_figure(rows, title="t").axes

    assert [label.get_text() for label in axes.get_yticklabels()] == ["all", "a", "b", "none"]
    dots = [dot for dot in axes.lines if dot.get_marker() in ("o", "s")]
    assert [tuple(dot.get_xydata()[0]) for dot in dots] == [(1.0, 0.0), (0.5, 1.0), (3.0, 2.0)]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [True, False, True]
    assert "empty: no interval" in notes_of(axes.figure).replace("\n", " ")


def test_the_bar_of_a_shift_is_the_interval_of_the_difference():
    row = {
        "metric": "zms", "units": "1", "in": 1.0, "out": 2.5, "difference": 1.5, "ci_low": 1.0, "ci_high": 2.0,
        "ci_level": 0.95, "n_in": 5, "n_out": 6,
    }  # fmt: skip
    (axes,) = shift_figure([row], title="t").axes

    np.testing.assert_array_equal(line(axes, "in plus the difference")[0], [2.0, 3.0])
    assert line(axes, "out").ravel().tolist() == [2.5, 1.0]


def test_before_and_after_each_have_bins_of_their_own(arrays, summary):
    mean, variance, truth = arrays
    after = summary_of(mean, 1.69 * variance, truth)
    left, right = before_after_figure(Curve(summary), Curve(after), EQUAL_COUNT_10, title="t", units="m").axes

    for name, own in (("before", summary), ("after", after)):
        np.testing.assert_allclose(line(left, name)[0], binned(own, EQUAL_COUNT_10).mean_variance)
        np.testing.assert_allclose(line(right, name)[1], calibration_curve(own))


def test_of_more_than_two_curves_only_the_first_has_a_band(summary):
    limits = np.stack([np.zeros(len(CALIBRATION_LEVELS)), np.ones(len(CALIBRATION_LEVELS))])
    bands = Bands(0.95, 9, limits, {}, 100.0)
    few, many = (
        calibration_figure({f"r{k}": Curve(summary, bands) for k in range(count)}, title="t").axes[0]
        for count in (2, 5)
    )

    assert (len(few.collections), len(many.collections)) == (2, 1)
    assert "band only for r0" in notes_of(many.figure)


def test_where_cells_tell_too_little_there_are_no_bands(known, monkeypatch):
    monkeypatch.setattr("geouq.inference.intervals.FEWEST_EFFECTIVE", known[1].blocks.cells + 1)
    summary, bands = known[0], inferred(factor=0.7)[1].bands

    assert np.isnan(bands.calibration).all()
    assert np.isnan(bands.mse[EQUAL_COUNT_10.name]).all()
    assert np.isnan(bands.pit_effective)
    for figure in (
        pit_histogram(summary, title="t", bands=bands),
        reliability_diagram(summary, EQUAL_COUNT_10, title="t", units="m", bands=bands),
        calibration_figure({"all": Curve(summary, bands)}, title="t"),
    ):
        assert "too few effective cells" in notes_of(figure)


def test_cells_that_a_tile_cuts_do_not_reach_beyond_it():
    tile = TileCells("a", Grid((2, 2), Affine(100, 0, 0, 0, -100, 0), UTM), np.ones((2, 2)), 4, (1.5, 1.25))
    mesh = cell_map([tile], "rmse", scale_of("rmse"), title="t", units="m").axes[0].collections[0]

    assert np.unique(mesh.get_coordinates()[..., 0]).tolist() == [0, 100, 125]
    assert np.unique(mesh.get_coordinates()[..., 1]).tolist() == [-150, -100, 0]


@pytest.mark.parametrize("metric", ["zms", "bias", "coverage_90", "rmse"])
def test_cells_have_the_colours_of_their_scale_at_its_values_and_in_between(metric):
    values = np.random.default_rng(0).uniform(0.4, 0.99, (8, 8))
    values[0, 0] = np.nan
    tile, scale = TileCells("a", Grid((8, 8), Affine(100, 0, 0, 0, -100, 0), UTM), values, 63), scale_of(metric)
    mesh = cell_map([tile], metric, scale, title="t", units="1").axes[0].collections[0]

    np.testing.assert_array_equal(mesh.get_array().filled(np.nan).reshape(8, 8), values)
    between = np.linspace(scale.values[0], scale.values[-1], 99)
    expected = [np.interp(between, scale.values, channel) / 255 for channel in zip(*scale.colours, strict=True)]
    np.testing.assert_allclose(mesh.to_rgba(between)[:, :3].T, expected, atol=0.02)
    assert [tuple(rgb) for rgb in np.rint(255 * mesh.to_rgba(np.array(scale.values))[:, :3])] == list(scale.colours)


def test_arrows_of_the_colour_bar_tell_at_which_ends_values_lie_beyond():
    grid, scale = Grid((1, 2), Affine(100, 0, 0, 0, -100, 0), UTM), scale_of("zms")
    for values, ends in (([1, 2], "neither"), ([1, 900], "max"), ([1e-9, 900], "both"), ([1e-9, 1], "min")):
        figure = cell_map([TileCells("a", grid, np.array([values]), 2)], "zms", scale, title="t", units="1")
        assert figure.axes[0].collections[0].norm.vmax == scale.values[-1]
        assert figure.axes[1]._colorbar.extend == ends
