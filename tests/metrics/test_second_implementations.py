"""The numbers against other packages that compute them, on forecasts good and bad; where one is missing, it is skipped.

Of each package the part is used that agrees with the definition here; where its convention differs, the test says how.
"""

import numpy as np
import pytest
import scoringrules
from restatement import valid
from scipy import stats

from geouq import metrics
from geouq.arrays.points import summarize_arrays

LEVELS = (0.5, 0.6827, 0.9, 0.95)
HUNDREDTHS = tuple(k / 100 for k in range(1, 100))
KINDS = ("calibrated", "skewed", "over-confident", "biased", "heavy tails", "nearly certain")
# CRPS errs by at most 5e-9 of the std at any pixel
CRPS = 5e-9


def drawn(kind, dtype):
    """A forecast of one kind, with pixels missing: mean, variance and truth (60, 70)."""
    rng = np.random.default_rng(KINDS.index(kind))
    shape = (60, 70)
    variance = rng.lognormal(0, {"skewed": 2.5, "nearly certain": 0.1}.get(kind, 0.6), shape)
    mean = rng.normal(20, 5, shape)
    noise = rng.standard_t(3, shape) if kind == "heavy tails" else rng.standard_normal(shape)
    truth = mean + np.sqrt(variance) * noise + (1.5 if kind == "biased" else 0)
    variance *= {"over-confident": 0.1, "nearly certain": 1e-4}.get(kind, 1)
    truth[rng.random(shape) < 0.1] = np.nan
    return tuple(layer.astype(dtype) for layer in (mean, variance, truth))


@pytest.fixture(scope="module", params=[(kind, dtype) for kind in KINDS for dtype in (np.float32, np.float64)], ids=str)
def both(request):
    """A summary, and the mean, std and truth of its pixels as float64."""
    arrays = drawn(*request.param)
    mean, variance, truth = valid(*arrays)
    return summarize_arrays(*arrays, LEVELS).whole, mean, np.sqrt(variance), truth


def ends(mean, std, level):
    """Ends of the central interval."""
    return stats.norm.interval(level, mean, std)


def test_scoringrules_gives_the_same_scores(both):
    summary, mean, std, truth = both

    expected = scoringrules.crps_normal(truth, mean, std).mean()
    assert metrics.crps(summary) == pytest.approx(expected, rel=1e-12, abs=CRPS * std.mean())
    for level in LEVELS:
        expected = scoringrules.interval_score(truth, *ends(mean, std, level), 1 - level).mean()
        assert metrics.interval_score(summary, level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"nearly certain"}))
def test_scoringrules_gives_the_same_log_score(kind):
    """Up to 37 std from the mean, where its density is 0."""
    arrays = drawn(kind, np.float32)
    mean, variance, truth = valid(*arrays)

    found = metrics.nll(summarize_arrays(*arrays).whole)

    assert found == pytest.approx(scoringrules.logs_normal(truth, mean, np.sqrt(variance)).mean(), rel=1e-12)


def test_properscoring_gives_the_same_crps(both):
    properscoring = pytest.importorskip("properscoring", reason="a second CRPS needs properscoring")
    summary, mean, std, truth = both

    expected = properscoring.crps_gaussian(truth, mean, std).mean()

    assert metrics.crps(summary) == pytest.approx(expected, rel=1e-12, abs=CRPS * std.mean())


@pytest.mark.parametrize("level", LEVELS)
def test_scores_gives_the_same_interval_score_part_by_part(level, both):
    """Its penalty of over-prediction is that of truth below the interval."""
    scores = pytest.importorskip("scores.continuous", reason="a second interval score needs the package scores")
    xarray = pytest.importorskip("xarray")
    summary, mean, std, truth = both
    lower, upper, observed = (xarray.DataArray(a, dims="pixel") for a in (*ends(mean, std, level), truth))

    theirs = scores.interval_score(lower, upper, observed, level)
    one_by_one = scores.interval_score(lower, upper, observed, level, preserve_dims="all")
    below, above = (float((one_by_one[f"{side}prediction_penalty"] > 0).mean()) for side in ("over", "under"))

    assert metrics.interval_score(summary, level) == pytest.approx(float(theirs.total), rel=1e-12)
    assert metrics.width(summary, level) == pytest.approx(float(theirs.interval_width_penalty), rel=1e-12)
    assert metrics.coverage_below(summary, level) == below
    assert metrics.coverage_above(summary, level) == above
    assert metrics.coverage(summary, level) == pytest.approx(1 - below - above, rel=1e-14)


