"""Scores of distributions other than the normal one, against scipy and scoringrules."""

import numpy as np
import pytest
import scoringrules
from scipy import integrate, stats

import geouq
from geouq.arrays.arguments import as_distribution
from geouq.core.distribution import Distribution, real_moments
from geouq.kernel.distributions import pixel_ends, pixel_scores, scoring_of

LEVELS = (0.5, 0.8, 0.9, 0.99)
N = 4000
RNG = np.random.default_rng(3)


def lognormal(rng, n=N):
    mean = rng.gamma(2, 20, n)
    share = np.exp(rng.uniform(np.log(0.01), np.log(3), n))
    square = np.log1p(share**2)
    place, scale = np.log(mean) - square / 2, np.sqrt(square)
    law = stats.lognorm(scale, scale=np.exp(place))
    return (mean, (share * mean) ** 2), law, lambda y: scoringrules.crps_lognormal(y, place, scale)


def truncated_normal(rng, n=N):
    std = rng.gamma(2, 5, n)
    mean = rng.uniform(-2.5, 12, n) * std
    law = stats.truncnorm(-mean / std, np.inf, loc=mean, scale=std)
    return (mean, std**2), law, lambda y: scoringrules.crps_tnormal(y, mean, std, lower=0.0)


def log1p(rng, n=N):
    mean, std = rng.normal(1, 1, n), rng.uniform(0.05, 1.2, n)
    law = stats.lognorm(std, loc=-1, scale=np.exp(mean))
    return (mean, std**2), law, lambda y: scoringrules.crps_lognormal(y + 1, mean, std)


def log(rng, n=N):
    mean, std = rng.normal(1, 1, n), rng.uniform(0.05, 1.2, n)
    law = stats.lognorm(std, scale=np.exp(mean))
    return (mean, std**2), law, lambda y: scoringrules.crps_lognormal(y, mean, std)


def sqrt(rng, n=N):
    std = rng.gamma(2, 1, n)
    mean = rng.uniform(-1, 8, n) * std
    return (mean, std**2), stats.ncx2(1, (mean / std) ** 2, scale=std**2), None


def gamma(rng, n=N):
    mean = rng.gamma(2, 20, n)
    share = np.exp(rng.uniform(np.log(0.01), np.log(3), n))
    shape, scale = share**-2, mean * share**2
    law = stats.gamma(shape, scale=scale)
    return (mean, (share * mean) ** 2), law, lambda y: scoringrules.crps_gamma(y, shape, 1 / scale)


def student_t(degrees):
    def of(rng, n=N):
        mean, std = rng.normal(0, 20, n), rng.gamma(2, 2, n)
        scale = std * np.sqrt((degrees - 2) / degrees)
        law = stats.t(degrees, loc=mean, scale=scale)
        return (mean, std**2), law, lambda y: scoringrules.crps_t(y, degrees, mean, scale)

    return of


LAWS = {
    "gamma": (gamma, {"distribution": "gamma"}),
    "student_t 2.5": (student_t(2.5), {"distribution": "student_t", "degrees": 2.5}),
    "student_t 5": (student_t(5.0), {"distribution": "student_t", "degrees": 5}),
    "student_t 200": (student_t(200.0), {"distribution": "student_t", "degrees": 200}),
    "lognormal": (lognormal, {"distribution": "lognormal"}),
    "truncated_normal": (truncated_normal, {"distribution": "truncated_normal"}),
    "log": (log, {"transform": "log"}),
    "log1p": (log1p, {"transform": "log1p"}),
    "sqrt": (sqrt, {"transform": "sqrt"}),
}


@pytest.fixture(params=LAWS)
def case(request):
    """Stored moments, truths, the law of each pixel and its CRPS, and the arguments that name the distribution."""
    make, named = LAWS[request.param]
    stored, law, crps = make(np.random.default_rng(5))
    return stored, law.rvs(random_state=7), law, crps, named


def moments_of(stored, named):
    return real_moments(as_distribution(**{"distribution": "normal"} | named), *stored)


def test_mean_and_variance_are_those_of_the_distribution(case):
    stored, _, law, _, named = case

    mean, variance = moments_of(stored, named)

    np.testing.assert_allclose(mean, law.mean(), rtol=1e-11)
    np.testing.assert_allclose(variance, law.var(), rtol=1e-8)


