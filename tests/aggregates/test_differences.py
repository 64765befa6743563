"""Differences between forecasts in their means of areas are those of the same areas, and as certain as they say."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import norm

from geouq.aggregates.area import half_width
from geouq.aggregates.blocks import BlockMeans
from geouq.aggregates.differences import EVEN, differences_of_scale
from geouq.metrics.aggregate_names import compared_names

LEVELS, INTERVAL = (0.5, 0.9), 0.95
MODELS = ("independent", "fitted", "full", "calibrated")
FOLDS, AREAS = 10, 12  # areas in each fold
SCORES = {  # of an error e and a std s, by scipy
    "crps": lambda e, s: e * (2 * norm.cdf(e, scale=s) - 1) + 2 * s**2 * norm.pdf(e, scale=s) - s / np.sqrt(np.pi),
    "nll": lambda e, s: -norm.logpdf(e, scale=s),
}


def means(error, variance=1.0, fold=None, number=None):
    """Areas with these errors, whose variances differ between the models of correlation."""
    ones = np.ones(len(error))
    fold = np.repeat(np.arange(FOLDS), len(error) // FOLDS) if fold is None else fold
    number = np.arange(len(error)) if number is None else number
    variances = [factor * variance * ones for factor in (0.5, 0.9, 2.0, 1.0)]
    return BlockMeans(error, *variances[:3], variances[3], 0 * ones, 1e6 * ones, fold, number)


def errors(rng, scale=(1.0, 1.0), alike=0.5, of_fold=0.4):
    """Errors of two forecasts with a part in common, both with a part that the areas of a fold share."""

    def draw():
        shared = np.repeat(rng.standard_normal(FOLDS), AREAS)
        return np.sqrt(of_fold) * shared + np.sqrt(1 - of_fold) * rng.standard_normal(FOLDS * AREAS)

    common = draw()
    return [own * (np.sqrt(alike) * common + np.sqrt(1 - alike) * draw()) for own in scale]


def differences(*forecasts):
    """The differences of the second forecast from the first, by metric."""
    found = differences_of_scale(forecasts, LEVELS, INTERVAL)[0]
    return {own.metric.removeprefix("aggregate_"): own for own in found}


def restated(metric, errors, variances, fold):
    """Both numbers, the standard error by leaving folds out, and the shrinkage, from their definitions."""
    kind, _, level = f"{metric}__".split("_")[:3]
    z2 = [e**2 / v for e, v in zip(errors, variances, strict=True)]
    half = norm.ppf(0.5 + float(level) / 200) if kind == "coverage" else 0

    def number(k, kept):
        if kind == "rmse":
            return np.mean(errors[k][kept] ** 2)
        if kind in ("crps", "nll"):
            return np.mean(SCORES[kind](errors[k], np.sqrt(variances[k]))[kept])
        return np.mean(z2[k][kept]) if kind == "zms" else np.mean(z2[k][kept] <= half**2)

    everything = np.ones(len(fold), bool)
    left_out = np.array([number(1, fold != own) - number(0, fold != own) for own in np.unique(fold)])
    count = len(left_out)
    error = np.sqrt((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
    base, value = number(0, everything), number(1, everything)
    if kind == "rmse":
        return np.sqrt(base), np.sqrt(value), error / (np.sqrt(base) + np.sqrt(value)), 1.0
    if kind in ("zms", "crps", "nll"):
        return base, value, error, 1.0
    one, other = (own <= half**2 for own in z2)
    only_first, only_other = np.mean(one & ~other), np.mean(other & ~one)
    variance = only_first + only_other - (only_other - only_first) ** 2
    areas = min(variance / error**2, len(fold))
    total = areas + 2
    b, c = areas * only_other + 0.5, areas * only_first + 0.5
    return base, value, np.sqrt((b + c) / total - ((b - c) / total) ** 2) / np.sqrt(total), areas / total


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_and_intervals_are_those_of_a_restatement(seed):
    rng = np.random.default_rng(seed)
    own, variance = errors(rng, (1.0, 1.4)), [rng.uniform(0.5, 2, FOLDS * AREAS) for _ in range(2)]
    forecasts = [means(*one) for one in zip(own, variance, strict=True)]

    found = differences(*forecasts)

    assert [one.metric for one in found.values()] == compared_names(LEVELS)
    for metric, one in found.items():
        model = next((name for name in MODELS if name in metric), "full")
        used = [getattr(forecast, model) for forecast in forecasts]
        base, value, error, kept = restated(metric, own, used, forecasts[0].fold)
        half = half_width(INTERVAL, FOLDS - 1) * error
        assert [one.baseline, one.value] == pytest.approx([base, value], rel=1e-12)
        assert one.difference.value == pytest.approx(value - base, rel=1e-12, abs=1e-14)
        limits = [kept * (value - base) - half, kept * (value - base) + half]
        assert [one.difference.low, one.difference.high] == pytest.approx(limits, rel=1e-12)
        assert (one.areas, one.side) == (FOLDS * AREAS, 1000.0)


def test_a_forecast_differs_from_itself_by_nothing():
    own = means(errors(np.random.default_rng(0))[0])

    for one in differences(own, replace(own)).values():
        found = one.difference
        assert (found.value, found.low, found.high, found.p_value, found.better) == (0.0, 0.0, 0.0, 1.0, 0)


def test_the_p_value_is_below_the_level_exactly_if_the_interval_of_the_rmse_excludes_zero():
    found = [differences(*map(means, errors(np.random.default_rng(seed), (1.0, 1.2))))["rmse"] for seed in range(60)]

    excluded = [one.difference.low > 0 or one.difference.high < 0 for one in found]
    assert 10 < sum(excluded) < 50
    assert [one.difference.p_value < 1 - INTERVAL for one in found] == excluded


def test_a_worse_forecast_is_found():
    found = differences(*map(means, errors(np.random.default_rng(0), (1.0, 2.0))))

    for metric in ("rmse", "zms_calibrated", "coverage_calibrated_90", "crps_calibrated", "nll_calibrated"):
        assert found[metric].difference.better == -1
        assert found[metric].difference.p_value < 0.05
    assert found["rmse"].difference.low > 0 > found["coverage_calibrated_90"].difference.high
    assert found["crps_calibrated"].difference.low > 0 < found["nll_calibrated"].difference.low


def test_a_forecast_with_the_same_errors_is_better_by_scores_if_its_std_is_right():
    own = errors(np.random.default_rng(0))[0]

    found = differences(means(own, 9.0), means(own, 1.0))

    for metric in ("crps_calibrated", "nll_calibrated"):
        assert found[metric].difference.better == 1
        assert found[metric].difference.high < 0
        assert found[metric].difference.p_value < 0.05
    assert found["rmse"].difference.better == 0


def test_a_lower_negative_log_likelihood_is_better_on_both_sides_of_zero():
    own = 1e-3 * errors(np.random.default_rng(0))[0]

    found = differences(means(own, 1e-2), means(own, 1e-6))["nll_calibrated"]

    assert found.value < found.baseline < 0
    assert found.difference.better == 1


def test_shares_on_both_sides_of_their_level_differ_and_neither_is_better():
    wide, narrow = (np.where(np.arange(120) % 12 < covered, 0.1, 9.0) for covered in (12, 9.6))
    found = differences(means(narrow), means(np.roll(wide, 1)))["coverage_full_90"]

    assert (found.baseline, found.value) == (pytest.approx(10 / 12), 1.0)
    assert found.difference.low > 0
    assert found.difference.p_value > 0.05


def test_only_the_areas_of_all_forecasts_count_in_any_order():
    rng = np.random.default_rng(0)
    own = [means(one) for one in (*errors(rng), errors(rng)[0])]
    kept = rng.permutation(100)
    third = replace(own[2], **{field.name: getattr(own[2], field.name)[kept] for field in fields(own[2])})

    first, other = differences_of_scale([own[0], own[1], third], LEVELS, INTERVAL)

    plain = [one.some(np.arange(100)) for one in own]
    expected = differences_of_scale(plain, LEVELS, INTERVAL)
    assert {one.areas for one in (*first, *other)} == {100}
    assert [first, other] == expected


def test_an_area_without_a_fitted_variance_counts_for_the_rmse_alone():
    own = [means(one) for one in errors(np.random.default_rng(0))]
    own[1].fitted[:5] = np.nan

    found = differences(*own)

    assert found["zms_fitted"].areas == found["coverage_fitted_90"].areas == FOLDS * AREAS - 5
    assert found["zms_full"].areas == found["rmse"].areas == FOLDS * AREAS


def test_forecasts_without_a_common_area_have_no_differences():
    one, other = (means(own) for own in errors(np.random.default_rng(0)))

    assert differences_of_scale([one, replace(other, number=other.number + 1000)], LEVELS, INTERVAL) == [[]]


def test_a_number_of_no_area_is_missing():
    own = [means(one) for one in errors(np.random.default_rng(0))]
    own[0].fitted[:] = np.nan

    found = differences(*own)["zms_fitted"]

    assert found.areas == 0
    assert (found.difference.value, found.difference.reason) == (None, "no area of this size")


def test_areas_that_all_agree_leave_the_difference_of_shares_uncertain():
    both = [means(scale * np.full(120, 0.1)) for scale in (1.0, 2.0)]
    apart = [means(np.full(120, 9.0)), means(np.full(120, 0.1))]

    agree, differ = (differences(*own)["coverage_full_90"].difference for own in (both, apart))

    assert (agree.value, differ.value) == (0.0, 1.0)
    assert -0.5 < agree.low < -0.1 < 0.1 < agree.high < 0.5
    assert 0.3 < differ.low < 0.7
    assert differ.high == 1.0


def test_few_areas_and_a_difference_that_is_the_same_everywhere_have_no_interval():
    few = differences(means(np.ones(6), fold=np.arange(6)), means(2 * np.ones(6), fold=np.arange(6)))["rmse"]
    even = differences(means(np.ones(60)), means(2 * np.ones(60)))["rmse"]

    for one, reason in ((few, "6 areas are too few"), (even, EVEN)):
        assert (one.difference.value, one.difference.better) == (1.0, -1)
        assert (one.difference.low, one.difference.p_value, one.difference.reason) == (None, None, reason)


def test_intervals_of_differences_hold_the_true_ones():
    """In 1000 simulations, 95 % intervals hold 95.1 % (RMSE), 94.4 % (mean z^2) and 96.7 % (coverage)."""
    crps = [np.sqrt(2 / np.pi) * np.sqrt(1 + own**2) - 1 / np.sqrt(np.pi) for own in (1.0, 1.3)]
    scale = 1.0, 1.3
    covered = [2 * norm.cdf(norm.ppf(0.95) / own) - 1 for own in scale]
    true = {"rmse": 0.3, "zms_calibrated": 0.69, "coverage_calibrated_90": covered[1] - covered[0]}
    true |= {"crps_calibrated": crps[1] - crps[0], "nll_calibrated": 0.69 / 2}
    held = dict.fromkeys(true, 0)
    for seed in range(250):
        found = differences(*map(means, errors(np.random.default_rng(seed), scale)))
        for metric, difference in true.items():
            held[metric] += found[metric].difference.low <= difference <= found[metric].difference.high

    for metric, count in held.items():
        assert 0.9 <= count / 250 <= 0.99, (metric, count / 250)
