"""Coverage by truth, mean or variance: keys, groups, sums."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from alike import same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from geouq import summarize_arrays
from geouq.arrays import points as arrays
from geouq.core.errors import SummaryError
from geouq.metrics import group_edges
from geouq.summary import GROUPED_BY, CoverageProfile, RunningTotal, empty_summary
from geouq.summary.coverage_profile import POSITIVE, key_start, value_key
from geouq.sweep.settings import Settings

LEVELS = (0.5, 0.9)
SINGLES = st.floats(width=32, allow_nan=False)


@pytest.fixture
def by_all(monkeypatch):
    """Summaries of arrays that are grouped by everything."""
    monkeypatch.setattr(arrays, "Settings", lambda *given, **kept: Settings(*given, **kept, groups=GROUPED_BY))


def forecast(seed=0, shape=(150, 200)):
    rng = np.random.default_rng(seed)
    truth, std = rng.normal(1, 3, shape), rng.lognormal(0, 0.5, shape)
    return truth + 1.3 * std * rng.normal(size=shape), std**2, truth


def covered(mean, variance, truth, level):
    return np.abs(truth - mean) / np.sqrt(variance) <= norm.ppf((1 + level) / 2)


@given(st.lists(SINGLES, min_size=2, max_size=2).map(sorted))
def test_keys_are_in_the_order_of_the_values(pair):
    low, high = value_key(pair)
    assert -POSITIVE <= low <= high < POSITIVE


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_key_starts_at_most_one_part_in_512_nearer_to_0(value):
    start = float(key_start(value_key(value)))

    assert start == 0 or value_key(start) == value_key(value)  # -0.0 counts as 0
    assert 0 <= abs(value) - abs(start) <= max(abs(value) / 512, 1e-35)


def test_groups_begin_at_the_quantiles_of_the_values():
    truth = np.random.default_rng(0).normal(1, 3, 5000)
    edges = group_edges(summarize_arrays(truth, np.ones(5000), truth).whole)

    np.testing.assert_allclose(edges, np.quantile(truth, np.linspace(0, 1, 11)), rtol=1 / 256, atol=1e-3)


@given(SINGLES, st.sampled_from(GROUPED_BY))
@settings(deadline=None)
def test_the_kernel_finds_the_same_key(value, by):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "Settings", lambda *given, **kept: Settings(*given, **kept, groups=(by,)))
        pixel = {"mean": 1.0, "variance": 1.0, "truth": 1.0} | {by: abs(value) if by == "variance" else value}
        layers = [np.full((1, 1), pixel[name], np.float32) for name in ("mean", "variance", "truth")]
        profile = summarize_arrays(*layers, LEVELS).whole.groups[by]
    valid = np.isfinite(value) and (by != "variance" or value != 0)
    assert profile.keys.tolist() == ([int(value_key(pixel[by]))] if valid else [])


@pytest.mark.usefixtures("by_all")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_those_of_the_pixels(kind, weighted):
    mean, variance, truth = (layer.astype(kind) for layer in forecast())
    weight = np.random.default_rng(1).random(truth.shape) if weighted else np.ones(truth.shape)
    groups = summarize_arrays(mean, variance, truth, LEVELS, weight=weight if weighted else None).whole.groups
    exact = [layer.astype(np.float64) for layer in (mean, variance, truth)]
    inside = np.stack([covered(*exact, level) for level in LEVELS])
    outside = (~inside).sum(0)

    for name, values in zip(GROUPED_BY, (truth, mean, variance), strict=True):
        profile, keys = groups[name], value_key(values)
        expected = np.zeros((2 * POSITIVE, len(LEVELS) + 1))
        np.add.at(expected, (keys + POSITIVE, outside), weight)
        assert np.array_equal(profile.keys, np.unique(keys))
        np.testing.assert_allclose(profile.counts, expected[profile.keys + POSITIVE], rtol=1e-12)


def test_groups_have_the_pixels_that_numpy_puts_between_quantiles():
    mean, variance, truth = forecast(shape=(20, 30))
    rank = np.argsort(np.argsort(truth, axis=None)).reshape(truth.shape) - 300
    truth = np.sign(rank + 0.5) * np.exp2(np.abs(rank + 0.5) / 100)  # no key holds two pixels
    summary = summarize_arrays(mean, variance, truth, LEVELS).whole
    edges = np.quantile(truth, np.arange(1, 7) / 7)
    group = np.searchsorted(edges, truth.ravel(), side="right")
    inside = covered(mean, variance, truth, 0.9).ravel()

    found = summary.coverage_by("truth").grouped(7, summary.n)

    assert found[:, -1].tolist() == np.bincount(group, minlength=7).tolist()
    assert found[:, 1].tolist() == np.bincount(group, inside, minlength=7).tolist()


def test_equal_values_are_shared_between_groups_that_are_covered_alike():
    mean, variance, truth = forecast(shape=(20, 30))
    truth = np.where(truth > 0, 1.0, -2.0)
    summary = summarize_arrays(mean, variance, truth, LEVELS).whole
    inside = covered(mean, variance, truth, 0.9)
    low, groups = int((truth < 0).sum()), 7

    found = summary.coverage_by("truth").grouped(groups, summary.n)

    assert np.ptp(found[:, -1]) <= 1
    share = found[:, 1] / found[:, -1]
    assert share[: low * groups // 600] == pytest.approx(inside[truth < 0].mean())
    assert share[low * groups // 600 + 1 :] == pytest.approx(inside[truth > 0].mean())
    assert found[:, 1].sum() == pytest.approx(inside.sum())


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(2, 12), st.integers(0, 9))
def test_groups_differ_by_one_pixel_at_most_whatever_the_keys(pixels, groups, seed):
    inside = np.random.default_rng(seed).binomial(pixels, 0.7)
    profile = CoverageProfile(np.arange(len(pixels)), np.column_stack([inside, pixels - inside]).astype(float))

    found = profile.grouped(groups, np.int64(sum(pixels)))

    assert np.ptp(found[:, -1]) <= 1
    assert found.sum(0) == pytest.approx([inside.sum(), sum(pixels)])


def test_groups_of_weighted_pixels_have_equal_weights():
    mean, variance, truth = forecast()
    weight = np.random.default_rng(3).lognormal(0, 1, truth.shape)
    summary = summarize_arrays(mean, variance, truth, LEVELS, weight=weight).whole

    found = summary.coverage_by("truth").grouped(10, summary.n)

    assert found[:, -1] == pytest.approx(weight.sum() / 10, rel=1e-3)


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_any_partition_gives_the_same(rows):
    layers = forecast(shape=(64, 50))
    whole = summarize_arrays(*layers, LEVELS).whole
    parts = [
        summarize_arrays(*(layer[start : start + rows] for layer in layers), LEVELS).whole
        for start in range(0, 64, rows)
    ]
    running = RunningTotal(LEVELS)
    for part in parts:
        running.add(part)

    for total in (reduce(add, parts), reduce(add, parts[::-1]), running.summary(), empty_summary(LEVELS) + whole):
        assert same(dict(total.groups), dict(whole.groups))


def test_fewer_levels_are_what_those_alone_would_have_given():
    layers, levels = forecast(), (0.95, 0.5, 0.9)
    told = summarize_arrays(*layers, levels).whole
    for fewer in ((0.9,), (0.9, 0.5), (0.5, 0.95)):
        assert same(dict(told.at_levels(fewer).groups), dict(summarize_arrays(*layers, fewer).whole.groups))


def test_what_was_not_kept_is_refused():
    summary = summarize_arrays(*forecast(shape=(5, 5)), LEVELS).whole
    with pytest.raises(SummaryError, match="coverage by slope was not kept; this summary groups by truth, variance"):
        summary.coverage_by("slope")
    with pytest.raises(SummaryError, match="different levels"):
        summary.groups["truth"] + CoverageProfile(np.zeros(0, np.int64), np.zeros((0, 2)))
