"""Scores of pixels: those that maps show, whose means are the metrics, lazily for dask."""

import dask.array as da
import numpy as np
import pytest
import scoringrules
import xarray as xr
from forecasts import heteroscedastic

import geouq
from geouq.core.errors import ConfigError, DataError

ARRAYS = heteroscedastic((20, 30))


def labelled(*arrays):
    coords = {"y": np.arange(20.0), "x": np.arange(30.0)}
    return [xr.DataArray(array.astype(np.float64), coords, ("y", "x"), attrs={"units": "m"}) for array in arrays]


def test_scores_are_those_of_another_package():
    mean, variance, truth = (array.astype(np.float64) for array in ARRAYS)
    found = geouq.pixel_scores(mean, variance, truth, scores=["crps", "nll"])

    np.testing.assert_allclose(found["crps"], scoringrules.crps_normal(truth, mean, np.sqrt(variance)), rtol=1e-9)
    np.testing.assert_allclose(found["nll"], scoringrules.logs_normal(truth, mean, np.sqrt(variance)), rtol=1e-9)


@pytest.mark.parametrize("name", ["nll", "crps", "interval_score_90", "covered_90", "error"])
def test_the_mean_over_pixels_is_the_metric(name):
    metric = {"covered_90": "coverage_90", "error": "bias"}.get(name, name)

    assert np.nanmean(geouq.pixel_scores(*ARRAYS)[name]) == pytest.approx(
        float(geouq.evaluate(*ARRAYS)[metric]), rel=1e-7
    )


def test_pixels_that_do_not_count_are_missing():
    mean, variance, truth = np.random.default_rng(3).uniform(1, 2, (3, 20, 30))
    mean[0, 0], variance[0, 1], truth[0, 2] = np.nan, 0, np.inf
    masked = np.ma.masked_array(mean, mean == mean[0, 3])

    missing = np.isnan(geouq.pixel_scores(masked, variance, truth, scores="z")["z"])

    assert np.argwhere(missing).tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]


def test_dask_stays_lazy_and_gives_the_same():
    read = []

    def seen(block):
        read.append(block.shape)
        return block

    lazy = [da.from_array(array, chunks=(8, 30)) for array in ARRAYS]
    lazy[2] = lazy[2].map_blocks(seen, dtype=float, meta=np.empty((0, 0)))
    found, expected = geouq.pixel_scores(*lazy, level=[0.5, 0.9]), geouq.pixel_scores(*ARRAYS, level=[0.5, 0.9])

    assert read == []
    assert found.keys() == expected.keys()
    for name, values in found.items():
        assert isinstance(values, da.Array)
        np.testing.assert_array_equal(values.compute(scheduler="synchronous"), expected[name])


@pytest.mark.parametrize("chunks", [None, {"y": 8}])
def test_data_arrays_keep_coordinates_and_have_units(chunks):
    mean, variance, truth = labelled(*ARRAYS)
    if chunks:
        mean, truth = mean.chunk(chunks), truth.chunk(chunks).transpose("x", "y")
    found = geouq.pixel_scores(mean, std=variance**0.5, truth=truth)

    assert isinstance(found, xr.Dataset)
    assert bool(found.chunks) == bool(chunks)
    assert found.crps.attrs == {"long_name": "continuous ranked probability score", "units": "m"}
    assert (found.z.attrs["units"], found.covered_90.attrs["units"]) == ("1", "1")
    np.testing.assert_array_equal(found.x, truth.x)
    np.testing.assert_allclose(found.crps.transpose("y", "x"), geouq.pixel_scores(*ARRAYS)["crps"], rtol=1e-6)


def test_what_cannot_be_is_refused():
    mean, variance, truth = ARRAYS
    with pytest.raises(ConfigError, match=r"no 'crsp'"):
        geouq.pixel_scores(*ARRAYS, scores=["crsp"])
    with pytest.raises(DataError, match="predicted variances are negative"):
        geouq.pixel_scores(mean, -variance, truth)
    with pytest.raises(DataError, match=r"mean, variance and truth do not match"):
        geouq.pixel_scores(mean, variance, truth[:3])
    with pytest.raises(DataError, match="truth is missing"):
        geouq.pixel_scores(mean, variance)
    with pytest.raises(TypeError, match=r"^level='0.9' has the type str"):
        geouq.pixel_scores(*ARRAYS, level="0.9")
