"""The numbers: values from outside, laws, and what faults of a forecast do to them."""

import numpy as np
import pytest
import scoringrules
from forecasts import heteroscedastic
from restatement import binned_metrics, bins, edges, valid

import geouq as gq
from geouq import metrics
from geouq.arrays.points import summarize_arrays
from geouq.config import BinScheme, Groups
from geouq.metrics import MetricOptions, bin_edges, evaluate_metrics, metrics_of
from geouq.runs.exact_bins import split_keys
from geouq.summary import TailPixels
from geouq.summary.form import GAUSSIAN
from geouq.summary.variance_profile import key_of

SCHEMES = ("equal-width", "equal-count", "log-width")
BINNED = {metric.name: metric.function for metric in metrics_of(GAUSSIAN) if metric.choice == "bins"}


@pytest.fixture(scope="module")
def three():
    """The three forecasts of uncertainty-toolbox's fixture."""
    mean, std, truth = np.array([[1.0, 2, 3]]), np.array([[0.1, 0.5, 1]]), np.array([[1.5, 3, 2]])
    return summarize_arrays(mean, std**2, truth, (0.5, 0.9)).whole


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("sharpness_rms", None, 0.648074069840786),
        ("nll", None, 4.920361108686675),
        ("crps", None, 0.5908061069360411),
        ("interval_score", 0.9, 5.1750960276),
        ("interval_score", 0.5, 2.6138775998),
        ("zms", None, 10),
        ("rce", None, -0.33630621),
        ("cv", None, 0.84548433),
    ],
)
def test_values_from_outside(name, level, expected, three):
    function = getattr(metrics, name)

    value = function(three) if level is None else function(three, level)

    assert value == pytest.approx(expected, rel=2e-8)


@pytest.mark.parametrize(
    ("kind", "coverage", "width", "nll", "score"),
    [("constant", 0.89, 0.9594, 0.1916, 1.325428), ("adaptive", 0.895, 0.8225, -0.3006, 0.983100)],
)
def test_the_demo_of_interval_regression(interval_demo, kind, coverage, width, nll, score):
    mean, std, truth = interval_demo[kind]

    summary = summarize_arrays(mean, std**2, truth, (0.9,)).whole

    assert metrics.coverage(summary, 0.9) == pytest.approx(coverage, abs=5e-5)
    assert metrics.width(summary, 0.9) == pytest.approx(width, abs=5e-5)
    assert metrics.rmse(summary) == pytest.approx(0.2931, abs=5e-5)
    assert metrics.nll(summary) == pytest.approx(nll, abs=5e-5)
    assert metrics.interval_score(summary, 0.9) == pytest.approx(score, abs=2e-5)


def test_scores_equal_a_second_implementation():
    arrays = heteroscedastic((70, 80), seed=8)
    mean, variance, truth = valid(*arrays)
    summary = summarize_arrays(*arrays).whole

    assert metrics.crps(summary) == pytest.approx(
        scoringrules.crps_normal(truth, mean, np.sqrt(variance)).mean(), rel=1e-8
    )
    assert metrics.nll(summary) == pytest.approx(
        scoringrules.logs_normal(truth, mean, np.sqrt(variance)).mean(), rel=1e-12
    )


@pytest.mark.parametrize("count", [2, 10, 25])
@pytest.mark.parametrize("name", BINNED)
def test_equal_width_bins_are_exact_in_one_sweep(name, count):
    arrays = heteroscedastic((120, 120), seed=9)
    summary = summarize_arrays(*arrays, tail=25).whole
    scheme = BinScheme(scheme="equal-width", count=count)

    assert metrics.binned(summary, scheme).exact
    expected = binned_metrics(*valid(*arrays), "equal-width", count)[name]
    assert BINNED[name](summary, scheme) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_other_bins_are_placed_on_the_profile(scheme):
    """UCE errs by less than 1e-4 of the mean variance, and ENCE by less than 1e-3 where bins are nearly empty."""
    arrays = heteroscedastic((600, 600), seed=10)
    summary = summarize_arrays(*arrays).whole
    expected = binned_metrics(*valid(*arrays), scheme, 10)
    wanted = BinScheme(scheme=scheme, count=10)

    assert not metrics.binned(summary, wanted).exact
    assert metrics.uce(summary, wanted) == pytest.approx(expected["uce"], abs=1e-4 * metrics.sharpness(summary))
    assert metrics.ence(summary, wanted) == pytest.approx(expected["ence"], abs=1e-3)


