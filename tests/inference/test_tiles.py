"""Numbers that cells do not keep are resampled by tiles: what a loop over the tiles gives, in bounded memory."""

from dataclasses import replace

import numpy as np
import pytest
from affine import Affine
from correlated import CELL, LEVELS, Tiles, forecast

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.core.grid import Grid
from geouq.inference import Intervals, group_limits, infer, rows_of_tiles
from geouq.inference.bootstrap import basis_of_tiles, draws, sums_by_block
from geouq.metrics import MetricOptions, evaluate_metrics, group_coverage, interval_curve, threshold_brier
from geouq.summary import Summary, TilePlace, add_all
from geouq.summary.ordering_profile import CLASS_SHIFT, CLASSES, FIRST_CLASS, SHIFT, OrderingProfile
from geouq.summary.variance_profile import key_of

SIDE, ACROSS = 256, 4
THRESHOLDS = (0.0, 0.5)
CHOICES = MetricOptions(LEVELS, (EQUAL_COUNT_10,), ordering=True, thresholds=THRESHOLDS)
QUICK = Intervals(resamples=200)


def with_order(summary: Summary, layers) -> Summary:
    """The same with the order of its errors, which is kept on request."""
    mean, variance, truth = (layer.ravel() for layer in layers)
    size = key_of(np.abs(truth - mean) / np.sqrt(variance), CLASS_SHIFT) - FIRST_CLASS
    keys, counts = np.unique(key_of(variance, SHIFT) * CLASSES + np.clip(size, 0, CLASSES - 1), return_counts=True)
    return summary.having(ordering=OrderingProfile(keys, counts[:, np.newaxis].astype(float)))


def summarized(layers):
    """Tiles of a map of 4 x 4, by name: their summaries and places."""
    side, found = layers[0].shape[0] // ACROSS, {}
    for row in range(ACROSS):
        for column in range(ACROSS):
            part = np.s_[row * side : (row + 1) * side, column * side : (column + 1) * side]
            own = [layer[part] for layer in layers]
            made = summarize_arrays(*own, LEVELS, cell_size=CELL, thresholds=THRESHOLDS)
            found[f"r{row}c{column}"] = replace(made, whole=with_order(made.whole, own))
    return found


def inferred(parts, settings=QUICK, choices=CHOICES):
    whole = add_all(part.whole for part in parts.values())
    tile = next(iter(Tiles(forecast(0, SIDE, 8), across=ACROSS).places)).grid
    places = [TilePlace(name, Grid(tile.shape, tile.transform, tile.crs), CELL) for name in parts]
    rows = rows_of_tiles(
        {"v": whole}, {"v": choices}, lambda: ({"v": part.whole} for part in parts.values()), len(parts)
    )
    return infer(
        "all",
        whole,
        choices,
        places=places,
        cells_of=lambda name: [(np.arange(len(parts[name].cells)), parts[name].cells)],
        settings=settings,
        tiles=rows["v"],
    )


@pytest.fixture(scope="module")
def parts():
    return summarized(forecast(0, SIDE, 8, 0.9))


@pytest.fixture(scope="module")
def whole(parts):
    return add_all(part.whole for part in parts.values())


@pytest.fixture(scope="module")
def basis(whole):
    return basis_of_tiles(whole, CHOICES)


def test_every_number_of_enough_tiles_has_an_interval_but_the_lowest_coverage_of_groups(parts):
    found = {(one.metric, one.group): one for one in inferred(parts).intervals}

    without = {name: one.reason for (name, _), one in found.items() if one.reason}
    lowest = {name for name, reason in without.items() if reason == "the lowest of several noisy numbers"}
    assert lowest == {f"lowest_group_coverage_{100 * level:g}" for level in CHOICES.levels}
    others = without.keys() - lowest
    assert {without[name] for name in others} == {"a bin in few blocks"}  # of probability, near 0 and 1
    assert {name.rpartition("_")[0] for name in others} <= {
        *("threshold_reliability", "threshold_resolution", "threshold_within")
    }
    assert found["rmscd_90", "truth"].method == found["mace_interval", ""].method == "folded, blocks of tiles"
    assert found["ause", ""].method == found["threshold_brier_0.5", ""].method == "bca, blocks of tiles"
    assert found["rmse", ""].method == "bca"


def test_fewer_than_8_tiles_have_none_and_say_so(parts):
    few = dict(list(parts.items())[:7])

    reasons = {one.metric: one.reason for one in inferred(few).intervals}

    assert reasons["rmscd_90"] == reasons["ause"] == "not kept by cell, and fewer than 8 tiles"
    assert not reasons["rmse"]


def test_all_tiles_together_have_the_numbers_of_the_whole(parts, whole, basis):
    rows = np.concatenate([basis.rows(part.whole, 1) for part in parts.values()])
    found = basis.summary(sums_by_block(rows, np.zeros(len(rows), np.int64), 1))

    np.testing.assert_allclose(group_coverage(found, 0.9)[0], group_coverage(whole, 0.9), rtol=1e-12)
    np.testing.assert_allclose(interval_curve(found)[0], interval_curve(whole), rtol=1e-12)
    assert threshold_brier(found, 0.5)[0] == pytest.approx(float(threshold_brier(whole, 0.5)), rel=1e-12)


