"""Laws of the summaries of ensembles, quantiles and probabilities: parts add to the whole, whatever the parts."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from alike import same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import geouq
from geouq import classes, ensemble, quantiles
from geouq.core.errors import SummaryError
from geouq.forms.classes import Classes
from geouq.forms.ensemble import Ensemble
from geouq.forms.quantiles import Quantiles
from geouq.forms.split import Split
from geouq.metrics import METRICS, metrics_of
from geouq.summary import RunningTotal, add_all, empty_summary
from geouq.summary.form import GAUSSIAN, form_as_words, form_of_words
from geouq.summary.joint_sample import SIZE, JointSample

LEVELS = (0.1, 0.5, 0.9)
FORMS = ("members", "densities", "split", "quantiles", "classes")


def layers_of(form, count, seed=0):
    """Layers (each, pixels) and truth, multiples of 1/8 so that sums of sums are exact."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(0, 3, (4, count)) * 8) / 8
    truth = np.round(rng.normal(0, 3, count) * 8) / 8
    if form == "classes":
        return rng.multinomial(8, [0.25] * 4, count).T / 8, rng.integers(0, 4, count).astype(float)
    return values, truth


def summarized(form, values, truth, **options):
    if form == "members":
        return ensemble.summarize(values, truth, levels=(0.5,), **options)
    if form == "densities":
        return ensemble.summarize(values, truth, variance=np.abs(values) + 0.5, levels=(0.5,), **options)
    if form == "split":
        parts = {"aleatoric": np.abs(values[1]) + 0.5, "epistemic": np.abs(values[2])}
        return ensemble.summarize_split(values[0], truth, **parts, levels=(0.5,), **options)
    if form == "quantiles":
        return quantiles.summarize(values[:3], LEVELS, truth, **options)
    return classes.summarize(values, truth, **options)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20, deadline=None)
@given(count=st.integers(2, 80), seed=st.integers(0, 10**6), data=st.data())
def test_parts_add_to_the_whole_in_any_order(form, count, seed, data):
    values, truth = layers_of(form, count, seed)
    truth[::7] = np.nan
    whole = summarized(form, values, truth)
    cuts = sorted(data.draw(st.sets(st.integers(1, count - 1), max_size=4)))
    places = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
    parts = [summarized(form, values[:, place], truth[place]) for place in data.draw(st.permutations(places))]
    total = add_all([empty_summary(whole.levels), *parts])
    running = RunningTotal(whole.levels)
    for part in parts:
        running.add(part)

    assert total.n == whole.n
    assert same(running.summary().form, total.form)
    np.testing.assert_allclose(total.form.sums, whole.form.sums, rtol=1e-12, atol=1e-12)
    counted = [
        name
        for name in ("below", "above", "ranks", "rank_residues", "at_most", "crossing")
        if name in whole.form.form.fields
    ]
    for name in counted:
        np.testing.assert_array_equal(total.form.of(name), whole.form.of(name))


