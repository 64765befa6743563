"""Which dimension of an array holds members, quantiles or classes."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from alike import same

from geouq import classes, ensemble, quantiles
from geouq.core.errors import DataError

SHAPE = (60, 40)
LEVELS = (0.1, 0.5, 0.9)
PLACES = [0, 1, 2]


@pytest.fixture(scope="module")
def layers():
    """Three layers in front, variances of these, truth, probabilities in front, and codes."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=(3, *SHAPE)), axis=0)
    probabilities = rng.dirichlet([1, 1, 1], SHAPE)
    return values, values**2 + 1, rng.normal(size=SHAPE), np.moveaxis(probabilities, -1, 0), rng.integers(0, 3, SHAPE)


def named(layer, place, dim, coords=None):
    """A DataArray whose layers are along that dimension, at that place."""
    dims = ["y", "x"]
    dims.insert(place, dim)
    return xr.DataArray(np.moveaxis(layer, 0, place), coords or {}, dims)


def flat(layer, coords=None):
    return xr.DataArray(layer, coords or {}, ("y", "x"))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("lazy", [False, True])
def test_layers_of_a_data_array_are_found_by_the_name_of_their_dimension(layers, place, lazy):
    values, variance, truth, probabilities, codes = layers

    def stack(layer, dim):
        found = named(layer, place, dim)
        return found.chunk({"y": -1}) if lazy else found

    def done(found):
        return found.compute() if lazy else found

    assert same(done(ensemble.summarize(stack(values, "member"), flat(truth))), ensemble.summarize(values, truth))
    found = done(ensemble.summarize(stack(values, "realization"), flat(truth), variance=stack(variance, "realization")))
    assert same(found, ensemble.summarize(values, truth, variance=variance))
    assert same(
        done(quantiles.summarize(stack(values, "quantile"), LEVELS, flat(truth))),
        quantiles.summarize(values, LEVELS, truth),
    )
    assert same(
        done(classes.summarize(stack(probabilities, "class"), flat(codes))), classes.summarize(probabilities, codes)
    )
    np.testing.assert_array_equal(
        ensemble.fair_crps(named(values, place, "member"), flat(truth)), ensemble.fair_crps(values, truth)
    )
    np.testing.assert_array_equal(
        quantiles.mean_pinball(named(values, place, "quantile"), LEVELS, flat(truth)),
        quantiles.mean_pinball(values, LEVELS, truth),
    )


def test_coordinates_of_the_pixels_do_not_matter(layers):
    values, _, truth, _, _ = layers
    places = {"y": np.arange(60.0), "x": np.arange(40.0)}
    found = ensemble.summarize(named(values, 2, "band", places), flat(truth, places), dim=("x", "y"))

    assert found.n == truth.size
    assert same(found, ensemble.summarize(np.moveaxis(named(values, 2, "band").values, -1, 0), truth))


def test_of_several_dimensions_that_truth_lacks_the_usual_name_or_the_one_given_counts(layers):
    values, _, truth, _, _ = layers
    two = xr.concat([named(values, 2, "member"), named(values + 1, 2, "member")], "model")
    kept = ensemble.summarize(two, flat(truth), dim=("y", "x"))

    assert kept.dims == ("model",)
    assert same(kept.isel(model=0), ensemble.summarize(values, truth))
    swapped = ensemble.summarize(two, flat(truth), dim=("y", "x"), member_dim="model")
    assert swapped.dims == ("member",)
    with pytest.raises(DataError, match=r"dimensions \(model, y, x\), truth has \(y, x\): each truth would count once"):
        ensemble.summarize(two, flat(truth))


@pytest.mark.parametrize(
    ("summarize", "what"),
    [
        (ensemble.summarize, "member"),
        (lambda stack, truth: quantiles.summarize(stack, LEVELS, truth), "quantile"),
        (classes.summarize, "class"),
    ],
)
def test_dimensions_that_do_not_tell_which_holds_the_layers_are_an_error(layers, summarize, what):
    values, _, truth, _, _ = layers
    unnamed = xr.DataArray(np.moveaxis(values, 0, -1)), xr.DataArray(truth)
    square = xr.DataArray(np.zeros((3, 3, 3))), xr.DataArray(np.zeros((3, 3)))
    for stack, y in (unnamed, square):
        with pytest.raises(DataError, match=rf"\(dim_0, dim_1, dim_2\).*it is not clear which.*{what}_dim='{what}'"):
            summarize(stack, y)
    with pytest.raises(DataError, match=r"dimensions are \(time, level_2, y, x\)"):
        summarize(named(values, 0, "time").expand_dims(level_2=2, axis=1), flat(truth))
    with pytest.raises(DataError, match=r"\(y, x\), those of the truth \(y, x\)"):
        summarize(flat(truth), flat(truth))
    with pytest.raises(DataError, match=r"beside DataArrays|different shapes|have the shape"):
        summarize(values, flat(truth).T)


@pytest.mark.parametrize("make", [np.asarray, da.from_array])
def test_arrays_without_names_whose_layers_are_last_are_an_error(layers, make):
    values, _, truth, probabilities, codes = layers
    last = make(np.moveaxis(values, 0, -1))

    for summarize in (
        lambda: ensemble.summarize(last, truth),
        lambda: quantiles.summarize(last, LEVELS, truth),
        lambda: classes.summarize(make(np.moveaxis(probabilities, 0, -1)), codes),
    ):
        with pytest.raises(DataError, match=r"have the shape \(60, 40, 3\) and truth \(60, 40\).*moveaxis"):
            summarize()


def test_one_layer_of_a_list_with_a_dimension_more_is_an_error(layers):
    values, _, truth, _, _ = layers
    with pytest.raises(DataError, match="each truth would count once for every member"):
        ensemble.summarize([flat(truth), named(values, 2, "member")], flat(truth))


def test_labels_that_contradict_each_other_are_an_error(layers):
    values, variance, truth, _, _ = layers
    labelled = named(values, 2, "member", {"member": [0, 1, 2]})
    with pytest.raises(DataError, match=r"members are labelled .* align them first"):
        ensemble.summarize(labelled, flat(truth), variance=named(variance, 0, "member", {"member": [2, 1, 0]}))
    backwards = named(values, 2, "quantile", {"quantile": [0.9, 0.5, 0.1]})
    with pytest.raises(DataError, match=r"labelled \[0.9, 0.5, 0.1\] and levels are \[0.1, 0.5, 0.9\]"):
        quantiles.summarize(backwards, LEVELS, flat(truth))
    with pytest.raises(DataError, match=r"labelled \[0.9, 0.5, 0.1\]"):
        quantiles.mean_pinball(backwards, LEVELS, flat(truth))
    with pytest.raises(DataError, match=r"member_dim='ensemble': the dimensions are \(y, x, member\)"):
        ensemble.summarize(labelled, flat(truth), member_dim="ensemble")
    with pytest.raises(DataError, match="give its values, in a list"):
        quantiles.summarize(dict(zip(LEVELS, values, strict=True)), LEVELS, truth)
