"""Resamples are what a loop over the blocks drawn gives, with the same bits however they are made."""

from dataclasses import replace

import numpy as np
import pytest
from correlated import CHOICES, Tiles, forecast
from hypothesis import given, settings
from hypothesis import strategies as st

from geouq.config import EQUAL_WIDTH_10, BinScheme
from geouq.inference import bootstrap
from geouq.inference.bootstrap import basis_of_cells, draws, left_out, resampled, rows_of_cells, sums_by_block
from geouq.inference.resamples import NOT_BY_CELL
from geouq.metrics import MetricOptions, bias, binned, coverage, evaluate_metric, metrics_of, rmse, uce, zms
from geouq.summary import add_all
from geouq.summary.form import GAUSSIAN
from geouq.summary.interval_scores import GivenLevel


def all_draws(blocks, resamples, seed=0, name="west"):
    return np.concatenate(list(draws(blocks, resamples, seed, name)))


def test_each_resample_draws_as_many_blocks_as_there_are_each_as_often_as_any():
    counts = all_draws(50, 2000)

    assert (counts.sum(1) == 50).all()
    assert counts.mean(0) == pytest.approx(np.ones(50), abs=0.12)
    assert counts.var() == pytest.approx(1 - 1 / 50, abs=0.03)


def test_draws_follow_from_seed_and_name():
    assert np.array_equal(all_draws(9, 100), all_draws(9, 100))
    assert not np.array_equal(all_draws(9, 100), all_draws(9, 100, seed=1))
    assert not np.array_equal(all_draws(9, 100), all_draws(9, 100, name="east"))


def test_the_numbers_drawn_never_change():
    assert all_draws(5, 3, seed=7, name="all").tolist() == [[1, 1, 1, 1, 1], [2, 1, 0, 0, 2], [1, 0, 0, 2, 2]]


@settings(deadline=None)
@given(blocks=st.integers(1, 60), columns=st.integers(1, 7), seed=st.integers(0, 99))
def test_resampled_sums_are_those_of_a_loop(blocks, columns, seed):
    sums = np.random.default_rng(seed).standard_normal((blocks, columns))

    found = resampled(sums, 40, seed, "west")

    for row, counts in zip(found, all_draws(blocks, 40, seed), strict=True):
        expected = np.zeros(columns)
        for block, times in enumerate(counts):
            expected += times * sums[block]
        assert row.tobytes() == expected.tobytes()


def test_however_many_resamples_come_at_a_time_the_bits_are_the_same(monkeypatch):
    sums = np.random.default_rng(0).standard_normal((300, 5))
    expected = resampled(sums, 100, 0, "west")

    monkeypatch.setattr(bootstrap, "BUDGET", 3000)

    assert max(map(len, draws(300, 100, 0, "west"))) == 5
    assert resampled(sums, 100, 0, "west").tobytes() == expected.tobytes()


@pytest.mark.parametrize("blocks", [10, 450])
def test_each_block_is_left_out_once(blocks):
    sums = np.random.default_rng(0).standard_normal((blocks, 3))

    rest = left_out(sums)

    assert len(rest) == min(blocks, 200)
    np.testing.assert_allclose(rest.sum(0), (len(rest) - 1) * sums.sum(0), rtol=1e-9)


def cells_joined(cells, numbers):
    """The Summary of some cells, each as often as it is named, by adding one after the other."""
    return add_all(cells.summary(slice(int(n), int(n) + 1)).total() for n in numbers)


def test_a_resample_is_the_sum_of_the_cells_drawn():
    tiles = Tiles(forecast(0, 128, 20))
    cells, basis = tiles.parts["r0c0"].cells, basis_of_cells(tiles.whole, CHOICES)
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)

    found = basis.summary(resampled(rows, 100, 0, "all"))

    for r, counts in enumerate(all_draws(len(cells), 100, 0, "all")[:5]):
        naive = cells_joined(cells, np.repeat(np.arange(len(cells)), counts))
        assert found.n[r] == naive.n
        for metric in (bias, rmse, zms):
            assert metric(found)[r] == pytest.approx(metric(naive), rel=1e-12)
        assert coverage(found, 0.9)[r] == coverage(naive, 0.9)


