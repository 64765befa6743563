"""Calibration by the size of areas scores what is simulated."""

import numpy as np
import pytest
from cell_maps import CELLS, PIXELS, SIDE, TILES, cells_of, mixed, places
from scipy.stats import norm, t

from geouq.aggregates.blocks import BlockMeans, block_means
from geouq.aggregates.estimation import error_correlation
from geouq.aggregates.scales import numbers_of_scale

MODELS = ("independent", "fitted", "full", "calibrated")
SHAPE = TILES[0] * CELLS * PIXELS, TILES[1] * CELLS * PIXELS


def numbers(z, side, std=1.0):
    correlation = error_correlation(cells_of(z, std, tiles=TILES), SIDE)
    found = numbers_of_scale(block_means(correlation, places(), side), (0.9,), 0.95)
    return {number.metric.removeprefix("aggregate_"): number for number in found}


@pytest.mark.parametrize("side", [1, 4])
def test_independent_errors_score_one_as_independent(side):
    found = numbers(np.random.default_rng(0).standard_normal(SHAPE), side)

    assert found["zms_independent"].value == pytest.approx(1, abs=0.25)
    assert found["coverage_independent_90"].value == pytest.approx(0.9, abs=0.06)
    assert found["zms_full"].value < 0.1
    assert found["zms_fitted"].value == pytest.approx(found["zms_independent"].value, rel=0.3)


def test_a_constant_error_of_each_tile_scores_one_as_fully_correlated():
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(30):
        z = np.kron(rng.standard_normal(TILES), np.ones((CELLS * PIXELS,) * 2)) + 1e-3 * rng.standard_normal(SHAPE)
        scores.append(numbers(z, CELLS)["zms_full"].value)

    assert np.mean(scores) == pytest.approx(1, abs=0.25)


def test_correlated_errors_are_calibrated_as_fitted_and_not_as_independent():
    found = [numbers(mixed(np.random.default_rng(seed), SHAPE, (0.5, 3)), 4) for seed in range(8)]

    assert np.mean([one["zms_independent"].value for one in found]) > 20
    assert np.mean([one["zms_fitted"].value for one in found]) == pytest.approx(1, abs=0.25)
    assert np.mean([one["coverage_calibrated_90"].value for one in found]) == pytest.approx(0.9, abs=0.05)


def test_a_std_too_small_by_a_half_is_seen_as_fitted_and_mended_as_calibrated():
    found = [numbers(2 * mixed(np.random.default_rng(seed), SHAPE, (0.5, 3)), 4) for seed in range(8)]

    assert np.mean([one["zms_fitted"].value for one in found]) == pytest.approx(4, rel=0.3)
    assert np.mean([one["zms_calibrated"].value for one in found]) == pytest.approx(1, abs=0.3)


def test_intervals_of_these_numbers_hold_what_is_true():
    found = [numbers(np.random.default_rng(seed).standard_normal(SHAPE), 4) for seed in range(40)]

    for name, true in (("zms_independent", 1.0), ("coverage_independent_90", 0.9)):
        held = [one[name].low <= true <= one[name].high for one in found]
        assert np.mean(held) >= 0.85


def test_the_rmse_of_means_is_that_of_their_errors_and_scales_with_the_unit():
    errors = np.random.default_rng(0).normal(0.3, 1, 60)
    one, fold = np.ones(60), np.repeat(np.arange(6), 10)

    found, tenfold = (
        numbers_of_scale(BlockMeans(scale * errors, one, one, one, one, 0 * one, one, fold, fold), (0.9,), 0.95)[-1]
        for scale in (1, 10)
    )

    assert found.metric == "aggregate_rmse"
    assert found.value == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found.low < found.value < found.high
    assert [tenfold.low, tenfold.high] == pytest.approx([10 * found.low, 10 * found.high])


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_areas_that_all_agree_leave_the_share_uncertain(share):
    one, error = np.ones(20), np.full(20, 0.1 if share else 9.0)
    blocks = BlockMeans(error, one, one, one, one, 0 * one, one, np.repeat(np.arange(5), 4), np.arange(20))

    found = numbers_of_scale(blocks, (0.9,), 0.95)[1]

    assert found.value == share
    assert found.high - found.low > 0.3


