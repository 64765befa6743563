"""Every metric as a function of arrays: the number of the summary, and the published demo in five lines."""

import inspect
import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from forecasts import heteroscedastic

import geouq
from geouq import metrics
from geouq.arrays.metric_functions import bin_scheme, measure, measure_names
from geouq.config import Bins, BinScheme, preferred_first
from geouq.core.errors import ConfigError, GeouqError
from geouq.metrics import metrics_of
from geouq.summary.form import GAUSSIAN

ARRAYS = heteroscedastic((40, 50))
NAMES = sorted(measure_names())


def test_the_published_demo_of_interval_regression_takes_five_lines():
    """UQRegressors' adaptive and constant intervals, to the digits given."""
    np.random.seed(0)  # noqa: NPY002  the published demo draws so
    x = np.linspace(0, 1, 200)
    mean, std = np.sin(2 * np.pi * x), np.maximum(0.5 * x * 1.645 / 1.6448536269514722, 1e-6)
    truth = mean + np.random.normal(0, 0.5 * x)  # noqa: NPY002
    adaptive = geouq.summarize(mean, std**2, truth, levels=[0.9])

    constant = geouq.summarize(mean, (0.9593951783666362 / 2 / 1.6448536269514722) ** 2, truth, levels=[0.9])
    expected = {
        geouq.coverage: (0.895, 0.89),
        geouq.width: (0.8225, 0.9594),
        geouq.rmse: (0.2931, 0.2931),
        geouq.nll: (-0.3006, 0.1916),
        geouq.interval_score: (0.983100, 1.325428),
    }
    for function, values in expected.items():
        digits = 2e-6 if function is geouq.interval_score else 5e-5
        assert (function(adaptive), function(constant)) == pytest.approx(values, abs=digits), function.__name__


@pytest.mark.parametrize("name", NAMES)
def test_arrays_and_their_summary_give_one_number(name):
    on_arrays = getattr(geouq, name)
    summary = geouq.summarize(*ARRAYS, ordering=True, thresholds=[0.5])
    asked = {"threshold": 0.5} if name.startswith("threshold") else {}

    value = on_arrays(*ARRAYS, **asked)

    assert isinstance(value, float)
    assert value == on_arrays(summary, **asked)
    assert on_arrays(mean=ARRAYS[0], variance=ARRAYS[1], truth=ARRAYS[2], **asked) == value


def test_a_threshold_must_be_given():
    with pytest.raises(TypeError, match=r"threshold_brier\(\) needs threshold="):
        geouq.threshold_brier(*ARRAYS)


@pytest.mark.parametrize("metric", metrics_of(GAUSSIAN), ids=lambda metric: metric.name)
def test_a_metric_tells_what_it_takes_and_what_it_is(metric):
    on_arrays = getattr(geouq, metric.name)
    parameters = inspect.signature(on_arrays).parameters

    assert on_arrays.__name__ == metric.name
    assert on_arrays.__doc__.startswith(metric.claim)
    assert list(parameters)[:5] == ["mean", "variance", "truth", "weights", "dim"]
    assert ("level" in parameters) == (metric.choice in ("level", "group"))
    assert ("bins" in parameters) == (metric.choice == "bins")


def test_every_metric_is_public():
    assert set(NAMES) <= set(geouq.__all__) <= set(dir(geouq))


