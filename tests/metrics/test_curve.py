"""The calibration curve: against restatements on whole arrays, values from outside, laws, and known faults."""

from itertools import pairwise

import numpy as np
import pytest
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st
from restatement import area_to_the_diagonal, calibration_metrics, curves, valid
from scipy.stats import norm

from geouq import metrics
from geouq.arrays.points import summarize_arrays
from geouq.config import CALIBRATION_LEVELS
from geouq.core.errors import SummaryError
from geouq.core.gaussian import half_width
from geouq.metrics import MetricOptions, evaluate_metrics, metrics_of
from geouq.summary import add_all, empty_summary
from geouq.summary.form import GAUSSIAN

HUNDREDTHS = tuple(k / 100 for k in range(1, 100))
NAMES = {metric.name for metric in metrics_of(GAUSSIAN) if metric.choice.startswith("calibration")}
BOTH = (metrics.calibration_curve, metrics.interval_curve)


def numbers(summary, levels=CALIBRATION_LEVELS, weights="equal"):
    choices = MetricOptions((), (), calibration_levels=levels, calibration_weights=weights)
    return {value.name: float(value.value) for value in evaluate_metrics(summary, choices) if value.name in NAMES}


@pytest.fixture(scope="module")
def arrays():
    return heteroscedastic((120, 130), seed=21, inflate=1.5, bias=0.2)


@pytest.fixture(scope="module")
def summary(arrays):
    return summarize_arrays(*arrays).whole


@pytest.mark.parametrize("weights", ["equal", "counts"])
@pytest.mark.parametrize("levels", [CALIBRATION_LEVELS, HUNDREDTHS, (0.37,)], ids=["default", "hundredths", "one"])
def test_numbers_equal_the_whole_array_definition(levels, weights, arrays, summary):
    found = numbers(summary, levels, weights)

    assert found == pytest.approx(calibration_metrics(*valid(*arrays), levels, weights), rel=1e-10)
    assert found.keys() == NAMES


def test_curves_are_exact_counts(arrays, summary):
    for curve, expected in zip(BOTH, curves(*valid(*arrays), HUNDREDTHS), strict=True):
        assert curve(summary, HUNDREDTHS).tolist() == expected.tolist()


def test_the_curve_of_intervals_is_their_coverage(summary):
    levels = (0.5, 0.9)

    assert metrics.interval_curve(summary, levels).tolist() == [metrics.coverage(summary, p) for p in levels]


@pytest.mark.parametrize(("bias", "side"), [(-0.5, -1), (0.5, 1)], ids=["too low", "too high"])
def test_a_forecast_that_is_too_low_has_its_curve_below_the_diagonal(bias, side):
    summary = summarize_arrays(*heteroscedastic((200, 200), seed=22, bias=bias)).whole

    assert np.sign(metrics.bias(summary)) == side
    assert (np.sign(metrics.calibration_curve(summary) - CALIBRATION_LEVELS) == side).all()


@pytest.mark.parametrize(("inflate", "side"), [(0.25, -1), (4, 1)], ids=["over-confident", "under-confident"])
def test_an_over_confident_forecast_has_its_intervals_below_the_diagonal(inflate, side):
    summary = summarize_arrays(*heteroscedastic((200, 200), seed=23, inflate=inflate)).whole

    assert (np.sign(metrics.interval_curve(summary) - CALIBRATION_LEVELS) == side).all()
    # the quantiles of a forecast without bias cross the diagonal at the median
    below = np.array(CALIBRATION_LEVELS) < 0.5
    gap = metrics.calibration_curve(summary) - CALIBRATION_LEVELS
    assert (np.sign(gap[below]) == -side).all()
    assert (np.sign(gap[-9:]) == side).all()