@pytest.mark.usefixtures("tail_alone")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["continuous", "few values", "one value", "mixed signs"])
def test_kept_keys_make_every_binning_exact(scheme, kind):
    mean, variance, truth = heteroscedastic((90, 100), seed=11, inflate=1.3)
    if kind == "few values":
        variance = np.round(variance).clip(1, 5).astype(np.float32)
    elif kind == "one value":
        variance = np.full_like(variance, 0.7)
    elif kind == "mixed signs":
        variance = np.where(np.arange(100) % 3 == 0, variance * 3, variance / 2).astype(np.float32)
    wanted = BinScheme(scheme=scheme, count=10)
    summary = summarize_arrays(mean, variance, truth, tail=0).whole
    profile = with_pixels(
        summary.variance, split_keys(summary.variance, MetricOptions((), (wanted,))), mean, variance, truth
    )
    exact = summary.having(variance=profile)

    clean = valid(mean, variance, truth)
    np.testing.assert_allclose(bin_edges(profile, wanted), edges(clean[1], scheme, 10), rtol=1e-14)
    assert metrics.binned(exact, wanted).exact
    expected = binned_metrics(*clean, scheme, 10)
    for name, function in BINNED.items():
        assert function(exact, wanted) == pytest.approx(expected[name], rel=1e-8, abs=1e-12), name


def with_pixels(profile, keys, mean, variance, truth):
    """The profile with all pixels of some keys kept."""
    clean_mean, clean_variance, clean_truth = valid(mean, variance, truth)
    chosen = np.isin(key_of(clean_variance, profile.shift), list(keys))
    squared = (clean_mean - clean_truth) ** 2
    kept = TailPixels.ordered(0, np.array(sorted(keys), np.int64), np.stack([clean_variance, squared], axis=1)[chosen])
    return type(profile)(profile.shift, profile.keys, profile.sums, profile.lowest, profile.highest, kept)


def test_ties_stay_together():
    """With five distinct variances no bin holds part of the pixels of one of them."""
    rng = np.random.default_rng(12)
    variance = rng.choice([1.0, 2, 3, 4, 5], (60, 60), p=[0.5, 0.2, 0.1, 0.1, 0.1]).astype(np.float32)
    truth = np.sqrt(variance) * rng.standard_normal(variance.shape)
    summary = summarize_arrays(np.zeros_like(variance), variance, truth, tail=0).whole

    per_bin = metrics.binned(summary, BinScheme(scheme="equal-count", count=10))

    clean = valid(np.zeros_like(variance), variance, truth)
    assert per_bin.n[per_bin.n > 0].tolist() == bins(*clean, edges(clean[1], "equal-count", 10))[0].tolist()


def test_explicit_edges_leave_out_what_lies_beyond():
    variance = np.array([[0.5, 1.0, 1.5, 2.0, 3.0, 9.0]])
    summary = summarize_arrays(np.ones((1, 6)), variance, np.zeros((1, 6))).whole

    per_bin = metrics.binned(summary, BinScheme(edges=(1.0, 2.0, 3.0)))

    assert per_bin.n.tolist() == [2, 2]
    np.testing.assert_allclose(per_bin.mean_variance, [1.25, 2.5])


def test_binning_keeps_leading_dimensions():
    """One call gives the numbers of every cell, the same as cell by cell."""
    cells = summarize_arrays(*heteroscedastic((100, 100), seed=13), cell_size=32).cells.summary()

    together = metrics.ence(cells)

    single = cells.variance
    for i in (0, 5, 15):
        row = type(single)(single.shift, single.keys, single.sums[i], single.lowest[i], single.highest[i])
        alone = cells.having(variance=row)
        assert metrics.ence(alone) == together[i]


def test_a_calibrated_forecast_scores_as_calibrated():
    """Constant std, 250 000 independent pixels: the closed forms, within sampling error."""
    rng = np.random.default_rng(14)
    shape, s = (500, 500), 2.0
    truth = s * rng.standard_normal(shape)
    variance = np.full(shape, s * s) * rng.uniform(1 - 1e-3, 1 + 1e-3, shape)
    summary = summarize_arrays(np.zeros(shape), variance, truth).whole
    one = 1 / np.sqrt(truth.size)

    assert metrics.crps(summary) == pytest.approx(s / np.sqrt(np.pi), rel=4 * one)
    assert metrics.nll(summary) == pytest.approx(0.5 * np.log(2 * np.pi * np.e * s * s), abs=4 * one)
    assert metrics.zms(summary) == pytest.approx(1, abs=4 * np.sqrt(2) * one)
    assert metrics.coverage(summary, 0.9) == pytest.approx(0.9, abs=4 * 0.3 * one)
    half = 1.6448536269514722
    expected = 4 * s * np.exp(-half * half / 2) / np.sqrt(2 * np.pi) / 0.1
    assert metrics.interval_score(summary, 0.9) == pytest.approx(expected, rel=0.01)
    assert metrics.ence_null(summary) == pytest.approx(np.sqrt(10 / (truth.size * np.pi)), rel=1e-5)
    assert metrics.ence(summary) == pytest.approx(float(metrics.ence_null(summary)), rel=0.8)


