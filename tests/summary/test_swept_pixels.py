"""Pixels in the order of the sweep: the profile that follows from them has the bits of any other one."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.summary.statistic import as_words, of_words
from geouq.summary.swept_pixels import ENDS_BAND, ENDS_GROUP, IN_GROUP, ProfileOfPixels, SweptPixels, order_of_singles
from geouq.summary.variance_profile import FINE_SHIFT, N, key_of

LEVELS = (0.5, 0.9)
FIELDS = ("variance", "squared_error", "std", "n")


def swept_of(variance, error, sizes=None, ends=None):
    """Pixels side by side in one row of a tile, in cells of these sizes."""
    variance, error = np.asarray(variance), np.asarray(error, np.float64)
    rounded = error.astype(np.float32)
    wide = np.flatnonzero(rounded.astype(np.float64) != error).astype(np.int32)
    sizes = [len(variance)] if sizes is None else sizes
    ends = [ENDS_BAND] * len(sizes) if ends is None else ends
    runs = np.array([[7, 3, len(variance)]], np.int32)
    return SweptPixels(variance, rounded, wide, error[wide], runs, np.stack([sizes, ends], axis=1).astype(np.int32))


def profile_of(swept, tile="a"):
    extremes = np.float64(swept.variance.min()), np.float64(swept.variance.max())
    return ProfileOfPixels.of(swept, tuple(map(np.asarray, extremes)), 10, tile)


def some_pixels(seed, count, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, size=count).astype(dtype), rng.normal(size=count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_by_key_are_those_of_the_pixels(dtype):
    variance, error = some_pixels(0, 5000, dtype)
    found = profile_of(swept_of(variance, error))
    key = key_of(variance, FINE_SHIFT)

    np.testing.assert_array_equal(found.keys, np.unique(key))
    each = {"variance": variance, "squared_error": error**2, "std": np.sqrt(variance.astype(float)), "n": np.ones(5000)}
    for field, name in enumerate(FIELDS):
        expected = np.bincount(key, each[name].astype(np.float64))[found.keys]
        np.testing.assert_allclose(found.sums[:, field], expected, rtol=1e-13)


def test_sums_are_added_from_cells_to_groups_to_bands():
    tiny = 2.0**-53  # of 1, which the sum of 1 and it rounds away
    variance, error = np.ones(4, np.float32), np.sqrt([1.0, tiny, tiny, tiny])
    alone, together = (
        profile_of(swept_of(variance, error, [1, 3], ends)).sums[0, 1]
        for ends in ([ENDS_BAND, ENDS_BAND], [IN_GROUP, ENDS_BAND])
    )
    one_by_one = profile_of(swept_of(variance, error, [1, 1, 1, 1], [ENDS_GROUP] * 3 + [ENDS_BAND])).sums[0, 1]

    square = np.square(np.sqrt(tiny))
    assert alone == together == 1.0 + (square + square + square)
    assert one_by_one == ((1.0 + square) + square) + square
    assert alone != one_by_one


def test_errors_that_a_float32_does_not_hold_are_exact():
    error = np.array([1.5, 0.1, -1e-40, 2.0**30 + 1])
    swept = swept_of(np.ones(4, np.float32), error)

    np.testing.assert_array_equal(swept.squared_errors(), error**2)
    assert swept.wide.tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pixels_are_kept_in_the_order_of_variance_then_error(dtype):
    rng = np.random.default_rng(1)
    variance, error = rng.integers(1, 40, 600).astype(dtype), rng.normal(size=600)
    kept = profile_of(swept_of(variance, error)).kept
    order = np.lexsort([error**2, variance])

    np.testing.assert_array_equal(kept.pixels, np.stack([variance, error**2], axis=1)[order])
    np.testing.assert_array_equal(kept.place, (7 << 32 | (3 + np.arange(600)))[order])
    assert kept.every


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_variances_of_either_type_are_put_in_order(kind):
    variance = np.random.default_rng(4).lognormal(size=500).astype(kind)

    np.testing.assert_array_equal(order_of_singles(variance), np.argsort(variance))
    np.testing.assert_array_equal(order_of_singles(variance.astype(np.float64)), np.argsort(variance))


def test_parts_join_to_all_their_pixels():
    parts = [swept_of(*some_pixels(seed, count)) for seed, count in ((0, 5), (1, 1), (2, 70))]
    joined = SweptPixels.joined(parts)

    np.testing.assert_array_equal(joined.pixels(), np.concatenate([part.pixels() for part in parts]))
    np.testing.assert_array_equal(joined.places(), np.concatenate([part.places() for part in parts]))
    assert len(SweptPixels.joined([]).variance) == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 300))
@settings(max_examples=25, deadline=None)
def test_profiles_add_like_plain_ones(seed, one, other):
    first, second = (
        profile_of(swept_of(*some_pixels(seed + k, n)), tile) for k, (n, tile) in enumerate(((one, "a"), (other, "b")))
    )
    total, plain = first + second, first.plain() + second.plain()

    for name, array in plain.to_arrays().items():
        np.testing.assert_array_equal(total.to_arrays()[name], array, err_msg=name)
    assert total.sums[:, N].sum() == one + other


def test_a_profile_is_saved_as_its_pixels_and_read_with_the_same_bits():
    found = profile_of(swept_of(*some_pixels(3, 400)))

    again = of_words(as_words(found), found.to_arrays(), LEVELS)
    copied = pickle.loads(pickle.dumps(found))  # noqa: S301  made here

    assert set(found.to_arrays()) == {
        "swept_variance", "swept_error", "swept_wide", "swept_wide_error", "swept_runs", "swept_cells",
        "lowest", "highest", "kept_tail",
    }  # fmt: skip
    for other in (again, copied):
        np.testing.assert_array_equal(other.keys, found.keys)
        np.testing.assert_array_equal(other.sums, found.sums)
        np.testing.assert_array_equal(other.kept.pixels, found.kept.pixels)
        assert other.kept.tiles == ("a",)
