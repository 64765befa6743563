"""Figures that can be read: whatever the number and the names of regions and variables."""

from itertools import pairwise

import numpy as np
import pytest
from affine import Affine
from correlated import UTM
from everything import summary_of
from forecasts import heteroscedastic
from pictures import assert_readable, inferred, scale_of

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.core.grid import Grid
from geouq.figures import (
    Curve,
    TileCells,
    before_after_figure,
    calibration_figure,
    cell_map,
    correlogram_figure,
    error_by_std_figure,
    group_coverage_figure,
    pit_histogram,
    region_figure,
    reliability_diagram,
    shift_figure,
    sparsification_figure,
    std_figure,
)
from geouq.figures.regions import region_panels

LONG = "Wälder der gemäßigten Zone, östlich des großen Flusses, Nr. "
WIDTHS = (85, 180)  # mm
UNITS = "kg C m-2 yr-1"
TITLE = "Above-ground biomass (deep ensemble of 5 networks, member-wise), EAST AND WEST"


def names(count, text):
    return ["all", *(f"{text}{number}" for number in range(1, count))]


@pytest.fixture(params=WIDTHS)
def width(request):
    return request.param


@pytest.fixture(scope="module")
def known():
    return inferred(factor=0.7)


@pytest.fixture(scope="module")
def ordered():
    return summary_of(*heteroscedastic((90, 90), missing=0))


@pytest.mark.parametrize("text", ["r", LONG, "$x_{"])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_figures_of_many_regions_can_be_read(count, text, known, width):
    summary, inference = known
    assert_readable(
        calibration_figure(dict.fromkeys(names(count, text), Curve(summary, inference.bands)), title=TITLE, width=width)
    )
    assert_readable(std_figure(dict.fromkeys(names(count, text), summary), title=TITLE, units=UNITS, width=width))


def rows_of(regions, variables, metrics, text):
    """Rows of metrics as the tables have them, with values that spread over decades."""
    rng = np.random.default_rng(0)
    return [
        {
            "level": "region" if number else "all", "name": name, "variable": f"{text}{variable}", "model": "",
            "metric": metric, "units": "(kg C m-2)^2" if metric == "rmse" else "1", "bins": "", "group": "",
            "value": value, "ci_low": value * 0.8, "ci_high": value * 1.4, "ci_level": 0.95, "n": 123_456_789,
        }
        for variable in range(variables)
        for metric in metrics
        for number, (name, value) in enumerate(zip(names(regions, text), rng.lognormal(0, 1, regions), strict=True))
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["r", LONG, "$x_{"])
@pytest.mark.parametrize(
    ("regions", "variables", "metrics"), [(1, 1, 1), (3, 1, 6), (40, 1, 6), (3, 12, 1), (40, 12, 1)]
)
def test_metrics_of_many_regions_and_variables_can_be_read(regions, variables, metrics, text, width):
    assert_readable(
        region_figure(rows_of(regions, variables, region_panels()[:metrics], text), title=TITLE, width=width)
    )


@pytest.mark.parametrize("factor", [0.1, 1, 10])
@pytest.mark.parametrize("units", ["", "1", UNITS])
def test_figures_of_one_summary_can_be_read(units, factor, ordered, width):
    mean, variance, truth = heteroscedastic((60, 60))
    summary = summarize_arrays(mean, variance, mean + factor * (truth - mean)).whole
    assert_readable(reliability_diagram(summary, EQUAL_COUNT_10, title=TITLE, units=units, width=width))
    assert_readable(pit_histogram(summary, title=TITLE, width=width))
    assert_readable(
        before_after_figure(Curve(summary), Curve(ordered), EQUAL_COUNT_10, title=TITLE, units=units, width=width)
    )


def test_small_numbers_on_axes_can_be_read(width):
    """Of a share, whose variances lie within a factor of ten: 0.0075 is longer than 7.5."""
    rng = np.random.default_rng(0)
    variance = rng.uniform(0.007, 0.018, (80, 80))
    summary = summarize_arrays(np.zeros((80, 80)), variance, rng.normal(0, np.sqrt(variance))).whole
    for figure in (
        before_after_figure(Curve(summary), Curve(summary), EQUAL_COUNT_10, title=TITLE, units="1", width=width),
        reliability_diagram(summary, EQUAL_COUNT_10, title=TITLE, units="1", width=width),
        std_figure({"all": summary}, title=TITLE, units="1", width=width),
    ):
        assert_readable(figure)
        for axis in (axes.xaxis for axes in figure.axes):
            boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
            assert all(other.x0 - one.x1 > 4 for one, other in pairwise(boxes))  # pixels, of 100 dots per inch


@pytest.mark.parametrize("groupings", [("truth",), ("truth", "mean"), ("truth", "mean", "variance")])
def test_figures_of_the_order_and_of_groups_can_be_read(groupings, ordered, width):
    figure = group_coverage_figure(
        ordered, title=TITLE, groupings=groupings, levels=ordered.levels, units=UNITS, limits={}, width=width
    )
    assert_readable(figure)
    assert len(figure.axes) == len(groupings)
    assert_readable(sparsification_figure(ordered, title=TITLE, units=UNITS, width=width))
    assert_readable(error_by_std_figure(ordered, title=TITLE, units=UNITS, width=width))


def test_figures_with_bands_and_correlograms_can_be_read(known, width):
    summary, inference = known
    assert_readable(
        reliability_diagram(summary, EQUAL_COUNT_10, title=TITLE, units=UNITS, bands=inference.bands, width=width)
    )
    assert_readable(pit_histogram(summary, title=TITLE, bands=inference.bands, width=width))
    assert_readable(correlogram_figure(inference.blocks, title=TITLE, width=width))


def test_shifts_can_be_read(width):
    rows = [
        {
            "metric": metric, "units": UNITS, "bins": "", "in": 1.0, "out": 1.5, "difference": 0.5, "ci_low": -0.2,
            "ci_high": 1.2, "ci_level": 0.95, "n_in": 1_000_000, "n_out": 3,
        }
        for metric in region_panels()[:6]
    ]  # fmt: skip
    for count in (1, 2, 5, 6):
        assert_readable(shift_figure(rows[:count], title=TITLE, width=width))


def tiles_of(count, apart, crs=UTM, shape=(12, 10)):
    """Tiles in a row, so many times their width apart, with a cell without data each."""
    rng = np.random.default_rng(1)
    step = 640 if crs else 1
    values = rng.lognormal(0, 1, (count, *shape))
    values[:, 0, 0] = np.nan
    return [
        TileCells(
            f"{LONG}{k}", Grid(shape, Affine(step, 0, apart * k * shape[1] * step, 0, -step, 0), crs), values[k], 1000
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("metric", ["zms", "bias", "coverage_90", "rmse"])
@pytest.mark.parametrize("crs", [UTM, ""])
@pytest.mark.parametrize(("count", "apart"), [(1, 1), (3, 1), (2, 2), (3, 100), (14, 100)])
def test_maps_of_cells_can_be_read(count, apart, crs, metric, width):
    assert_readable(
        cell_map(tiles_of(count, apart, crs), metric, scale_of(metric), title=TITLE, units=UNITS, width=width)
    )
