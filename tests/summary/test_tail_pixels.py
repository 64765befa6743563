"""Few pixels in memory are all kept: every binning of them is exact, and of sums as long as these are few."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from alike import same
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st
from restatement import binned_metrics, edges, valid

import geouq
from geouq.config import BinScheme
from geouq.metrics import binned, metrics_of
from geouq.summary import RunningTotal, empty_summary
from geouq.summary.form import GAUSSIAN
from geouq.summary.tail_pixels import FEW

BINNED = {metric.name: metric.function for metric in metrics_of(GAUSSIAN) if metric.choice == "bins"}
SCHEMES = [BinScheme(scheme=scheme, count=count) for scheme in ("equal-count", "log-width") for count in (10, 37)]
LEVELS = (0.9,)


@pytest.fixture
def few(monkeypatch):
    """At most 1000 pixels are few."""
    for room in ("sweep.group_sums", "sweep.accumulate", "summary.variance_profile"):
        monkeypatch.setattr(f"geouq.{room}.FEW", 1000)
    return 1000


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("kind", ["calibrated", "over-confident", "few values", "float64"])
def test_binned_metrics_of_few_pixels_are_those_of_whole_arrays(kind, scheme):
    layers = heteroscedastic((80, 90), seed=40, inflate=0.5 if kind == "over-confident" else 1.0)
    if kind == "few values":
        layers = layers[0], np.round(layers[1]).clip(1, 5), layers[2]
    elif kind == "float64":
        layers = tuple(layer.astype(np.float64) ** 1.01 for layer in np.abs(layers))
    expected = binned_metrics(*valid(*layers), scheme.scheme, scheme.count)

    summary = geouq.summarize(*layers)

    assert binned(summary, scheme).exact
    for name, function in BINNED.items():
        assert function(summary, scheme) == pytest.approx(expected[name], rel=1e-9, abs=1e-12), name


def test_bins_of_few_weighted_pixels_are_exact():
    mean, variance, truth = valid(*heteroscedastic((60, 70), seed=41))
    weight = np.random.default_rng(42).lognormal(0, 1, mean.shape)
    weight[::10] = 0
    used = weight > 0
    bin_edges = edges(variance[used], "equal-count", 10)
    place = np.minimum(np.searchsorted(bin_edges, variance[used], side="right") - 1, 9)
    gaps = np.bincount(place, weight[used] * (variance - (mean - truth) ** 2)[used])

    found = geouq.uce(mean, variance, truth, weights=weight, bins="equal-count-10")

    assert found == pytest.approx(np.abs(gaps).sum() / weight.sum(), rel=1e-9)


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_partition_keeps_the_same_pixels(data):
    layers = heteroscedastic((30, 40), seed=data.draw(st.integers(0, 99)))
    label = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, data.draw(st.integers(1, 6)), (30, 40))
    whole = geouq.summarize(*layers, levels=LEVELS)
    parts = [geouq.summarize(*(layer[label == k] for layer in layers), levels=LEVELS) for k in np.unique(label)]

    for total in (reduce(add, parts), reduce(add, parts[::-1]), reduce(add, parts, empty_summary(LEVELS))):
        assert total.variance.kept.every
        assert same(total.variance.kept.pixels, whole.variance.kept.pixels)


@pytest.mark.parametrize("rows", [3, 10, 29])
def test_more_than_few_keep_the_tail_whatever_the_parts(rows, few):
    layers = heteroscedastic((60, 50), seed=43)
    parts = [geouq.summarize(*(layer[i : i + rows] for layer in layers), levels=LEVELS) for i in range(0, 60, rows)]
    assert all(part.variance.kept.every == (part.n <= few) for part in parts)
    running = RunningTotal(LEVELS)
    for part in parts:
        running.add(part)

    whole = geouq.summarize(*layers, levels=LEVELS)

    assert not whole.variance.kept.every
    for total in (reduce(add, parts), reduce(add, parts[::-1]), running.summary()):
        assert same(total.variance.kept, whole.variance.kept)
        assert not binned(total, SCHEMES[0]).exact
        assert binned(total, BinScheme(scheme="equal-width", count=10)).exact


@pytest.mark.usefixtures("few")
def test_a_part_that_keeps_the_tail_alone_leaves_the_tail_of_both():
    layers = heteroscedastic((50, 50), seed=44)
    tail = geouq.summarize(*(layer[:25] for layer in layers), levels=LEVELS)
    every = geouq.summarize(*(layer[25:40] for layer in layers), levels=LEVELS)
    assert (tail.variance.kept.every, every.variance.kept.every) == (False, True)

    expected = geouq.summarize(*(layer[:40] for layer in layers), levels=LEVELS).variance.kept

    assert same((tail + every).variance.kept, expected)
    assert same((every + tail).variance.kept, expected)


def test_few_is_up_to_2_to_the_16():
    points = np.abs(heteroscedastic((1, FEW + 1), seed=45, missing=0)).reshape(3, -1)
    for n in (FEW, FEW + 1):
        assert geouq.summarize(*points[:, :n]).variance.kept.every == (n == FEW)