def test_a_calibrated_forecast_is_on_the_diagonal():
    """250 000 independent pixels: each point within five standard errors, their squares as large as expected."""
    summary = summarize_arrays(*heteroscedastic((500, 500), seed=24, missing=0)).whole
    levels = np.array(CALIBRATION_LEVELS)
    one = levels * (1 - levels) / summary.n

    for curve in BOTH:
        assert (np.abs(curve(summary) - levels) < 5 * np.sqrt(one)).all()
    found = numbers(summary)
    for suffix in ("", "_interval"):
        assert 0 < found[f"calibration_error{suffix}"] < 5 * one.sum()
        assert found[f"miscalibration_area{suffix}"] < found[f"rmsce{suffix}"] < 3 * np.sqrt(one.mean())


def test_truth_equal_to_the_median_is_at_or_below_it():
    """One step at 1/2: nothing below, all above, and the line of the curve crosses the diagonal in one piece."""
    ones = np.ones((20, 20))
    summary = summarize_arrays(ones, ones, ones).whole
    levels = np.array(CALIBRATION_LEVELS)

    assert metrics.calibration_curve(summary).tolist() == (levels >= 0.5).tolist()
    assert (metrics.interval_curve(summary) == 1).all()
    pieces = 0.45**2 / 2 + 0.05 / 2 * (0.45**2 + 0.5**2) / 0.95 + 0.5**2 / 2
    assert metrics.miscalibration_area(summary) == pytest.approx(pieces, rel=1e-12)


def test_truth_at_the_ends_of_an_interval_is_inside():
    """So it lies above the lower quantile, where PIT = 0.05, and not above the upper one."""
    half = half_width(0.9)
    z = np.array([[-half, half]])
    summary = summarize_arrays(np.zeros((1, 2)), np.ones((1, 2)), z).whole

    assert metrics.calibration_curve(summary, (0.05, 0.06, 0.94, 0.95)).tolist() == [0, 0.5, 0.5, 1]
    assert metrics.interval_curve(summary, (0.89, 0.9)).tolist() == [0, 1]


def test_weights_by_counts_are_one_on_average_and_where_there_are_none():
    ones = np.ones((10, 10))
    far_below, far_above = (summarize_arrays(ones, ones, truth * ones).whole for truth in (-100, 100))
    squares = np.square(1 - np.array(CALIBRATION_LEVELS)).sum()

    for summary in (far_below, far_above):  # all counts alike: as with equal weights
        assert metrics.calibration_error(summary, weights="counts") == pytest.approx(squares, rel=1e-12)
        assert metrics.calibration_error(summary) == pytest.approx(squares, rel=1e-12)


