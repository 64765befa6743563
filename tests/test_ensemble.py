"""Ensembles against definitions in numpy, closed forms and second implementations."""

from math import comb
from pathlib import Path

import numba
import numpy as np
import pytest
import rasterio
import scoringrules
from scipy import special, stats

import geouq
from geouq import ensemble
from geouq.core.errors import DataError, GeouqError, SummaryError
from geouq.kernel.mixture import LEAST, exp_below_zero, share_beyond
from geouq.metrics.ensemble import joint_loss_of
from geouq.summary.joint_sample import JointSample

SEAS5 = Path(__file__).parents[2] / "shared" / "data" / "seas5_tas"
LEVELS = (0.5, 0.9)


def drawn(members=5, shape=(40, 30), seed=0, *, disagree=1.0):
    """Members, their variances and truth, with a field that all members share."""
    rng = np.random.default_rng(seed)
    field = rng.normal(20, 5, shape)
    values = field + disagree * rng.standard_normal((members, *shape))
    variances = rng.lognormal(0, 0.5, (members, *shape))
    return values, variances, field + 1.5 * rng.standard_normal(shape)


def sample_of(log_density):
    return JointSample(np.arange(len(log_density), dtype=np.uint64), np.asarray(log_density, float))


def restated_joint(one, other, count):
    """By sums of weights and logarithms of one pair; log densities of each member."""
    total = 0.0
    for k in range(count + 1):
        joint = special.logsumexp(k * one + (count - k) * other) - np.log(len(one))
        total -= comb(count, k) / 2**count * joint
    return total


def test_the_joint_log_loss_of_two_categorical_members():
    both = np.log([[0.8, 0.4], [0.3, 0.9]])  # pixels, members

    for count, expected in ((1, 0.5108256238), (2, 1.0306860092), (10, 5.2361771147)):
        assert joint_loss_of(sample_of(both), count) == pytest.approx(expected, abs=1e-9)


def test_the_joint_log_loss_of_two_normal_members():
    mean, std, truth = [[0, 1], [0.5, 0.2]], [[1, 1], [0.5, 2]], [0.1, 0.7]
    density = stats.norm.logpdf(truth, mean, std).T

    for count, expected in ((1, 0.9820561294), (2, 1.9616488278), (10, 9.7292195503)):
        assert joint_loss_of(sample_of(density), count) == pytest.approx(expected, abs=1e-9)
    found = ensemble.summarize(mean, truth, variance=np.square(std))
    assert ensemble.joint_log_loss(found) == pytest.approx(9.7292195503, abs=1e-9)
    assert ensemble.marginal_log_loss(found) == pytest.approx(0.9820561294, abs=1e-9)


def test_a_shared_epistemic_error_has_a_closed_form():
    """The log density of k observations is that of a multivariate normal; the loss its mean over numbers of them."""
    error, aleatoric, epistemic = 0.9, 1.0, 0.49
    density = [
        stats.multivariate_normal.logpdf(np.full(k, error), cov=aleatoric * np.eye(k) + epistemic) if k else 0.0
        for k in range(11)
    ]
    assert density[6] == pytest.approx(-6.8159728299, abs=1e-9)

    found = ensemble.summarize_split([error], [0.0], aleatoric=[aleatoric], epistemic=[epistemic])
    expected = -2 * sum(comb(10, k) / 2**10 * density[k] for k in range(11))
    assert ensemble.joint_log_loss(found) == pytest.approx(expected, rel=1e-12)
    assert ensemble.joint_log_loss_gain(found) == pytest.approx(10 * float(geouq.nll(found)) - expected, rel=1e-12)


def test_pairs_of_the_sample_are_neighbours_in_the_order_of_their_numbers():
    rng = np.random.default_rng(0)
    density = rng.normal(-3, 2, (7, 4))
    pairs = [restated_joint(density[i], density[(i + 1) % 7], 10) for i in range(7)]

    assert joint_loss_of(sample_of(density), 10) == pytest.approx(np.mean(pairs), rel=1e-12)
    assert np.isnan(joint_loss_of(sample_of(density[:1]), 10))


