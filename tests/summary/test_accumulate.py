"""A running total has the bits of summaries added two by two."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from alike import same
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.core.errors import SummaryError
from geouq.summary import Moments, RunningTotal, Summary, TailPixels, VarianceProfile, ZHistogram, empty_summary
from geouq.summary.coverage_profile import CoverageProfile
from geouq.summary.interval_scores import IntervalScores
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.ordering_profile import OrderingProfile
from geouq.summary.summary import COVERAGE_BY
from geouq.summary.variance_profile import FINE_SHIFT, key_of
from geouq.summary.z_histogram import FINE, edge_probabilities

LEVELS = (0.5, 0.9)
EDGES = edge_probabilities(LEVELS, FINE)


def profile_of(pixels, tail, wanted, *, keeps, every=False):
    """Of pixels (n, 2 or 3), whose weights are the last column; all of them are offered to be kept."""
    variance, squared_error, *weight = pixels.T
    keys, group = np.unique(key_of(variance, FINE_SHIFT), return_inverse=True)
    w = weight[0] if weight else np.ones(len(pixels))
    columns = [w * variance, w * squared_error, w * np.sqrt(variance), np.ones(len(pixels)), *weight]
    sums = np.zeros((len(keys), len(columns)))
    np.add.at(sums, group, np.stack(columns, axis=-1))
    lowest, highest = variance.min(initial=np.inf), variance.max(initial=-np.inf)
    kept = None
    if keeps and every:
        kept = TailPixels.every_one(tail, "a", pixels, np.arange(len(pixels)))
    elif keeps:
        kept = TailPixels(tail, np.unique(wanted).astype(np.int64), pixels).in_order()
    return VarianceProfile(FINE_SHIFT, keys, sums, lowest, highest, kept).pruned()


@st.composite
def summaries(draw, *, weighted):
    """Small sets of pixels, of few keys over some octaves, so that parts share keys and some raise the tail."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count, top = draw(st.integers(0, 30)), draw(st.integers(1, 8))
    variance = np.exp2(rng.integers(-8, 8 * top, count) / 8) * (1 + 0.001 * rng.random(count))
    pixels = np.column_stack([variance, rng.random(count), *([rng.random(count)] if weighted else [])])
    wanted = key_of(np.exp2(rng.integers(-8, 8 * top, 5) / 8), FINE_SHIFT)
    tail = draw(st.sampled_from([10, 10, 10, 3, 0]))
    keeps, every = draw(st.integers(0, 9)) > 0, draw(st.integers(0, 4)) > 0
    profile = profile_of(pixels, tail, wanted[: draw(st.integers(0, 5))], keeps=keeps, every=every)
    moments = Moments(np.int64(count), np.float64(count), rng.normal(size=len(SUMS)), rng.normal(size=len(PRODUCTS)))
    groups = {name: coverage_of(rng, count) for name in draw(st.sampled_from([("truth", "mean"), ("truth",), ()]))}
    z = ZHistogram(EDGES, rng.random(len(EDGES) + 1))
    ordering = ordering_of(rng, count) if draw(st.integers(0, 4)) else None
    scores = IntervalScores(rng.random(len(LEVELS)))
    return of(moments, scores, z, profile).having(ordering=ordering, **{COVERAGE_BY + k: v for k, v in groups.items()})


def of(moments, scores, z, profile):
    return Summary(LEVELS, {"moments": moments, "interval_scores": scores, "z": z, "variance": profile})


def ordering_of(rng, count):
    keys = np.unique(rng.integers(0, 9, count))
    return OrderingProfile(keys, rng.random((len(keys), 1)))


def coverage_of(rng, count):
    keys = np.unique(rng.integers(-5, 5, count))
    return CoverageProfile(keys, rng.random((len(keys), len(LEVELS) + 1)))


def within_budget(part):
    """As a sweep makes it: with as many kept pixels as a sum may keep."""
    return part.having(variance=part.variance.pruned())


def many(*, weighted):
    return st.lists(summaries(weighted=weighted), max_size=8)


@given(
    parts=many(weighted=False) | many(weighted=True),
    budget=st.sampled_from([20, 1 << 20]),
    few=st.sampled_from([30, 1 << 16]),
)
@settings(max_examples=200, deadline=None)
def test_a_running_total_has_the_bits_of_adding_one_by_one(parts, budget, few):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"BUDGET": budget, "FEW": few, "PATIENCE": 4}.items():
            patch.setattr(f"geouq.summary.variance_profile.{name}", value)
        parts = [within_budget(part) for part in parts]
        total = RunningTotal(LEVELS)
        for part in parts:
            total.add(part)
        found = total.summary()
        expected = reduce(add, [empty_summary(LEVELS), *parts])

    assert same(found, expected)


def of_two_pixels():
    return of(
        Moments(np.int64(2), np.float64(2), np.ones(len(SUMS)), np.ones(len(PRODUCTS))),
        IntervalScores(np.ones(len(LEVELS))),
        ZHistogram(EDGES, np.ones(len(EDGES) + 1)),
        profile_of(np.array([[1.0, 2.0], [3.0, 1.0]]), 10, [], keeps=True),
    )


def test_a_total_may_be_looked_at_and_added_to():
    one = of_two_pixels()
    total = RunningTotal(LEVELS)
    total.add(one)
    before = total.summary()
    total.add(one)

    assert before.variance.sums.sum() == one.variance.sums.sum()
    assert same(total.summary(), empty_summary(LEVELS) + one + one)


def test_the_total_of_one_summary_is_that_summary():
    one = of_two_pixels()
    total = RunningTotal(LEVELS)
    total.add(one)

    assert total.summary() is one


def test_unlike_summaries_do_not_add():
    weighted = profile_of(np.ones((1, 3)), 0, [], keeps=False)
    plain = profile_of(np.ones((1, 2)), 0, [], keeps=False)
    start = empty_summary(LEVELS)
    total = RunningTotal(LEVELS)
    total.add(start.having(variance=weighted))

    with pytest.raises(SummaryError, match="weighted"):
        total.add(start.having(variance=plain))
    with pytest.raises(SummaryError, match=r"0\.95"):
        total.add(empty_summary((0.95,)))