def test_no_room_has_the_name_of_a_public_function():
    """Importing such a room would put it in the place of the function."""
    code = (
        "import geouq, pkgutil\n"
        "rooms = {room.name for room in pkgutil.iter_modules(geouq.__path__)}\n"
        "print(*sorted(rooms & set(geouq.__all__)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_importing_the_package_imports_nothing_large():
    code = (
        "import geouq, sys; print(*sorted({'numpy', 'numba', 'xarray', 'dask', 'pandas', 'pydantic'} & {*sys.modules}))"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_ten_bins_are_ten_of_the_default_scheme():
    summary = geouq.summarize(*ARRAYS)

    assert geouq.uce(summary, bins=10) == geouq.uce(summary) == float(metrics.uce(summary))
    assert geouq.ence(summary, bins=10) == geouq.ence(summary, bins="equal-count") == float(metrics.ence(summary))
    twenty = BinScheme(scheme="equal-count", count=20)
    assert geouq.uce(*ARRAYS, bins=20) == geouq.uce(*ARRAYS, bins=twenty) != geouq.uce(*ARRAYS)


@pytest.mark.parametrize(
    "metric", [metric for metric in metrics_of(GAUSSIAN) if metric.choice == "bins"], ids=lambda m: m.name
)
def test_the_default_bins_are_the_first_ones_of_a_run(metric):
    first, *others = preferred_first(Bins().schemes)
    function = measure(metric.name)

    assert first.name in function.__doc__
    assert function(*ARRAYS) == function(*ARRAYS, bins=first) == float(metric.function(geouq.summarize(*ARRAYS)))
    assert all(function(*ARRAYS) != function(*ARRAYS, bins=other) for other in others)
    assert geouq.evaluate(*ARRAYS)[metric.name].isel(bins=0) == function(*ARRAYS)
    assert geouq.evaluate(*ARRAYS, bins=20)[metric.name].bins == [f"{first.scheme}-20"]


def test_many_bins_of_arrays_are_exact():
    """Against a loop over bins; the summary is made for as many bins as are asked for."""
    mean, variance, truth = (layer.ravel().astype(float) for layer in ARRAYS)
    there = np.isfinite(mean + truth)
    v, e = variance[there], (truth - mean)[there] ** 2
    place = np.clip(np.digitize(v, np.linspace(v.min(), v.max(), 51)) - 1, 0, 49)
    expected = sum(abs(np.sum(v[place == k] - e[place == k])) for k in range(50)) / len(v)

    assert geouq.uce(*ARRAYS, bins="equal-width-50") == pytest.approx(expected, rel=1e-6)


def test_levels_edges_and_reference_means_are_taken_by_name():
    summary = geouq.summarize(*ARRAYS, levels=[0.5, 0.8])

    assert geouq.coverage(*ARRAYS, level=0.8) == geouq.coverage(summary, level=0.8)
    assert geouq.nbias(summary, reference_mean=2) == geouq.bias(summary) / 2
    assert geouq.uce(summary, bins=[0, 1e9]) == pytest.approx(abs(geouq.sharpness(summary) - geouq.rmse(summary) ** 2))


def test_weights_of_pixels_and_of_levels_have_names_of_their_own():
    value = geouq.calibration_error(*ARRAYS, weights=np.ones((40, 50)), level_weights="counts")

    assert value == pytest.approx(float(metrics.calibration_error(geouq.summarize(*ARRAYS), weights="counts")))


def test_what_is_kept_has_the_form_of_what_was_given():
    arrays = [np.stack([layer, layer * 2]) for layer in ARRAYS]
    named = [xr.DataArray(layer, {"variable": ["a", "b"]}, ("variable", "y", "x")) for layer in arrays]
    lazy = [da.from_array(layer, chunks=20) for layer in arrays]

    plain, labelled = geouq.zms(*arrays, dim=(1, 2)), geouq.zms(*named, dim=("y", "x"))

    assert isinstance(plain, np.ndarray)
    assert labelled.coords["variable"].to_numpy().tolist() == ["a", "b"]
    np.testing.assert_array_equal(labelled, plain)
    np.testing.assert_allclose(geouq.zms(*lazy, dim=(1, 2)), plain, rtol=1e-12)
    assert labelled.name == "zms"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: geouq.uce(ARRAYS[0]), GeouqError, "three arrays: mean, variance, truth"),
        (lambda: geouq.uce(geouq.summarize(*ARRAYS), 10), GeouqError, "a Summary stands alone"),
        (lambda: geouq.uce(*ARRAYS, bins=1), ConfigError, "give 2 or more"),
        (lambda: geouq.uce(*ARRAYS, bins="equal"), ConfigError, "bins='equal'"),
        (lambda: geouq.uce(*ARRAYS, bins=[3, 2, 1]), ConfigError, "bins="),
        (lambda: geouq.coverage(*ARRAYS, level=90), ConfigError, "between 0 and 1"),
        (lambda: geouq.uce(*ARRAYS, level=0.9), TypeError, "unexpected argument 'level'; it takes bins"),
        (lambda: measure("ucee"), GeouqError, "no metric 'ucee'"),
    ],
)
def test_misuse_gets_one_clear_message(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("bins", "name"), [(7, "equal-width-7"), ("log-width-5", "log-width-5"), ([0, 1, 2], "edges-2")]
)
def test_bins_are_named_counted_or_given(bins, name):
    assert bin_scheme(bins, BinScheme(scheme="equal-width")).name == name