@pytest.mark.parametrize(
    "scheme",
    [
        *CHOICES.schemes,
        EQUAL_WIDTH_10,
        BinScheme(scheme="log-width"),
        BinScheme(scheme="edges", count=2, edges=(0.5, 1, 2)),
    ],
    ids=lambda scheme: scheme.name,
)
def test_all_cells_together_have_the_bins_of_the_whole(scheme):
    tiles = Tiles(forecast(1, 128, 20))
    basis = basis_of_cells(tiles.whole, MetricOptions(CHOICES.levels, (scheme,)))
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)

    found = basis.summary(sums_by_block(rows, np.zeros(64, np.int64), 1))

    expected, edges = binned(tiles.whole, scheme), basis.edges[scheme.name]
    for name in ("variance", "squared_error", "n", "weight"):
        got = getattr(found.variance.binned(edges), name)[0]
        np.testing.assert_allclose(got, getattr(expected, name), rtol=1e-6)
    assert uce(found, scheme, edges)[0] == pytest.approx(uce(tiles.whole, scheme), rel=1e-5)


def test_a_constant_variance_falls_into_one_bin():
    mean, _, truth = forecast(2, 128, 20)
    tiles = Tiles((mean, np.full_like(mean, 2.0), truth))
    basis = basis_of_cells(tiles.whole, MetricOptions(CHOICES.levels, (EQUAL_WIDTH_10, *CHOICES.schemes)))
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)

    found = basis.summary(sums_by_block(rows, np.zeros(64, np.int64), 1))

    for scheme in (EQUAL_WIDTH_10, *CHOICES.schemes):
        assert uce(found, scheme, basis.edges[scheme.name])[0] == pytest.approx(uce(tiles.whole, scheme), rel=1e-6)


def test_weighted_pixels_count_by_their_weight():
    weight = np.random.default_rng(0).uniform(0, 2, (128, 128))
    tiles = Tiles(forecast(3, 128, 20), weight=weight)
    basis = basis_of_cells(tiles.whole, CHOICES)
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)

    found = basis.summary(sums_by_block(rows, np.zeros(64, np.int64), 1))

    for metric in (bias, rmse, zms):
        assert metric(found)[0] == pytest.approx(metric(tiles.whole), rel=1e-12)
    assert coverage(found, 0.9)[0] == pytest.approx(coverage(tiles.whole, 0.9), rel=1e-12)
    (scheme,) = CHOICES.schemes
    assert uce(found, scheme, basis.edges[scheme.name])[0] == pytest.approx(uce(tiles.whole, scheme), rel=1e-5)


@pytest.mark.parametrize("given", [None, 0.9])
def test_all_cells_together_have_every_number_of_the_whole(given):
    tiles = Tiles(forecast(4, 128, 20))
    schemes = (EQUAL_WIDTH_10, *CHOICES.schemes)
    whole = tiles.whole.having(given=None if given is None else GivenLevel(given))
    choices = MetricOptions(CHOICES.levels, schemes)
    basis = basis_of_cells(whole, choices)
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)

    found = basis.summary(sums_by_block(rows, np.zeros(64, np.int64), 1))

    compared = 0
    for metric in metrics_of(GAUSSIAN):
        if metric.choice in NOT_BY_CELL or metric.name.endswith("_interval"):
            continue
        ours = evaluate_metric(metric, found, replace(choices, shared_edges=basis.edges))
        for one, other in zip(ours, evaluate_metric(metric, whole, choices), strict=True):
            assert one.value[0] == pytest.approx(float(other.value), rel=1e-5, abs=1e-9), one.name
            compared += 1
    assert compared > 40
