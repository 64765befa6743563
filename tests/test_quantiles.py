"""Quantiles against definitions in numpy, closed forms and second implementations."""

from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import geouq
from geouq import quantiles
from geouq.core.errors import ConfigError, DataError, SummaryError
from geouq.metrics import METRICS, metric_label
from geouq.pages.numbers import headings

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def drawn(levels=LEVELS, count=3000, seed=0):
    """Quantiles of a normal forecast, and truth."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(10, 3, count), rng.lognormal(0, 0.5, count)
    return np.array([mean + std * stats.norm.ppf(p) for p in levels]), mean + 1.2 * std * rng.standard_normal(count)


def test_pinball_is_that_of_scikit_learn_and_scoringrules():
    metrics = pytest.importorskip("sklearn.metrics")
    values, truth = drawn()
    found = quantiles.summarize(values, LEVELS, truth)

    for level, own in zip(LEVELS, values, strict=True):
        expected = metrics.mean_pinball_loss(truth, own, alpha=level)
        assert quantiles.pinball(found, level) == pytest.approx(expected, rel=1e-12)
        assert scoringrules.quantile_score(truth, own, level).mean() == pytest.approx(expected, rel=1e-12)
    means = [float(quantiles.pinball(found, level)) for level in LEVELS]
    assert quantiles.crps_quantiles(found) == pytest.approx(2 * np.mean(means), rel=1e-12)


def test_scores_of_pairs_are_those_of_scoringrules():
    values, truth = drawn()
    found = quantiles.summarize(values, LEVELS, truth)

    for level, low, high in ((0.9, 0, 4), (0.5, 1, 3)):
        expected = scoringrules.interval_score(truth, values[low], values[high], 1 - level).mean()
        inside = (truth >= values[low]) & (truth <= values[high])
        assert quantiles.pair_interval_score(found, level) == pytest.approx(expected, rel=1e-12)
        assert quantiles.pair_coverage(found, level) == pytest.approx(inside.mean(), abs=1e-15)
        assert quantiles.pair_coverage_above(found, level) == pytest.approx((truth > values[high]).mean(), abs=1e-15)
        assert quantiles.pair_width(found, level) == pytest.approx((values[high] - values[low]).mean(), rel=1e-12)
    expected = scoringrules.weighted_interval_score(
        truth, values[2], values[[0, 1]].T, values[[4, 3]].T, np.array([0.1, 0.5])
    )
    assert quantiles.wis(found) == pytest.approx(expected.mean(), rel=1e-12)


def test_without_a_median_the_weighted_interval_score_is_of_intervals_alone():
    values, truth = drawn()
    found = quantiles.summarize(values[[0, 1, 3, 4]], (0.05, 0.25, 0.75, 0.95), truth)
    parts = [a / 2 * float(quantiles.pair_interval_score(found, 1 - a)) for a in (0.1, 0.5)]

    assert quantiles.wis(found) == pytest.approx(np.mean(parts), rel=1e-12)


def restated_integral(values, levels, truth):
    """By quadrature of one forecast, with exponential tails that go on with the density beside them."""
    first, last = ((b - a) / (q - p) for a, b, p, q in (
        (values[0], values[1], levels[0], levels[1]), (values[-2], values[-1], levels[-2], levels[-1])
    ))  # fmt: skip
    low, high = levels[0] * first, (1 - levels[-1]) * last

    def squared(x):
        if x < values[0]:
            f = levels[0] * np.exp((x - values[0]) / low)
        elif x > values[-1]:
            f = 1 - (1 - levels[-1]) * np.exp((values[-1] - x) / high)
        else:
            f = np.interp(x, values, levels)
        return (f - (truth <= x)) ** 2

    ends = [min(truth, values[0]) - 60 * low, *sorted([*values, truth]), max(truth, values[-1]) + 60 * high]
    return sum(integrate.quad(squared, a, b, epsabs=1e-12)[0] for a, b in pairwise(ends) if b > a)


@pytest.mark.parametrize("truth", [-7.0, -1.0, 0.2, 0.5, 1.7, 3.0, 9.0])
def test_integrated_crps_is_the_integral(truth):
    values, levels = [-1.0, 0.5, 0.8, 3.0], (0.1, 0.4, 0.6, 0.8)
    found = quantiles.summarize([[value] for value in values], levels, [truth])

    assert quantiles.crps_integral(found) == pytest.approx(restated_integral(values, levels, truth), rel=1e-9)


@pytest.mark.parametrize("score", ["crps_quantiles", "crps_integral", "wis"])
def test_truth_far_outside_the_quantiles_is_worse_the_farther_it_lies(score):
    """A sum between the outermost quantiles alone would find 3.1 as good as a million."""
    losses = [
        float(getattr(quantiles, score)(quantiles.summarize([[0.0], [1.0], [2.0]], (0.1, 0.5, 0.9), [y])))
        for y in (3.1, 10.0, 1e6)
    ]

    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 1e4


def test_many_quantiles_of_a_normal_forecast_give_its_crps():
    levels = tuple((np.arange(200) + 0.5) / 200)
    values, truth = drawn(levels, 2000)
    found = quantiles.summarize(values, levels, truth)
    mean, std = values.mean(0), (values[168] - values[31]) / (stats.norm.ppf(levels[168]) - stats.norm.ppf(levels[31]))
    expected = scoringrules.crps_normal(truth, mean, std).mean()

    assert quantiles.crps_quantiles(found) == pytest.approx(expected, rel=1e-3)
    assert quantiles.crps_integral(found) == pytest.approx(expected, rel=1e-3)


def test_integrated_crps_by_the_spread_of_all_truth():
    values, truth = drawn()
    parts = [quantiles.summarize(values[:, half], LEVELS, truth[half]) for half in (slice(100), slice(100, None))]
    found = parts[0] + parts[1]

    expected = float(quantiles.crps_integral(found)) / truth.std()
    assert quantiles.crps_integral_normalized(found) == pytest.approx(expected, rel=1e-12)


def test_quantile_coverage_of_a_forecast_that_is_too_low_is_below_its_level():
    values, truth = drawn()
    found = quantiles.summarize(values - 3, LEVELS, truth)

    for level, own in zip(LEVELS, values - 3, strict=True):
        assert quantiles.quantile_coverage(found, level) == pytest.approx((truth <= own).mean(), abs=1e-15)
        assert quantiles.quantile_coverage(found, level) < level


def test_the_curve_of_perfect_quantiles_of_counts_is_the_diagonal():
    """The share at most the quantile alone is .74 of the median of Poisson(1)."""
    truth = np.random.default_rng(3).poisson(1, 20_000)
    values = [np.full(truth.size, stats.poisson.ppf(level, 1)) for level in LEVELS]
    perfect, low = (quantiles.summarize(np.array(values) - shift, LEVELS, truth) for shift in (0, 1))

    for level in LEVELS:
        assert quantiles.quantile_calibration(perfect, level) == pytest.approx(level, abs=0.01)
    assert quantiles.quantile_coverage(perfect, 0.5) > 0.7
    assert quantiles.quantile_calibration(low, 0.5) < 0.4


def test_few_quantiles_are_not_called_crps():
    """Of three levels twice the mean pinball loss is far below the CRPS: tables and figures name it for what it is."""
    truth = np.random.default_rng(4).standard_normal(20_000)
    levels = (0.05, 0.5, 0.95)
    found = quantiles.summarize([np.full(truth.size, stats.norm.ppf(p)) for p in levels], levels, truth)

    assert quantiles.crps_quantiles(found) < 0.75 * scoringrules.crps_normal(truth, 0, 1).mean()
    (row,) = (metric for metric in METRICS if metric.name == "crps_quantiles")
    for text in (row.symbol, metric_label("crps_quantiles"), headings([])["crps_quantiles"], row.heading):
        assert "pinball" in text
        assert "CRPS" not in text


def test_quantiles_that_cross_are_counted_and_put_in_order():
    values, truth = drawn()
    crossed = values.copy()
    crossed[[0, 3], :30] = crossed[[3, 0], :30]
    found = quantiles.summarize(crossed, LEVELS, truth)

    assert quantiles.crossing(found) == pytest.approx(30 / 3000)
    assert quantiles.crps_integral(found) == pytest.approx(
        float(quantiles.crps_integral(quantiles.summarize(values, LEVELS, truth))), rel=1e-12
    )


def test_the_order_of_the_levels_does_not_matter():
    values, truth = drawn()
    one = quantiles.summarize(values, LEVELS, truth)
    other = quantiles.summarize(values[::-1], LEVELS[::-1], truth)

    assert geouq.table(one).equals(geouq.table(other))


def test_pixels_that_say_nothing_in_one_quantile_do_not_count():
    values, truth = drawn()
    values[1, 5], values[4, 6], truth[7] = np.nan, np.inf, np.nan
    found = quantiles.summarize(values, LEVELS, truth)
    kept = np.isfinite(values.sum(0) + truth)

    assert found.n == 2997
    assert quantiles.wis(found) == pytest.approx(
        float(quantiles.wis(quantiles.summarize(values[:, kept], LEVELS, truth[kept]))), rel=1e-12
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), st.floats(-1e6, 1e6), st.data())
def test_scores_are_positive_and_integration_needs_no_spread(values, truth, data):
    """Quantiles that are all alike are a certain forecast, whose CRPS is the distance."""
    percents = st.lists(st.integers(1, 99), unique=True, min_size=len(values), max_size=len(values))
    levels = tuple(sorted(percent / 100 for percent in data.draw(percents)))
    found = quantiles.summarize([[value] for value in values], levels, [truth])
    certain = quantiles.summarize([[values[0]]] * len(values), levels, [truth])

    assert quantiles.crps_integral(found) >= 0
    assert quantiles.pinball_mean(found) >= 0
    assert quantiles.crps_integral(certain) == pytest.approx(abs(values[0] - truth), abs=1e-9)


def test_odd_quantiles_are_refused():
    with pytest.raises(DataError, match="2 quantiles along the first dimension and 1 levels"):
        quantiles.summarize([[0.0], [1.0]], [0.5], [0.0])
    with pytest.raises(ConfigError, match="different numbers between 0 and 1"):
        quantiles.summarize([[0.0], [1.0]], [0.5, 0.5], [0.0])
    found = quantiles.summarize([[0.0], [1.0]], [0.1, 0.5], [0.0])
    with pytest.raises(SummaryError, match=r"quantile 0.9 is not given"):
        quantiles.pinball(found, 0.9)
    with pytest.raises(SummaryError, match="no two quantiles"):
        quantiles.pair_coverage(found, 0.8)
    with pytest.raises(SummaryError, match="zms is of a forecast with a variance"):
        geouq.zms(found)
    assert np.isnan(quantiles.crps_integral(quantiles.summarize([[0.0]], [0.5], [0.0])))