def test_the_mixture_restated():
    values, variances, truth = drawn()
    found = ensemble.summarize(values, truth, variance=variances, levels=LEVELS)
    std = np.sqrt(variances)
    pit = stats.norm.cdf(truth, values, std).mean(0)
    loss = -(special.logsumexp(stats.norm.logpdf(truth, values, std), axis=0) - np.log(5))

    assert found.n == truth.size
    assert ensemble.marginal_log_loss(found) == pytest.approx(loss.mean(), rel=1e-12)
    assert ensemble.variance_aleatoric(found) == pytest.approx(variances.mean(), rel=1e-12)
    assert ensemble.variance_epistemic(found) == pytest.approx(values.var(0).mean(), rel=1e-12)
    assert ensemble.epistemic_share(found) + ensemble.aleatoric_share(found) == 1
    for level in LEVELS:
        inside = np.abs(pit - 0.5) <= level / 2
        assert ensemble.mixture_coverage(found, level) == pytest.approx(inside.mean(), abs=1e-15)
        assert ensemble.mixture_coverage_below(found, level) == (pit < (1 - level) / 2).mean()
    np.testing.assert_allclose(ensemble.mixture_pit(found) * truth.size, np.histogram(pit, 20, (0, 1))[0], rtol=1e-12)
    skill = np.sqrt((variances.mean(0) + 6 / 4 * values.var(0)).mean()) / np.sqrt(
        ((values.mean(0) - truth) ** 2).mean()
    )
    assert ensemble.spread_skill(found) == pytest.approx(skill, rel=1e-12)


def test_mean_and_variance_are_those_of_the_mixture():
    values, variances, truth = drawn()
    found = ensemble.summarize(values, truth, variance=variances, levels=LEVELS)
    normal = geouq.summarize(values.mean(0), variances.mean(0) + values.var(0), truth, levels=LEVELS)

    for name in ("bias", "rmse", "zms", "nll", "crps", "sharpness"):
        assert getattr(geouq, name)(found) == pytest.approx(getattr(geouq, name)(normal), rel=1e-12)


@pytest.mark.parametrize("members", [2, 3, 8, 15, 33])
def test_fair_crps_is_that_of_scoringrules(members):
    values, _, truth = drawn(members)
    expected = scoringrules.crps_ensemble(truth, np.moveaxis(values, 0, -1), estimator="fair")

    assert ensemble.crps_ensemble(ensemble.summarize(values, truth)) == pytest.approx(expected.mean(), rel=1e-12)
    np.testing.assert_allclose(ensemble.fair_crps(values, truth), expected, rtol=1e-10, atol=1e-13)


def test_fair_crps_does_not_depend_on_the_number_of_members():
    """Its expectation is the CRPS of what members are drawn from; two members and thirty agree within the noise."""
    rng = np.random.default_rng(1)
    truth, values = rng.standard_normal(200_000), rng.standard_normal((30, 200_000))
    few, many = (float(ensemble.crps_ensemble(ensemble.summarize(values[:k], truth))) for k in (2, 30))

    assert few == pytest.approx(1 / np.sqrt(np.pi), abs=0.01)
    assert many == pytest.approx(1 / np.sqrt(np.pi), abs=0.005)


@pytest.mark.parametrize("members", [2, 5, 15])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_crps_of_a_mixture_is_that_of_scoringrules(members, dtype):
    values, variances, truth = (layer.astype(dtype) for layer in drawn(members, disagree=3.0))
    last = [np.moveaxis(layer.astype(float), 0, -1) for layer in (values, np.sqrt(variances.astype(float)))]
    expected = scoringrules.crps_mixnorm(truth.astype(float), *last).mean()

    assert ensemble.crps_mixture(ensemble.summarize(values, truth, variance=variances)) == pytest.approx(
        expected, rel=1e-12
    )


