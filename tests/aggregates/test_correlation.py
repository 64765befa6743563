"""A model of correlation is fitted by least squares, and means what it says."""

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import nnls

from geouq.aggregates import correlation
from geouq.aggregates.correlation import CorrelationModel, Correlogram, fitted

SIDE = 100.0
DISTANCE = np.concatenate([[0.0], np.arange(1, 60) * SIDE])


def correlogram(values, same=None, zms=1.0):
    weights = np.full(len(values), 1000.0)
    same = np.zeros(len(values), bool) if same is None else same
    return Correlogram(DISTANCE[: len(values)], same, values * weights * zms, weights, weights, zms, SIDE)


def exactly(sill, reach, constant=0.0):
    values = sill * np.exp(-DISTANCE / reach) + constant
    values[0] = sill * correlation._within_a_square(SIDE / reach) + constant
    return values


@pytest.mark.parametrize("side", [0.01, 0.7, 4.0, 30.0])
def test_the_mean_correlation_in_a_square_is_its_integral(side):
    def integrand(y, x):
        return 4 * np.exp(-np.hypot(x, y)) * (1 - x / side) * (1 - y / side) / side**2

    end = min(side, 12.0)  # beyond, nothing is left
    wanted = dblquad(integrand, 0, end, 0, end, epsabs=1e-10)[0]

    assert correlation._within_a_square(side) == pytest.approx(wanted, rel=2e-4 if side > 10 else 1e-6)


def test_a_correlogram_of_one_range_gives_that_range():
    reach = np.geomspace(0.3 * SIDE, DISTANCE[-1], correlation.CANDIDATES)[14]

    model = fitted(correlogram(exactly(0.6, reach, 0.1)), np.full(60, 1e-4))

    assert model.ranges == pytest.approx((reach,))
    assert model.sills == pytest.approx((0.6,), abs=1e-9)
    assert model.constant == pytest.approx(0.1, abs=1e-9)
    assert model.tile == 0
    assert model.nugget == pytest.approx(0.3, abs=1e-9)


def test_two_ranges_are_told_apart():
    ranges = np.geomspace(0.3 * SIDE, DISTANCE[-1], correlation.CANDIDATES)[[8, 20]]
    values = exactly(0.4, ranges[0]) + exactly(0.3, ranges[1])

    model = fitted(correlogram(values), np.full(60, 1e-4))

    assert model.ranges == pytest.approx(tuple(ranges))
    assert model.sills == pytest.approx((0.4, 0.3), abs=1e-9)


def test_what_only_pairs_of_a_tile_share_is_the_tile():
    same = np.arange(60) < 30
    values = exactly(0.2, 200.0) + 0.5 * same

    model = fitted(correlogram(values, same), np.full(60, 1e-4))

    assert model.tile == pytest.approx(0.5, abs=0.01)
    assert model.constant < 0.02


def test_errors_without_correlation_have_a_model_without_parts():
    model = fitted(correlogram(np.zeros(60)), np.full(60, 1e-4))

    assert model(np.array([0.0, 1e5])).tolist() == [0, 0]
    assert model.nugget == 1


def test_shares_are_those_of_non_negative_least_squares():
    rng = np.random.default_rng(0)
    values = exactly(0.5, 700.0, 0.05) + rng.normal(0, 0.05, 60)
    noise = rng.uniform(1e-3, 3e-3, 60)

    model = fitted(correlogram(values), noise)

    columns = [exactly(1.0, reach) for reach in model.ranges] + [np.ones(60)]
    shares, _ = nnls(np.stack(columns, axis=-1) / np.sqrt(noise)[:, None], values / np.sqrt(noise))
    assert [*model.sills, model.constant] == pytest.approx(shares.tolist(), abs=1e-9)


def test_shares_never_exceed_the_whole():
    model = fitted(correlogram(np.full(60, 1.4)), np.full(60, 1e-4))

    assert model.shared == pytest.approx(1)
    assert model.nugget == pytest.approx(0, abs=1e-9)


def test_the_json_of_a_model_gives_its_correlation_at_any_distance():
    model = CorrelationModel((0.5, 0.2), (300.0, 4000.0), 0.05, 0.1, 0.6, SIDE, 1.3)
    said = model.as_json()

    at = np.array([10.0, 500.0, 20000.0])
    parts = sum(sill * np.exp(-at / reach) for sill, reach in zip(said["sills"], said["ranges"], strict=True))
    np.testing.assert_allclose(model(at), said["constant"] + parts)
    assert said["nugget"] == pytest.approx(1 - 0.5 - 0.2 - 0.05 - 0.1)
