"""Sparsification and rank correlation against whole arrays, their sums, and what they cost when not asked for."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from alike import same
from forecasts import heteroscedastic
from restatement import valid
from scipy.stats import spearmanr

from geouq import metrics, summarize_arrays
from geouq.arrays import points as arrays
from geouq.core.errors import SummaryError
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import RunningTotal, empty_summary
from geouq.sweep.settings import Settings

LEVELS = (0.5, 0.9)
SHARES = np.arange(100) / 100


@pytest.fixture(autouse=True)
def _ordered(monkeypatch):
    """Summaries of arrays keep the order of errors."""
    monkeypatch.setattr(arrays, "Settings", lambda *given, **kept: Settings(*given, **kept, ordering=True))


def forecast(spread, degrees, shape=(300, 200), seed=0):
    rng = np.random.default_rng(seed)
    truth, std = rng.normal(5, 2, shape), rng.lognormal(0, spread, shape)
    return truth + std * rng.standard_t(degrees, shape), std**2, truth


def remaining(error, uncertain):
    """RMSE of what remains, pixel by pixel."""
    squares = error[np.argsort(uncertain)] ** 2
    kept = np.round((1 - SHARES) * len(squares)).astype(int)
    return np.sqrt(np.cumsum(squares)[kept - 1] / kept)


@pytest.mark.parametrize(("spread", "degrees"), [(0.2, 50), (0.8, 50), (0.8, 3), (2.0, 5)])
def test_curves_area_and_correlation_are_those_of_whole_arrays(spread, degrees):
    mean, variance, truth = forecast(spread, degrees)
    error, variance_of = (mean - truth).ravel(), variance.ravel()
    summary = summarize_arrays(mean, variance, truth, LEVELS).whole
    total = np.sqrt(np.mean(error**2))
    curve, oracle = remaining(error, variance_of), remaining(error, np.abs(error))

    np.testing.assert_allclose(metrics.sparsification_curve(summary), curve, atol=3e-3 * total)
    np.testing.assert_allclose(metrics.oracle_curve(summary), oracle, atol=2e-2 * total)
    gap = (curve - oracle) / total
    assert metrics.ause(summary) == pytest.approx(np.sum((gap[1:] + gap[:-1]) / 200), abs=2e-3)
    assert metrics.spearman(summary) == pytest.approx(spearmanr(np.abs(error), variance_of).statistic, abs=5e-3)


def test_errors_that_the_std_foretells_leave_no_area():
    std = np.random.default_rng(1).lognormal(0, 1, (100, 100))
    summary = summarize_arrays(std, std**2, np.zeros_like(std), LEVELS).whole

    assert metrics.ause(summary) == pytest.approx(0, abs=5e-3)
    assert metrics.spearman(summary) == pytest.approx(1, abs=5e-3)


def test_a_constant_std_has_no_rank():
    truth = np.random.default_rng(2).normal(size=(50, 50))
    assert np.isnan(metrics.spearman(summarize_arrays(np.zeros_like(truth), np.ones_like(truth), truth, LEVELS).whole))


def test_shuffling_the_variance_raises_ause_and_takes_the_correlation_away():
    mean, variance, truth = forecast(0.8, 50)
    right = summarize_arrays(mean, variance, truth, LEVELS).whole
    shuffled = summarize_arrays(mean, np.random.default_rng(3).permuted(variance), truth, LEVELS).whole

    assert metrics.ause(shuffled) > metrics.ause(right) + 0.1
    assert abs(metrics.spearman(shuffled)) < 0.05 < metrics.spearman(right)


@pytest.mark.parametrize("weighted", [False, True])
def test_any_partition_gives_the_same(weighted):
    layers = heteroscedastic((60, 50), seed=4)
    weight = np.random.default_rng(5).integers(1, 4, (60, 50)) if weighted else None
    whole = summarize_arrays(*layers, LEVELS, weight=weight).whole
    parts = [
        summarize_arrays(
            *(layer[start : start + 7] for layer in layers),
            LEVELS,
            weight=None if weight is None else weight[start : start + 7],
        ).whole
        for start in range(0, 60, 7)
    ]
    running = RunningTotal(LEVELS)
    for part in parts:
        running.add(part)

    for total in (reduce(add, parts), reduce(add, parts[::-1]), running.summary(), empty_summary(LEVELS) + whole):
        assert same(total.ordering, whole.ordering)


def test_whole_weights_are_repeated_pixels():
    layers = valid(*heteroscedastic((40, 50), seed=6))
    weight = np.random.default_rng(7).integers(1, 4, len(layers[0]))
    weighted = summarize_arrays(*layers, LEVELS, weight=weight).whole
    repeated = summarize_arrays(*(np.repeat(layer, weight) for layer in layers), LEVELS).whole

    assert same(weighted.ordering, repeated.ordering)
    assert metrics.ause(weighted) == pytest.approx(float(metrics.ause(repeated)), rel=1e-12)


def test_it_is_given_only_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr(arrays, "Settings", Settings)
    summary = summarize_arrays(*heteroscedastic((20, 20), seed=8), LEVELS).whole

    names = [value.name for value in evaluate_metrics(summary, MetricOptions(LEVELS, ()))]
    assert not {"ause", "spearman"}.intersection(names)
    with pytest.raises(SummaryError, match="ordering: true"):
        metrics.ause(summary)


def test_no_pixel_gives_no_number():
    nothing = {
        value.name: value.value
        for value in evaluate_metrics(empty_summary(LEVELS), MetricOptions(LEVELS, (), ordering=True))
    }
    assert np.isnan([nothing["ause"], nothing["spearman"]]).all()
