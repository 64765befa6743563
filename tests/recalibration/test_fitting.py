"""Each method repairs the fault that it is for, to stated tolerances, and leaves a calibrated forecast alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geouq
from geouq.core.errors import SummaryError
from geouq.core.gaussian import half_width
from geouq.core.overflow import overflow_is_missing
from geouq.recalibration.corrections import corrected_moments
from geouq.recalibration.fitting import FITTED, fit, pooled

METHODS = [name for name in FITTED if name != "none"]
N = 100_000
LEVELS = (0.5, 0.8, 0.9, 0.95)


def calibrated(seed=0, n=N):
    """Mean, variance and truth of a calibrated forecast with log-normal variances."""
    rng = np.random.default_rng(seed)
    variance, mean = np.exp(rng.normal(0, 1, n)), rng.normal(10, 3, n)
    return mean, variance, mean + np.sqrt(variance) * rng.standard_normal(n)


def fitted(method, mean, variance, truth):
    return fit(method, geouq.summarize(mean, variance, truth, levels=LEVELS))


def after(correction, mean, variance, truth):
    return geouq.summarize(*correction.moments(mean, variance), truth, levels=LEVELS)


@pytest.mark.parametrize("method", METHODS)
def test_a_calibrated_forecast_is_left_alone(method):
    mean, variance, truth = calibrated()

    new_mean, new_variance = fitted(method, mean, variance, truth).moments(mean, variance)

    # conformal intervals are rounded up to the next edge of the histogram, 1 % of the pixels
    std, tolerance = np.sqrt(variance), 0.04 if method == "conformal" else 0.02
    usual = (variance > np.quantile(variance, 0.01)) & (variance < np.quantile(variance, 0.99))
    assert np.abs(np.sqrt(new_variance) / std - 1)[usual].max() < (0.06 if method == "isotonic_variance" else tolerance)
    assert np.abs(np.sqrt(new_variance) / std - 1).mean() < tolerance
    assert np.abs((new_mean - mean) / std)[usual].max() < 0.03


@pytest.mark.parametrize("factor", [0.25, 3.0])
@pytest.mark.parametrize("method", ["scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal"])
def test_every_method_repairs_a_variance_that_is_off_by_a_factor(method, factor):
    mean, variance, truth = calibrated(1)

    correction = fitted(method, mean, factor * variance, truth)
    found = after(correction, mean, factor * variance, truth)

    if method == "scale":
        assert correction.factor == pytest.approx(1 / factor, rel=0.01)
    assert float(geouq.zms(found)) == pytest.approx(1, abs=0.06 if method == "conformal" else 0.02)
    assert float(geouq.crps(found)) == pytest.approx(float(geouq.crps(mean, variance, truth)), rel=1e-3)


@pytest.mark.parametrize("bias", [-2.0, 2.0])
def test_scale_bias_takes_away_a_bias(bias):
    mean, variance, truth = calibrated(2)

    correction = fitted("scale_bias", mean + bias, 2 * variance, truth)

    assert correction.bias == pytest.approx(bias, abs=0.02)
    assert correction.factor == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(("slope", "noise"), [(1.0, 2.0), (2.0, 0.5), (0.5, 0.0)])
def test_affine_finds_noise_that_the_variance_leaves_out(slope, noise):
    mean, variance, _ = calibrated(3)
    rng = np.random.default_rng(4)
    truth = mean + np.sqrt(slope * variance + noise) * rng.standard_normal(N)

    correction = fitted("affine", mean, variance, truth)

    assert correction.slope == pytest.approx(slope, abs=0.04)
    assert correction.intercept == pytest.approx(noise, abs=0.05)


def test_affine_has_the_smallest_nll_of_all_lines():
    optimize = pytest.importorskip("scipy.optimize")
    mean, variance, _ = calibrated(5)
    truth = mean + (0.3 + variance**0.7) * np.random.default_rng(105).standard_t(4, N)

    found = fitted("affine", mean, variance, truth)
    error = np.square(truth - mean)

    def nll(line):
        return np.mean(np.log(line[0] * variance + line[1]) + error / (line[0] * variance + line[1]))

    best = optimize.minimize(nll, (1, 1), bounds=[(1e-9, None)] * 2, tol=1e-12)
    assert nll((found.slope, found.intercept)) == pytest.approx(best.fun, abs=1e-5)


def test_isotonic_variance_finds_an_observed_variance_that_is_no_line():
    mean, variance, _ = calibrated(6)
    observed = np.where(variance < 1, 1.0, variance**1.5)
    truth = mean + np.sqrt(observed) * np.random.default_rng(106).standard_normal(N)

    correction = fitted("isotonic_variance", mean, variance, truth)

    usual = (variance > np.quantile(variance, 0.01)) & (variance < np.quantile(variance, 0.99))
    ratio = correction.moments(mean, variance)[1] / observed
    assert np.abs(np.log(ratio[usual])).mean() < 0.04
    assert (np.diff(correction.errors) >= 0).all()


@pytest.mark.parametrize("bias", [-3.0, -1.0, 1.0, 3.0])
def test_isotonic_brings_the_median_of_a_biased_forecast_to_half(bias):
    mean, variance, truth = calibrated(7)
    shifted = mean + bias * np.sqrt(variance)
    before = np.mean(truth <= shifted)

    correction = fitted("isotonic", shifted, variance, truth)

    fresh = [array[: N // 2] for array in calibrated(8)]
    median = correction.quantile(0.5, fresh[0] + bias * np.sqrt(fresh[1]), fresh[1])
    assert abs(before - 0.5) > 0.3
    assert np.mean(fresh[2] <= median) == pytest.approx(0.5, abs=0.01)


def test_isotonic_repairs_a_skewed_pit():
    mean, variance, _ = calibrated(9)
    rng = np.random.default_rng(109)
    skewed, fresh = (mean + np.sqrt(variance) * (0.6 * rng.gamma(2.0, 1.0, N) - 0.5) for _ in range(2))

    correction = fitted("isotonic", mean, variance, skewed)

    for p in (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975):
        # beyond the last knot, where 3 % of these lie, the tail goes on like that of a normal
        tolerance = 0.02 if p > 0.97 else 0.006
        assert np.mean(fresh <= correction.quantile(p, mean, variance)) == pytest.approx(p, abs=tolerance), p
    score = correction.scores_of((fresh - mean) / np.sqrt(variance))
    np.testing.assert_array_equal(score <= 0, fresh <= correction.quantile(0.5, mean, variance))


def test_isotonic_is_that_of_scikit_learn_on_raw_pit_values_within_a_bin_of_the_histogram():
    isotonic = pytest.importorskip("sklearn.isotonic")
    special = pytest.importorskip("scipy.special")
    mean, variance, truth = calibrated(10, 20_000)
    truth += 0.7 * np.sqrt(variance)
    z = (truth - mean) / np.sqrt(variance)
    pit = special.ndtr(z)
    share = np.searchsorted(np.sort(pit), pit, side="right") / len(pit)
    reference = isotonic.IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(pit, share)

    correction = fitted("isotonic", mean, variance, truth)

    # within the knots: between two edges of the histogram R rises by at most the share of one bin
    asked = np.linspace(special.ndtr(correction.z[0]), special.ndtr(correction.z[-1]), 5000)
    ours = special.ndtr(correction.scores_of(special.ndtri(asked)))
    counts = np.histogram(pit, np.arange(201) / 200)[0] / len(pit)
    gaps = np.abs(ours - reference.predict(asked))
    places = np.minimum((asked * 200).astype(int), 199)
    assert (gaps <= counts[places] + 1e-9).all()
    knots = special.ndtr(np.array(correction.z))
    np.testing.assert_allclose(special.ndtr(correction.scores), reference.predict(knots), atol=2 / len(pit))


def test_conformal_reaches_its_coverage_over_200_repetitions():
    rng, n, repetitions = np.random.default_rng(11), 199, 200
    covered, checked = np.zeros((repetitions, len(LEVELS))), np.zeros((repetitions, len(LEVELS)), bool)
    for i in range(repetitions):
        error = 0.8 * rng.standard_t(5, (2, n)) / np.sqrt(5 / 3)
        correction = fitted("conformal", np.zeros(n), np.ones(n), error[0])
        half = np.array([correction.multiple(level) for level in LEVELS])
        covered[i], checked[i] = (np.abs(error[1])[:, None] <= half).mean(0), correction.guaranteed
    noise = covered.std(0) / np.sqrt(repetitions)

    assert checked.all()
    # at least the level; and no more than by 1 / (n + 1) and the pixels between two edges of the histogram
    assert (covered.mean(0) >= np.array(LEVELS) - 2 * noise).all()
    assert (covered.mean(0) <= np.array(LEVELS) + 1 / (n + 1) + 0.015 + 3 * noise).all()


def test_conformal_multiples_hold_the_ranked_score_exactly():
    mean, variance, truth = calibrated(12, 5000)
    score = np.sort(np.abs(truth - mean) / np.sqrt(variance))

    correction = fitted("conformal", mean, variance, truth)

    for level in LEVELS:
        needed = score[int(np.ceil(5001 * level)) - 1]
        assert needed <= correction.multiple(level) <= needed * 1.05
        inside = np.abs(truth - mean) <= correction.quantile((1 + level) / 2, mean, variance) - mean
        assert inside.mean() >= level
    assert correction.moments(mean, variance)[1] == pytest.approx(
        variance * (correction.multiple(0.9) / half_width(0.9)) ** 2
    )
    with pytest.raises(SummaryError, match=r"levels 0.5, 0.8, 0.9, 0.95, not for 0.7"):
        correction.multiple(0.7)


def test_conformal_tells_what_it_cannot_guarantee():
    mean, variance, truth = calibrated(13)

    correction = fitted("conformal", mean, variance / 9, truth)

    assert correction.guaranteed == (True, False, False, False)
    for level in LEVELS:
        assert correction.multiple(level) == pytest.approx(3 * half_width(level), rel=0.04)


def test_few_pixels_are_refused_by_conformal():
    with pytest.raises(SummaryError, match="needs more than 9 pixels"):
        fitted("conformal", *calibrated(0, 9))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("truth", "message"), [(np.nan, "there is no valid pixel"), (1.0, "is the same everywhere")])
def test_where_nothing_can_be_fitted_that_is_told(method, truth, message):
    with pytest.raises(SummaryError, match=message):
        fitted(method, np.ones(50), np.ones(50), np.full(50, truth))


OVERFLOWING = [("weights", method) for method in METHODS] + [("truth", method) for method in METHODS[:-1]]


@pytest.mark.parametrize(("layer", "method"), OVERFLOWING)
def test_numbers_that_overflow_refuse_a_method(layer, method):  # conformal only counts errors, of any size
    mean, variance, truth = calibrated(3, 2000)
    weights = np.ones(2000)
    if layer == "truth":
        truth[::2] = 1e200
    else:
        weights[:2] = 1e308

    with overflow_is_missing():
        summary = geouq.summarize(mean, variance, truth, weights=weights, levels=LEVELS)
        with pytest.raises(SummaryError, match="cannot be fitted: a number that it needs exceeds the largest float"):
            fit(method, summary)


@settings(deadline=None)  # the first example compiles
@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1), st.integers(30, 400), st.floats(-3, 3), st.floats(0.05, 20))
def test_of_two_variances_the_larger_stays_the_larger(method, seed, n, bias, factor):
    mean, variance, truth = calibrated(seed, n)
    correction = fitted(method, mean + bias, factor * variance, truth)

    asked = np.geomspace(1e-6, 1e6, 500)
    _, found = corrected_moments(correction, np.zeros(500), asked)

    assert (found > 0).all()
    assert (np.diff(found) >= 0).all()
    quantiles = [float(correction.quantile(p, np.zeros(1), np.ones(1))[0]) for p in (0.025, 0.1, 0.5, 0.9, 0.975)]
    assert (np.diff(quantiles) >= 0).all()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), min_size=1, max_size=30))
def test_pooling_is_isotonic_regression(pairs):
    optimize = pytest.importorskip("scipy.optimize")
    values, weights = np.array(pairs, float).T

    found = np.empty_like(values)
    for block in pooled(values, weights):
        found[block] = np.average(values[block], weights=weights[block])

    np.testing.assert_allclose(found, optimize.isotonic_regression(values, weights=weights).x, atol=1e-9)