@pytest.mark.parametrize("form", FORMS)
def test_weights_of_two_are_the_pixel_twice(form):
    values, truth = layers_of(form, 50)
    weights = np.random.default_rng(1).integers(1, 3, 50)
    once = summarized(form, values, truth, weights=weights)
    often = summarized(form, np.repeat(values, weights, axis=1), np.repeat(truth, weights))

    np.testing.assert_allclose(once.form.sums, often.form.sums, rtol=1e-12)
    assert once.moments.weight == often.n
    np.testing.assert_allclose(once.moments.products, often.moments.products, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_along_a_kept_dimension_each_has_the_numbers_of_its_own_pixels(form):
    values, truth = layers_of(form, 60)
    found = summarized(form, values.reshape(-1, 3, 20), truth.reshape(3, 20), dim=1)

    for row in range(3):
        alone = summarized(form, values.reshape(-1, 3, 20)[:, row], truth.reshape(3, 20)[row])
        np.testing.assert_array_equal(found.isel(dim_0=row).form.sums, alone.form.sums)
    assert len(geouq.table(found)) == 3 * len(geouq.table(alone))


@pytest.mark.parametrize("form", ["members", "quantiles", "classes"])
def test_dask_and_xarray_give_what_numpy_gives(form):
    values, truth = layers_of(form, 60)
    stacked = summarized(form, values, truth)
    lazy = summarized(form, da.from_array(values, chunks=(1, 25)), da.from_array(truth, chunks=25)).compute()
    named = summarized(form, xr.DataArray(values, dims=("layer", "x")), xr.DataArray(truth, dims="x"))

    np.testing.assert_allclose(lazy.form.sums, stacked.form.sums, rtol=1e-12)
    np.testing.assert_array_equal(named.form.sums, stacked.form.sums)


def test_no_chunking_changes_the_sample():
    rng = np.random.default_rng(0)
    values, truth = rng.standard_normal((3, 9000)), rng.standard_normal(9000)
    variance = np.ones_like(values)
    whole = ensemble.summarize(values, truth, variance=variance)
    lazy = [da.from_array(array, chunks=(-1, 1700)[-array.ndim :]) for array in (values, truth, variance)]
    chunked = ensemble.summarize(lazy[0], lazy[1], variance=lazy[2]).compute()

    assert len(whole.form.sample.number) == SIZE
    assert same(whole.form.sample, chunked.form.sample)
    assert ensemble.joint_log_loss(whole) == ensemble.joint_log_loss(chunked)


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=200), st.data())
def test_a_sample_is_of_the_lowest_numbers_in_any_order(numbers, data):
    def sample(own):
        own = np.array(own, np.uint64)
        return JointSample.lowest(own, np.stack([own.astype(float), -own.astype(float)], axis=-1))

    order, cut = data.draw(st.permutations(numbers)), data.draw(st.integers(0, len(numbers)))
    whole = sample(numbers)

    assert same(sample(order[:cut]) + sample(order[cut:]), whole)
    assert whole.number.tolist() == sorted(numbers)[:SIZE]


def test_a_sample_is_uniform():
    """Of 20 000 pixels in rising order of their truth, those that are sampled are spread evenly."""
    truth = np.arange(20_000.0)
    values = np.stack([truth, truth + 1])
    found = ensemble.summarize(values, truth, variance=np.stack([truth + 1, truth + 1])).form.sample
    variance = np.exp(-2 * (found.log_density[:, 0] + 0.5 * np.log(2 * np.pi)))

    assert stats.kstest(variance / 20_001, "uniform").pvalue > 0.001


def test_forms_that_differ_do_not_add():
    one, other = (summarized(form, *layers_of(form, 20)) for form in ("quantiles", "classes"))
    with pytest.raises(SummaryError, match="do not add"):
        _ = one + other
    with pytest.raises(SummaryError, match="do not add"):
        _ = summarized("members", *layers_of("members", 20)) + geouq.summarize([1.0], [1.0], [1.0], levels=(0.5,))


def test_fewer_levels_of_an_ensemble():
    values, truth = layers_of("members", 80)
    both, one = (ensemble.summarize(values, truth, levels=levels) for levels in ((0.5, 0.9), (0.9,)))

    assert same(both.at_levels((0.9,)).form, one.form)


@pytest.mark.parametrize(
    "form", [Ensemble(3, (0.5,), densities=True), Split(), Quantiles((0.1, 0.9)), Classes((1, 5), ("a", "b"))]
)
def test_a_form_as_words_is_that_form(form):
    import json

    assert form_of_words(json.loads(json.dumps(form_as_words(form)))) == form


@pytest.mark.parametrize("form", FORMS)
def test_every_number_is_finite_and_no_pixel_has_none(form):
    values, truth = layers_of(form, 200)
    values = (values + 0.5) / 3 if form == "classes" else values
    full, nothing = (
        geouq.table(summarized(form, values, y), levels=None if form in ("quantiles", "classes") else (0.5,))
        for y in (truth, truth * np.nan)
    )

    assert np.isfinite(full.value).all()
    assert nothing.value.isna().all()
    assert set(full.metric) == set(nothing.metric)


def test_every_metric_of_a_form_has_a_row_and_a_name_of_its_own():
    usual = metrics_of(GAUSSIAN)
    named = {metric.name for metric in usual}
    own = [metric.name for metric in METRICS if metric not in usual]

    assert len(own) == len(set(own))
    assert named & set(own) == {"coverage", "coverage_above", "coverage_below", "width", "interval_score"}
    assert all(metric.claim and metric.source and metric.symbol for metric in METRICS)


def test_a_summary_shows_its_own_numbers():
    assert "accuracy" in repr(summarized("classes", *layers_of("classes", 20)))
    assert "wis" in repr(summarized("quantiles", *layers_of("quantiles", 20)))
    assert "crps_ensemble" in repr(summarized("members", *layers_of("members", 20)))
