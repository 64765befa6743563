"""Limits and p-values against second implementations and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from geouq.inference import false_discovery_adjusted
from geouq.inference.compiled_limits import quantile_of, widening_at
from geouq.inference.limits import (
    Replicates,
    consistent_p_value,
    widened,
)


@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_limits_are_those_of_a_second_implementation(method):
    sample = np.random.default_rng(0).lognormal(size=40)
    found = stats.bootstrap((sample,), np.mean, n_resamples=999, method=method, rng=np.random.default_rng(1))
    rest = (sample.sum() - sample) / 39

    replicates = found.bootstrap_distribution
    own = Replicates.corrected(sample.mean(), replicates, rest) if method == "BCa" else Replicates(np.sort(replicates))
    ours = own.limits(0.95)

    assert ours == pytest.approx(tuple(found.confidence_interval), rel=1e-9)


def test_widened_limits_are_farther_from_the_estimate():
    assert widened(1.0, (0.5, 2.0), 2.0) == (0.0, 3.0)
    assert widened(0.5, (0.5, 1.0), 2.0, bounds=(0.0, 1.0)) == (0.5, 1.0)


@given(
    values=st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3).map(sorted),
    widening=st.floats(1, 4),
    bounds=st.sampled_from([(0.0, np.inf), (0.0, 1.0), (-np.inf, 1.0), (-np.inf, np.inf)]),
)
@settings(deadline=None)
def test_widened_limits_stay_within_bounds_and_hold_those_that_were_given(values, widening, bounds):
    low, estimate, high = values

    lower, upper = widened(estimate, (low, high), widening, bounds)

    assert bounds[0] <= lower <= low + 1e-12
    assert high - 1e-12 <= upper <= bounds[1]
    assert widened(estimate, (low, high), 1.0, bounds) == pytest.approx((low, high), rel=1e-9)


@settings(deadline=None)
@given(p=st.lists(st.floats(1e-6, 1), min_size=1, max_size=30))
def test_adjusted_p_values_are_those_of_a_second_implementation(p):
    assert false_discovery_adjusted(p) == pytest.approx(stats.false_discovery_control(p))


UNWIDENED = np.ones(1), np.ones(1), 9.0, 0.0  # nothing is drawn, so that limits are those of the replicates
NO_BOUNDS = (-np.inf, np.inf)


@pytest.mark.parametrize("border", [0.3, 0.949, 0.951, 0.9999])
def test_a_p_value_is_1_less_the_highest_level_that_leaves_the_ideal_out(border):
    evenly = Replicates(np.linspace(0, 1, 10_001))  # limits of a level are (1 - level) / 2 and (1 + level) / 2

    found = evenly.p_value((1 - border) / 2, 0.5, UNWIDENED, NO_BOUNDS, 1e-9)

    assert found == pytest.approx(1 - border, abs=1e-7)


def test_p_values_are_1_where_no_level_leaves_the_ideal_out_and_the_least_where_all_do():
    same = Replicates(np.full(99, 0.5))

    assert same.p_value(0.5, 0.5, UNWIDENED, NO_BOUNDS, 0.001) == 1.0
    p = same.p_value(0.6, 0.5, UNWIDENED, NO_BOUNDS, 0.001)
    assert p == 0.0
    assert consistent_p_value(p, excluded=True, level=0.95, least=0.001) == 0.001


@given(p=st.floats(0, 1), excluded=st.booleans(), level=st.floats(0.5, 0.999), least=st.floats(1e-6, 1e-4))
def test_a_p_value_is_below_1_less_the_level_exactly_where_the_limits_leave_the_ideal_out(p, excluded, level, least):
    found = consistent_p_value(p, excluded=excluded, level=level, least=least)

    assert (found < 1 - level) == excluded
    assert least <= found <= 1
    if (p < 1 - level) == excluded and p >= least:
        assert found == p


@given(
    replicates=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    probabilities=st.lists(st.floats(0, 1), min_size=2, max_size=2),
)
def test_quantiles_of_sorted_replicates_are_those_of_numpy_to_the_last_bit(replicates, probabilities):
    found = [quantile_of(np.sort(replicates), one) for one in probabilities]

    np.testing.assert_array_equal(found, np.quantile(replicates, probabilities))


@given(
    chances=st.lists(st.floats(0.01, 1), min_size=1, max_size=13),
    freedom=st.floats(3, 60),
    alpha=st.floats(1e-4, 0.9),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None)
def test_the_size_of_a_deviation_is_beyond_its_half_width_as_often_as_asked_for(chances, freedom, alpha, seed):
    deviations = np.exp(np.random.default_rng(seed).normal(size=len(chances)))
    probabilities = np.array(chances) / np.sum(chances)
    half = stats.norm.isf(alpha / 2)

    width = half * widening_at(half, alpha, (probabilities, deviations, freedom, 1.0))

    factor = (8 * freedom + 1) / (8 * freedom + 3)
    normal = factor * np.sqrt(freedom * np.log1p((width / deviations) ** 2 / freedom))
    assert (probabilities * 2 * stats.norm.sf(normal)).sum() == pytest.approx(alpha, rel=1e-9)


@given(seed=st.integers(0, 2**32), ideal=st.floats(-3, 3), bounds=st.sampled_from([(-np.inf, np.inf), (-9.0, 9.0)]))
@settings(deadline=None)
def test_a_p_value_of_replicates_is_that_of_a_search_among_levels(seed, ideal, bounds):
    rng = np.random.default_rng(seed)
    estimate, least = rng.normal(), 1 / 500
    replicates = Replicates.corrected(estimate, rng.normal(estimate, size=499), rng.normal(size=30))
    spread = np.array([0.7, 0.3]), np.array([1.2, 2.5]), 12.0, 1.0

    def leaves_out(level):
        half = stats.norm.ppf((1 + level) / 2)
        widening = widening_at(half, 1 - level, spread)
        low, high = widened(estimate, replicates.limits(level), widening, bounds)
        return not low <= ideal <= high

    found = replicates.p_value(ideal, estimate, spread, bounds, least)

    assert max(found, least) == pytest.approx(searched_p_value(leaves_out, least), abs=1e-5)


def searched_p_value(leaves_out, least):
    """1 less the highest level that leaves an ideal out, by halving levels between 0 and 1 - least."""
    low, high = 0.0, 1 - least
    if leaves_out(high):
        return least
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if leaves_out(middle) else (low, middle)
    return 1 - high
