"""Means of blocks, tiles and regions have the errors of their pixels, and models from elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from cell_maps import CELLS, PIXELS, SIDE, TILES, cells_of, mixed, places

from geouq.aggregates.area import AreaPairs
from geouq.aggregates.blocks import block_means, blocks_of_areas, sides_of
from geouq.aggregates.estimation import error_correlation


@pytest.fixture(scope="module")
def maps():
    rng = np.random.default_rng(0)
    shape = TILES[0] * CELLS * PIXELS, TILES[1] * CELLS * PIXELS
    return mixed(rng, shape, (0.5, 4)), rng.uniform(0.5, 2, shape)


@pytest.fixture(scope="module")
def correlation(maps):
    return error_correlation(cells_of(*maps, tiles=TILES), SIDE)


@pytest.mark.parametrize("side", [1, 2, 8])
def test_blocks_have_the_errors_and_variances_of_their_pixels(maps, correlation, side):
    z, std = maps

    found = block_means(correlation, places(), side)

    own = side * PIXELS

    def mean(values):
        tiles = values.reshape(TILES[0], CELLS * PIXELS, TILES[1], CELLS * PIXELS).transpose(0, 2, 1, 3)
        blocks = tiles.reshape(6, CELLS // side, own, CELLS // side, own)
        return blocks.mean((2, 4)).ravel()

    np.testing.assert_allclose(found.error, mean(-z * std), atol=1e-12)
    np.testing.assert_allclose(found.independent, mean(std**2) / own**2, rtol=1e-12)
    np.testing.assert_allclose(found.full, mean(std) ** 2, rtol=1e-12)
    assert found.side == pytest.approx(side * SIDE)


def test_the_fitted_variance_of_a_block_is_that_of_its_pairs_under_a_model_from_elsewhere(correlation):
    found = block_means(correlation, places(), 8)
    cells, fold = correlation.cells, correlation.fold

    for number, (row, column) in enumerate(np.ndindex(2, 2)):
        chosen = (cells.tile == 0) & (cells.row // 8 == row) & (cells.column // 8 == column)
        model = correlation.without(np.unique(fold[chosen]).tolist())
        variance = AreaPairs.of(cells.some(chosen), SIDE).variance(model)
        assert found.fitted[number] == pytest.approx(variance, rel=1e-9)
        assert found.calibrated[number] == pytest.approx(model.zms * variance, rel=1e-9)


def test_areas_of_any_shape_have_the_same_variances_as_blocks(correlation):
    cells, fold = correlation.cells, correlation.fold
    tiles = [(cells.some(cells.tile == own), fold[cells.tile == own]) for own in range(6)]

    found, blocks = blocks_of_areas(correlation, tiles), block_means(correlation, places(), CELLS)

    for name in ("error", "independent", "fitted", "full", "calibrated", "area"):
        np.testing.assert_allclose(getattr(found, name), getattr(blocks, name), rtol=1e-9, err_msg=name)


def test_areas_within_one_fold_share_it_and_each_other_area_is_a_fold_of_its_own(correlation):
    cells, fold = correlation.cells, correlation.fold
    parts = [(cells.tile == 0) & (cells.row < 8), (cells.tile == 0) & (cells.row >= 8), cells.tile == 1]
    parts += [(cells.tile < 2) & (cells.row < 8), (cells.tile < 2) & (cells.row >= 8)]

    found = blocks_of_areas(correlation, [(cells.some(own), fold[own]) for own in parts])

    first, second = (int(fold[cells.tile == tile][0]) for tile in (0, 1))
    assert found.fold.tolist() == [first, first, second, -4, -5]
    assert found.number.tolist() == [0, 1, 2, 3, 4]


def test_small_areas_that_cut_their_cells_are_left_out(correlation):
    own = (correlation.cells.tile == 0) & (correlation.cells.row < 2) & (correlation.cells.column < 2)
    small, fold = correlation.cells.some(own), correlation.fold[own]

    assert len(blocks_of_areas(correlation, [(small, fold)])) == 1
    assert len(blocks_of_areas(correlation, [(replace(small, part=np.full(4, 0.25)), fold)])) == 0


def test_blocks_with_few_valid_pixels_are_left_out(maps):
    z, std = maps[0].copy(), maps[1]
    z[: 8 * PIXELS, : 8 * PIXELS - PIXELS // 2] = np.nan  # more than half of the first block

    found = block_means(error_correlation(cells_of(z, std, tiles=TILES), SIDE), places(), 8)

    assert len(found) == 23


def test_blocks_of_a_map_with_gaps_have_the_numbers_of_the_same_blocks_of_another(maps, correlation):
    z, std = maps[0].copy(), maps[1]
    z[: 8 * PIXELS, : 8 * PIXELS] = np.nan
    z[:, 20 * PIXELS : 24 * PIXELS] = np.nan
    other = error_correlation(cells_of(z, std, tiles=TILES), SIDE)

    for side in (1, 4, 16):
        whole, part = (block_means(own, places(), side) for own in (correlation, other))

        assert len(np.unique(whole.number)) == len(whole)
        _, one, two = np.intersect1d(whole.number, part.number, return_indices=True)
        assert len(two) == len(part)
        if side < 16:
            np.testing.assert_allclose(whole.error[one], part.error[two], rtol=1e-9)


def test_an_area_in_most_folds_has_no_model(correlation):
    assert len(blocks_of_areas(correlation, [(correlation.cells, correlation.fold)])) == 0


def test_sides_double_as_long_as_a_tile_holds_a_block():
    assert sides_of(places()) == [1, 2, 4, 8, 16]
    assert sides_of([]) == []