def test_crps_of_a_mixture_of_equal_members_is_that_of_one_normal_forecast():
    values, variances, truth = drawn(1)
    same_twice = ensemble.summarize(np.repeat(values, 3, 0), truth, variance=np.repeat(variances, 3, 0))

    expected = float(geouq.crps(values[0], variances[0], truth))
    assert ensemble.crps_mixture(same_twice) == pytest.approx(expected, rel=1e-7)


def test_a_forecast_that_is_far_too_wide_loses_by_the_crps_of_the_mixture():
    """The fair CRPS of the means alone made it win: .56 against .80 of the forecast that truth is drawn from."""
    rng = np.random.default_rng(7)
    truth = rng.standard_normal(40_000)
    perfect = np.zeros((10, truth.size)), np.ones((10, truth.size))
    wide = rng.standard_normal((10, truth.size)), np.full((10, truth.size), 25.0)
    means = [ensemble.fair_crps(values, truth).mean() for values, _ in (perfect, wide)]
    scores = [
        float(ensemble.crps_mixture(ensemble.summarize(values, truth, variance=variance)))
        for values, variance in (perfect, wide)
    ]

    assert means[1] < means[0] - 0.2
    assert scores[0] == pytest.approx(1 / np.sqrt(np.pi), abs=0.01)
    assert scores[0] < scores[1] - 0.5


def test_each_crps_of_an_ensemble_is_refused_where_the_other_is_right():
    values, variances, truth = drawn()
    bare, dense = ensemble.summarize(values, truth), ensemble.summarize(values, truth, variance=variances)

    with pytest.raises(SummaryError, match="use crps_mixture"):
        ensemble.crps_ensemble(dense)
    with pytest.raises(SummaryError, match="use crps_ensemble"):
        ensemble.crps_mixture(bare)
    assert {"crps_ensemble", "crps_mixture"} & set(geouq.table(bare).metric) == {"crps_ensemble"}
    assert {"crps_ensemble", "crps_mixture"} & set(geouq.table(dense).metric) == {"crps_mixture"}


def test_ranks_and_pit_of_a_perfect_forecast_of_counts_are_flat():
    """Half at the lowest and half at the highest rank gave 1.90, .31, .72 ... 1.19 of 1."""
    rng = np.random.default_rng(8)
    found = ensemble.summarize(rng.poisson(1, (9, 200_000)), rng.poisson(1, 200_000))

    np.testing.assert_allclose(10 * ensemble.rank_histogram(found), 1, atol=0.03)
    np.testing.assert_allclose(20 * ensemble.mixture_pit(found), 1, atol=0.05)