def test_a_std_stands_in_the_place_of_the_variance():
    mean, variance, truth = (layer.astype(np.float64) for layer in ARRAYS)
    std = np.sqrt(variance)
    expected = geouq.zms(mean, std**2, truth)

    assert geouq.zms(mean, std=std, truth=truth) == expected
    assert geouq.zms(mean, std=da.from_array(std), truth=truth) == pytest.approx(expected, rel=1e-12)
    assert geouq.zms(mean.tolist(), std=std.tolist(), truth=truth.tolist()) == expected
    assert geouq.summarize(mean, std=std, truth=truth) == geouq.summarize(mean, std**2, truth)
    assert geouq.table(mean, std=std, truth=truth).equals(geouq.table(mean, std**2, truth))
    named = xr.Dataset({"mean": ("y", mean[0]), "sd": ("y", std[0]), "truth": ("y", truth[0])})
    assert named.geouq.named(std="sd").zms() == geouq.zms(mean[0], std[0] ** 2, truth[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"variance": 1.0, "std": 1.0, "truth": 0.0}, "both variance and std"),
        ({"truth": 0.0}, "or std="),
        ({"std": 1.0}, "mean, variance, truth"),
        ({"std": "wide", "truth": 0.0}, "std is a str that holds no numbers"),
        ({"std": -1.0, "truth": 0.0}, "negative"),
    ],
)
def test_a_std_that_is_not_clear_is_explained(wrong, said):
    with pytest.raises(GeouqError, match=said):
        geouq.zms(0.0, **wrong)


def test_several_levels_at_once_are_along_a_last_dimension():
    levels = [0.5, 0.9]
    found = geouq.coverage(*ARRAYS, level=levels)
    summary = geouq.summarize(*ARRAYS, levels=levels)

    assert found.tolist() == [geouq.coverage(*ARRAYS, level=level) for level in levels]
    assert geouq.coverage(summary, level=tuple(levels)).tolist() == found.tolist()
    assert geouq.rmscd(*ARRAYS, level=levels, by="truth").shape == (2,)
    rows = geouq.coverage(*ARRAYS, level=levels, dim=1)
    assert rows.shape == (40, 2)
    np.testing.assert_array_equal(rows[:, 1], geouq.coverage(*ARRAYS, level=0.9, dim=1))
    named = geouq.coverage(*(xr.DataArray(layer, dims=("y", "x")) for layer in ARRAYS), level=levels, dim="x")
    assert named.dims == ("y", "level")
    assert named.level.values.tolist() == levels
    assert geouq.threshold_brier(*ARRAYS, threshold=[5.0, 10.0, 20.0]).shape == (3,)


def test_levels_that_are_none_or_not_kept_are_explained():
    with pytest.raises(ConfigError, match="names none"):
        geouq.coverage(geouq.summarize(*ARRAYS), level=[])
    with pytest.raises(ConfigError, match="between 0 and 1"):
        geouq.coverage(*ARRAYS, level=[0.5, 90])
    with pytest.raises(GeouqError, match=r"at probability 0\.1135, an end of the interval of level 0\.773;"):
        geouq.coverage(geouq.summarize(*ARRAYS), level=[0.5, 0.773])


def test_summaries_compare_by_their_sums_and_add_with_sum():
    one, same_again = geouq.summarize(*ARRAYS), geouq.summarize(*ARRAYS)
    upper, lower = (geouq.summarize(*(layer[half] for layer in ARRAYS)) for half in (slice(20), slice(20, None)))
    rows = geouq.summarize(*ARRAYS, dim=1)

    assert one == same_again
    assert (one != upper) is True
    assert (one == 3) is False
    assert sum([upper, lower]) == upper + lower
    assert sum([upper]) is upper
    assert rows == geouq.summarize(*ARRAYS, dim=1)
    assert rows != geouq.summarize(*ARRAYS, dim=0)
    assert sum([rows, rows]) == rows + rows
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = one + 1
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = 1 + one
