"""Curves and bins as arrays: the rows of a run, with coordinates and units."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from forecasts import heteroscedastic

import geouq
from geouq.config import Experiment, Variable
from geouq.core.errors import ConfigError, SummaryError
from geouq.regions import EvaluationUnit
from geouq.tables.rows import bin_rows, curve_rows, metric_options_for

ARRAYS = [layer.reshape(2, 20, 50) for layer in heteroscedastic((40, 50))]
NAMED = [xr.DataArray(a, {"variable": ["a", "b"]}, ("variable", "y", "x"), attrs={"units": "m"}) for a in ARRAYS]
CURVES = ("calibration_curve", "interval_curve", "pit_histogram", "group_coverage")


@pytest.fixture(scope="module")
def rows():
    """Rows of `curves.csv` and `bins.csv` of the same pixels, by curve and by scheme."""
    layers = {"mean": "/{tile}", "std": "/{tile}s", "truth": "/{tile}t"}
    experiment = Experiment(version=1, name="x", data=layers, ordering=True, groups={"by": ["truth", "variance"]})
    variable, summary = Variable(name="h", band=1, units="m"), geouq.summarize(*ARRAYS, ordering=True)
    unit = EvaluationUnit("all", "all", ("t",), {"h": summary})
    choices = {"h": metric_options_for(experiment, variable, None)}
    return curve_rows(unit, [variable], choices), bin_rows(unit, [variable], choices)


def of_curve(rows, name):
    return np.array([(row["x"], row["y"]) for row in rows if row["curve"] == name]).T


@pytest.mark.parametrize(
    ("curve", "found"),
    [
        ("calibration", lambda: geouq.calibration_curve(*ARRAYS)),
        ("calibration_interval", lambda: geouq.interval_curve(*ARRAYS)),
        ("pit_histogram", lambda: geouq.pit_histogram(*ARRAYS)),
        ("sparsification", lambda: geouq.sparsification_curve(*ARRAYS).sparsification),
        ("sparsification_oracle", lambda: geouq.sparsification_curve(*ARRAYS).oracle),
        ("coverage_90_by_variance", lambda: geouq.group_coverage(*ARRAYS, level=0.9, by="variance")),
    ],
)
def test_a_curve_has_the_points_of_a_run(rows, curve, found):
    array, (x, y) = found(), of_curve(rows[0], curve)

    np.testing.assert_array_equal(array[array.dims[0]], x)
    np.testing.assert_array_equal(array, y)


def test_bins_are_the_rows_of_a_run(rows):
    found = geouq.binned(*ARRAYS)
    expected = [row for row in rows[1] if row["bins"] == found.attrs["bins"]]

    assert found.bin.to_numpy().tolist() == [row["bin"] for row in expected]
    for name in ("lower", "upper", "n", "mean_variance", "mse", "share"):
        assert found[name].to_numpy().tolist() == [row[name] for row in expected], name
    assert found.exact


def test_calibration_is_the_share_of_pit_values():
    pit = geouq.pixel_scores(*ARRAYS, scores="pit")["pit"]
    levels = [0.1, 0.5, 0.9]

    expected = [np.mean(pit[np.isfinite(pit)] <= level) for level in levels]

    np.testing.assert_allclose(geouq.calibration_curve(*ARRAYS, levels=levels), expected, rtol=1e-12)


@pytest.mark.parametrize("name", [*CURVES, "sparsification_curve", "binned"])
def test_kept_dimensions_keep_their_coordinates_and_each_place_its_numbers(name):
    function = getattr(geouq, name)
    found, alone = function(*NAMED, dim=("y", "x")), function(*(array[1] for array in ARRAYS))

    assert found["variable"].to_numpy().tolist() == ["a", "b"]
    xr.testing.assert_equal(found.sel(variable="b", drop=True), alone)
    assert function(*(da.from_array(array) for array in ARRAYS), dim=(1, 2)).sizes["dim_0"] == 2


@pytest.mark.parametrize("name", [*CURVES, "sparsification_curve", "binned"])
def test_a_summary_stands_for_its_arrays(name):
    function = getattr(geouq, name)

    assert function(geouq.summarize(*ARRAYS, ordering=True)).identical(function(*ARRAYS))
    assert function(ARRAYS[0], truth=ARRAYS[2], std=np.sqrt(ARRAYS[1].astype(float))).sizes == function(*ARRAYS).sizes


def test_values_and_coordinates_have_units():
    curve, bins = geouq.calibration_curve(*NAMED), geouq.binned(*NAMED)

    assert (curve.attrs["units"], curve.level.attrs["units"]) == ("1", "1")
    assert (bins.mse.attrs["units"], bins.share.attrs["units"]) == ("m^2", "1")
    assert geouq.binned(*ARRAYS, units="Mg ha-1").lower.attrs["units"] == "(Mg ha-1)^2"
    assert geouq.sparsification_curve(*NAMED).oracle.attrs["units"] == "m"


def test_several_levels_are_along_a_last_dimension():
    found = geouq.group_coverage(*ARRAYS, level=[0.5, 0.9], by="mean", groups=4)

    assert found.dims == ("group", "level")
    xr.testing.assert_equal(found.sel(level=0.9), geouq.group_coverage(*ARRAYS, level=0.9, by="mean", groups=4))


def test_without_pixels_all_is_missing():
    nothing = np.full((2, 2), np.nan)

    for name in CURVES:
        assert np.isnan(getattr(geouq, name)(nothing, nothing, nothing)).all(), name
    assert geouq.binned(nothing, nothing, nothing).n.sum() == 0


def test_what_cannot_be_is_refused():
    with pytest.raises(SummaryError):
        geouq.calibration_curve(*ARRAYS, levels=[0.333])
    with pytest.raises(ConfigError, match="bins=33: give a divisor of 200"):
        geouq.pit_histogram(*ARRAYS, bins=33)
    with pytest.raises(SummaryError, match="ordering"):
        geouq.sparsification_curve(geouq.summarize(*ARRAYS[:2], ARRAYS[2] + 0, tail=0).at_levels((0.9,)))
    with pytest.raises(TypeError, match=r"^levels='0.5' has the type str"):
        geouq.calibration_curve(*ARRAYS, levels="0.5")


def test_classes_that_differ_between_places_are_refused():
    classes = np.zeros((2, 20, 50))
    classes[1] = 3
    summaries = geouq.summarize(*ARRAYS, classes={"cover": classes}, dim=(1, 2))

    with pytest.raises(SummaryError, match="different classes"):
        geouq.group_coverage(summaries, by="cover")
    assert geouq.group_coverage(summaries.isel(dim_0=1), by="cover").group.to_numpy().tolist() == [3]
