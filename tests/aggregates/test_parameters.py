"""Parameters of the correlation have intervals, and tell whether it depends on the direction."""

import numpy as np
import pytest
from cell_maps import SIDE, cells_of, mixed

from geouq.aggregates.estimation import error_correlation
from geouq.aggregates.parameters import line_by_distance, parameters_of


def parameters(z):
    found = parameters_of(error_correlation(cells_of(z, 1.0), SIDE), 0.95)
    return {one.name: one for one in found}


def test_the_shares_and_the_range_are_those_of_the_simulation():
    found = [parameters(mixed(np.random.default_rng(seed), (256, 256), (0.6, 4))) for seed in range(6)]

    assert np.mean([one["nugget"].value for one in found]) == pytest.approx(0.4, abs=0.12)
    ranges = [one["practical_range"].value for one in found]
    assert np.median(ranges) == pytest.approx(3 * 4 * SIDE, rel=0.35)
    assert np.mean([one["zms"].value for one in found]) == pytest.approx(1, abs=0.1)


def test_intervals_of_mean_z_square_hold_the_true_one():
    found = [parameters(mixed(np.random.default_rng(seed), (128, 128), (0.5, 2)))["zms"] for seed in range(30)]

    assert np.mean([one.low <= 1 <= one.high for one in found]) >= 0.8


def test_a_parameter_that_is_the_same_without_each_fold_has_no_interval():
    found = parameters(mixed(np.random.default_rng(0), (128, 128), (0.6, 2)))

    for one in (found["constant"], found["tile"]):
        assert one.value == 0
        assert np.isnan([one.low, one.high]).all()
        assert one.reason == "models without a fold have the same value"
    assert found["zms"].low < 1 < found["zms"].high


def test_ranges_have_no_interval_if_a_model_without_a_fold_has_another_number_of_them():
    found = [parameters(mixed(np.random.default_rng(seed), (96, 96), (0.4, 1), (0.4, 8))) for seed in range(8)]

    ranges = [one["range_1"] for one in found if "range_1" in one]
    assert {one.reason for one in ranges} >= {"models without a fold have other parts"}
    assert all(one.low < one.value < one.high for one in ranges if not one.reason)


def test_errors_in_stripes_are_correlated_along_rows_alone():
    rng = np.random.default_rng(0)
    stripes = np.repeat(rng.standard_normal((128, 1)), 128, axis=1) + 0.5 * rng.standard_normal((128, 128))

    found = parameters(np.kron(stripes[::4], np.ones((4, 1))))

    assert found["correlation_along_rows"].low > found["correlation_along_columns"].high


def test_a_map_alike_in_all_directions_shows_no_direction():
    found = [parameters(mixed(np.random.default_rng(seed), (128, 128), (0.7, 4))) for seed in range(10)]

    apart = [one["correlation_along_rows"].value - one["correlation_along_columns"].value for one in found]
    assert abs(np.mean(apart)) < 0.1


def test_the_errors_of_the_fitted_line_are_those_of_lines_fitted_without_a_fold():
    field = mixed(np.random.default_rng(3), (128, 128), (0.6, 4))
    correlation = error_correlation(cells_of(field, 1.0, tiles=(4, 4)), SIDE)
    found, (fitted, error), folds = correlation.correlogram, line_by_distance(correlation), correlation.folds
    for k in np.flatnonzero(found.distance > 0)[::5]:
        models = [correlation.model, *(correlation.without([fold]) for fold in range(folds))]
        own, *others = (
            sum(sill * np.exp(-found.distance[k] / reach) for sill, reach in zip(one.sills, one.ranges, strict=True))
            + one.constant
            + one.tile * found.same[k]
            for one in models
        )

        assert fitted[k] == pytest.approx(own)
        assert error[k] == pytest.approx(
            np.sqrt((folds - 1) / folds * np.sum((np.array(others) - np.mean(others)) ** 2))
        )