def test_truth_that_equals_members_counts_in_equal_shares_and_as_one_pixel():
    values = np.array([1.0, 1, 1, 2, 2, 5, 7])[:, np.newaxis] * np.ones(3)
    found = ensemble.summarize(values, [1.0, 2.0, 7.0])

    expected = np.array([1 / 4, 1 / 4, 1 / 4, 1 / 4 + 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    np.testing.assert_allclose(3 * ensemble.rank_histogram(found), expected, rtol=0, atol=1e-11)
    sums = found.form.of("ranks") + found.form.of("rank_residues")
    assert sums.sum() == 3


def test_ranks_add_exactly_in_any_order_and_with_weights():
    rng = np.random.default_rng(9)
    values, truth, weights = rng.poisson(1, (9, 5000)), rng.poisson(1, 5000), rng.integers(1, 9, 5000)
    whole = ensemble.summarize(values, truth, weights=weights)
    parts = [ensemble.summarize(values[:, i::7], truth[i::7], weights=weights[i::7]) for i in rng.permutation(7)]
    total = sum(parts[1:], parts[0])

    for name in ("ranks", "rank_residues"):
        np.testing.assert_array_equal(total.form.of(name), whole.form.of(name))
    assert (total.form.of("ranks") + total.form.of("rank_residues")).sum() == whole.moments.weight < weights.sum()


def test_ranks_of_truth_between_members_and_on_them():
    values = np.arange(4.0)[:, np.newaxis] * np.ones(4)
    found = ensemble.summarize(values, [-1.0, 0.5, 9.0, 2.0])

    np.testing.assert_array_equal(ensemble.rank_histogram(found) * 4, [1, 1, 0.5, 0.5, 1])


def test_without_densities_coverage_is_that_of_quantiles_of_the_members():
    """The lower end is the least member that a share (1 - level) / 2 does not lie above; ties count as inside."""
    values = np.sort(drawn(20)[0].reshape(20, -1), axis=0)
    truth = drawn(20)[2].ravel()
    truth[:20] = values[0, :20]
    found = ensemble.summarize(values, truth, levels=(0.9, 0.5))

    assert ensemble.mixture_coverage(found, 0.9) == pytest.approx(((truth >= values[0]) & (truth <= values[18])).mean())
    assert ensemble.mixture_coverage(found, 0.5) == pytest.approx(((truth >= values[4]) & (truth <= values[14])).mean())


def test_many_normal_members_tend_to_the_normal_numbers():
    rng = np.random.default_rng(2)
    truth = rng.standard_normal(4000)
    found = ensemble.summarize(rng.standard_normal((400, 4000)), truth, levels=(0.9,))
    normal = geouq.summarize(np.zeros(4000), np.ones(4000), truth, levels=(0.9,))

    assert ensemble.crps_ensemble(found) == pytest.approx(float(geouq.crps(normal)), abs=0.005)
    assert geouq.nll(found) == pytest.approx(float(geouq.nll(normal)), abs=0.01)
    assert ensemble.mixture_coverage(found, 0.9) == pytest.approx(float(geouq.coverage(normal, level=0.9)), abs=0.01)


def test_joint_log_loss_tells_structure_where_the_marginal_one_does_not():
    """Two forecasters with the same marginals: members of the first err alike everywhere, those of the other anew."""
    rng = np.random.default_rng(3)
    pixels, members = 4000, 30
    offsets = rng.standard_normal((members, 1)) * np.ones((1, pixels))
    shuffled = rng.permuted(offsets, axis=0)  # the same members at each pixel, in another order
    truth = 0.8 + 0.5 * rng.standard_normal(pixels)
    variance = np.full((members, pixels), 0.25)
    real, other = (ensemble.summarize(values, truth, variance=variance) for values in (offsets, shuffled))

    assert ensemble.marginal_log_loss(real) == pytest.approx(float(ensemble.marginal_log_loss(other)), rel=1e-12)
    assert ensemble.joint_log_loss(real) < ensemble.joint_log_loss(other) - 0.5
    assert ensemble.joint_log_loss_gain(real) > ensemble.joint_log_loss_gain(other) + 0.5


def test_a_sum_of_many_dates_pairs_pixels_and_not_dates():
    """Members that err alike at a place on all dates, and anew at each place, say nothing of one place by another."""
    rng = np.random.default_rng(4)
    values, variance = rng.standard_normal((20, 3000)), np.full((20, 3000), 0.25)
    dates = [
        ensemble.summarize(values + shift, shift + 0.8 + 0.5 * rng.standard_normal(3000), variance=variance)
        for shift in range(8)
    ]
    single = np.mean([float(ensemble.joint_log_loss_gain(date)) for date in dates])

    assert ensemble.joint_log_loss_gain(sum(dates[1:], dates[0])) == pytest.approx(single, abs=0.4)


def test_far_from_all_members_the_log_loss_is_finite():
    found = ensemble.summarize([[0.0], [1.0]], [100.0], variance=[[1.0], [1.0]])

    assert ensemble.marginal_log_loss(found) == pytest.approx(0.5 * 99**2 + 0.5 * np.log(2 * np.pi) + np.log(2))


def test_one_nan_in_one_member_excludes_the_pixel():
    values, variances, truth = drawn()
    values[3, 0, 0], variances[2, 1, 1], truth[2, 2] = np.nan, np.nan, np.nan
    found = ensemble.summarize(values, truth, variance=variances)
    kept = np.isfinite(values.sum(0) + variances.sum(0) + truth)
    alone = ensemble.summarize(values[:, kept], truth[kept], variance=variances[:, kept])

    assert found.n == kept.sum() == truth.size - 3
    assert ensemble.crps_mixture(found) == pytest.approx(float(ensemble.crps_mixture(alone)), rel=1e-12)


def test_a_negative_variance_of_one_member_is_an_error():
    values, variances, truth = drawn()
    variances[1, 0, 0] = -0.5

    with pytest.raises(DataError, match="negative"):
        ensemble.summarize(values, truth, variance=variances)


def test_what_has_one_variance_is_refused_with_the_reason():
    values, _, truth = drawn()
    bare = ensemble.summarize(values, truth)

    with pytest.raises(SummaryError, match="no density"):
        ensemble.joint_log_loss(bare)
    with pytest.raises(SummaryError, match="10 times its marginal"):
        ensemble.joint_log_loss(geouq.summarize(values[0], np.ones_like(truth), truth))
    with pytest.raises(GeouqError, match="10 times its marginal"):
        ensemble.summarize_split(values[0], truth, aleatoric=np.ones_like(truth))
    assert not {"joint_log_loss", "marginal_log_loss"} & set(geouq.table(bare).metric)


@pytest.mark.parametrize(("members", "variance", "said"), [(1, 1, "at least two"), (3, 2, "3 members and 2 variances")])
def test_odd_ensembles_are_refused(members, variance, said):
    with pytest.raises(DataError, match=said):
        ensemble.summarize(np.zeros((members, 4)), np.zeros(4), variance=np.ones((variance, 4)))


@pytest.mark.skipif(not SEAS5.is_dir(), reason="the data are not there")
def test_seasonal_forecasts_of_temperature():
    """15 members of real forecasts, which are biased and too sure: truth is warmer than all members too often."""
    total = None
    for path in sorted((SEAS5 / "members").glob("*.tif")):
        with rasterio.open(path) as members, rasterio.open(SEAS5 / "truth" / path.name.replace("_members", "")) as y:
            values, truth = members.read(range(1, 16)), y.read(1)
        expected = scoringrules.crps_ensemble(
            truth.astype(float), np.moveaxis(values, 0, -1).astype(float), estimator="fair"
        )
        found = ensemble.summarize(values, truth)
        assert ensemble.crps_ensemble(found) == pytest.approx(expected.mean(), rel=1e-6)
        total = found if total is None else total + found
    ranks = ensemble.rank_histogram(total)

    assert total.n == 6996
    assert geouq.bias(total) == pytest.approx(-1.07280167, abs=1e-6)
    assert ranks[-1] > 3 / 16
    assert ensemble.spread_skill(total) < 0.8


@numba.njit
def exp_and_share_beyond(x, z):
    """The kernel's, of each number."""
    exps, shares = np.empty_like(x), np.empty_like(z)
    for i in range(len(x)):
        exps[i] = exp_below_zero(x[i])
    for i in range(len(z)):
        shares[i] = share_beyond(z[i], exp_below_zero(-0.5 * z[i] * z[i]))
    return exps, shares


def test_densities_and_distribution_functions_of_members_are_right_to_rounding():
    x = np.concatenate([np.linspace(LEAST, 0, 100_001), -np.geomspace(1e-300, 1, 1000)])
    z = np.linspace(-40, 40, 200_001)
    exps, shares = exp_and_share_beyond(x, z)

    np.testing.assert_allclose(exps, np.exp(x), rtol=5e-16)
    np.testing.assert_allclose(shares, special.ndtr(-abs(z)), rtol=0, atol=2e-15)
    assert exp_and_share_beyond(np.array([-1e3, -np.inf]), z[:1])[0].tolist() == [exps[0]] * 2


@pytest.mark.parametrize("members", [np.zeros((1, 30)), np.zeros((3, 10)), np.zeros(30)])
def test_fair_crps_of_one_member_or_of_other_shapes_is_refused(members):
    with pytest.raises(DataError, match="give two members or more"):
        ensemble.fair_crps(members, np.ones(30))
