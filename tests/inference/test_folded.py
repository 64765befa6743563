"""Limits of norms of gaps: norms against plain formulas, and how often limits hold a known norm."""

import numpy as np
import pytest

from geouq.inference.folded import Noise, folded_limits, folded_p_value
from geouq.metrics.norms import area_to_diagonal, squared_error

LEVELS = np.arange(1, 11) / 11
FORMULAS = {
    "mean size": lambda gaps, _: np.abs(gaps).mean(-1),
    "root mean square": lambda gaps, _: np.sqrt(np.nanmean(gaps**2, axis=-1)),
    "root mean square below": lambda gaps, _: np.sqrt(np.nanmean(np.where(gaps < 0, gaps, np.nan) ** 2, axis=-1)),
    "squares": lambda gaps, weight: np.nansum(weight * gaps**2, axis=-1),
    "relative squares": lambda gaps, _: squared_error(gaps + LEVELS, LEVELS, "counts"),
    "area": lambda gaps, _: area_to_diagonal(gaps, LEVELS),
    "ratios": lambda gaps, weight: np.nansum(weight * np.abs(np.exp(0.5 * gaps) - 1), axis=-1),
}
MAY_MISS = ("root mean square", "root mean square below", "squares", "ratios")  # gaps of curves do not


@pytest.mark.parametrize(
    ("kind", "missing"), [*((kind, False) for kind in FORMULAS), *((kind, True) for kind in MAY_MISS)]
)
def test_norms_are_those_of_the_formula_without_noise_and_with_each(kind, missing):
    rng = np.random.default_rng(0)
    gaps, noise, weight = rng.normal(0, 0.03, 10), rng.normal(0, 0.03, (50, 10)), rng.uniform(0.1, 1, (51, 10))
    if missing:
        gaps[3] = noise[:, 3] = np.nan

    found = Noise(kind, noise, weight, LEVELS, power=0.5 if kind == "ratios" else 1.0).norms(gaps)

    expected = FORMULAS[kind](gaps + np.vstack([np.zeros(10), noise]), weight)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", FORMULAS)
def test_the_multiple_with_the_norm_of_a_multiple_is_that_multiple(kind):
    rng = np.random.default_rng(1)
    noise = Noise(kind, rng.normal(0, 0.03, (20, 10)), None, LEVELS)
    shape = -np.abs(rng.normal(0, 0.003, 10))  # shares stay above 0

    assert noise.multiple_with(noise.norm(2.5 * shape), shape) == pytest.approx(2.5, abs=1e-4)


@pytest.mark.parametrize("size", [0.0, 1.0, 3.0])
def test_a_number_is_left_out_by_folded_limits_exactly_where_it_lies_beyond_them(size):
    rng = np.random.default_rng(0)
    gaps, noise = size + rng.standard_normal(10), Noise("mean size", rng.standard_normal((400, 10)))
    low, high = folded_limits(gaps, noise, 0.9)

    for number in (0.0, 0.1, 0.5, 0.9 * low, 1.1 * low, 0.99 * high, 1.01 * high, 10 * high):
        left_out = folded_p_value(number, gaps, noise) <= 0.1
        assert left_out == (not low <= number <= high), number


def mean_size(gaps):
    return np.abs(gaps).mean(-1)


def covered(truth, shared, simulations=200, resamples=300):
    """How often the folded limits hold the mean size of gaps seen with noise of variance 1, `shared` among all."""
    rng, hits = np.random.default_rng(0), 0

    def noise(*shape):
        own, common = rng.standard_normal((*shape, len(truth))), rng.standard_normal((*shape, 1))
        return np.sqrt(1 - shared) * own + np.sqrt(shared) * common

    for _ in range(simulations):
        low, high = folded_limits(truth + noise(), Noise("mean size", noise(resamples)), 0.95)
        hits += low <= mean_size(truth) <= high
    return hits / simulations


@pytest.mark.parametrize("shared", [0.0, 0.8])
@pytest.mark.parametrize("sizes", [[0.0] * 10, [1.0] * 10, [10.0] * 10, [0.0] * 9 + [10.0]], ids=str)
def test_limits_of_a_norm_hold_the_true_one_wherever_there_is_a_gap(sizes, shared):
    assert covered(np.array(sizes), shared) >= 0.91


def test_gaps_that_are_all_0_have_a_norm_of_0():
    assert folded_limits(np.zeros(3), Noise("mean size", np.ones((100, 3))), 0.95) == (0.0, 0.0)