def test_pit_density_and_crps_are_those_of_the_distribution(case):
    stored, truth, law, crps, named = case
    scoring = scoring_of(as_distribution(**{"distribution": "normal"} | named), LEVELS)
    mean, variance = moments_of(stored, named)

    pit, score, nll = pixel_scores(scoring, mean, variance, truth)

    np.testing.assert_allclose(pit, law.cdf(truth), atol=1e-10)
    np.testing.assert_allclose(nll, -law.logpdf(truth), rtol=1e-9, atol=1e-9)
    if crps is not None:
        np.testing.assert_allclose(score / np.sqrt(variance), crps(truth) / np.sqrt(variance), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("away", [-60, 12, 45, 200])
def test_the_likelihood_of_truths_far_away_is_exact(case, away):
    stored, _, law, _, named = case
    scoring = scoring_of(as_distribution(**{"distribution": "normal"} | named), ())
    mean, variance = moments_of(stored, named)
    truth = mean + away * np.sqrt(variance)
    expected = -law.logpdf(truth)
    known = np.isfinite(expected) & (expected < 1e5)

    nll = pixel_scores(scoring, mean, variance, truth)[2]

    np.testing.assert_allclose(nll[known], expected[known], rtol=1e-8, atol=1e-8)
    assert np.isinf(nll[law.support()[0] > truth]).all()


@pytest.mark.parametrize(("ratio", "is_known"), [(-9.9, True), (-10.1, False)])
def test_a_truncated_normal_of_which_nothing_is_left_has_no_moments(ratio, is_known):
    mean, variance = moments_of((np.array([3 * ratio]), np.array([9.0])), {"distribution": "truncated_normal"})

    assert np.isfinite(mean).tolist() == [is_known]
    if is_known:
        law = stats.truncnorm(-ratio, np.inf, loc=3 * ratio, scale=3)
        pit = pixel_scores(scoring_of(as_distribution("truncated_normal"), ()), mean, variance, np.array([0.2]))[0]
        assert pit == pytest.approx(law.cdf(0.2), abs=1e-9)


def test_crps_of_squares_is_the_integral_that_defines_it():
    mean, std, truth = np.array([0.0, 0.3, 1.0, -2.0, 5.0]), np.array([1.0, 2.0, 1.0, 0.5, 0.4]), np.arange(5.0) ** 2
    moments = moments_of((mean, std**2), {"transform": "sqrt"})
    score = pixel_scores(scoring_of(as_distribution("normal", transform="sqrt"), LEVELS), *moments, truth)[1]

    for m, s, y, found in zip(mean, std, truth, score, strict=True):
        law = stats.ncx2(1, (m / s) ** 2, scale=s**2)
        below = integrate.quad(lambda x, law=law: law.cdf(x) ** 2, 0, y)[0]
        above = integrate.quad(lambda x, law=law: law.sf(x) ** 2, y, np.inf)[0]
        assert found == pytest.approx(below + above, rel=1e-6)


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_ends_of_intervals_are_quantiles(case, level):
    stored, _, law, _, named = case
    scoring = scoring_of(as_distribution(**{"distribution": "normal"} | named), LEVELS)
    mean, variance = moments_of(stored, named)

    low, high = pixel_ends(scoring, level, mean, variance)

    p, std = (1 + LEVELS[level]) / 2, np.sqrt(variance)
    np.testing.assert_allclose((low - mean) / std, (law.ppf(1 - p) - mean) / std, atol=3e-9)
    np.testing.assert_allclose((high - mean) / std, (law.ppf(p) - mean) / std, atol=3e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_summary_has_the_means_over_its_pixels(case, weighted):
    stored, truth, law, _, named = case
    scoring = scoring_of(as_distribution(**{"distribution": "normal"} | named), LEVELS)
    mean, variance = moments_of(stored, named)
    weights = RNG.uniform(0.5, 2, N) if weighted else np.ones(N)
    pit, crps, nll = pixel_scores(scoring, mean, variance, truth)

    found = geouq.summarize(
        stored[0], stored[1], truth, weights=weights if weighted else None, levels=LEVELS, thresholds=[5.0], **named
    )

    def of(values):
        return np.average(values, weights=weights)

    assert found.n == N
    assert geouq.crps(found) == pytest.approx(of(crps), rel=1e-12)
    assert geouq.nll(found) == pytest.approx(of(nll), rel=1e-12)
    assert geouq.pit_mean(found) == pytest.approx(of(pit), rel=1e-12)
    assert geouq.pit_std(found) == pytest.approx(np.sqrt(of((pit - of(pit)) ** 2)), rel=1e-9)
    assert geouq.bias(found) == pytest.approx(of(mean - truth), rel=1e-9, abs=1e-12)
    assert geouq.zms(found) == pytest.approx(of((truth - mean) ** 2 / variance), rel=1e-9)
    brier = of((1 - law.cdf(5.0) - (truth > 5)) ** 2)
    assert geouq.metrics.threshold_brier(found, 5.0) == pytest.approx(brier, rel=1e-9)
    for i, level in enumerate(LEVELS):
        low, high = pixel_ends(scoring, i, mean, variance)
        missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        score = of(high - low + 2 / (1 - level) * missed)
        inside = np.abs(law.cdf(truth) - 0.5) <= level / 2
        assert geouq.coverage(found, level=level) == pytest.approx(of(inside), abs=1e-12)
        assert geouq.width(found, level=level) == pytest.approx(of(high - low), rel=1e-12)
        assert geouq.interval_score(found, level=level) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("relative", [0.01, 0.5, 2.9, 2.92, 5.0, 1e3])
def test_a_log_normal_crps_is_right_on_both_sides_of_the_series_for_narrow_ones(relative):
    mean, truth = 3.0, np.array([0.5, 2.9, 3.0, 40.0])
    scale = np.sqrt(np.log1p(relative**2))
    centre = np.log(mean) - scale**2 / 2
    z = (np.log(truth) - centre) / scale
    expected = truth * (2 * stats.norm.cdf(z) - 1) - 2 * mean * (
        stats.norm.cdf(z - scale) + stats.norm.cdf(scale / np.sqrt(2)) - 1
    )

    scoring, same = scoring_of(Distribution("lognormal"), (0.9,)), np.full(len(truth), mean)
    _, crps, _ = pixel_scores(scoring, same, (relative * same) ** 2, truth)

    np.testing.assert_allclose(crps, expected, rtol=1e-9, atol=1e-12)
    of_all = geouq.crps(geouq.summarize(same, (relative * same) ** 2, truth, distribution="lognormal"))
    assert of_all == pytest.approx(expected.mean(), rel=1e-9)
