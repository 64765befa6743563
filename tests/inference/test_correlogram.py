"""Correlograms find the range of fields whose range is known."""

import numpy as np
import pytest
from correlated import gaussian_field

from geouq.inference.blocks import block_sides
from geouq.inference.correlogram import THRESHOLD, correlograms, kept_by_blocks, pairs_within_blocks


def of_field(field, present=None):
    present = np.ones(field.shape, np.bool_) if present is None else present
    centred = np.where(present, field - field[present].mean(), 0.0)
    return correlograms([(np.stack([centred, centred**2, centred**3], axis=-1), present)])[0]


def averaged(scale, side=96, fields=12):
    """Correlograms of some fields of that scale."""
    return [of_field(gaussian_field(np.random.default_rng(seed), side, scale)) for seed in range(fields)]


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_the_correlation_and_its_reach_are_those_of_the_field(scale):
    found = averaged(scale)

    correlation = np.mean([one.correlation for one in found], axis=0)
    distance = np.hypot(*np.ogrid[-40:41, -40:41])
    for lag in range(int(3 * scale)):
        ring = distance[np.rint(distance) == lag]
        assert correlation[lag] == pytest.approx(np.exp(-((ring / scale) ** 2)).mean(), abs=0.05)
    expected = scale * np.sqrt(-np.log(THRESHOLD))
    assert np.mean([one.correlation_range for one in found]) == pytest.approx(expected, abs=1 + 0.3 * scale)


@pytest.mark.parametrize("scale", [2.0, 4.0])
def test_the_inflation_of_the_variance_is_the_integral_of_the_correlation(scale):
    found = [one.inflation for one in averaged(scale)]

    assert np.mean(found) == pytest.approx(np.pi * scale**2, rel=0.2)


def test_uncorrelated_cells_reach_no_farther_than_one():
    found = of_field(np.random.default_rng(0).standard_normal((60, 60)))

    assert found.correlation_range == 1
    assert found.inflation == 1.0


def test_pairs_are_counted_within_a_tile_and_where_both_cells_are_present():
    present = np.ones((3, 4), np.bool_)
    present[0, 0] = False
    residual = np.where(present, np.arange(12.0).reshape(3, 4), 0.0)

    found = correlograms([(np.stack([residual] * 3, axis=-1), present)] * 2)[2]

    place = np.argwhere(present)
    distance = np.rint(np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))).astype(int)
    pairs = np.bincount(distance[np.triu_indices(len(place))], minlength=4)
    assert found.pairs.tolist() == (2 * pairs[:4]).tolist()


def test_few_pairs_tell_no_correlation():
    field = gaussian_field(np.random.default_rng(0), 24, 2.0)
    present = np.zeros(field.shape, np.bool_)
    present[:8, :8] = present[:2, 20:22] = True

    found = of_field(field, present)

    assert (np.isfinite(found.correlation) == (found.pairs >= 30)).all()
    assert ((found.pairs > 0) & (found.pairs < 30)).any()
    assert found.correlation_range <= 8
    assert np.nanmax(np.abs(found.correlation)) <= 1


@pytest.mark.parametrize(("side", "scale"), [(4, 2.0), (8, 3.0), (12, 3.0)])
def test_blocks_keep_the_share_of_the_variance_that_is_within_them(side, scale):
    fields = [gaussian_field(np.random.default_rng(seed), 96, scale) for seed in range(60)]
    whole, shape = np.pi * scale**2, (96 // side, side, 96 // side, side)
    within = np.mean([field.reshape(shape).sum((1, 3)).var() for field in fields]) / side**2

    found = [of_field(field) for field in fields[:12]]
    pairs = pairs_within_blocks(found[0].grid.shape[0] - 1, [block_sides((96, 96), side)])
    kept = np.mean([kept_by_blocks(one, *pairs) for one in found])

    assert kept == pytest.approx(within / whole, rel=0.12)


def test_cells_without_a_pixel_around_a_region_change_no_correlation():
    field, around = gaussian_field(np.random.default_rng(0), 20, 2.0), [(7, 30), (40, 3)]
    present = np.random.default_rng(1).random(field.shape) < 0.8
    alone, within = of_field(field, present), of_field(np.pad(field, around), np.pad(present, around))

    assert within.pairs[:15].tolist() == alone.pairs[:15].tolist()
    assert within.correlation[:15].tobytes() == alone.correlation[:15].tobytes()
    assert within.pairs.sum() >= alone.pairs.sum()
