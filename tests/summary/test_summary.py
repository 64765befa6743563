"""How summaries add: identity, order, partition, and what is kept."""

from itertools import pairwise

import numpy as np
import pytest
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.arrays.points import summarize_arrays
from geouq.config import BinScheme
from geouq.core.errors import SummaryError
from geouq.metrics import MetricOptions, bin_edges, evaluate_metrics, metrics_of
from geouq.summary import Moments, add_all, empty_summary
from geouq.summary.form import GAUSSIAN
from geouq.summary.moments import PRODUCTS, SUMS

LEVELS = (0.5, 0.9)
SCHEMES = tuple(BinScheme(scheme=scheme, count=10) for scheme in ("equal-width", "equal-count", "log-width"))


def summary_of(arrays, tail=10):
    return summarize_arrays(*arrays, LEVELS, tail=tail).whole


def numbers(summary):
    return {(v.name, v.bins): float(v.value) for v in evaluate_metrics(summary, MetricOptions(LEVELS, SCHEMES))}


@given(cuts=st.lists(st.integers(1, 79), max_size=6), order=st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_partition_in_any_order_gives_the_whole(cuts, order):
    arrays = heteroscedastic((80, 90), seed=3)
    borders = sorted({0, 80, *cuts})
    parts = [summary_of([a[top:bottom] for a in arrays]) for top, bottom in pairwise(borders)]
    order.shuffle(parts)

    total, whole = add_all([*parts, empty_summary(LEVELS)]), summary_of(arrays)

    assert total.n == whole.n
    np.testing.assert_array_equal(total.z.counts, whole.z.counts)
    np.testing.assert_array_equal(total.variance.keys, whole.variance.keys)
    expected = numbers(whole)
    for name, value in numbers(total).items():
        within = 1e-5 if name[0] in {"pit_mean", "pit_std"} else 1e-9  # PIT is summed by bucket
        assert value == pytest.approx(expected[name], rel=within), name


def test_no_message_is_made_where_an_optional_statistic_is_absent(monkeypatch):
    """Numbers ask for these thousands of times."""

    def refuse(message):
        raise AssertionError(message)

    monkeypatch.setattr("geouq.summary.summary.AbsentError", refuse)
    summary = summary_of(heteroscedastic((8, 8)))

    assert (summary.form, summary.given, summary.ordering) == (None, None, None)
    assert summary.thresholds.thresholds == ()
    assert not summary.overflows
    assert "ordering" not in summary


def test_numbers_computed_from_a_summary_change_neither_it_nor_the_numbers_computed_again():
    arrays = heteroscedastic((40, 50), seed=4)
    used, fresh = summary_of(arrays), summary_of(arrays)

    first = numbers(used)

    assert used == fresh
    np.testing.assert_equal(numbers(used), first)
    assert used.once("what", 1, lambda: 2) == used.once("what", 1, lambda: 3) == 2
    assert used.once("what", 2, lambda: 3) == used.once("other", 1, lambda: 3) == 3


def test_the_empty_summary_changes_nothing():
    whole = summary_of(heteroscedastic((40, 40)))
    nothing = empty_summary(LEVELS)

    for total in (whole + nothing, nothing + whole):
        assert numbers(total) == pytest.approx(numbers(whole), rel=1e-14, nan_ok=True)
        assert total.variance.kept.variance.tolist() == whole.variance.kept.variance.tolist()


def test_no_pixel_gives_missing_numbers_not_zero():
    nothing = summary_of([np.full((20, 20), np.nan, np.float32)] * 3)

    for total in (nothing, empty_summary(LEVELS), nothing + nothing):
        assert total.n == 0
        assert all(np.isnan(value) for value in numbers(total).values())


def test_one_pixel_has_the_numbers_that_it_can_have():
    one = summary_of([np.array([[x]]) for x in (1.0, 4.0, 3.0)])

    found = numbers(one)

    assert found["bias", ""] == -2
    assert found["zms", ""] == 1
    assert found["uce", "equal-width-10"] == 0
    assert found["coverage_90", ""] == 1
    assert np.isnan(found["cv", ""])


@pytest.mark.parametrize(("n", "error"), [(7, 2.5), (0, 0.0), (3, np.inf)])
def test_the_total_of_one_part_is_the_total_of_it_and_an_empty_one(n, error):
    sums, products = np.full((1, len(SUMS)), error), np.full((1, len(PRODUCTS)), -0.0)
    alone = Moments(np.array([n]), np.array([float(n)]), sums, products)
    both = Moments(*(np.concatenate([own, np.zeros_like(own)]) for own in alone.to_arrays().values()))

    with np.errstate(invalid="ignore"):
        totals = [moments.total().to_arrays() for moments in (alone, both)]
    for one, other in zip(*(total.values() for total in totals), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def test_moments_of_many_parts_add_as_pairs_do():
    rng = np.random.default_rng(4)
    parts = [summary_of(heteroscedastic((9, 9), seed=int(seed))).moments for seed in rng.integers(0, 99, 12)]
    stacked = Moments(
        *(np.stack([getattr(part, name) for part in parts]) for name in ("n", "weight", "sums", "products"))
    )

    pairwise = parts[0]
    for part in parts[1:]:
        pairwise += part

    np.testing.assert_allclose(stacked.total().products, pairwise.products, rtol=1e-12)
    assert stacked.total().n == pairwise.n


def test_summaries_of_other_levels_do_not_add():
    arrays = heteroscedastic((20, 20))

    with pytest.raises(SummaryError, match="do not add"):
        summarize_arrays(*arrays, (0.5,)).whole + summarize_arrays(*arrays, (0.9,)).whole


def test_a_level_that_was_not_kept_is_refused():
    summary = summary_of(heteroscedastic((20, 20)))
    (coverage,) = (metric for metric in metrics_of(GAUSSIAN) if metric.name == "coverage")

    with pytest.raises(SummaryError, match=r"0\.333"):
        coverage.function(summary, 0.333)


@pytest.mark.usefixtures("tail_alone")
def test_the_tail_of_a_sum_is_the_tail_of_the_whole():
    """A part with higher variances raises the bound below which single pixels are dropped."""
    low, high = heteroscedastic((50, 50), seed=5), heteroscedastic((50, 50), seed=6, inflate=40)

    total = summary_of(low) + summary_of(high)

    both = np.concatenate([low[1], high[1]])
    missing = np.isnan(np.concatenate([low[0] + low[2], high[0] + high[2]]))
    expected = np.sort(both[~missing & (both >= both[~missing].max() / 10)])
    kept = total.variance.kept.variance
    assert set(expected.tolist()) <= set(kept.tolist())
    assert len(kept) < np.sum(~missing) / 2


@pytest.mark.usefixtures("tail_alone")
def test_without_room_the_tail_gives_way_to_the_profile(monkeypatch):
    monkeypatch.setattr("geouq.summary.variance_profile.BUDGET", 100)
    arrays = heteroscedastic((60, 60), missing=0)
    flat = [arrays[0], np.clip(arrays[1], 1, 2), arrays[2]]

    halves = [summary_of([a[:30] for a in flat]), summary_of([a[30:] for a in flat])]
    total = add_all(halves)

    assert total.variance.kept.tail == 0
    assert not total.variance.binned(bin_edges(total.variance, SCHEMES[0])).exact
    assert numbers(total)["uce", "equal-width-10"] == pytest.approx(
        numbers(summary_of(flat))["uce", "equal-width-10"], rel=1e-3
    )
