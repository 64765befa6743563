"""Intervals and tests of arrays: the numbers of a run of the same rasters; arrays without a position are refused."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from correlated import forecast
from landscape import NORTH_UP, write_tiles

import geouq
from geouq.api.position import maps_of
from geouq.core.errors import ConfigError, DataError
from geouq.pipeline.data import Options

TEXT = "output: {maps: none, figures: none, pages: none}\nintervals: {resamples: 200}\n"
ARRAYS = forecast(0, 128, 8.0)
FEW = {"settings": {"resamples": 100}, "cell_size": 16}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A run of one tile of three variables, and the intervals of its stack."""
    folder = tmp_path_factory.mktemp("one")
    config = write_tiles(folder, ("a1",), (160, 192), TEXT.replace(", pages: none", ""))
    stack = geouq.open_stack(config)
    found = geouq.intervals(
        stack["mean"], stack["variance"], stack["truth"], dim=("y", "x"), settings={"resamples": 200}, tile="a1"
    )
    return geouq.run(config, Options(out=folder / "out")), found, stack


def test_numbers_and_limits_are_those_of_a_run(evaluated):
    results, found, _ = evaluated
    rows = [row for row in results.tables["metrics"].rows if row["level"] == "all"]

    assert len(rows) == found.value.size
    assert any(row["ci_low"] is not None for row in rows)
    for row in rows:
        at = found.sel(variable=row["variable"])
        one = at.isel(number=(at.metric == row["metric"]) & (at.bins == row["bins"]) & (at.group == row["group"]))
        assert one.sizes["number"] == 1
        for name in ("value", "ci_low", "ci_high", "n_effective"):
            expected = np.nan if row[name] is None else row[name]
            np.testing.assert_array_equal(one[name].item(), expected, err_msg=f"{name} of {row['metric']}")
        assert one.ci_method.item() == row["ci_method"], row["metric"]
        assert (one.n.item(), one.n_cells.item()) == (row["n"], row["n_cells"])


def test_p_values_are_those_of_a_run(evaluated):
    results, found, _ = evaluated
    rows = [row for row in results.tables["tests"].rows if row["level"] == "all"]
    at = {(row["variable"], row["metric"], row["bins"]): row["p_value"] for row in rows}
    tested = found.p_value.stack(all=("variable", "number")).dropna("all")

    assert len(rows) == tested.size > 0
    for one in tested:
        assert at[one["variable"].item(), one.metric.item(), one.bins.item()] == one.item()


def test_an_array_of_rows_and_columns_has_the_numbers_of_its_map(evaluated):
    _, found, stack = evaluated
    layers = [stack[layer].sel(variable="cover").to_numpy() for layer in ("mean", "variance", "truth")]

    alone = geouq.intervals(*layers, settings={"resamples": 200}, tile="a1")

    for name in ("value", "ci_low", "ci_high", "ci_method", "n_effective", "p_value"):
        np.testing.assert_array_equal(alone[name], found[name].sel(variable="cover"), err_msg=name)


def test_the_kind_of_the_arrays_changes_nothing():
    expected = geouq.intervals(*ARRAYS, **FEW)
    lazy = [da.from_array(array, chunks=50) for array in ARRAYS]
    masked = np.ma.masked_invalid(ARRAYS[2])
    stds = np.sqrt(ARRAYS[1])

    xr.testing.assert_identical(geouq.intervals(*lazy, **FEW), expected)
    xr.testing.assert_identical(geouq.intervals(*ARRAYS[:2], masked, **FEW), expected)
    xr.testing.assert_allclose(geouq.intervals(ARRAYS[0], std=stds, truth=ARRAYS[2], **FEW).value, expected.value)


def test_values_are_the_metrics_of_all_pixels():
    mean, variance, truth = ARRAYS
    weights = np.random.default_rng(1).uniform(0.5, 2, truth.shape)
    found = geouq.intervals(*ARRAYS, weights=weights, levels=0.9, bins=10, units="m", **FEW)
    by_name = dict(zip(found.metric.to_numpy(), found.value.to_numpy(), strict=True))

    expected = {name: getattr(geouq, name)(mean, variance, truth, weights=weights) for name in ("uce", "zms", "crps")}

    assert {name: by_name[name] for name in expected} == pytest.approx(expected, rel=1e-12)
    assert found.sel(number=found.metric == "rmse").units.item() == "m"
    assert found.attrs == {"ci_level": 0.95, "resamples": 100}


