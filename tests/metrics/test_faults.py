"""Each way of breaking a forecast moves each number as documented, and one that is not broken scores as calibrated."""

from pathlib import Path

import numpy as np
import pytest
from everything import summary_of, values_of

from geouq.config import EQUAL_COUNT_10, Groups
from geouq.metrics import MetricOptions, metrics_of
from geouq.summary.form import GAUSSIAN

DOCUMENTED = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"
LEVEL, THRESHOLD = 0.9, 20.0
SHAPE = (500, 500)
ONE = 1 / np.sqrt(SHAPE[0] * SHAPE[1])  # standard error of a mean of unit variance
CHOICES = MetricOptions(
    (LEVEL,), (EQUAL_COUNT_10,), groups=Groups(by=("variance",)), ordering=True, thresholds=(THRESHOLD,)
)

# What each fault does to each number: rises, falls, same, or any: what it does depends on the data.
EXPECTED = """
metric                        too high  too low  too wide  too narrow  shuffled  heavy tails
uce                           rises     rises    rises     rises       rises     any
ence                          rises     rises    rises     rises       rises     any
uce_normalized                rises     rises    any       any         any       any
ence_normalized               any       any      rises     rises       any       any
ence_null                     same      same     same      same        same      same
ence_excess                   rises     rises    rises     rises       rises     any
zms                           rises     rises    falls     rises       rises     any
z_mean                        falls     rises    any       any         any       any
z_std                         rises     rises    falls     rises       rises     any
rce                           falls     falls    rises     falls       same      any
cv                            same      same     same      same        same      same
sharpness                     same      same     rises     falls       same      same
sharpness_rms                 same      same     rises     falls       same      same
mean_std                      same      same     rises     falls       same      same
width                         same      same     rises     falls       same      same
bias                          rises     falls    same      same        same      any
mae                           rises     rises    same      same        same      falls
rmse                          rises     rises    same      same        same      any
nbias                         rises     falls    same      same        same      any
nmae                          rises     rises    same      same        same      any
nrmse                         rises     rises    same      same        same      any
r2                            falls     falls    same      same        same      any
error_width_corr              falls     falls    same      same        falls     falls
coverage                      falls     falls    rises     falls       falls     rises
coverage_above                falls     rises    falls     rises       rises     falls
coverage_below                rises     falls    falls     rises       rises     falls
calibration_error             rises     rises    rises     rises       rises     rises
calibration_error_interval    rises     rises    rises     rises       rises     rises
mace                          rises     rises    rises     rises       rises     rises
mace_interval                 rises     rises    rises     rises       rises     rises
rmsce                         rises     rises    rises     rises       rises     rises
rmsce_interval                rises     rises    rises     rises       rises     rises
miscalibration_area           rises     rises    rises     rises       rises     rises
miscalibration_area_interval  rises     rises    rises     rises       rises     rises
pit_mean                      falls     rises    any       any         any       any
pit_std                       falls     falls    falls     rises       rises     falls
rmscd                         rises     rises    rises     rises       rises     rises
rmscd_under                   rises     rises    any       rises       rises     any
lowest_group_coverage         falls     falls    rises     falls       falls     rises
ause                          rises     rises    same      same        rises     rises
spearman                      falls     falls    same      same        falls     falls
threshold_brier               rises     rises    rises     rises       rises     any
threshold_reliability         rises     rises    rises     any         any       any
threshold_resolution          any       any      any       any         any       any
threshold_uncertainty         same      same     same      same        same      any
threshold_within              any       any      any       any         any       any
nll                           rises     rises    rises     rises       rises     any
crps                          rises     rises    rises     rises       rises     falls
interval_score                rises     rises    rises     rises       rises     rises
"""
(_, *FAULTS), *ROWS = (
    [word.strip() for word in line.split("  ") if word.strip()] for line in EXPECTED.strip().splitlines()
)
DIRECTIONS = {metric: dict(zip(FAULTS, words, strict=True)) for metric, *words in ROWS}
ARROWS = {"rises": "↑", "falls": "↓", "same": "=", "any": " "}
PRECISION = {"ause": 5e-3, "spearman": 5e-3}  # as they document it; what is within it is the same

IDEALS = {"0": 0.0, "1": 1.0, "level": LEVEL, "(1-level)/2": (1 - LEVEL) / 2, "1/2": 0.5, "1/sqrt(12)": 12**-0.5}
# Sampling error of each number of a calibrated forecast, in units of ONE; of sums of squares, of its root.
SAMPLING = {
    "uce": 7, "ence_excess": 0.5,
    "zms": 1.5, "z_mean": 1, "z_std": 0.8, "rce": 1.5, "bias": 1.3, "nbias": 0.07,
    "coverage": 0.3, "coverage_above": 0.22, "coverage_below": 0.22,
    "calibration_error": 2, "mace": 0.4, "rmsce": 0.5, "miscalibration_area": 0.4,
    "calibration_error_interval": 2, "mace_interval": 0.4, "rmsce_interval": 0.5, "miscalibration_area_interval": 0.4,
    "threshold_reliability": 0.05,
    "pit_mean": 0.29, "pit_std": 0.15, "rmscd": 1, "rmscd_under": 1, "lowest_group_coverage": 1.7,
}  # fmt: skip
# Numbers whose ideal asks for more than calibration: a mean without error, errors in the order of the std, no noise.
MORE_THAN_CALIBRATION = {"mae", "rmse", "nmae", "nrmse", "r2", "ause", "uce_normalized", "ence_normalized"}