@given(cuts=st.lists(st.integers(1, 59), max_size=6), order=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_any_partition_in_any_order_gives_the_same_numbers(cuts, order):
    arrays = heteroscedastic((60, 70), seed=25)
    parts = [
        summarize_arrays(*(a[top:bottom] for a in arrays)).whole
        for top, bottom in pairwise([0, *sorted(set(cuts)), 60])
    ]
    order.shuffle(parts)

    assert numbers(add_all(parts)) == numbers(summarize_arrays(*arrays).whole)


@given(z=st.lists(st.floats(-4, 4), min_size=1, max_size=12), levels=st.sets(st.sampled_from(HUNDREDTHS), min_size=1))
@settings(max_examples=40, deadline=None)
def test_laws_of_the_curves(z, levels):
    """They rise from 0 to 1, in any order of levels; the area is at most a half and changes by no redundant order."""
    summary = summarize_arrays(np.zeros((1, len(z))), np.ones((1, len(z))), np.array([z])).whole
    ordered, mixed = sorted(levels), list(levels)

    for curve in BOTH:
        shares = curve(summary, ordered)
        assert (np.diff([0, *shares, 1]) >= 0).all()
        assert dict(zip(mixed, curve(summary, mixed), strict=True)) == dict(zip(ordered, shares, strict=True))
    found = numbers(summary, ordered)
    assert numbers(summary, mixed) == pytest.approx(found, rel=1e-12)
    for suffix in ("", "_interval"):
        assert 0 <= found[f"miscalibration_area{suffix}"] <= 0.5
        assert found[f"mace{suffix}"] <= found[f"rmsce{suffix}"] * (1 + 1e-12)
        assert found[f"calibration_error{suffix}"] == pytest.approx(len(levels) * found[f"rmsce{suffix}"] ** 2)


def test_pixels_of_weight_two_count_twice(arrays):
    weight = np.where(np.arange(arrays[0].size).reshape(arrays[0].shape) % 3 == 0, 2, 1)
    twice = [np.concatenate([a, np.where(weight == 2, a, np.nan)]) for a in arrays]

    weighted = numbers(summarize_arrays(*arrays, weight=weight).whole)

    assert weighted == pytest.approx(numbers(summarize_arrays(*twice).whole), rel=1e-10)


def test_leading_dimensions_are_free(arrays):
    """Cells keep 20 quantiles, and so the quantiles of twentieths and the intervals of tenths."""
    found = summarize_arrays(*arrays, cell_size=32)
    cells, tenths = found.cells.summary(), tuple(k / 10 for k in range(1, 10))

    together = {name: getattr(metrics, name)(cells, tenths) for name in NAMES}

    across = -(-arrays[0].shape[1] // 32)
    for cell in (0, across + 1):
        row, column = (32 * index for index in divmod(cell, across))
        part = valid(*(a[row : row + 32, column : column + 32] for a in arrays))
        alone = {name: values[cell] for name, values in together.items()}
        assert alone == pytest.approx(calibration_metrics(*part, tenths), rel=1e-10)
    with pytest.raises(SummaryError, match=r"no count was kept at probability 0\.075"):
        metrics.interval_curve(cells)


def test_no_pixel_has_no_curve():
    nothing = empty_summary((0.5,))

    assert all(np.isnan(curve(nothing)).all() for curve in BOTH)
    for weights in ("equal", "counts"):
        assert all(np.isnan(value) for value in numbers(nothing, weights=weights).values())


def toolbox(mean, std, truth, count, kind):
    """MACE, RMSCE and area as uncertainty-toolbox has them: from 0 to 1, both included; the error is mirrored."""
    z, p = ((mean - truth) / std)[:, None], np.linspace(0, 1, count)
    if kind == "interval":
        observed = ((z >= norm.ppf(0.5 - p / 2)) & (z <= norm.ppf(0.5 + p / 2))).mean(0)
    else:
        observed = (z <= norm.ppf(p)).mean(0)
    gap = np.abs(p - observed)
    return gap.mean(), np.sqrt(np.mean(gap**2)), area_to_the_diagonal(p, observed)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("interval", (0.3733333333333335, 0.4165757476562379, 0.37710437710437716)),
        ("quantile", (0.23757575757575758, 0.30362567774902066, 0.23916245791245788)),
    ],
)
def test_the_definition_of_uncertainty_toolbox_has_its_published_values(kind, expected):
    three = np.array([1.0, 2, 3]), np.array([0.1, 0.5, 1]), np.array([1.5, 3, 2])

    assert toolbox(*three, 100, kind) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["interval", "quantile"])
def test_the_definition_of_uncertainty_toolbox_gives_the_same_numbers(kind, arrays, summary):
    """At hundredths; its means hold two points more, which are on the diagonal. Its quantiles are of -error."""
    mean, variance, truth = valid(*arrays)
    centres = (truth, mean) if kind == "quantile" else (mean, truth)
    theirs = toolbox(centres[0], np.sqrt(variance), centres[1], 101, kind)
    found = numbers(summary, HUNDREDTHS)
    suffix = "_interval" if kind == "interval" else ""

    assert found[f"mace{suffix}"] * 99 / 101 == pytest.approx(theirs[0], rel=1e-10)
    assert found[f"rmsce{suffix}"] * np.sqrt(99 / 101) == pytest.approx(theirs[1], rel=1e-10)
    assert found[f"miscalibration_area{suffix}"] == pytest.approx(theirs[2], rel=1e-10)


@pytest.mark.parametrize("curve", BOTH)
def test_a_curve_that_is_changed_is_not_the_curve_of_the_summary(curve, summary):
    found = curve(summary, HUNDREDTHS)
    kept = found.copy()
    found[:] = 0.0

    np.testing.assert_array_equal(curve(summary, HUNDREDTHS), kept)
