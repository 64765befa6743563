"""The fused sweep against restatements on whole arrays."""

import numpy as np
import pytest
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st
from restatement import level_metrics, plain_metrics, valid

from geouq import metrics
from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10, BinScheme
from geouq.core.errors import DataError
from geouq.core.gaussian import half_width
from geouq.core.validity import WEIGHT_ZERO
from geouq.metrics import metrics_of
from geouq.summary.form import GAUSSIAN
from geouq.summary.variance_profile import N

LEVELS = (0.5, 0.6827, 0.9, 0.95)
PLAIN = {metric.name: metric.function for metric in metrics_of(GAUSSIAN) if metric.choice in ("none", "reference_mean")}
LEVELLED = {metric.name: metric.function for metric in metrics_of(GAUSSIAN) if metric.choice == "level"}

PIT = ("pit_mean", "pit_std")  # added up by steps of z


@pytest.fixture(scope="module")
def arrays():
    return heteroscedastic((150, 170))


@pytest.fixture(scope="module")
def summary(arrays):
    return summarize_arrays(*arrays, LEVELS).whole


@pytest.mark.parametrize("name", PLAIN)
def test_metrics_equal_the_whole_array_definition(name, arrays, summary):
    within = 1e-5 if name in PIT else 1e-9
    assert PLAIN[name](summary) == pytest.approx(plain_metrics(*valid(*arrays))[name], rel=within)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LEVELLED)
def test_metrics_of_a_level_equal_the_whole_array_definition(name, level, arrays, summary):
    assert LEVELLED[name](summary, level) == pytest.approx(level_metrics(*valid(*arrays), level)[name], rel=1e-12)


def test_every_pixel_counts_once(arrays):
    found = summarize_arrays(*arrays)

    assert found.whole.n + found.excluded.sum() == arrays[0].size
    assert found.whole.n == len(valid(*arrays)[0])
    assert found.whole.z.counts.sum() == found.whole.variance.sums[:, N].sum() == found.whole.n


@pytest.mark.parametrize("cell_size", [16, 64, 256])
def test_cells_add_up_to_the_whole(arrays, cell_size):
    found = summarize_arrays(*arrays, LEVELS, cell_size=cell_size)
    total = found.cells.summary().total()

    assert total.n == found.whole.n
    np.testing.assert_allclose(total.moments.sums, found.whole.moments.sums, rtol=1e-12)
    np.testing.assert_allclose(total.moments.products, found.whole.moments.products, rtol=1e-12)
    np.testing.assert_allclose(total.variance.sums, found.whole.variance.compact().sums, rtol=1e-6)  # kept as float32
    assert total.z.regular(20).tolist() == found.whole.z.regular(20).tolist()


def test_each_cell_holds_its_own_pixels(arrays):
    cells = summarize_arrays(*arrays, LEVELS, cell_size=32).cells.summary()

    across = -(-arrays[0].shape[1] // 32)
    for cell in (0, 3, across + 1, 3 * across + 5):
        row, column = (32 * index for index in divmod(cell, across))
        mean, variance, truth = valid(*(a[row : row + 32, column : column + 32] for a in arrays))
        assert cells.n[cell] == len(mean)
        assert cells.moments.mean("error")[cell] == pytest.approx((mean - truth).mean(), rel=1e-9)
        assert cells.variance.highest[cell] == variance.max()


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (513, 515), (16, 1025)])
def test_any_shape_is_summed(shape):
    arrays = heteroscedastic(shape, missing=0.1)
    mean, _, truth = valid(*arrays)
    found = summarize_arrays(*arrays).whole

    assert found.n == len(mean)
    assert found.moments.sums[0] == pytest.approx((mean - truth).sum(), rel=1e-10, abs=1e-10)


def test_float64_arrays_keep_their_digits():
    rng = np.random.default_rng(1)
    truth = 1e6 + rng.standard_normal((40, 40)) * 1e-4
    mean = truth + 1e-5 * rng.standard_normal((40, 40))
    variance = np.full((40, 40), 1e-10) * rng.uniform(0.5, 2, (40, 40))

    expected = plain_metrics(mean.ravel(), variance.ravel(), truth.ravel())

    summary = summarize_arrays(mean, variance, truth).whole
    for name in ("bias", "rmse", "zms", "nll", "crps", "cv"):
        assert PLAIN[name](summary) == pytest.approx(expected[name], rel=1e-6)


