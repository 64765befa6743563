"""Folds are compact parts of a map with like numbers of pixels."""

import numpy as np
from cell_maps import cells_of

from geouq.aggregates.folds import folds_of


def test_folds_are_whole_tiles_where_there_are_enough():
    cells = cells_of(np.zeros((64, 96)), 1.0, tiles=(2, 3))

    fold = folds_of(cells)

    assert len(np.unique(fold)) == 6
    assert all(len(np.unique(fold[cells.tile == tile])) == 1 for tile in range(6))


def test_a_single_tile_is_cut_into_folds_of_like_size():
    cells = cells_of(np.zeros((128, 128)), 1.0)

    counts = np.bincount(folds_of(cells))

    assert len(counts) == 10
    assert counts.max() < 2 * counts.min()


def test_folds_do_not_depend_on_the_order_of_cells_elsewhere():
    cells = cells_of(np.where(np.arange(128)[:, None] < 64, 0.0, np.nan) * np.ones(128), 1.0)

    assert len(np.unique(folds_of(cells))) == 10
