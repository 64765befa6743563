"""Coverage group by group, and PIT: values from outside, restatements, and what faults do to them."""

import numpy as np
import pytest
from forecasts import heteroscedastic
from restatement import group_metrics, valid
from scipy.stats import norm

from geouq import metrics
from geouq.arrays.points import summarize_arrays
from geouq.config import Groups
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import empty_summary

GROUPED = ("rmscd", "rmscd_under", "lowest_group_coverage")


@pytest.mark.parametrize(
    ("kind", "expected"), [("constant", (0.0975, 0.1581, 0.65)), ("adaptive", (0.0851, 0.1090, 0.70))]
)
def test_the_demo_of_interval_regression(interval_demo, kind, expected):
    """Where width is 0, truth lies on both ends of an interval: inside, as all are closed; the demo says outside.

    Its numbers for the adaptive forecast are 0.0975, 0.1323 and 0.65: its first truth is such a one.
    """
    mean, std, truth = interval_demo[kind]

    summary = summarize_arrays(mean, std**2, truth, (0.9,)).whole

    found = [float(getattr(metrics, name)(summary, 0.9, "truth")) for name in GROUPED]
    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("by", ["truth", "variance"])
@pytest.mark.parametrize("count", [2, 10, 16])
def test_groups_are_those_of_whole_arrays(by, count):
    """The pixels of a key that is shared count as covered alike; here no group is at the level, to change sides."""
    layers = heteroscedastic((300, 300), seed=21, bias=0.5)
    summary = summarize_arrays(*layers, (0.5, 0.9)).whole
    for level in (0.5, 0.9):
        expected = group_metrics(*valid(*layers), level, by, count)
        for name in GROUPED:
            assert getattr(metrics, name)(summary, level, by, count) == pytest.approx(expected[name], abs=1e-3)


@pytest.mark.parametrize("kind", ["even", "bell-shaped"])
@pytest.mark.parametrize("count", [10, 30])
def test_groups_by_a_truth_far_from_0_are_equal_too(kind, count):
    """In kelvin, where keys are half a kelvin wide and coverage changes with the truth."""
    rng = np.random.default_rng(32)
    shape = (200, 250)
    truth = rng.uniform(250, 310, shape) if kind == "even" else 280 + 8 * rng.standard_normal(shape)
    std = rng.lognormal(0, 0.3, shape)
    mean = truth + std * (0.5 + np.maximum(truth - 245, 0) / 40) * rng.standard_normal(shape)
    summary = summarize_arrays(mean, std**2, truth, (0.9,)).whole
    inside = np.abs(truth - mean) <= norm.ppf(0.95) * std
    by_rank = np.array_split(inside.ravel()[np.argsort(truth, axis=None)], count)

    found = metrics.group_coverage(summary, 0.9, "truth", count)

    assert found == pytest.approx([group.mean() for group in by_rank], abs=0.02)  # of some 0.3 to 0.99
    assert metrics.rmscd(summary, 0.9, "truth", count) == pytest.approx(
        np.sqrt(np.mean([(group.mean() - 0.9) ** 2 for group in by_rank])), abs=1e-3
    )
    assert np.ptp(summary.coverage_by("truth").grouped(count, summary.n)[:, -1]) <= 1


def test_empty_groups_enter_nothing():
    mean, variance, truth = heteroscedastic((2, 2), seed=22, missing=0)
    summary = summarize_arrays(mean, variance, truth, (0.9,)).whole

    coverage = metrics.group_coverage(summary, 0.9, "truth")

    assert np.isfinite(coverage).sum() == 4
    assert metrics.lowest_group_coverage(summary, 0.9, "truth") == np.nanmin(coverage)
    assert metrics.rmscd(summary, 0.9, "truth") == pytest.approx(np.sqrt(np.nanmean((coverage - 0.9) ** 2)))


def test_no_pixel_gives_no_number():
    nothing = empty_summary((0.9,))
    for name in GROUPED:
        assert np.isnan(getattr(metrics, name)(nothing, 0.9))
    assert np.isnan(metrics.pit_mean(nothing))
    assert np.isnan(metrics.pit_std(nothing))


def test_where_none_is_covered_less_than_the_level_rmscd_under_is_0():
    truth = np.random.default_rng(23).normal(size=(50, 50))
    assert metrics.rmscd_under(summarize_arrays(truth, np.ones_like(truth), truth, (0.9,)).whole, 0.9) == 0


def test_pit_of_three_pixels_is_exact():
    mean, std, truth = np.array([[1.0, 2, 3]]), np.array([[0.1, 0.5, 1]]), np.array([[1.5, 3, 2]])
    pit = np.array([0.99999971, 0.97724987, 0.15865525])

    summary = summarize_arrays(mean, std**2, truth).whole

    assert metrics.pit_mean(summary) == pytest.approx(pit.mean(), abs=1e-8)
    assert metrics.pit_std(summary) == pytest.approx(pit.std(), abs=1e-8)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_pit_is_that_of_whole_arrays(scale):
    rng = np.random.default_rng(24)
    std = rng.lognormal(0, 1, (300, 200))
    truth = std * scale * rng.standard_t(4, std.shape)
    pit = norm.cdf(truth / std)

    summary = summarize_arrays(np.zeros_like(std), std**2, truth).whole

    assert metrics.pit_mean(summary) == pytest.approx(pit.mean(), abs=1e-5)
    assert metrics.pit_std(summary) == pytest.approx(pit.std(), abs=1e-5)


def test_a_calibrated_forecast_is_covered_in_every_group():
    rng = np.random.default_rng(25)
    std = rng.lognormal(0, 0.5, (500, 500))
    mean = rng.normal(0, 3, std.shape)
    summary = summarize_arrays(mean, std**2, mean + std * rng.standard_normal(std.shape)).whole
    one = 0.3 / np.sqrt(std.size / 10)

    assert metrics.group_coverage(summary, 0.9, "variance") == pytest.approx(0.9, abs=5 * one)
    assert metrics.rmscd(summary, 0.9, "variance") < 2 * one
    assert metrics.pit_mean(summary) == pytest.approx(0.5, abs=4 * 0.29 / 500)
    assert metrics.pit_std(summary) == pytest.approx(1 / np.sqrt(12), abs=1e-3)


def test_shuffled_variance_shows_in_groups_by_variance_alone():
    rng = np.random.default_rng(27)
    std = rng.lognormal(0, 0.7, (200, 200))
    truth = std * rng.standard_normal(std.shape)
    right = summarize_arrays(np.zeros_like(std), std**2, truth).whole
    shuffled = summarize_arrays(np.zeros_like(std), rng.permuted(std) ** 2, truth).whole

    assert metrics.rmscd(shuffled, 0.9, "variance") > 10 * metrics.rmscd(right, 0.9, "variance")


def test_groups_are_a_choice_of_the_configuration():
    summary = summarize_arrays(*heteroscedastic((50, 50), seed=28)).whole
    wanted = MetricOptions((0.5, 0.9), (), groups=Groups(by=("variance",), count=4))

    found = [(v.name, v.group) for v in evaluate_metrics(summary, wanted) if v.metric.choice == "group"]

    assert found == [(f"{name}_{level}", "variance") for name in GROUPED for level in (50, 90)]
