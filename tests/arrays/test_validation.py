"""numpy, dask and xarray give the same summaries, and what cannot be meant is refused."""

import dask
import dask.array as da
import numpy as np
import pytest
import xarray as xr
from alike import same
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import summarize
from geouq.core.errors import ConfigError, DataError, GeouqError
from geouq.metrics import mae, rmse, uce
from geouq.summary import Summary

DIMS = ("variable", "time", "y", "x")
SHAPE = (2, 3, 4, 5)


@pytest.fixture(scope="module")
def arrays():
    """Mean, variance and truth (variable, time, y, x)."""
    return [layer.reshape(SHAPE) for layer in heteroscedastic((SHAPE[0] * SHAPE[1], SHAPE[2] * SHAPE[3]))]


@pytest.fixture(scope="module")
def named(arrays):
    coords = {"variable": ["height", "cover"], "time": [2001, 2002, 2003], "units": ("variable", ["m", "%"])}
    return [xr.DataArray(layer, coords, DIMS) for layer in arrays]


def assert_equal(one, other):
    """Counts alike, sums to rounding."""
    assert one.n == other.n
    np.testing.assert_allclose(one.z.counts, other.z.counts, rtol=1e-14 if one.z.counts.dtype == float else 0)
    for metric in (rmse, mae, uce):
        assert float(metric(one)) == pytest.approx(float(metric(other)), rel=1e-9, nan_ok=True)