def test_a_large_offset_costs_no_digits():
    """Mean 1e4, std 1e-1, float32: the sum of squares would lose everything."""
    rng = np.random.default_rng(2)
    truth = (1e4 + 0.1 * rng.standard_normal((200, 200))).astype(np.float32)
    mean = (1e4 + 0.1 * rng.standard_normal((200, 200))).astype(np.float32)
    variance = np.full(truth.shape, 0.02, np.float32)
    expected = plain_metrics(*valid(mean, variance, truth))

    summary = summarize_arrays(mean, variance, truth).whole

    assert PLAIN["r2"](summary) == pytest.approx(expected["r2"], rel=1e-10)
    assert PLAIN["bias"](summary) == pytest.approx(expected["bias"], rel=1e-10)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
def test_units_of_any_size_are_summed(scale):
    mean, variance, truth = (a.astype(np.float64) for a in heteroscedastic((60, 60), missing=0))
    small = plain_metrics(mean.ravel(), variance.ravel(), truth.ravel())

    scaled = summarize_arrays(mean * scale, variance * scale**2, truth * scale).whole

    assert PLAIN["zms"](scaled) == pytest.approx(small["zms"], rel=1e-9)
    assert PLAIN["crps"](scaled) == pytest.approx(small["crps"] * scale, rel=1e-8)
    assert PLAIN["nll"](scaled) == pytest.approx(small["nll"] + np.log(scale), rel=1e-9)


@given(seed=st.integers(0, 2**32 - 1), spread=st.floats(0, 3), level=st.sampled_from([0.05, 0.5, 0.9, 0.999]))
@settings(max_examples=30, deadline=None)
def test_crps_and_interval_scores_of_any_data(seed, spread, level):
    """CRPS errs by at most 5e-9 of the std at any pixel, whatever z; interval scores are exact."""
    rng = np.random.default_rng(seed)
    shape = (3, 37)
    mean, variance = rng.standard_normal(shape), np.exp(3 * rng.standard_normal(shape))
    truth = mean + np.sqrt(variance) * np.exp(spread * rng.standard_normal(shape)) * rng.choice([-1, 1], shape)
    flat = [a.ravel() for a in (mean, variance, truth)]

    summary = summarize_arrays(mean, variance, truth, (level,)).whole

    allowed = 5e-9 * np.sqrt(variance).mean()
    expected = plain_metrics(*flat)["crps"]
    assert PLAIN["crps"](summary) == pytest.approx(expected, rel=1e-12, abs=allowed)
    for name, value in level_metrics(*flat, level).items():
        assert LEVELLED[name](summary, level) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("side", [-1, 1])
def test_intervals_are_closed(side):
    """A truth exactly on the end of the interval is covered, the next number outside it is not."""
    end = side * half_width(0.9)
    beyond = np.nextafter(end, np.inf * side)
    truth = np.array([[end, beyond, 0.0, end]])

    summary = summarize_arrays(np.zeros((1, 4)), np.ones((1, 4)), truth, (0.9,)).whole

    assert LEVELLED["coverage"](summary, 0.9) == 0.75
    assert LEVELLED["coverage_above" if side > 0 else "coverage_below"](summary, 0.9) == 0.25


def test_a_truth_on_the_median_is_not_above_it():
    summary = summarize_arrays(np.zeros((1, 3)), np.ones((1, 3)), np.zeros((1, 3)), (0.5,)).whole

    assert summary.z.below(0.5) == 3


def test_threads_and_sizes_of_arrays_do_not_change_the_bits():
    """Joining the groups of a large array is the same whatever it is part of."""
    arrays = heteroscedastic((1100, 2300), missing=0.3)
    once, again = (summarize_arrays(*arrays, cell_size=64).whole for _ in range(2))

    assert once.moments.sums.tobytes() == again.moments.sums.tobytes()
    assert once.variance.sums.tobytes() == again.variance.sums.tobytes()


