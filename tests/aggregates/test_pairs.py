"""Sums over pairs of cells are those of all pairs, one by one."""

import numpy as np
import pytest

from geouq.aggregates.pairs import FEW, Labels, pair_sums

EDGES = np.array([0.0, 150.0, 250.0, 400.0, 800.0, 1600.0, 1e5])


def cells(count, seed=0):
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(count)))
    place = np.stack(np.divmod(np.arange(count), side), axis=-1) * 100.0
    position = np.column_stack([place, np.zeros(count)])
    return (
        position,
        rng.normal(size=(count, 2)) + np.array([0, 5]),
        rng.integers(0, 3, count),
        rng.integers(0, 4, count),
    )


def dense(position, values, group, tile, edges=EDGES, groups=3):
    one, other = np.triu_indices(len(values), 1)
    apart = np.linalg.norm(position[one] - position[other], axis=-1)
    number = np.searchsorted(edges, apart, side="right") - 1 + (len(edges) - 1) * (tile[one] == tile[other])
    shape = groups, groups, 2 * (len(edges) - 1)
    products, pairs, distance = np.zeros((*shape, values.shape[1])), np.zeros(shape), np.zeros(shape)
    at = np.minimum(group[one], group[other]), np.maximum(group[one], group[other]), number
    np.add.at(products, at, values[one] * values[other])
    np.add.at(pairs, at, 1)
    np.add.at(distance, at, apart * values[one, -1] * values[other, -1])
    return products, distance, pairs


def test_sums_of_few_cells_are_those_of_each_pair():
    position, values, group, tile = cells(200)

    found = pair_sums(position, values, Labels(group, 3, tile), EDGES, 100.0)

    for own, wanted in zip(
        (found.products, found.distance, found.pairs), dense(position, values, group, tile), strict=True
    ):
        np.testing.assert_allclose(own, wanted, rtol=1e-12, atol=1e-9)


def test_sums_of_many_cells_keep_all_products_and_near_pairs():
    count = 3 * FEW
    position, values, group, tile = cells(count, seed=1)
    tile = (position[:, 0] // 3400).astype(int)  # compact, as tiles are

    found = pair_sums(position, values, Labels(group * 0, 1, tile), EDGES, 100.0)

    wanted = (values.sum(0) ** 2 - (values**2).sum(0)) / 2
    products, _, pairs = dense(position, values, group * 0, tile, groups=1)
    np.testing.assert_allclose(found.products.sum((0, 1, 2)), wanted, rtol=1e-11)
    assert found.pairs.sum() == count * (count - 1) / 2
    near = np.r_[:3, 6:9]  # classes within the reach of neighbouring squares
    np.testing.assert_array_equal(found.pairs[0, 0, near], pairs[0, 0, near])
    np.testing.assert_allclose(found.products[0, 0, near], products[0, 0, near], rtol=1e-10)


def test_pairs_of_some_groups_are_those_of_their_cells_alone():
    position, values, group, tile = cells(300, seed=2)
    kept = np.array([True, False, True])
    own = kept[group]

    found = pair_sums(position, values, Labels(group, 3, tile), EDGES, 100.0).of(kept)

    alone = pair_sums(position[own], values[own], Labels.none(own.sum()), EDGES, 100.0)
    both = found[0].reshape(2, -1, 2).sum(0)
    np.testing.assert_allclose(both, alone.products[0, 0, : len(EDGES) - 1], rtol=1e-11)
    assert found[2].sum() == own.sum() * (own.sum() - 1) / 2


@pytest.mark.parametrize("count", [0, 1])
def test_no_cell_and_one_cell_have_no_pair(count):
    position, values, group, tile = cells(count)

    assert pair_sums(position, values, Labels(group, 3, tile), EDGES, 100.0).pairs.sum() == 0
