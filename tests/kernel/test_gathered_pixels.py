"""The valid pixels of a zone, gathered from a window: those that numpy finds, in the order of the sweep."""

import numpy as np
import pytest

from geouq.core.validity import MASKED, NOT_FINITE, REASONS, TRUTH_NODATA, VARIANCE_NOT_POSITIVE, Nodata
from geouq.kernel import Pixels, added_rows, errors_of, gather_valid, pixels_of_cells, runs_of_places, take_keys
from geouq.kernel.accumulators import BLOCK, BLOCKS
from geouq.zones.masks import strips_of

SHAPE = (96, 160)
CELL = 32


def window_of(seed, dtype=np.float32, *, status=True):
    """Pixels of a window with gaps of all kinds, and where they are valid."""
    rng = np.random.default_rng(seed)
    mean, truth = (rng.normal(size=SHAPE).astype(dtype) for _ in range(2))
    variance = rng.uniform(0.5, 2, SHAPE).astype(dtype)
    mean[rng.random(SHAPE) < 0.05] = np.nan
    truth[rng.random(SHAPE) < 0.05] = -9999
    variance[rng.random(SHAPE) < 0.02] = 0
    variance[rng.random(SHAPE) < 0.02] = -1
    hidden = (rng.random(SHAPE) < 0.05).astype(np.uint8) * np.uint8(MASKED + 1)
    hidden = hidden if status else np.empty((0, 0), np.uint8)
    valid = np.isfinite(mean) & (truth != -9999) & (variance > 0)
    if status:
        valid &= hidden == 0
    layers = (mean.ravel(), variance.ravel(), truth.ravel(), np.empty(0), hidden.ravel())
    return Pixels(*layers), valid


def zone_of(seed):
    """A zone with an uneven border and full squares."""
    rng = np.random.default_rng(seed)
    zone = np.zeros(SHAPE, bool)
    zone[5:80, 20:150] = True
    zone[rng.random(SHAPE) < 0.1] = False
    return zone


def gathered(pixels, zone):
    places, boxes = strips_of(zone, CELL, 0, SHAPE[1])
    return gather_valid(pixels, Nodata.of(None, None, -9999.0), places, boxes, CELL)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("status", [True, False])
def test_gathered_pixels_are_the_valid_ones_of_the_zone(dtype, status):
    pixels, valid = window_of(0, dtype, status=status)
    zone = zone_of(1)

    found = gathered(pixels, zone)

    expected = np.flatnonzero((zone & valid).ravel())
    np.testing.assert_array_equal(np.sort(found.place), expected)
    for name in ("mean", "variance", "truth"):
        own = getattr(found, name)
        assert own.dtype == dtype
        np.testing.assert_array_equal(own, getattr(pixels, name)[found.place], err_msg=name)


@pytest.mark.parametrize("nodata", [np.nan, -9999.0, None])
def test_wide_gaps_are_counted_under_their_first_reason(nodata):
    mean, variance, truth = (np.full(SHAPE, value, np.float32) for value in (1, 2, 3))
    truth[:40] = np.nan if nodata is None else nodata
    mean[20:60] = np.nan
    variance[50:70] = -1
    pixels = Pixels(mean.ravel(), variance.ravel(), truth.ravel(), np.empty(0), np.empty(0, np.uint8))
    zone = zone_of(3)

    found = gather_valid(pixels, Nodata.of(None, None, nodata), *strips_of(zone, CELL, 0, SHAPE[1]), CELL)

    expected = np.zeros(len(REASONS), int)
    expected[NOT_FINITE if nodata is None else TRUTH_NODATA] += zone[:40].sum()
    expected[NOT_FINITE] += zone[40:60].sum()
    expected[VARIANCE_NOT_POSITIVE] += zone[60:70].sum()
    np.testing.assert_array_equal(found.excluded, expected)
    assert len(found.place) == zone[70:].sum()


def test_every_pixel_of_the_zone_is_gathered_or_excluded():
    pixels, valid = window_of(2)
    zone = zone_of(3)

    found = gathered(pixels, zone)

    assert found.excluded.sum() == (zone & ~valid).sum()
    negative = zone.ravel() & (pixels.variance < 0)
    assert 0 < found.negative[0] <= found.excluded[VARIANCE_NOT_POSITIVE]
    assert pixels.variance[found.negative[1]] < 0
    assert negative[found.negative[1]]


def test_slabs_hold_all_pixels_cell_by_cell():
    pixels, _ = window_of(4)
    found = gathered(pixels, zone_of(5))
    cells = pixels_of_cells(found.slabs)

    assert found.slabs[:, 0].sum() == len(found.place) == cells[:, 0].sum()
    assert (cells[:, 0] > 0).all()
    ends = np.cumsum(cells[:, 0])
    of_cell = [
        np.unique(own // SHAPE[1] // CELL * 100 + own % SHAPE[1] // CELL) for own in np.split(found.place, ends[:-1])
    ]
    assert [len(own) for own in of_cell] == [1] * len(cells)
    assert len(np.unique(np.concatenate(of_cell))) == len(cells)


def test_a_zone_without_a_valid_pixel_gives_none():
    pixels, _ = window_of(6)
    found = gathered(pixels._replace(mean=np.full_like(pixels.mean, np.nan)), zone_of(7))

    assert len(found.place) == 0
    assert len(pixels_of_cells(found.slabs)) == 0


def test_runs_lead_back_to_the_places():
    place = np.array([3, 4, 5, 158, 159, 160, 161, 900, 320, 319], np.int32)
    runs = runs_of_places(place, SHAPE[1], 1000, 2000)

    back = np.concatenate([(row - 1000) * SHAPE[1] + column - 2000 + np.arange(count) for row, column, count in runs])
    np.testing.assert_array_equal(back, place)
    assert runs[1].tolist() == [1000, 2158, 2]  # a run ends where a row of the window does


def test_errors_are_rounded_only_where_a_float32_holds_them():
    mean, truth = np.array([1.5, 0.1, 1e10]), np.array([1.0, 0.0, 1.0])
    error, wide, exact = errors_of(mean, truth)

    assert error.dtype == np.float32
    assert wide.tolist() == [1, 2]
    np.testing.assert_array_equal(exact, (mean - truth)[1:])


def test_keys_with_counts_are_taken_in_their_order_and_emptied():
    counts, touched = np.zeros((BLOCKS * BLOCK, 2)), np.zeros(BLOCKS, np.uint8)
    keys = np.array([0, 1, 9 * BLOCK + 3, 700 * BLOCK, BLOCKS * BLOCK - 1])
    counts[keys] = np.arange(1, 11).reshape(5, 2)
    touched[keys // BLOCK] = 1

    taken, rows = take_keys(counts.ravel(), touched)

    np.testing.assert_array_equal(taken, keys)
    np.testing.assert_array_equal(rows, np.arange(1, 11).reshape(5, 2))
    assert not counts.any()
    assert not touched.any()


@pytest.mark.parametrize("seed", range(5))
def test_rows_by_number_add(seed):
    rng = np.random.default_rng(seed)
    numbers = [np.unique(rng.integers(0, 30, count)) for count in (12, 9)]
    rows = [rng.integers(0, 9, (len(own), 3)).astype(float) for own in numbers]
    dense = np.zeros((30, 3))
    for own, sums in zip(numbers, rows, strict=True):
        dense[own] += sums

    both, total = added_rows(numbers[0], rows[0].copy(), numbers[1], rows[1])

    np.testing.assert_array_equal(both, np.union1d(*numbers))
    np.testing.assert_array_equal(total, dense[both])