ABOUT = """# What each fault of a forecast does to each number

Each row is a metric, each column a fault. The forecast has 250 000 pixels with log-normal predicted variances, and the
truth is drawn from the prediction. Then one fault is added. Level 0.9, ten equal-count bins, ten groups by variance,
and a threshold that half of the pixels exceed.

- too high, too low: the mean is moved by half a unit, which is 0.4 of the root mean variance.
- too wide, too narrow: the variance is multiplied or divided by 4.
- shuffled: the same variances, at other pixels.
- heavy tails: errors follow Student's t with 5 degrees of freedom, with the predicted variance.

↑ rises, ↓ falls, = stays the same. An empty cell: the metric moves by less than its sampling error, or in a
direction that depends on the data.

"""


def forecasts(seed=31):
    """Mean, variance and truth by fault; the ideal one first."""
    rng = np.random.default_rng(seed)
    std, mean = rng.lognormal(0, 0.5, SHAPE), rng.normal(20, 3, SHAPE)
    noise, tails = rng.standard_normal(SHAPE), rng.standard_t(5, SHAPE) / np.sqrt(5 / 3)
    variance, truth = std**2, mean + std * noise
    return {
        "ideal": (mean, variance, truth),
        "too high": (mean + 0.5, variance, truth),
        "too low": (mean - 0.5, variance, truth),
        "too wide": (mean, 4 * variance, truth),
        "too narrow": (mean, variance / 4, truth),
        "shuffled": (mean, rng.permutation(variance.ravel()).reshape(SHAPE), truth),
        "heavy tails": (mean, variance, mean + std * tails),
    }


@pytest.fixture(scope="module")
def measured():
    """Number by metric, by fault."""
    return {
        fault: {metric.name: value for metric, value in values_of(one, CHOICES).values()}
        for fault, arrays in forecasts().items()
        for one in [summary_of(*arrays, thresholds=(THRESHOLD,))]
    }


def direction(wrong, right, precision):
    """What the number did; any where it moved by less than two sampling errors of a mean of unit variance."""
    if wrong == pytest.approx(right, rel=1e-10, abs=precision):
        return "same"
    if abs(wrong - right) < 2 * ONE:
        return "any"
    return "rises" if wrong > right else "falls"


def moved(measured, fault, metric):
    return direction(measured[fault][metric], measured["ideal"][metric], PRECISION.get(metric, 1e-12))


def as_markdown(measured):
    """The directions measured; those that are any by expectation are left out."""
    lines = [f"| number | {' | '.join(FAULTS)} |", "|---" * (len(FAULTS) + 1) + "|"]
    for metric, expected in DIRECTIONS.items():
        found = (moved(measured, fault, metric) for fault in FAULTS)
        shown = (ARROWS["any" if word == "any" else did] for word, did in zip(expected.values(), found, strict=True))
        lines.append(f"| `{metric}` | {' | '.join(shown)} |")
    return ABOUT + "\n".join(lines) + "\n"


def test_every_metric_has_its_row(measured):
    registered = {metric.name for metric in metrics_of(GAUSSIAN)}

    assert not registered - set(measured["ideal"]), "metrics of which CHOICES asks no number"
    assert not registered - set(DIRECTIONS), "metrics without a row in EXPECTED: say what each fault does to them"
    assert not set(DIRECTIONS) - registered, "rows in EXPECTED of no metric"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_moves_every_number_as_documented(fault, measured):
    found = {metric: moved(measured, fault, metric) for metric in DIRECTIONS}

    expected = {name: found[name] if row[fault] == "any" else row[fault] for name, row in DIRECTIONS.items()}

    assert found == expected


def test_the_documented_table_is_the_one_measured(measured, tmp_path):
    text = as_markdown(measured)
    (tmp_path / "faults.md").write_text(text, encoding="utf-8")

    assert DOCUMENTED.read_text(encoding="utf-8") == text, f"copy {tmp_path / 'faults.md'} to docs/reference/faults.md"


def test_every_metric_with_an_ideal_has_its_sampling_error():
    with_ideal = {metric.name for metric in metrics_of(GAUSSIAN) if metric.ideal in IDEALS}

    assert {metric.ideal for metric in metrics_of(GAUSSIAN)} <= {*IDEALS, "small", "large", "none"}, (
        "an ideal that is not in IDEALS"
    )
    missing = with_ideal - set(SAMPLING) - MORE_THAN_CALIBRATION
    assert not missing, "metrics with an ideal: give their sampling error in SAMPLING, or why they have none"


@pytest.mark.parametrize(
    "metric", [metric for metric in metrics_of(GAUSSIAN) if metric.name in SAMPLING], ids=lambda m: m.name
)
def test_a_calibrated_forecast_has_every_ideal_within_five_sampling_errors(metric, measured):
    away = abs(measured["ideal"][metric.name] - IDEALS[metric.ideal])

    error = np.sqrt(away) if metric.name.startswith("calibration_error") else away

    assert error < 5 * SAMPLING[metric.name] * ONE
