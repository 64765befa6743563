"""Differences between forecasts of the same pixels, and between pools: exact where they must be, and certain enough."""

from dataclasses import replace

import numpy as np
import pytest
from correlated import CHOICES, Tiles, forecast

from geouq.config import EQUAL_WIDTH_10
from geouq.inference import ForecastSample, Intervals, draw_together, paired_difference, unpaired_difference
from geouq.inference.blocks import block_numbers
from geouq.inference.bootstrap import draws
from geouq.inference.differences import two_sided
from geouq.inference.long_run import long_run
from geouq.inference.resamples import FEWEST_EFFECTIVE
from geouq.metrics import coverage, rmse, zms
from geouq.summary import add_all

QUICK = Intervals(resamples=200)
BLOCKS = Intervals(resamples=100, block="64 px")


def side(tiles):
    return ForecastSample(tiles.whole, tiles.choices, tiles.places, tiles.cells_of)


@pytest.fixture(scope="module")
def arrays():
    return forecast(0, 256, 16)


@pytest.fixture(scope="module")
def base(arrays):
    return Tiles(arrays, across=2)


@pytest.fixture(scope="module")
def wide(arrays):
    """The same forecast with twice the variance."""
    mean, variance, truth = arrays
    return Tiles((mean, 2 * variance, truth), across=2)


@pytest.fixture(scope="module")
def noisy(arrays):
    mean, variance, truth = arrays
    return Tiles((mean + 0.4 * np.random.default_rng(1).standard_normal(mean.shape), variance, truth), across=2)


def differences(base, other, settings=QUICK, of=paired_difference):
    drawn = draw_together("all", [side(base), side(other)], settings)
    return {key: of(number, drawn.sides[0][key], settings.level) for key, number in drawn.sides[1].items()}


def test_a_forecast_does_not_differ_from_itself(base):
    for key, found in differences(base, base).items():
        assert found.value == 0, key
        assert found.better == 0, key
        if not found.reason:
            assert (found.low, found.high, found.p_value) == (0, 0, 1), key


def test_what_the_variance_does_not_touch_does_not_differ(base, wide):
    found = differences(base, wide)

    for name in ("rmse", "bias", "mae", "r2"):
        assert (found[name, "", ""].value, found[name, "", ""].p_value) == (0, 1)


def test_twice_the_variance_is_worse_calibrated(base, wide):
    found = differences(base, wide)

    for key in (
        ("zms", "", ""),
        ("coverage_90", "", ""),
        ("ence", "equal-count-10", ""),
        ("uce", "equal-count-10", ""),
    ):
        one = found[key]
        assert one.better == -1, key
        assert one.p_value < 0.02, key
        assert not one.low <= 0 <= one.high, key
    assert found["zms", "", ""].value == pytest.approx(-0.5, abs=0.1)
    assert differences(wide, base)["zms", "", ""].better == 1


def test_the_difference_is_that_of_the_numbers_and_the_other_way_round_its_opposite(base, noisy):
    there, back = differences(base, noisy), differences(noisy, base)

    for name, metric in (("rmse", rmse), ("zms", zms)):
        one, other = there[name, "", ""], back[name, "", ""]
        assert one.value == pytest.approx(float(metric(noisy.whole) - metric(base.whole)))
        assert (other.value, other.low, other.high) == pytest.approx((-one.value, -one.high, -one.low))
        assert other.better == -one.better


def test_pairs_are_more_certain_than_pools_drawn_apart(base, noisy):
    alone = [draw_together(name, [side(tiles)], QUICK).sides[0] for name, tiles in (("in", base), ("out", noisy))]
    for name in ("rmse", "zms", "crps", "coverage_90"):
        pair = differences(base, noisy)[name, "", ""]
        apart = unpaired_difference(alone[1][name, "", ""], alone[0][name, "", ""], 0.95)
        assert apart.value == pair.value
        assert pair.high - pair.low < 0.6 * (apart.high - apart.low), name


def test_a_loop_over_the_same_draws_gives_the_same_interval(base, noisy):
    drawn = draw_together("all", [side(base), side(noisy)], BLOCKS)
    summed = [blocks_of(tiles) for tiles in (base, noisy)]
    times = [counts for some in draws(16, 100, 0, "all") for counts in some]
    for name, metric, distance in (("rmse", rmse, np.abs), ("zms", zms, lambda x: np.abs(x - 1))):
        numbers = [
            np.array([float(metric(add_all(np.repeat(blocks, counts)))) for counts in times]) for blocks in summed
        ]
        pair = [one[name, "", ""] for one in drawn.sides]
        found = paired_difference(pair[1], pair[0], 0.95)
        away = numbers[1] - numbers[0]
        widening = long_run_of(pair, lambda numbers: numbers).widening(0.95)
        limits = found.value + widening * (np.quantile(away, [0.025, 0.975]) - np.median(away))
        assert (found.low, found.high) == pytest.approx(tuple(limits), rel=1e-9)
        losses = distance(numbers[1]) - distance(numbers[0])
        widening = long_run_of(pair, distance).widening(0.95)
        observed = distance(float(metric(noisy.whole))) - distance(float(metric(base.whole)))
        assert found.p_value == two_sided(observed + widening * (losses - np.median(losses)))


