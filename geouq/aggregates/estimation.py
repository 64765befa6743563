"""Estimate the correlation of errors of a map, from all of it or from some of its folds."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.cells import AreaCells
from geouq.aggregates.correlation import CorrelationModel, Correlogram, fitted
from geouq.aggregates.folds import folds_of
from geouq.aggregates.pairs import Labels, PairSums, pair_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
FEWEST_FOLDS = 4
FEWEST_CELLS = 30
FEWEST_TILES, MOST_TILES = 5, 1000  # in which errors that a tile has in common are looked for
STEPS = 8  # classes as wide as a cell; the next ones grow
GROWTH = 1.2


@dataclass(frozen=True, eq=False)
class ErrorCorrelation:
    """How the errors of a variable are correlated.

    Parameters
    ----------
    cells : AreaCells
        All cells with truth.
    side : float
        Of a cell, in metres.
    fold : int64 (C)
        Fold of each cell.
    sums : PairSums
        By folds, of the informative cells.
    """

    cells: AreaCells
    side: float
    fold: Ints
    sums: PairSums

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.sums.pairs)

    @cached_property
    def correlogram(self) -> Correlogram:
        """Return the correlogram of all cells."""
        return self._correlogram(np.ones(self.folds, np.bool_))

    @cached_property
    def model(self) -> CorrelationModel:
        """Return the model fitted to all cells."""
        return fitted(self.correlogram, self.noise)

    @cached_property
    def noise(self) -> Floats:
        """Return the variance of the correlation of each class: of uncorrelated cells, and by the jackknife."""
        each = [self._correlogram(np.arange(self.folds) != fold).correlation for fold in range(self.folds)]
        left_out = np.ma.masked_invalid(each)
        jackknife = (self.folds - 1) * np.asarray(left_out.var(axis=0).filled(0.0))
        return jackknife + 1 / np.maximum(self.correlogram.pairs, 1)

    @cached_property
    def each_left_out(self) -> list[CorrelationModel]:
        """Return the models without each fold."""
        return [model for fold in range(self.folds) if (model := self.without([fold])) is not None]

    def folds_of(self, cells: AreaCells) -> Ints:
        """Return the fold of each of some cells of the same tiles."""
        key, wanted = (np.stack([own.tile, own.row, own.column]) for own in (self.cells, cells))
        size = 1 + np.maximum(key.max(1), wanted.max(1, initial=0))
        key, wanted = (np.ravel_multi_index(tuple(own), tuple(size)) for own in (key, wanted))
        return self.fold[np.minimum(np.searchsorted(key, wanted), len(key) - 1)]

    def without(self, folds: Collection[int]) -> CorrelationModel | None:
        """Return the model fitted without some folds.

        None if fewer than three folds are left, or if all their errors are the truth's own.
        """
        return _model_without(self, frozenset(folds))

    def _correlogram(self, kept: Bools) -> Correlogram:
        """Return the correlogram of some folds; the first class holds pairs of pixels in the same cell."""
        own = self._within[kept].sum(0)
        products, distance, pairs = self.sums.of(kept)
        return Correlogram(
            np.concatenate([[0.0], distance]),
            np.arange(-1, len(distance)) >= len(distance) // 2,
            np.concatenate([own[:1], products[:, 0]]),
            np.concatenate([own[1:2], products[:, 1]]),
            np.concatenate([own[2:3], pairs]),
            float(own[3] / own[4]),
            self.side,
        )

    @cached_property
    def _within(self) -> Floats:
        """Return sums over the cells of each fold: of pairs in a cell, their weights, cells, z^2 and its weights."""
        cells, own = self.cells, self.cells.informative
        each = (
            cells.z**2 - cells.z_square,
            cells.z_weight**2 - cells.z_weight_square,
            cells.n > 1,
            cells.z_square - cells.z_noise,
            cells.z_weight_square,
        )
        return np.stack([np.bincount(self.fold[own], one[own], self.folds) for one in each], axis=-1)


@lru_cache(maxsize=4096)
def _model_without(correlation: ErrorCorrelation, folds: frozenset[int]) -> CorrelationModel | None:
    kept = ~np.isin(np.arange(correlation.folds), list(folds))
    if np.count_nonzero(kept) < FEWEST_FOLDS - 1:
        return None
    found = correlation._correlogram(kept)  # noqa: SLF001
    is_known = found.zms > 0 or not correlation.cells.noise.any()
    return fitted(found, correlation.noise) if is_known else None


def error_correlation(cells: AreaCells, side: float) -> ErrorCorrelation | None:
    """Return the correlation of the errors of some cells.

    None where there are too few informative cells or folds, where the truth's own error is as large as all errors, or
    where all errors are 0.

    Parameters
    ----------
    cells : AreaCells
        With truth. Those whose sums overflow are left out.
    side : float
        Of a cell in metres.
    """
    cells = cells.finite()
    own = cells.some(cells.informative)
    if len(own) < FEWEST_CELLS or not side > 0:
        return None
    fold = folds_of(cells)
    folds = int(fold.max()) + 1
    if folds < FEWEST_FOLDS:
        return None
    tiles = len(np.unique(own.tile))
    tile = own.tile if FEWEST_TILES <= tiles <= MOST_TILES else np.full(len(own), -1)
    labels = Labels(fold[cells.informative], folds, tile)
    values, edges = np.column_stack([own.z, own.z_weight]), distance_classes(own.position, side)
    if is_truth_alone(cells) or not own.z_square.any():
        return None
    return ErrorCorrelation(cells, side, fold, pair_sums(own.position, values, labels, edges, side))


def is_truth_alone(cells: AreaCells) -> bool:
    """Return whether the truth's own error is as large as all errors, of all cells or of those without a fold."""
    cells = cells.finite()
    if not cells.noise.any():
        return False
    own = np.bincount(folds_of(cells), cells.z_square - cells.z_noise)
    return not (own.sum() - own > 0).all()


def distance_classes(position: Floats, side: float) -> Floats:
    """Return the edges of classes of distance: one cell wide, then growing."""
    longest = float(np.linalg.norm(np.ptp(position, axis=0))) + side
    edges = [0.0, *(side * (k + 0.5) for k in range(1, STEPS + 1))]
    while edges[-1] < longest:
        edges.append(edges[-1] * GROWTH)
    return np.array(edges)
