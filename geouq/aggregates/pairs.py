"""Sums over all pairs of cells by distance.

Distant cells are summed in squares. The products of all their pairs are exact; their distance is the distance of the
centres of the squares. Up to `FEW` cells, each pair has its own distance.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, compiled_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEW = 1500  # squares
NEAR = 3.0  # sides of a square, up to which pairs of cells are taken one by one
GROWTH = 1.15


@dataclass(frozen=True)
class PairSums:
    """Sums over pairs of different cells, each pair once.

    Parameters
    ----------
    products : float64 (groups, groups, 2 * classes, columns)
        Sums of the products of each column, by the groups of the two cells; the first one is not the larger. First
        those of all classes with cells in different tiles, then those with both cells in one tile.
    distance : float64 (groups, groups, 2 * classes)
        Sums of the products of the last column times the distance.
    pairs : float64 (groups, groups, 2 * classes)
        Number of pairs.
    """

    products: Floats
    distance: Floats
    pairs: Floats

    def of(self, groups: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Return products (2 * classes, columns), mean distance and number of pairs with both cells in some groups.

        The mean distance of a class without a pair, or without weight, is 0.
        """
        products, distance, pairs = (
            own[groups][:, groups].sum((0, 1)) for own in (self.products, self.distance, self.pairs)
        )
        weight = products[:, -1]
        return products, np.divide(distance, weight, out=np.zeros_like(weight), where=weight > 0), pairs


@dataclass(frozen=True)
class Labels:
    """Which group and which tile each cell is in, int64 (C); cells of tiles below 0 share none."""

    group: Ints
    groups: int
    tile: Ints

    @classmethod
    def none(cls, cells: int) -> Self:
        """Return those of cells that are all in one group and in no tile."""
        return cls(np.zeros(cells, np.int64), 1, np.full(cells, -1, np.int64))


@dataclass(frozen=True)
class Squares:
    """Cells in the order of squares of space; the cells of square s, with one label, begin at start[s]."""

    order: Ints
    start: Ints
    side: float


def pair_sums(position: Floats, values: Floats, labels: Labels, edges: Floats, side: float) -> PairSums:
    """Return sums over pairs of cells in classes of distance.

    Parameters
    ----------
    position : float64 (C, 3)
        Centres in metres.
    values : float64 (C, columns)
        What is multiplied.
    labels : Labels
        Groups and tiles.
    edges : float64 (classes + 1)
        Edges of the classes in metres; a pair at an edge belongs to the class above, and one outside to none.
    side : float
        Of a cell in metres.
    """
    squares = _squares(position, labels, side)
    own, centres = np.ascontiguousarray(values[squares.order]), _centres(position, values[:, -1], squares)
    shape = labels.groups, labels.groups, 2 * (len(edges) - 1)
    found = np.zeros((*shape, values.shape[1])), np.zeros(shape), np.zeros(shape)
    sums = np.add.reduceat(own, squares.start[:-1], axis=0) if len(own) else own
    first = squares.order[squares.start[:-1]]
    _add_pairs(
        np.ascontiguousarray(position[squares.order]), own, squares.start, labels.group[first], labels.tile[first],
        centres, np.ascontiguousarray(sums), NEAR * squares.side, np.ascontiguousarray(edges**2), *found,
    )  # fmt: skip
    return PairSums(*found)


def _squares(position: Floats, labels: Labels, side: float) -> Squares:
    """Return the smallest squares of which there are few."""
    number, length = np.arange(len(position)), side
    if len(position) > FEW:
        label = np.unique(np.column_stack([labels.group, labels.tile]), axis=0, return_inverse=True)[1].ravel()
        most = FEW + int(label.max())
        while number.max() > most:
            length *= max(GROWTH, 0.9 * np.sqrt(number.max() / most))
            place = np.column_stack([np.floor(position / length).astype(np.int64), label])
            number = np.unique(place, axis=0, return_inverse=True)[1].ravel()
    start = np.concatenate([[0], np.cumsum(np.bincount(number))]).astype(np.int64)
    return Squares(np.argsort(number, kind="stable"), start, length)


def _centres(position: Floats, weight: Floats, squares: Squares) -> Floats:
    """Return the mean position of the cells of each square, weighted."""
    if not len(position):
        return np.zeros((0, 3))
    weight = np.maximum(weight[squares.order], np.finfo(np.float64).tiny)
    total = np.add.reduceat(weight, squares.start[:-1])
    moved = np.add.reduceat(position[squares.order] * weight[:, np.newaxis], squares.start[:-1], axis=0)
    single = np.diff(squares.start) == 1
    centres = moved / total[:, np.newaxis]
    centres[single] = position[squares.order[squares.start[:-1][single]]]
    return np.ascontiguousarray(centres)


@compiled
def _add(  # noqa: PLR0917  compiled functions take no keywords
    apart: float,
    i: int,
    j: int,
    values: Floats,
    count: int,
    edges: Floats,
    first: int,
    products: Floats,
    distance: Floats,
    pairs: Floats,
) -> None:
    """Add one pair, of the squared distance `apart`, to its class; the classes of its kind begin at `first`."""
    k = np.searchsorted(edges, apart, side="right") - 1
    if k < 0 or k >= len(edges) - 1:
        return
    last = values.shape[1] - 1
    for c in range(last + 1):
        products[first + k, c] += values[i, c] * values[j, c]
    distance[first + k] += np.sqrt(apart) * values[i, last] * values[j, last]
    pairs[first + k] += count


@compiled_for(
    "f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8, f8[::1], "
    "f8[:,:,:,::1], f8[:,:,::1], f8[:,:,::1]"
)
def _add_pairs(  # noqa: PLR0917  compiled functions take no keywords
    position: Floats,
    values: Floats,
    start: Ints,
    group: Ints,
    tile: Ints,
    centres: Floats,
    sums: Floats,
    near: float,
    edges: Floats,
    products: Floats,
    distance: Floats,
    pairs: Floats,
) -> None:
    """Add the pairs of all squares; edges are squared, and group and tile are those of squares."""
    for i in range(len(start) - 1):
        for j in range(i, len(start) - 1):
            apart = 0.0
            for axis in range(3):
                apart += (centres[i, axis] - centres[j, axis]) ** 2
            one, other = min(group[i], group[j]), max(group[i], group[j])
            into = products[one, other], distance[one, other], pairs[one, other]
            first = len(edges) - 1 if tile[i] == tile[j] and tile[i] >= 0 else 0
            counts = start[i + 1] - start[i], start[j + 1] - start[j]
            if apart > near * near or (i != j and counts[0] == 1 and counts[1] == 1):
                _add(apart, i, j, sums, counts[0] * counts[1], edges, first, into[0], into[1], into[2])
                continue
            for a in range(start[i], start[i + 1]):
                for b in range(a + 1 if i == j else start[j], start[j + 1]):
                    apart = 0.0
                    for axis in range(3):
                        apart += (position[a, axis] - position[b, axis]) ** 2
                    _add(apart, a, b, values, 1, edges, first, into[0], into[1], into[2])
