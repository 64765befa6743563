"""Brier scores of exceeding thresholds: whole arrays, scikit-learn where it is, decomposition, sums of parts."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from alike import same
from forecasts import heteroscedastic
from restatement import valid
from scipy.stats import norm

from geouq import metrics, summarize_arrays
from geouq.core.errors import SummaryError
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import RunningTotal, empty_summary

LEVELS = (0.5, 0.9)


@pytest.fixture(scope="module")
def layers():
    return heteroscedastic((120, 100), seed=31, bias=0.7)


@pytest.fixture(scope="module")
def thresholds(layers):
    return tuple(np.quantile(valid(*layers)[2], [0.0, 0.3, 0.9, 1.0]))


def exceeding(layers, threshold):
    mean, variance, truth = valid(*layers)
    return norm.sf((threshold - mean) / np.sqrt(variance)), (truth > threshold).astype(float)


def test_scores_are_those_of_whole_arrays(layers, thresholds):
    summary = summarize_arrays(*layers, LEVELS, thresholds=thresholds).whole
    for threshold in thresholds:
        p, o = exceeding(layers, threshold)
        bins = np.minimum((p * 10).astype(int), 9)
        of_bin = [(p[bins == k], o[bins == k]) for k in range(10) if (bins == k).any()]
        reliability = sum(len(a) * (a.mean() - b.mean()) ** 2 for a, b in of_bin) / len(p)
        resolution = sum(len(a) * (b.mean() - o.mean()) ** 2 for a, b in of_bin) / len(p)
        assert metrics.threshold_brier(summary, threshold) == pytest.approx(np.mean((p - o) ** 2), rel=1e-12)
        assert metrics.threshold_reliability(summary, threshold) == pytest.approx(reliability, rel=1e-9)
        assert metrics.threshold_resolution(summary, threshold) == pytest.approx(resolution, rel=1e-9, abs=1e-15)
        assert metrics.threshold_uncertainty(summary, threshold) == pytest.approx(o.mean() * (1 - o.mean()))


def test_the_decomposition_adds_up_exactly(layers, thresholds):
    summary = summarize_arrays(*layers, LEVELS, thresholds=thresholds).whole
    for t in thresholds:
        parts = metrics.threshold_reliability(summary, t) - metrics.threshold_resolution(summary, t)
        parts += metrics.threshold_uncertainty(summary, t) + metrics.threshold_within(summary, t)
        assert parts == pytest.approx(float(metrics.threshold_brier(summary, t)), abs=1e-14)


def test_scikit_learn_gives_the_same(layers, thresholds):
    sklearn = pytest.importorskip("sklearn.metrics", reason="a second implementation")
    summary = summarize_arrays(*layers, LEVELS, thresholds=thresholds).whole
    p, o = exceeding(layers, thresholds[1])
    assert metrics.threshold_brier(summary, thresholds[1]) == pytest.approx(sklearn.brier_score_loss(o, p), rel=1e-12)


def test_a_certain_forecast_is_counted_in_the_last_bin():
    truth = np.ones((4, 4))
    summary = summarize_arrays(truth, np.full_like(truth, 1e-6), truth, LEVELS, thresholds=(0.0, 2.0)).whole

    assert summary.thresholds.of(0.0)[:, 0].tolist() == [0] * 9 + [16]
    assert summary.thresholds.of(2.0)[:, 0].tolist() == [16] + [0] * 9
    assert metrics.threshold_brier(summary, 0.0) == metrics.threshold_brier(summary, 2.0) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_any_partition_gives_the_same(layers, thresholds, weighted):
    weight = np.random.default_rng(32).random(layers[0].shape) if weighted else None
    whole = summarize_arrays(*layers, LEVELS, weight=weight, thresholds=thresholds).whole
    parts = [
        summarize_arrays(
            *(layer[start : start + 17] for layer in layers),
            LEVELS,
            weight=None if weight is None else weight[start : start + 17],
            thresholds=thresholds,
        ).whole
        for start in range(0, 120, 17)
    ]
    running = RunningTotal(LEVELS)
    for part in (empty_summary(LEVELS), *parts):
        running.add(part)

    one_by_one = reduce(add, parts)
    assert same(running.summary().thresholds, one_by_one.thresholds)
    for total in (one_by_one, reduce(add, parts[::-1])):
        np.testing.assert_allclose(total.thresholds.sums, whole.thresholds.sums, rtol=1e-12, atol=1e-12)


def test_a_bias_worsens_the_score_and_its_reliability():
    mean, variance, truth = heteroscedastic((200, 200), seed=33)
    threshold = 10.0
    found = [
        summarize_arrays(mean + np.float32(bias), variance, truth, LEVELS, thresholds=(threshold,)).whole
        for bias in (0, 2)
    ]
    right, wrong = found

    assert metrics.threshold_brier(wrong, threshold) > metrics.threshold_brier(right, threshold)
    assert metrics.threshold_reliability(wrong, threshold) > 10 * metrics.threshold_reliability(right, threshold)


def test_scores_are_given_for_the_thresholds_asked_for(layers):
    summary = summarize_arrays(*layers, LEVELS, thresholds=(5.0, 12.5)).whole

    names = [value.name for value in evaluate_metrics(summary, MetricOptions(LEVELS, (), thresholds=(12.5,)))]

    assert [name for name in names if name.startswith("threshold_brier")] == ["threshold_brier_12.5"]
    with pytest.raises(SummaryError, match=r"threshold 3 was not kept; the thresholds of this summary are 5, 12\.5"):
        metrics.threshold_brier(summary, 3.0)
    with pytest.raises(SummaryError, match="do not add"):
        _ = summary + summarize_arrays(*layers, LEVELS).whole
