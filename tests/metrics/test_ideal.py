"""Which of two values of a metric is better."""

import numpy as np
import pytest

from geouq.config import EQUAL_COUNT_10
from geouq.metrics import MetricOptions, Value, change, evaluate_metrics, ideal_value, loss, metrics_of
from geouq.summary import empty_summary
from geouq.summary.form import GAUSSIAN

LESS = {
    *("uce", "ence", "ence_excess", "bias", "mae", "rmse", "nbias", "nmae", "nrmse", "z_mean", "rce"),
    *("calibration_error", "calibration_error_interval", "mace", "mace_interval"),
    *("rmsce", "rmsce_interval", "miscalibration_area", "miscalibration_area_interval", "rmscd", "rmscd_under"),
    *("ause", "threshold_brier", "threshold_reliability", "nll", "crps", "interval_score"),
}
MORE = {"r2", "error_width_corr", "spearman", "threshold_resolution"}
NEAR = {
    "zms": 1.0, "z_std": 1.0, "coverage": 0.9, "coverage_above": 0.05, "coverage_below": 0.05, "pit_mean": 0.5,
    "pit_std": 12**-0.5, "lowest_group_coverage": 0.9,
}  # fmt: skip
BY_NAME = {metric.name: metric for metric in metrics_of(GAUSSIAN)}
NOT_JUDGED = {
    *("sharpness", "sharpness_rms", "mean_std", "width", "cv", "ence_null", "threshold_uncertainty"),
    *("threshold_within", "uce_normalized", "ence_normalized"),
}


def of(name, numbers):
    metric = BY_NAME[name]
    level = 0.9 if metric.choice in ("level", "group") else None
    return loss(Value(metric, name, "", np.nan, "", level), np.array(numbers))


def test_every_metric_is_judged_in_one_way():
    kinds = [LESS, MORE, set(NEAR), NOT_JUDGED]

    assert set().union(*kinds) == set(BY_NAME)
    assert sum(map(len, kinds)) == len(metrics_of(GAUSSIAN))


@pytest.mark.parametrize("name", sorted(LESS))
def test_less_is_better(name):
    assert np.diff(of(name, [0.1, 0.2, 0.7])).min() > 0


@pytest.mark.parametrize("name", sorted(MORE))
def test_more_is_better(name):
    assert np.diff(of(name, [-0.1, 0.2, 0.7])).max() < 0


@pytest.mark.parametrize("name", sorted(NEAR))
def test_nearer_to_the_ideal_is_better(name):
    ideal = NEAR[name]

    assert of(name, [ideal, ideal - 0.1, ideal + 0.2]) == pytest.approx([0, 0.1, 0.2])
    assert ideal_value(BY_NAME[name], 0.9) == pytest.approx(ideal)


@pytest.mark.parametrize("name", ["bias", "z_mean", "rce", "nbias"])
def test_on_either_side_of_0_the_size_counts(name):
    assert of(name, [-0.3, 0.2]) == pytest.approx([0.3, 0.2])


@pytest.mark.parametrize("name", sorted(NOT_JUDGED))
def test_what_the_bins_the_truth_or_predictions_alone_are_like_is_not_judged(name):
    assert of(name, [1.0, 2.0]) is None


def test_a_change_of_width_is_told_as_such_and_any_other_by_its_size():
    words = {name: (change(BY_NAME[name], 0.1), change(BY_NAME[name], -0.1)) for name in NOT_JUDGED}

    assert {name for name, word in words.items() if word == ("wider", "sharper")} == {
        *("sharpness", "sharpness_rms", "mean_std", "width"),
    }
    assert set(words.values()) == {("wider", "sharper"), ("larger", "smaller")}


def test_the_level_of_a_value_is_its_own():
    values = evaluate_metrics(empty_summary((0.5, 0.9)), MetricOptions((0.5, 0.9), (EQUAL_COUNT_10,)))

    levels = {value.name: value.level for value in values}

    assert levels["coverage_50"] == levels["rmscd_50"] == 0.5
    assert levels["interval_score_90"] == 0.9
    assert levels["zms"] is levels["ence"] is None
