"""Arrays on another grid than the mean: the numbers are those of the same layers as GeoTIFF."""

import numpy as np
import pandas as pd
import pytest
from affine import Affine
from arrays_in_files import DAYS, on_map, save, with_crs
from landscape import write_raster

import geouq
from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles

pytestmark = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")  # of pixels in memory
COARSE, FINE = Affine(30, 0, 500_000, 0, -30, 5_000_000), Affine(10, 0, 499_995, 0, -10, 5_000_005)
SIDE = 60
RNG = np.random.default_rng(0)
MEAN = RNG.uniform(20, 40, (2, SIDE, SIDE)).astype(np.float32)
STD = RNG.uniform(1, 3, (2, SIDE, SIDE)).astype(np.float32)
TRUTH = RNG.uniform(20, 40, (2, 3 * SIDE + 2, 3 * SIDE + 2)).astype(np.float32)
TRUTH[RNG.random(TRUTH.shape) < 0.2] = np.nan
LARGE = RNG.uniform(1, 2, (2, SIDE // 4 + 2, SIDE // 4 + 2)).astype(np.float32)
WIDE = Affine(130, 0, 499_900, 0, -130, 5_000_100)
QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}, "variables": ["v"]}
PLACES = {"mean": (MEAN, COARSE), "std": (STD, COARSE), "truth": (TRUTH, FINE), "wide": (LARGE, WIDE)}


@pytest.fixture(params=["a.nc", "a.zarr"])
def folder(tmp_path, monkeypatch, request):
    """Layers of two times on three grids, as arrays in a file for each, and as GeoTIFFs of each time."""
    monkeypatch.chdir(tmp_path)
    for key, (values, place) in PLACES.items():
        dataset = with_crs(on_map({key: values}, place, dims=("time",)).assign_coords(time=DAYS[:2]))
        save(dataset, tmp_path / f"{key}_{request.param}", {"time": 1, "y": 32, "x": 32})
        for day, own in zip(DAYS.strftime("%Y-%m")[:2], values, strict=True):
            write_raster(tmp_path / f"{key}_{day}.tif", own, transform=place, nodata=np.nan)
    return request.param


def experiment(files, name, **settings):
    """An experiment with settings of layers; the std has larger pixels where these are given."""
    data = {}
    for key in ("mean", "std", "truth"):
        source = "wide" if key == "std" and "std" in settings else key
        data[key] = {key_: own.format(source) for key_, own in files.items()} | settings.get(key, {})
    return load_experiment({"version": 1, "name": name, "data": data} | QUICK)


def numbers(configuration):
    results = geouq.run(configuration)
    assert not results.failures
    return results.metrics[["level", "name", "variable", "metric", "bins", "value"]].reset_index(drop=True)


@pytest.mark.parametrize("method", ["average", "nearest"])
def test_truth_of_smaller_pixels_gives_the_numbers_of_geotiffs(folder, method):
    truth = {"align": method}
    arrays = {"path": f"{{}}_{folder}", "variable": "{}"}

    found = numbers(experiment(arrays, "arrays", truth=truth))

    expected = numbers(experiment({"path": "{}_{{time}}.tif"}, "files", truth=truth))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_a_std_of_larger_pixels_gives_the_numbers_of_geotiffs(folder, method):
    settings = {"truth": {"align": "average"}, "std": {"align": method}}
    arrays = {"path": f"{{}}_{folder}", "variable": "{}"}

    found = numbers(experiment(arrays, "arrays", **settings))

    expected = numbers(experiment({"path": "{}_{{time}}.tif"}, "files", **settings))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_a_stack_has_the_aligned_layers_at_each_time(folder):
    own = experiment({"path": f"{{}}_{folder}", "variable": "{}"}, "arrays", truth={"align": "nearest"})

    stack = geouq.open_stack(own).compute()

    pixels = TRUTH[:, 2::3, 2::3][:, :SIDE, :SIDE]
    np.testing.assert_array_equal(stack["truth"].to_numpy()[:, 0], pixels)


def test_arrays_on_other_grids_are_refused_without_a_command_that_does_not_know_them(folder):
    found = find_tiles(experiment({"path": f"{{}}_{folder}", "variable": "{}"}, "arrays"))

    (failure,) = found.failures
    assert "align: average" in failure.message
    assert "gdalwarp" not in failure.message


def test_packed_arrays_are_aligned_by_their_values(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored = np.rint(np.nan_to_num(TRUTH[:1], nan=-9.99) * 100).astype(np.int16)
    for key, (values, place) in {"mean": (MEAN, COARSE), "std": (STD, COARSE), "truth": (stored, FINE)}.items():
        packed = {"scale_factor": 0.01, "_FillValue": np.int16(-999)} if key == "truth" else {}
        dataset = with_crs(on_map({key: values[0]}, place, **packed))
        dataset[key].encoding = {}
        save(dataset, tmp_path / f"{key}_a.zarr")
        header = {"nodata": -999, "scales": [0.01]} if key == "truth" else {}
        write_raster(tmp_path / f"{key}.tif", values[0], transform=place, **header)

    found = numbers(experiment({"path": "{}_a.zarr", "variable": "{}"}, "one", truth={"align": "average"}))

    expected = numbers(experiment({"path": "{}.tif"}, "one", truth={"align": "average"}))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