@given(axes=st.sets(st.integers(-4, 3), min_size=1), data=st.data())
@settings(max_examples=12, deadline=None)
def test_numpy_dask_and_xarray_give_the_same_for_any_axes_and_chunks(arrays, named, axes, data):
    """A place that is kept has the bits of its pixels alone, the chunks of dask add up to its numbers."""
    reduced = {axis % 4 for axis in axes}
    axes = sorted(reduced)
    chunks = tuple(data.draw(st.integers(-(-size // 2), size)) for size in SHAPE)

    plain = summarize(*arrays, dim=axes)
    labelled = summarize(*named, dim=[DIMS[axis] for axis in axes])
    lazy = summarize(*(da.from_array(layer, chunks=chunks) for layer in arrays), dim=tuple(axes))

    found = lazy.compute(scheduler="synchronous")
    if len(axes) == 4:
        assert same(plain, labelled)
        assert_equal(plain, found)
        return
    assert labelled.dims == tuple(name for axis, name in enumerate(DIMS) if axis not in reduced)
    assert found.dims == plain.dims == tuple(f"dim_{axis}" for axis in range(4) if axis not in reduced)
    for one, two, three in zip(plain, labelled, found, strict=True):
        assert same(one, two)
        assert_equal(one, three)


def test_a_place_that_is_kept_has_the_bits_of_its_pixels_alone(arrays):
    kept = summarize(*arrays, dim=(2, 3))

    assert same(kept.isel(dim_0=1, dim_1=2), summarize(*(layer[1, 2] for layer in arrays)))


def test_the_bits_depend_on_the_order_of_the_pixels_and_not_on_their_shape(arrays):
    assert same(summarize(*arrays), summarize(*(layer.ravel() for layer in arrays)))
    assert same(summarize(*arrays), summarize(*(np.asfortranarray(layer) for layer in arrays)))


def test_one_chunk_gives_the_bits_of_numpy_and_the_same_chunks_the_same_bits(arrays):
    whole = summarize(*(da.from_array(layer, chunks=-1) for layer in arrays)).compute()
    parts = [summarize(*(da.from_array(layer, chunks=2) for layer in arrays)) for _ in range(2)]

    assert same(whole, summarize(*arrays))
    assert same(parts[0].compute(scheduler="synchronous"), parts[1].compute(scheduler="threads"))


def test_dask_stays_lazy_until_asked_and_reads_every_chunk_once():
    read = []

    def layers(block_info=None):
        place = tuple(block_info[None]["chunk-location"])
        read.append(place)
        return np.ones((3, 4, 5))

    stacked = da.map_blocks(layers, chunks=((3,), (4, 4), (5,)), dtype=float, meta=np.empty((0, 0, 0)))
    lazy = summarize(stacked[0], stacked[1], stacked[2])

    assert read == []
    both = (lazy + lazy).compute(scheduler="synchronous")
    assert both.n == 2 * 40
    assert sorted(read) == [(0, 0, 0), (0, 1, 0)]


def test_dask_in_a_dataarray_stays_lazy_and_keeps_coordinates(named):
    lazy = summarize(*(layer.chunk({"y": 3, "time": 2}) for layer in named), dim=("y", "x"))

    (found,) = dask.compute(lazy, scheduler="synchronous")

    assert found.coords["units"][1].tolist() == ["m", "%"]
    assert [one.n for one in found] == [one.n for one in summarize(*named, dim=("y", "x"))]


def test_one_dask_array_makes_the_summary_lazy_whatever_the_others_are(arrays):
    mean, _, truth = arrays

    lazy = summarize(mean, 1.5, da.from_array(truth, chunks=(1, 3, 2, 4)), weights=np.ones((4, 1)))

    assert_equal(
        lazy.compute(scheduler="synchronous"), summarize(mean, np.full(SHAPE, 1.5), truth, weights=np.ones(SHAPE))
    )


def test_dataarrays_are_matched_by_name(named):
    mean, variance, truth = named
    area = xr.DataArray(np.linspace(1, 2, 4), dims="y")

    turned = summarize(mean.transpose("x", "time", "y", "variable"), variance, truth, weights=area)

    assert turned.n == summarize(mean, variance, truth).n
    expected = summarize(mean, variance, truth, weights=area.broadcast_like(mean).transpose(*DIMS))
    assert_equal(turned, expected)


def test_an_array_that_lacks_a_dimension_is_compared_along_it(named):
    mean, variance, truth = named

    found = summarize(mean, variance, truth.isel(time=0, drop=True), dim=("y", "x"))

    assert (
        found.isel(variable=1, time=2).n
        == summarize(*(a[1, 2] for a in (mean, variance)), truth[1, 0].drop_vars("time")).n
    )


def test_coordinates_that_contradict_each_other_are_dropped(named):
    mean, variance, truth = named

    found = summarize(mean.assign_coords(source="model"), variance, truth.assign_coords(source="lidar"), dim=("y", "x"))

    assert set(found.coords) == {"variable", "time", "units"}


def test_masked_pixels_do_not_count():
    truth = np.ma.masked_equal(np.array([1, 2, -9999]), -9999)

    assert summarize([1.0, 1, 1], [1.0, 1, 1], truth).n == 2


def test_lists_integers_and_single_numbers_are_arrays_too():
    found = summarize([1, 2, 3], 4, [2, 2, 2])

    assert found.n == 3
    assert float(rmse(found)) == pytest.approx(np.sqrt(2 / 3))
    assert summarize(1, 4, 2).n == 1


ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summarize(ONES, ONES, np.ones((3, 2))), r"mean \(2, 3\), variance \(2, 3\), truth \(3, 2\)"),
        (lambda: summarize(np.ones(3), np.ones(3), np.ones((3, 1))), "different shapes"),
        (lambda: summarize(ONES, ONES, ONES, weights=np.ones(2)), r"weights of shape \(2,\)"),
        (lambda: summarize(ONES, ONES, ONES, weights=-ONES), "lowest weight is -1"),
        (lambda: summarize(ONES, -ONES, ONES), "6 predicted variances are negative, the lowest -1"),
        (lambda: summarize(ONES, "wide", ONES), "variance holds values of type <U4"),
        (lambda: summarize(ONES, ONES, [[1, 2], [3]]), "truth is a list"),
        (lambda: summarize(ONES, None, ONES), "variance or std is missing; give mean, variance, truth"),
        (lambda: summarize(ONES, ONES * 1j, ONES), "complex128"),
        (lambda: summarize(ONES, ONES, ONES, dim=2), "the arrays have 2 axes"),
        (lambda: summarize(ONES, ONES, ONES, dim=(1, -1)), "the arrays have 2 axes"),
        (lambda: summarize(ONES, ONES, ONES, dim="y"), "dim='y'"),
        (lambda: summarize(*[xr.DataArray(ONES)] * 3, dim="y"), "no dimension 'y'; they are dim_0, dim_1"),
        (
            lambda: summarize(xr.DataArray(ONES), ONES, xr.DataArray(ONES)),
            "variance is a ndarray and others are DataArrays",
        ),
        (lambda: summarize(*[xr.DataArray(ONES)] * 2, xr.DataArray(ONES[:, :2])), "same coordinates"),
        (
            lambda: summarize(*[xr.DataArray([1.0], {"x": [0]}, "x")] * 2, xr.DataArray([1.0], {"x": [1]}, "x")),
            "same coordinates .*'x'",
        ),
        (lambda: summarize(*[da.ones(5)[da.ones(5) > 0]] * 3), "compute_chunk_sizes"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_one_message(call, message):
    with pytest.raises(DataError, match=message) as caught:
        call()

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("levels", [[], [90], [0.5, 0.5], [0], [np.nan]])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        summarize(ONES, ONES, ONES, levels=levels)


def test_a_fault_in_a_chunk_is_told_as_of_numpy():
    lazy = summarize(*[da.ones((4, 4), chunks=2)] * 2, da.ones((4, 4), chunks=2), weights=da.full((4, 4), -1.0))

    with pytest.raises(GeouqError, match="lowest weight is -1"):
        lazy.compute(scheduler="synchronous")


def test_no_dimension_reduced_keeps_every_pixel():
    found = summarize(ONES, ONES, ONES, dim=())

    assert isinstance(found, SummaryArray)
    assert found.shape == (2, 3)
    assert isinstance(found.isel(dim_0=0, dim_1=0), Summary)