def test_few_areas_have_a_number_and_no_interval():
    one = np.ones(6)
    blocks = BlockMeans(one, one, one, one, one, 0 * one, one, np.arange(6), np.arange(6))

    found = numbers_of_scale(blocks, (0.9,), 0.95)[0]

    assert found.value == 1
    assert np.isnan(found.low)
    assert found.reason == "6 areas are too few"


def test_scores_are_those_of_the_normal_forecast_of_each_area():
    rng = np.random.default_rng(2)
    error, fold = rng.normal(0, 1.2, 60), np.repeat(np.arange(6), 10)
    variances = dict(zip(MODELS, rng.uniform(0.5, 2, (4, 60)), strict=True))
    blocks = BlockMeans(error, **variances, noise=0 * error, area=0 * error + 1, fold=fold, number=np.arange(60))

    found = {number.metric: number for number in numbers_of_scale(blocks, (0.9,), 0.95)}

    for model, variance in variances.items():
        s, half = np.sqrt(variance), t.ppf(0.975, 5)
        draws = error[:, None] + s[:, None] * norm.ppf((np.arange(4000) + 0.5) / 4000)
        crps = np.abs(draws).mean(1) - s / np.sqrt(np.pi)  # E|X - y| - E|X - X'| / 2
        assert found[f"aggregate_crps_{model}"].value == pytest.approx(crps.mean(), rel=1e-3)
        nll = -norm.logpdf(error, scale=s)
        left_out = np.array([nll[fold != own].mean() for own in range(6)])
        spread = np.sqrt(5 / 6 * ((left_out - left_out.mean()) ** 2).sum())
        one = found[f"aggregate_nll_{model}"]
        assert one.value == pytest.approx(nll.mean(), rel=1e-12)
        assert [one.low, one.high] == pytest.approx([nll.mean() - half * spread, nll.mean() + half * spread], rel=5e-3)


def test_scores_are_lowest_with_the_right_model_of_correlation():
    found = [numbers(mixed(np.random.default_rng(seed), SHAPE, (0.5, 3)), 4) for seed in range(8)]

    for score in ("crps", "nll"):
        mean = {model: np.mean([one[f"{score}_{model}"].value for one in found]) for model in MODELS}
        assert mean["fitted"] < min(mean["independent"], mean["full"])
        assert mean["calibrated"] < min(mean["independent"], mean["full"])


def of_measured_truth(seed, size=1.0, count=2000):
    """Errors of areas whose std is twice too small, and that a truth with errors of its own shows; and their factor."""
    rng = np.random.default_rng(seed)
    own, noise = 0.25, rng.uniform(1, 3, count)
    error = size * rng.standard_normal(count) * np.sqrt(4 * own + noise)
    variance, fold, one = own + noise, np.arange(count) % 10, np.ones(count)
    blocks = BlockMeans(error, variance, variance, variance, variance, noise, one, fold, np.arange(count))
    (found,) = (one for one in numbers_of_scale(blocks, (0.9,), 0.95) if one.metric == "aggregate_factor")
    return found, ((error**2 - noise) / own).mean()


def test_the_factor_is_of_the_std_of_the_map_without_the_truths_own_error():
    found = [of_measured_truth(seed) for seed in range(40)]

    for factor, square in found:
        assert factor.value == pytest.approx(np.sqrt(square), rel=1e-12)
    assert np.mean([factor.low < 2 < factor.high for factor, _ in found]) >= 0.85


def test_there_is_no_factor_if_all_errors_are_the_truths_own():
    factor, _ = of_measured_truth(0, size=0.1)

    assert np.isnan(factor.value)
    assert factor.reason == "the truth's own error is as large as the errors of means"