@pytest.mark.parametrize("shape", [(300, 520), (5, 9000)])
def test_weights_of_one_change_no_number(shape):
    arrays = heteroscedastic(shape)
    plain, weighted = summarize_arrays(*arrays).whole, summarize_arrays(*arrays, weight=1.0).whole

    assert weighted.n == plain.n
    for name, function in PLAIN.items():
        assert function(weighted) == pytest.approx(function(plain), rel=1e-11), name
    for name, function in LEVELLED.items():
        assert function(weighted, 0.9) == pytest.approx(function(plain, 0.9), rel=1e-12), name
    for scheme in (EQUAL_COUNT_10, EQUAL_WIDTH_10):
        assert metrics.uce(weighted, scheme) == pytest.approx(metrics.uce(plain, scheme), rel=1e-12)
        assert metrics.ence_null(weighted, scheme) == pytest.approx(metrics.ence_null(plain, scheme), rel=1e-12)


@pytest.mark.parametrize("shape", [(60, 90), (300, 520)])
@pytest.mark.parametrize("unit", [1, 1e-3, 900])
def test_the_null_of_ence_is_that_of_the_weighted_pixels_in_any_unit_of_the_weights(shape, unit):
    arrays = heteroscedastic(shape, missing=0)
    variance, weight = arrays[1].astype(np.float64), np.random.default_rng(6).integers(1, 9, shape)
    order = np.argsort(variance, axis=None)
    edges = np.quantile(variance, np.arange(11) / 10)
    inside = np.clip(np.searchsorted(edges, variance.ravel()[order], side="right") - 1, 0, 9)
    weighted = (weight * variance).ravel()[order]

    expected = np.mean(
        [np.sqrt(np.sum(weighted[inside == k] ** 2) / np.pi) / weighted[inside == k].sum() for k in range(10)]
    )

    found = metrics.ence_null(
        summarize_arrays(*arrays, weight=weight * unit).whole, BinScheme(scheme="edges", edges=tuple(edges))
    )
    assert found == pytest.approx(expected, rel=1e-9 if variance.size < 65_536 else 1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_whole_weights_count_like_repeated_pixels(dtype):
    """A pixel of weight 3 is three pixels, in every number that does not ask how many there are."""
    arrays = [array.astype(dtype) for array in heteroscedastic((90, 110))]
    weight = np.random.default_rng(5).integers(0, 4, arrays[0].shape)
    repeated = [np.repeat(array.ravel(), weight.ravel())[np.newaxis] for array in arrays]
    one, other = summarize_arrays(*arrays, weight=weight).whole, summarize_arrays(*repeated).whole

    assert one.n == (weight[np.isfinite(sum(arrays))] > 0).sum()
    assert one.moments.weight == other.n
    for name in set(PLAIN) - {"cv", "ence_null", "ence_excess"}:
        assert PLAIN[name](one) == pytest.approx(PLAIN[name](other), rel=1e-5 if name in PIT else 1e-9), name
    for name, function in LEVELLED.items():
        assert function(one, 0.9) == pytest.approx(function(other, 0.9), rel=1e-12), name
    edges = np.quantile(valid(*arrays)[1], np.arange(11) / 10)
    scheme = BinScheme(scheme="edges", edges=tuple(edges))
    assert metrics.uce(one, scheme) == pytest.approx(metrics.uce(other, scheme), rel=1e-3)
    assert metrics.uce(one, EQUAL_WIDTH_10) == pytest.approx(metrics.uce(other, EQUAL_WIDTH_10), rel=1e-12)


def test_a_weight_of_zero_excludes_a_pixel_under_its_reason():
    arrays = heteroscedastic((30, 30), missing=0)
    weight = np.ones((30, 30))
    weight[3, :4], weight[4, 5] = 0, np.nan

    assert summarize_arrays(*arrays, weight=weight).excluded[WEIGHT_ZERO] == 5


def test_a_negative_weight_is_refused():
    with pytest.raises(DataError, match="the lowest weight is -1"):
        summarize_arrays(*heteroscedastic((3, 4)), weight=-1)