def long_run_of(pair, of):
    """The long-run variance of the difference of a function of two numbers, from the influences of both."""
    parts = []
    for name in ("of_squares", "of_blocks", "of_cells"):
        own = [getattr(one.spread.influences, name)[one.spread.place] for one in pair]
        moved = [
            of(one.value.value + influence) - of(one.value.value) for one, influence in zip(pair, own, strict=True)
        ]
        parts.append(moved[1] - moved[0])
    return long_run(pair[0].spread.influences.squares, *parts)


def blocks_of(tiles):
    """Summaries of the 4 x 4 cells of each block, tile by tile."""
    blocks = []
    for _, part in sorted(tiles.parts.items()):
        cells = [part.cells.summary(slice(i, i + 1)).total() for i in range(64)]
        own = block_numbers((8, 8), 4)
        blocks += [add_all(cell for cell, k in zip(cells, own, strict=True) if k == number) for number in range(4)]
    found = np.empty(len(blocks), object)
    found[:] = blocks
    return found


def test_blocks_in_which_one_forecast_alone_has_pixels_count_for_it(arrays, base):
    mean, variance, truth = arrays
    half = np.where(np.arange(256) < 128, mean, np.nan)
    part = Tiles((half, variance, truth), across=2)

    drawn = draw_together("all", [side(part), side(base)], BLOCKS)

    assert not drawn.same_pixels
    replicates = drawn.sides[1]["rmse", "", ""].spread.replicates
    alone = draw_together("all", [side(base)], BLOCKS).sides[0]["rmse", "", ""].spread.replicates
    np.testing.assert_array_equal(replicates, alone)


def test_the_same_pixels_are_told_from_as_many_others(arrays):
    mean, variance, truth = arrays
    one, two = mean.copy(), mean.copy()
    one[:8, :8], two[-8:, -8:] = np.nan, np.nan
    tiles = [Tiles((own, variance, truth), across=2) for own in (one, two)]

    assert tiles[0].whole.n == tiles[1].whole.n
    assert not draw_together("all", [side(own) for own in tiles], QUICK).same_pixels
    assert draw_together("all", [side(tiles[0])] * 2, QUICK).same_pixels


def test_too_low_and_too_high_differ_without_one_being_better(arrays):
    mean, _, truth = arrays
    variance = np.full_like(mean, float(np.mean(np.square(truth))))
    low, high = (Tiles((mean, factor * variance, truth), across=2) for factor in (0.8, 1.333))

    found = differences(low, high)["zms", "", ""]

    assert found.high < 0
    assert found.p_value > 0.05
    assert abs(float(coverage(low.whole, 0.9)) - float(coverage(high.whole, 0.9))) > 0.05


@pytest.mark.parametrize(("cells", "reason"), [(32, "fewer than 8 cells"), (0, "no pixel")])
def test_where_there_is_no_interval_the_reason_is_told(arrays, cells, reason):
    mean, variance, truth = (array[:32, :32] for array in arrays)
    tiles = Tiles((mean if cells else np.full_like(mean, np.nan), variance, truth))

    found = differences(tiles, tiles)["rmse", "", ""]

    assert found.p_value is None
    assert found.reason in (reason, "no value")


def test_a_bin_in_few_blocks_has_no_difference_that_can_be_told(arrays):
    mean, variance, truth = arrays
    variance = np.where(np.arange(256) + 256 * np.arange(256)[:, None] < 8, 50.0, variance)
    tiles = Tiles((mean, variance, truth), across=2, choices=replace(CHOICES, schemes=(EQUAL_WIDTH_10,)))

    found = differences(tiles, tiles)

    assert found["uce", "equal-width-10", ""].reason == "a bin in few blocks; equal-count bins all hold pixels"
    assert found["uce", "equal-width-10", ""].p_value is None
    assert not found["zms", "", ""].reason


def test_few_effective_cells_have_no_difference_that_can_be_told():
    mean, variance, truth = forecast(0, 256, 200)
    tiles, nearer = Tiles((mean, variance, truth)), Tiles(((mean + truth) / 2, variance, truth))

    assert differences(tiles, nearer)["bias", "", ""].reason == f"fewer than {FEWEST_EFFECTIVE} effective cells"


def test_what_is_the_same_does_not_differ_however_few_cells_are_effective():
    tiles = Tiles(forecast(0, 256, 200))

    found = differences(tiles, tiles)["bias", "", ""]

    assert (found.value, found.low, found.high, found.reason) == (0, 0, 0, "")


def test_a_difference_that_hangs_on_few_blocks_cannot_be_told(base, noisy, monkeypatch):
    monkeypatch.setattr("geouq.inference.differences.too_uncertain", lambda _: "few blocks outweigh the others")

    found = differences(base, noisy)["rmse", "", ""]

    assert (found.reason, found.low, found.p_value) == ("few blocks outweigh the others", None, None)
    assert found.better == -1


def test_without_any_difference_few_differences_are_found():
    found = {"rmse": 0, "zms": 0, "coverage_90": 0, "bias": 0}
    for seed in range(25):
        _, variance, truth = forecast(seed, 128, 6)
        rng = np.random.default_rng(1000 + seed)
        pair = [Tiles((0.3 * rng.standard_normal(truth.shape), variance, truth)) for _ in range(2)]
        for key, one in differences(*pair).items():
            if key[0] in found:
                found[key[0]] += not one.low <= 0 <= one.high
    # 5 % of 25 are 1.25; more than 5 happen once in 1000 times
    assert max(found.values()) <= 5, found