@pytest.mark.parametrize(
    ("fault", "rises", "falls"),
    [
        (
            {"bias": 1.0},
            (
                *("bias", "rmse", "zms", "crps", "nll", "coverage_below_90"),
                *("mace", "rmsce", "calibration_error", "rmscd_90 truth"),
            ),
            ("coverage_90", "pit_mean", "lowest_group_coverage_90 variance"),
        ),
        (
            {"inflate": 4.0},
            (
                *("sharpness", "coverage_90", "rce", "nll", "crps", "uce"),
                *("mace_interval", "miscalibration_area", "rmscd_90 variance"),
            ),
            ("zms", "z_std", "pit_std", "rmscd_under_90 truth"),
        ),
        (
            {"inflate": 0.25},
            (
                *("zms", "z_std", "nll", "crps", "ence", "pit_std"),
                *("miscalibration_area_interval", "calibration_error_interval", "rmscd_under_90 variance"),
            ),
            ("coverage_90", "sharpness", "rce", "lowest_group_coverage_90 truth"),
        ),
    ],
    ids=["biased", "under-confident", "over-confident"],
)
def test_a_fault_moves_each_number_as_documented(fault, rises, falls):
    def measured(**fault):
        summary = summarize_arrays(*heteroscedastic((200, 200), seed=15, **fault)).whole
        groups = Groups(by=("truth", "variance"))
        wanted = MetricOptions((0.9,), (BinScheme(scheme="equal-count", count=10),), groups=groups)
        found = evaluate_metrics(summary, wanted)
        return {f"{value.name} {value.group}".strip(): float(value.value) for value in found}

    right, wrong = measured(), measured(**fault)

    assert all(wrong[name] > right[name] for name in rises)
    assert all(wrong[name] < right[name] for name in falls)


def test_the_four_numbers_of_the_notebook():
    """As the text of the forest-structure notebook defines them, on data without empty bins."""
    rng = np.random.default_rng(16)
    variance = rng.uniform(1, 11, (80, 80))
    mean = rng.standard_normal((80, 80))
    truth = mean + np.sqrt(variance) * 1.2 * rng.standard_normal((80, 80))
    v, e = variance.ravel(), (mean - truth).ravel()
    borders = v.min() + (v.max() - v.min()) * np.arange(11) / 10
    index = np.clip(np.searchsorted(borders, v, side="right") - 1, 0, 9)
    uv = np.array([v[index == k].mean() for k in range(10)])
    mse = np.array([np.mean(e[index == k] ** 2) for k in range(10)])
    share = np.bincount(index) / len(v)
    uce = np.sum(share * np.abs(uv - mse))
    terms = np.abs(np.sqrt(uv) - np.sqrt(mse)) / np.sqrt(uv)

    summary = summarize_arrays(mean, variance, truth).whole
    scheme = BinScheme(scheme="equal-width", count=10)

    assert metrics.uce(summary, scheme) == pytest.approx(uce, rel=1e-12)
    assert metrics.ence(summary, scheme) == pytest.approx(terms.mean(), rel=1e-12)
    assert metrics.uce_normalized(summary, scheme) == pytest.approx(uce / np.abs(uv - mse).max(), rel=1e-12)
    assert metrics.ence_normalized(summary, scheme) == pytest.approx(terms.mean() / terms.max(), rel=1e-12)


def test_every_metric_explains_itself():
    for metric in metrics_of(GAUSSIAN):
        assert metric.claim.endswith((".", ";")), metric.name
        assert metric.symbol
        assert metric.ideal
        assert metric.above
        assert metric.source
    assert len({metric.name for metric in metrics_of(GAUSSIAN)}) == len(metrics_of(GAUSSIAN))


@pytest.mark.parametrize(("mean", "std"), [(120.0, 14.0), (230.0, 13.0)])
def test_a_crps_that_rounding_leaves_without_a_positive_digit_is_missing(mean, std):
    """The map is not in logarithms, so that the std is larger than the mean by more digits than a float has."""
    assert np.isnan(gq.crps(gq.summarize([mean], std=[std], truth=[mean], transform="log")))
