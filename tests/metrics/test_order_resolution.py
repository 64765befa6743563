"""Errors of AUSE and rank correlation against whole arrays, beside the resolution that is reported with them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from geouq import metrics, summarize_arrays
from geouq.arrays import points as arrays
from geouq.config import Variable
from geouq.metrics import LEFT_OUT, MetricOptions, keeps_every_pixel
from geouq.metrics.ordering import rank_correlation
from geouq.regions import EvaluationUnit
from geouq.sweep.settings import Settings
from geouq.tables.rows import metric_rows

LEVELS = (0.5, 0.9)
LARGE = (300, 300)  # more pixels than are kept
ROUNDING = 1e-12


@pytest.fixture(autouse=True)
def _ordered(monkeypatch):
    """Summaries of arrays keep the order of errors."""
    monkeypatch.setattr(arrays, "Settings", lambda *given, **kept: Settings(*given, **kept, ordering=True))


def errors_and_stds(bias, spread, degrees, shape=LARGE, seed=1):
    """Bias in units of the median std; spread : sd of the logarithm of the std."""
    rng = np.random.default_rng(seed)
    std = rng.lognormal(0, spread, shape) if spread else np.ones(shape)
    return bias + std * rng.standard_t(degrees, shape), std


def summary_of(error, std):
    return summarize_arrays(error, std**2, np.zeros_like(error), LEVELS).whole


def remaining(squares, order):
    """RMSE of what remains; pixels that share a place in the order leave in equal parts."""
    _, place = np.unique(order, return_inverse=True)
    n, sums = np.bincount(place), np.bincount(place, squares)
    left = (1 - LEFT_OUT) * len(squares)
    return np.sqrt(np.interp(left, np.append(0, np.cumsum(n)), np.append(0, np.cumsum(sums))) / left)


def exact_ause(error, std):
    squares = np.ravel(error) ** 2
    gap = remaining(squares, np.ravel(std)) - remaining(squares, squares)
    return np.sum((gap[1:] + gap[:-1]) / 200) / (np.sqrt(squares.mean()) or np.nan)


def exact_spearman(error, std):
    if not np.ptp(std) or not np.ptp(error):
        return np.nan
    return spearmanr(np.abs(error).ravel(), std.ravel()).statistic


def assert_within_resolution(error, std):
    """Both numbers are as near the exact ones as is reported; the resolutions."""
    summary, distance = summary_of(error, std), {}
    assert not keeps_every_pixel(summary)
    for name, exact in (("ause", exact_ause(error, std)), ("spearman", exact_spearman(error, std))):
        found, allowed = getattr(metrics, name)(summary), getattr(metrics, f"{name}_resolution")(summary)
        if np.isfinite(found):
            assert abs(found - exact) <= allowed + ROUNDING, (name, found, exact, allowed)
            distance[name] = float(allowed)
    return distance


@pytest.mark.parametrize("bias", [0, 0.3, 1, 2, 5, 10, 30, 100])
@pytest.mark.parametrize("spread", [0, 0.001, 0.02, 0.1, 0.8, 2])
@pytest.mark.parametrize("degrees", [3, 1000])
def test_numbers_are_within_the_resolution_that_is_reported(bias, spread, degrees):
    error, std = errors_and_stds(bias, spread, degrees)
    assert_within_resolution(error, std)
    assert_within_resolution(error + bias * (std - 1), std)  # a bias that grows with the std


@pytest.mark.parametrize(("bias", "spread", "degrees"), [*product([0, 1], [0, 0.1, 0.3, 0.8, 2], [3, 1000])])
def test_the_resolution_is_below_1e_2_where_no_bias_dominates(bias, spread, degrees):
    found = assert_within_resolution(*errors_and_stds(bias, spread, degrees))
    assert found["ause"] < 1e-2
    assert found.get("spearman", 0) < 1e-2
    assert ("spearman" in found) == (spread > 0)


def test_a_bias_that_dominates_is_reported_as_a_coarse_resolution():
    error, std = errors_and_stds(100, 0.02, 1000)
    summary = summary_of(error, std)
    assert abs(rank_correlation(summary) - exact_spearman(error, std)) > 0.5  # what would be a wrong number
    assert metrics.spearman_resolution(summary) > 1
    assert np.isnan(metrics.spearman(summary))
    assert metrics.ause_resolution(summary) > 0.02


def test_the_table_says_why_a_number_that_says_nothing_is_missing():
    summary = summary_of(*errors_and_stds(100, 0.02, 1000))
    choices = replace(MetricOptions(LEVELS, ()), ordering=True)
    rows = metric_rows(EvaluationUnit("all", "all", (), {"v": summary}), [Variable(name="v", band=1)], {"v": choices})
    (row,) = (row for row in rows if row["metric"] == "spearman")
    assert row["value"] is None
    assert row["ci_method"] == "not resolved: one class holds nearly all errors"


def test_stds_of_few_values_are_ties_and_not_unresolved():
    error, std = errors_and_stds(0, 0.8, 1000)
    level = np.digitize(std, [0.5, 1, 2])
    found = assert_within_resolution(error * np.choose(level, [1, 2, 4, 8]) / std, np.choose(level, [1.0, 2, 4, 8]))
    assert found["ause"] < 1e-2
    assert found["spearman"] < 1e-2


def test_whole_numbers_as_errors_are_within_the_resolution():
    error, std = errors_and_stds(0, 0.5, 1000)
    assert_within_resolution(np.round(3 * error), 3 * std)
    assert_within_resolution(np.round(error), std)


@pytest.mark.parametrize("bias", [0, 5, 30, 100])
def test_few_pixels_give_exact_numbers(bias):
    error, std = errors_and_stds(bias, 0.02, 3, (100, 100))
    summary = summary_of(error, std)
    assert metrics.spearman(summary) == pytest.approx(exact_spearman(error, std), abs=ROUNDING)
    assert metrics.ause(summary) == pytest.approx(exact_ause(error, std), abs=1e-9)
    assert metrics.spearman_resolution(summary) == metrics.ause_resolution(summary) == 0


def test_weights_of_few_pixels_count_as_repeated_pixels():
    error, std = errors_and_stds(30, 0.3, 3, (60, 50))
    weight = np.random.default_rng(5).integers(1, 4, error.shape)
    summary = summarize_arrays(error, std**2, np.zeros_like(error), LEVELS, weight=weight).whole
    repeated = (np.repeat(each.ravel(), weight.ravel()) for each in (np.abs(error), std))
    a, b = (rankdata(each) for each in repeated)
    assert metrics.spearman(summary) == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-9)


@pytest.mark.parametrize("scale", [1e-15, 1e15])
def test_the_resolution_has_no_unit(scale):
    error, std = errors_and_stds(3, 0.3, 3)
    one, other = summary_of(error, std), summary_of(scale * error, scale * std)
    assert metrics.ause_resolution(other) == pytest.approx(float(metrics.ause_resolution(one)), rel=0.2)
    assert metrics.spearman_resolution(other) == pytest.approx(float(metrics.spearman_resolution(one)), rel=0.2)


@pytest.mark.parametrize("factor", [0, 1e-9, 1e-5, 1e9])
def test_errors_beyond_the_classes_are_missing_or_unresolved(factor):
    error, std = errors_and_stds(0, 0.8, 1000)
    summary = summary_of(factor * error, std)
    if factor in (0, 1e-9):
        assert np.isnan(metrics.spearman(summary))
    elif factor == 1e9:
        assert metrics.spearman_resolution(summary) > 0.5
    assert_within_resolution(factor * error, std)


@pytest.mark.parametrize(("shape", "exact"), [((50, 50), True), (LARGE, False)])
def test_the_table_reports_the_resolution_and_nothing_where_numbers_are_exact(shape, exact):
    summary = summary_of(*errors_and_stds(5, 0.3, 3, shape))
    choices = replace(MetricOptions(LEVELS, ()), ordering=True)
    rows = metric_rows(EvaluationUnit("all", "all", (), {"v": summary}), [Variable(name="v", band=1)], {"v": choices})
    found = {row["metric"]: row["resolution"] for row in rows}
    if exact:
        assert set(found.values()) == {None}
    else:
        assert found.pop("ause") == float(metrics.ause_resolution(summary)) > 0
        assert found.pop("spearman") == float(metrics.spearman_resolution(summary)) > 0
        assert set(found.values()) == {None}
