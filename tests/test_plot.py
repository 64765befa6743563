"""Figures of a run on axes: what they show, whose they are, and that nothing global changes."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from correlated import forecast
from matplotlib.figure import Figure

import geouq
from geouq.core.errors import ConfigError, DataError, SummaryError
from geouq.drawing import FIGURES
from geouq.figures.style import Curve

ARRAYS = forecast(0, 128, 8.0)
ENSEMBLE = geouq.ensemble.summarize(np.random.default_rng(0).normal(size=(4, 500)), np.zeros(500))
ROWS = [
    {"level": level, "name": name, "variable": "h", "metric": "zms", "bins": "", "value": value, "units": "1",
     "ci_low": None if name == "b" else value - 0.1, "ci_high": None if name == "b" else value + 0.1}
    for level, name, value in (("all", "all", 1.2), ("region", "a", 1.5), ("region", "b", 0.9), ("tile", "t", 3.0))
]  # fmt: skip
SHIFT = pd.DataFrame(
    [{"variable": "h", "metric": "zms", "bins": "", "units": "1", "in": 1.0, "out": 2.0, "ci_low": 0.5, "ci_high": 1.5}]
)
DRAWN = {
    "reliability": lambda **ax: geouq.plot.reliability(*ARRAYS, **ax),
    "calibration": lambda **ax: geouq.plot.calibration(*ARRAYS, **ax),
    "pit": lambda **ax: geouq.plot.pit(*ARRAYS, **ax),
    "ranks": lambda **ax: geouq.plot.ranks(ENSEMBLE, **ax),
    "error_by_std": lambda **ax: geouq.plot.error_by_std(*ARRAYS, **ax),
    "sparsification": lambda **ax: geouq.plot.sparsification(*ARRAYS, **ax),
    "group_coverage": lambda **ax: geouq.plot.group_coverage(*ARRAYS, **ax),
    "std": lambda **ax: geouq.plot.std(*ARRAYS, **ax),
    "regions": lambda **ax: geouq.plot.regions(pd.DataFrame(ROWS), **ax),
    "shift": lambda **ax: geouq.plot.shift(SHIFT, **ax),
    "cells": lambda **ax: geouq.plot.cells(*ARRAYS, **ax),
    "correlogram": lambda **ax: geouq.plot.correlogram(*ARRAYS, **ax),
}


def line(axes, label):
    (found,) = (one for one in axes.lines if one.get_label() == label)
    return np.array(found.get_data())


def test_each_figure_of_a_run_but_those_of_means_of_areas_has_a_function():
    assert set(DRAWN) == set(FIGURES) - {"scales", "error_correlation"} == set(geouq.plot.__all__)


@pytest.mark.renders
@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_those_given_or_of_a_new_figure_and_nothing_global_changes(name, tmp_path):
    before = dict(mpl.rcParams)
    given = Figure().subplots()

    assert DRAWN[name](ax=given) is given
    new = DRAWN[name]()
    new.figure.savefig(tmp_path / "new.png")

    assert (tmp_path / "new.png").stat().st_size > 1000
    assert given.has_data()
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_no_axes_is_refused(name):
    with pytest.raises(TypeError, match=r"^ax=3 has the type int; give axes of matplotlib"):
        DRAWN[name](ax=3)


def test_importing_geouq_imports_no_matplotlib():
    code = "import sys, geouq; dir(geouq); print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_points_are_the_bins_and_curves_of_the_arrays():
    bins, curve = geouq.binned(*ARRAYS), geouq.calibration_curve(*ARRAYS)
    left, right = geouq.sparsification_curve(*ARRAYS), geouq.group_coverage(*ARRAYS, level=0.9)

    np.testing.assert_array_equal(line(DRAWN["reliability"](), "bins"), [bins.mean_variance, bins.mse])
    np.testing.assert_array_equal(line(DRAWN["calibration"](), "observed"), [curve.level, curve])
    np.testing.assert_array_equal(line(DRAWN["sparsification"](), "by predicted std")[1], left.sparsification)
    np.testing.assert_array_equal(line(DRAWN["group_coverage"](), "90 %")[1], 100 * right)


def test_a_summary_and_named_summaries_are_drawn_like_their_arrays():
    half = ARRAYS[0], ARRAYS[1] / 2, ARRAYS[2]
    both = {"before": geouq.summarize(*half), "after": geouq.summarize(*ARRAYS)}

    for name, label in (("reliability", "bins"), ("calibration", "observed")):
        function = getattr(geouq.plot, name)
        after = line(function(both), "after")
        np.testing.assert_array_equal(after, line(function(*ARRAYS), label))
        np.testing.assert_array_equal(after, line(function(both["after"]), label))
        assert not np.array_equal(after, line(function(both), "before"))
    assert [text.get_text() for text in geouq.plot.std(both).get_yticklabels()] == ["before", "after"]


def test_bands_follow_from_the_positions_of_pixels(monkeypatch):
    drawn = []
    monkeypatch.setattr(geouq.plot, "draw_pit", lambda _, summary, bands: drawn.append(Curve(summary, bands)))

    geouq.plot.pit(*ARRAYS, bands=True)
    assert drawn[0].bands.pit_effective < drawn[0].summary.n / 2
    assert geouq.plot.reliability(*ARRAYS, bands=True).collections
    assert not geouq.plot.reliability(*ARRAYS).collections
    with pytest.raises(DataError, match="a Summary does not keep the positions"):
        geouq.plot.pit(geouq.summarize(*ARRAYS), bands=True)


def test_cells_have_the_metric_of_their_pixels_and_coordinates():
    coords = {"y": 1000 - 10.0 * np.arange(128), "x": 10.0 * np.arange(128)}
    layers = [xr.DataArray(array, coords, ("y", "x"), attrs={"units": "m"}) for array in ARRAYS]
    axes = geouq.plot.cells(*layers, metric="bias", cell_size=32)
    (mesh,) = axes.collections

    assert (axes.get_xlim(), axes.get_ylim()) == ((-5, 1275), (-275, 1005))
    assert mesh.get_array().shape == (4, 4)
    assert mesh.get_array()[0, 1] == pytest.approx(geouq.bias(*(array[:32, 32:64] for array in ARRAYS)))
    assert [other.get_ylabel() for other in axes.figure.axes] == ["y", "bias (m)"]


def test_regions_are_sorted_below_the_whole_and_tiles_left_out():
    axes = DRAWN["regions"]()

    assert [text.get_text() for text in axes.get_yticklabels()] == ["all", "b", "a"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ideal", "the whole", "region"]


def test_quantiles_and_classes_have_a_curve_of_their_own():
    quantiles = geouq.quantiles.summarize([[0.0, 1.0], [2.0, 4.0]], [0.05, 0.95], [1.5, 5.0])
    classes = geouq.classes.summarize([[0.75, 0.5], [0.25, 0.5]], [0, 1])

    assert line(geouq.plot.calibration(quantiles), "quantiles").tolist() == [[0.05, 0.95], [0, 0.5]]
    assert geouq.plot.calibration(classes).get_xlabel() == "probability of the class (1)"


@pytest.mark.parametrize(
    ("error", "reason", "call"),
    [
        (DataError, "no valid pixels", lambda: geouq.plot.pit(np.nan, 1.0, 1.0)),
        (DataError, "no valid pixels", lambda: geouq.plot.cells(np.full((9, 9), np.nan), 1.0, 1.0)),
        (DataError, "needs more cells", lambda: geouq.plot.correlogram(*(a[:20, :20] for a in ARRAYS))),
        (DataError, "nothing to draw", lambda: geouq.plot.reliability({})),
        (SummaryError, "ranks are of members", lambda: geouq.plot.ranks(geouq.summarize(*ARRAYS))),
        (TypeError, r"^summary=.* has the type ndarray", lambda: geouq.plot.ranks(ARRAYS[0])),
        (TypeError, r"^table=3 has the type int", lambda: geouq.plot.regions(3)),
        (TypeError, r"^mean=.* has the type SummaryArray", lambda: geouq.plot.pit(geouq.summarize(*ARRAYS, dim=0))),
        (ConfigError, "table has no 'zmz'", lambda: geouq.plot.shift(SHIFT, "zmz")),
        (ConfigError, "cells keep no 'ause'", lambda: geouq.plot.cells(*ARRAYS, metric="ause")),
        (
            ConfigError,
            "which variable.*h, i",
            lambda: geouq.plot.regions(pd.DataFrame([*ROWS, ROWS[0] | {"variable": "i"}])),
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(error, reason, call):
    with pytest.raises(error, match=reason):
        call()
