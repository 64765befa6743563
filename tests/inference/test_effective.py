"""The null of ENCE on maps, where errors are correlated, and the interval of what exceeds it."""

from dataclasses import replace

import numpy as np
import pytest
from correlated import CHOICES, Tiles, forecast

from geouq.config import EQUAL_COUNT_10, Variable
from geouq.inference import Intervals
from geouq.metrics import ence, ence_excess, ence_null
from geouq.regions import EvaluationUnit
from geouq.tables.rows import metric_rows

QUICK = Intervals(resamples=200)
SCHEME = EQUAL_COUNT_10.name


def missed(factor, true, simulations=40):
    """Return how many intervals of `ence_excess` miss the ENCE that unlimited pixels would have."""
    found = 0
    for seed in range(simulations):
        (one,) = (i for i in Tiles(forecast(seed, 256, 10, factor)).infer(QUICK).intervals if i.metric == "ence_excess")
        found += not one.low <= true <= one.high
    return found


@pytest.mark.parametrize(("factor", "true"), [(0.9, 1 / 0.9 - 1), (1.0, 0.0)])
def test_the_interval_of_the_excess_holds_the_ence_of_unlimited_pixels(factor, true):
    # 5 % of 40 are 2; more than 6 happen once in 300 times
    assert missed(factor, true) <= 6


def test_a_perfect_forecaster_of_a_map_scores_the_null_of_effective_pixels():
    scores, nulls, independent = [], [], []
    for seed in range(12):
        tiles = Tiles(forecast(seed, 256, 10))
        effective = tiles.infer(QUICK).effective[SCHEME]
        scores.append(ence(tiles.whole))
        nulls.append(ence_null(tiles.whole, effective=effective))
        independent.append(ence_null(tiles.whole))

    assert np.mean(nulls) == pytest.approx(np.mean(scores), rel=0.2)
    assert np.mean(independent) < np.mean(scores) / 3


def test_on_independent_pixels_the_effective_number_is_about_that_of_pixels():
    rng = np.random.default_rng(0)
    variance = np.exp(rng.standard_normal((256, 256)))
    tiles = Tiles((np.zeros_like(variance), variance, np.sqrt(variance) * rng.standard_normal(variance.shape)))

    effective = tiles.infer(QUICK).effective[SCHEME]

    assert effective.sum() == pytest.approx(float(tiles.whole.n), rel=0.25)
    assert (effective <= float(tiles.whole.n) / 10 + 1).all()


def test_as_many_effective_pixels_as_there_are_give_the_null_of_independent_ones():
    whole = Tiles(forecast(0, 64, 4)).whole
    all_pixels = np.full(10, float(whole.n) / 10)

    assert ence_null(whole, effective=all_pixels) == pytest.approx(float(ence_null(whole)), rel=1e-3)
    assert ence_null(whole, effective=all_pixels / 4) == pytest.approx(2 * float(ence_null(whole)), rel=1e-3)


def test_the_table_says_which_null_was_used():
    tiles = Tiles(forecast(0, 128, 4))
    pool = EvaluationUnit("all", "all", (), {"v": tiles.whole})
    variable = Variable(name="v", band=1)
    on_map = replace(CHOICES, effective={SCHEME: np.full(10, 100.0)})

    plain, effective = (
        {row["metric"]: row for row in metric_rows(pool, [variable], {"v": choices})} for choices in (CHOICES, on_map)
    )

    assert (plain["ence_null"]["null"], effective["ence_null"]["null"]) == ("independent", "effective")
    assert (effective["ence_excess"]["null"], effective["ence"]["null"]) == ("effective", "")
    assert effective["ence_excess"]["value"] == pytest.approx(
        float(ence_excess(tiles.whole, effective=np.full(10, 100.0)))
    )