def test_all_tiles_together_have_nearly_the_order_of_the_whole(parts, whole, basis):
    rows = np.concatenate([basis.rows(part.whole, 1) for part in parts.values()])
    found = basis.summary(sums_by_block(rows, np.zeros(len(rows), np.int64), 1))

    for value in evaluate_metrics(whole, CHOICES):
        if value.metric.choice == "ordering":
            assert value.metric.function(found)[0] == pytest.approx(float(value.value), abs=1e-3), value.name


def test_a_resample_is_the_sum_of_the_tiles_drawn(parts, basis):
    rows = np.concatenate([basis.rows(part.whole, 1) for part in parts.values()])
    counts = np.concatenate(list(draws(len(rows), 5, 0, "all")))

    found = basis.summary(counts @ rows)

    for r, drawn in enumerate(counts):
        naive = add_all(part.whole for part, times in zip(parts.values(), drawn, strict=True) for _ in range(times))
        np.testing.assert_allclose(interval_curve(found)[r], interval_curve(naive), rtol=1e-12)
        assert threshold_brier(found, 0.0)[r] == pytest.approx(float(threshold_brier(naive, 0.0)), rel=1e-12)
        assert found.n[r] == naive.n


def test_more_tiles_than_are_held_are_joined_with_those_that_follow(parts, whole, monkeypatch):
    monkeypatch.setattr("geouq.inference.tiles.MOST_ROWS", 5)
    every = [{"v": part.whole} for part in parts.values()]

    rows = rows_of_tiles({"v": whole}, {"v": CHOICES}, lambda: every, len(every))["v"]

    assert len(rows.rows) == 5
    assert rows.rows[:, 0].sum() == whole.n
    assert rows.rows[0, 0] == sum(int(one["v"].n) for one in every[:4])


def test_the_same_seed_gives_the_same_bits(parts):
    assert inferred(parts).intervals == inferred(parts).intervals


def test_intervals_of_tiles_hold_the_true_numbers():
    names = "mace_interval", "rmscd_90", "threshold_brier_0", "spearman"
    whole = add_all(part.whole for part in summarized(forecast(999, 512, 2, 0.8)).values())
    choices = replace(CHOICES, groups=CHOICES.groups.model_copy(update={"by": ("variance",)}))
    true = {one.name: float(one.value) for one in evaluate_metrics(whole, choices) if one.name in names}
    held, simulations = dict.fromkeys(true, 0), 10
    for seed in range(simulations):
        for one in inferred(summarized(forecast(seed, SIDE, 4, 0.8)), choices=choices).intervals:
            if one.metric in true and one.low is not None:
                held[one.metric] += one.low <= true[one.metric] <= one.high
    # fewer than 7 of 10 happen once in 1000 times
    assert min(held.values()) >= 7, held


def tile_rows(parts, whole):
    """Rows of tiles that lie side by side, and their places."""
    grids = (Grid((64, 64), Affine(10, 0, 640 * k, 0, -10, 0), "") for k in range(len(parts)))
    places = [TilePlace(name, grid, CELL) for name, grid in zip(parts, grids, strict=True)]
    rows = rows_of_tiles({"v": whole}, {"v": CHOICES}, lambda: ({"v": one.whole} for one in parts.values()), len(parts))
    return rows["v"], places


def test_the_limits_of_a_group_are_those_of_its_coverage_in_resamples(parts, whole, basis):
    rows, places = tile_rows(parts, whole)

    limits = group_limits("all", CHOICES, rows, places, QUICK)

    assert set(limits) == {("truth", level) for level in LEVELS}
    own, (low, high) = group_coverage(whole, 0.9), limits["truth", 0.9]
    counts = np.concatenate(list(draws(len(parts), QUICK.resamples, QUICK.seed, "all")))
    drawn = np.quantile(group_coverage(basis.summary(counts @ rows.rows), 0.9), [0.025, 0.975], axis=0)
    certain = np.isfinite(low) & (own < 1)
    assert certain.sum() >= 4
    assert ((low < own) & (own < high))[certain].all()
    widths = (high - low)[certain] / (drawn[1] - drawn[0])[certain]
    assert ((widths > 0.5) & (widths < 4)).all()
    assert (high[own == 1] == 1).all()


def test_inference_keeps_the_limits_of_groups(parts, whole):
    rows, places = tile_rows(parts, whole)
    expected = group_limits("all", CHOICES, rows, places, QUICK)

    found = inferred(parts).group_limits

    assert found.keys() == expected.keys()
    for key, limits in expected.items():
        assert found[key].shape == limits.shape
        assert np.isfinite(found[key]).any()


def test_groups_have_no_limits_where_tiles_are_worth_too_few(parts, whole, monkeypatch):
    monkeypatch.setattr("geouq.inference.resamples.FEWEST_EFFECTIVE", 17)
    rows, places = tile_rows(parts, whole)

    assert np.isnan(group_limits("all", CHOICES, rows, places, QUICK)["truth", 0.9]).all()
