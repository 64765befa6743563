"""Parts of a map that are left out in turn: on each is judged what was fitted on the others."""

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.cells import AreaCells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLDS = 10
ENOUGH_TILES = 5  # of fewer tiles, parts are cut into squares
PIECES = 64  # squares, about


def folds_of(cells: AreaCells, folds: int = FOLDS) -> Ints:
    """Return the fold of each cell, from 0.

    Folds are compact and have like numbers of pixels. They are made of whole tiles if there are enough. Cells that tell
    nothing of the correlation belong to the fold of their tile, or to the nearest one.
    """
    own = cells.informative
    informative = cells.some(own)
    fold = np.empty(len(cells), np.int64)
    fold[own] = _folds(informative, folds)
    if not own.all():
        fold[~own] = _nearest(informative, fold[own], cells.some(~own))
    return fold


def _folds(cells: AreaCells, folds: int) -> Ints:
    piece = _tiles(cells) if len(np.unique(cells.tile)) >= ENOUGH_TILES else _squares(cells.position)
    pieces = int(piece.max(initial=-1)) + 1
    weight: Floats = np.bincount(piece, cells.n, pieces).astype(np.float64)
    centre = np.stack([np.bincount(piece, cells.n * axis, pieces) / weight for axis in cells.position.T], axis=-1)
    parts = _split(np.arange(pieces), min(folds, pieces), centre, weight)
    fold = np.zeros(pieces, np.int64)
    for number, own in enumerate(parts):
        fold[own] = number
    return fold[piece]


def _nearest(cells: AreaCells, fold: Ints, others: AreaCells) -> Ints:
    """Return the fold of each of the other cells: of its tile if folds are made of tiles, else the nearest one."""
    count = np.bincount(fold)
    centre = np.stack([np.bincount(fold, axis) / count for axis in cells.position.T], axis=-1)
    apart = np.stack([np.linalg.norm(others.position - own, axis=-1) for own in centre])
    found = np.argmin(apart, axis=0)
    if len(np.unique(cells.tile)) < ENOUGH_TILES:
        return found
    of_tile = np.full(int(max(cells.tile.max(), others.tile.max())) + 1, -1)
    of_tile[cells.tile] = fold
    return np.where(of_tile[others.tile] >= 0, of_tile[others.tile], found)


def _tiles(cells: AreaCells) -> Ints:
    return np.unique(cells.tile, return_inverse=True)[1].ravel()


def _squares(position: Floats) -> Ints:
    """Return the number of the square of each cell."""
    low, size = position.min(0), np.ptp(position, axis=0)
    side = max(float(np.sqrt(np.prod(np.sort(size)[1:]) / PIECES)), float(size.max()) / PIECES) or 1.0
    place = np.floor((position - low) / side).astype(np.int64)
    return np.unique(place, axis=0, return_inverse=True)[1].ravel()


def _split(pieces: Ints, count: int, centre: Floats, weight: Floats) -> list[Ints]:
    """Return so many parts of some pieces, which are cut across their longest direction, so that parts are compact."""
    if count <= 1:
        return [pieces]
    axis = int(np.argmax(np.ptp(centre[pieces], axis=0)))
    ordered = pieces[np.argsort(centre[pieces, axis], kind="stable")]
    left = count // 2
    sums = np.cumsum(weight[ordered])
    cut = int(np.searchsorted(sums, sums[-1] * left / count)) + 1
    cut = min(max(cut, left), len(ordered) - (count - left))
    return _split(ordered[:cut], left, centre, weight) + _split(ordered[cut:], count - left, centre, weight)