def test_correlated_errors_make_wider_intervals():
    shuffled = np.random.default_rng(2).permutation(ARRAYS[0].size)
    apart = [array.ravel()[shuffled].reshape(array.shape) for array in ARRAYS]
    wide, narrow = (
        (one.ci_high - one.ci_low).sel(number=one.metric == "bias").item()
        for one in (geouq.intervals(*ARRAYS, **FEW), geouq.intervals(*apart, **FEW))
    )

    assert wide > 2 * narrow


def test_without_pixels_or_cells_the_reason_is_given():
    nothing = np.full((40, 40), np.nan)
    few = geouq.intervals(*(array[:20, :20] for array in ARRAYS), settings={"resamples": 100})

    assert set(geouq.intervals(nothing, nothing, nothing).ci_method.to_numpy()) == {"no pixel"}
    assert few.ci_low.isnull().all()
    assert all("cells" in reason for reason in few.ci_method.to_numpy())


@pytest.mark.parametrize(
    ("arrays", "options", "reason"),
    [
        ([array.ravel() for array in ARRAYS], {}, r"no position on a map: their dimensions are dim_0; give arrays of"),
        ([array[np.newaxis] for array in ARRAYS], {}, r"dimensions are dim_0, dim_1, dim_2; .*name the two of the map"),
        ([array[np.newaxis] for array in ARRAYS], {"dim": 1}, r"dimensions are dim_1; "),
        (ARRAYS, {"dim": ("y", "x")}, r"there is no dimension 'y'"),
        ([geouq.summarize(*ARRAYS)], {}, r"a Summary does not keep the positions"),
        ((ARRAYS[0], ARRAYS[1][:5], ARRAYS[2]), {}, r"the arrays have different shapes"),
        (ARRAYS[:2], {}, r"truth is missing"),
        ((ARRAYS[0], -ARRAYS[1], ARRAYS[2]), {}, r"predicted variance is -"),
    ],
)
def test_what_has_no_position_is_refused(arrays, options, reason):
    with pytest.raises(DataError, match=reason):
        geouq.intervals(*arrays, **options)


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        (np.geomspace(1, 2, 128), "no position on a regular grid: the steps of the coordinate 'y' differ"),
        (np.zeros(128), "no position on a regular grid"),
        ([f"row {row}" for row in range(128)], "the coordinate 'y' holds no numbers"),
    ],
)
def test_irregular_coordinates_are_refused(y, reason):
    layers = [xr.DataArray(array, {"y": y}, ("y", "x")) for array in ARRAYS]
    with pytest.raises(DataError, match=reason):
        geouq.intervals(*layers)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"settings": {"level": 2}}, "^settings: level: "),
        ({"settings": {"resamples": 3}}, "^settings: resamples: "),
        ({"settings": {"block": "wide"}}, "^settings: block: .* no side of blocks"),
        ({"settings": {"resample": 300}}, "^settings: resample: unknown key"),
        ({"crs": "EPSG:none"}, "^crs='EPSG:none' is not known"),
        ({"levels": [90]}, "^levels"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, reason):
    with pytest.raises(ConfigError, match=reason):
        geouq.intervals(*ARRAYS, **options)


def test_the_grid_follows_from_coordinates_of_pixel_centres(evaluated):
    stack = evaluated[2]
    maps = maps_of({"truth": stack["truth"].transpose("x", "variable", "y")}, ("y", "x"))

    assert maps.grid.transform.almost_equals(NORTH_UP)
    assert maps.grid.shape == (160, 192)
    assert 'ID["EPSG",32633]' in maps.grid.crs or 'AUTHORITY["EPSG","32633"]' in maps.grid.crs
    assert maps.dims == ("variable",)
    np.testing.assert_array_equal(maps.layers["truth"], stack["truth"])


def test_a_number_stands_for_a_map_and_blocks_may_be_metres():
    truth = xr.DataArray(ARRAYS[2], {"y": 10.0 * np.arange(128), "x": 10.0 * np.arange(128)})
    found = geouq.intervals(
        0.0, 9.0, truth, crs="EPSG:32633", settings={"resamples": 100, "block": "320 m"}, cell_size=16
    )

    assert np.isfinite(found.ci_low.sel(number=found.metric == "bias")).all()
    assert found.identical(
        geouq.intervals(0.0, 9.0, truth, settings={"resamples": 100, "block": "32 px"}, cell_size=16)
    )
    with pytest.raises(DataError, match="how large a pixel is in metres is not known"):
        geouq.intervals(0.0, 9.0, truth, settings={"resamples": 100, "block": "320 m"}, cell_size=16)