def test_scores_gives_the_same_accuracy(both):
    """Its Nash-Sutcliffe efficiency is R2 here, and its percentage of bias 100 nbias."""
    scores = pytest.importorskip("scores.continuous", reason="a second bias needs the package scores")
    xarray = pytest.importorskip("xarray")
    summary, mean, _, truth = both
    forecast, observed = (xarray.DataArray(a, dims="pixel") for a in (mean, truth))

    for found, theirs in (
        (metrics.bias(summary), scores.additive_bias),
        (metrics.mae(summary), scores.mae),
        (metrics.rmse(summary), scores.rmse),
        (metrics.r2(summary), scores.nse),
        (100 * metrics.nbias(summary), scores.pbias),
    ):
        assert found == pytest.approx(float(theirs(forecast, observed)), rel=1e-11), theirs.__name__


def test_scikit_learn_gives_the_same_accuracy(both):
    sklearn = pytest.importorskip("sklearn.metrics", reason="a second R2 needs scikit-learn")
    summary, mean, _, truth = both

    assert metrics.mae(summary) == pytest.approx(sklearn.mean_absolute_error(truth, mean), rel=1e-12)
    assert metrics.rmse(summary) == pytest.approx(sklearn.root_mean_squared_error(truth, mean), rel=1e-12)
    assert metrics.r2(summary) == pytest.approx(sklearn.r2_score(truth, mean), rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_score_is_that_of_two_pinball_losses(level, both):
    """Twice the pinball losses of both ends over 1 - level; Gneiting and Raftery 2007."""
    sklearn = pytest.importorskip("sklearn.metrics", reason="a pinball loss needs scikit-learn")
    summary, mean, std, truth = both
    tails = (1 - level) / 2, (1 + level) / 2

    losses = (
        sklearn.mean_pinball_loss(truth, end, alpha=tail)
        for end, tail in zip(ends(mean, std, level), tails, strict=True)
    )

    assert metrics.interval_score(summary, level) == pytest.approx(2 / (1 - level) * sum(losses), rel=1e-11)


def test_scipy_gives_the_same_spread_and_correlation(both):
    summary, mean, std, truth = both
    z = (truth - mean) / std

    assert metrics.cv(summary) == pytest.approx(stats.variation(std, ddof=1), rel=1e-11)
    assert metrics.z_std(summary) == pytest.approx(stats.tstd(z) * np.sqrt(1 - 1 / len(z)), rel=1e-11)
    correlation = stats.pearsonr(np.abs(mean - truth), std).statistic
    assert metrics.error_width_corr(summary) == pytest.approx(correlation, rel=1e-10, abs=1e-12)


def test_uncertainty_toolbox_gives_the_same_scores(both):
    """Its sharpness is the root of the mean variance: sharpness_rms here."""
    toolbox = pytest.importorskip("uncertainty_toolbox", reason="needs uncertainty-toolbox")
    summary, mean, std, truth = both

    crps = toolbox.crps_gaussian(mean, std, truth)
    assert metrics.crps(summary) == pytest.approx(crps, rel=1e-12, abs=CRPS * std.mean())
    assert metrics.nll(summary) == pytest.approx(toolbox.nll_gaussian(mean, std, truth), rel=1e-12)
    assert metrics.sharpness_rms(summary) == pytest.approx(toolbox.sharpness(std), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_uncertainty_toolbox_averages_the_interval_scores_of_99_levels(kind):
    toolbox = pytest.importorskip("uncertainty_toolbox", reason="needs uncertainty-toolbox")
    arrays = drawn(kind, np.float32)
    mean, variance, truth = valid(*arrays)
    summary = summarize_arrays(*arrays, HUNDREDTHS).whole

    found = np.mean([metrics.interval_score(summary, level) for level in HUNDREDTHS])

    assert found == pytest.approx(toolbox.interval_score(mean, np.sqrt(variance), truth), rel=1e-11)


@pytest.mark.parametrize("kind", ["interval", "quantile"])
def test_uncertainty_toolbox_gives_the_same_calibration_errors(kind, both):
    """Its means hold the levels 0 and 1, which add nothing; its quantiles are of mean - truth: both change places."""
    toolbox = pytest.importorskip("uncertainty_toolbox", reason="needs uncertainty-toolbox")
    summary, mean, std, truth = both
    suffix, pair = ("_interval", (mean, truth)) if kind == "interval" else ("", (truth, mean))
    given = {"num_bins": 101, "vectorized": True, "prop_type": kind}

    mace = toolbox.mean_absolute_calibration_error(pair[0], std, pair[1], **given)
    rmsce = toolbox.root_mean_squared_calibration_error(pair[0], std, pair[1], **given)
    area = toolbox.miscalibration_area(pair[0], std, pair[1], **given)

    assert getattr(metrics, f"mace{suffix}")(summary, HUNDREDTHS) * 99 / 101 == pytest.approx(mace, rel=1e-10)
    rms = getattr(metrics, f"rmsce{suffix}")(summary, HUNDREDTHS)
    assert rms * np.sqrt(99 / 101) == pytest.approx(rmsce, rel=1e-10)
    assert getattr(metrics, f"miscalibration_area{suffix}")(summary, HUNDREDTHS) == pytest.approx(area, rel=1e-10)
