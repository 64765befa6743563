"""Calibration by the size of areas scores what is simulated."""

import numpy as np
import pytest
from cell_maps import CELLS, PIXELS, SIDE, TILES, cells_of, mixed, places

from geouq.aggregates.blocks import BlockMeans, block_means
from geouq.aggregates.estimation import error_correlation
from geouq.aggregates.scales import numbers_of_scale

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
