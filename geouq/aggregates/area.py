"""The error of the mean of an area: its variance under a model of correlation, and an interval that holds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.cells import AreaCells
from geouq.aggregates.correlation import PARTS, CorrelationModel
from geouq.aggregates.estimation import ErrorCorrelation
from geouq.aggregates.pairs import Labels, pair_sums
from geouq.core.compiled import compiled_for
from geouq.core.gaussian import quantile
from geouq.inference.compiled_limits import half_width_of_mixture

Floats = NDArray[np.float64]
DIRECT = 512  # cells, up to which each pair has its own distance
FINE = 48  # classes for each doubling of the distance, of larger areas


@dataclass(frozen=True)
class AreaPairs:
    """Sums that give the variance of the mean of an area under any model.

    Parameters
    ----------
    distance, mass : float64 (classes)
        Distances of pairs of cells in metres, and the sums of 2 S S' at each, S being the sum of a times std.
    in_tiles : float
        Sum of 2 S S' of the pairs in one tile.
    within : float64 (parts)
        Sums over cells of S^2 - D, D being the sum of a^2 times the variance.
    part : float64 (parts)
        The part of the cell that the area holds, of these sums; 1 for whole cells.
    own : float
        Sum of D.
    std : float
        Sum of S.
    weight : float
        Sum of a.
    """

    distance: Floats
    mass: Floats
    in_tiles: float
    within: Floats
    part: Floats
    own: float
    std: float
    weight: float

    @classmethod
    def of(cls, cells: AreaCells, side: float) -> Self:
        """Return the pairs of the cells of an area."""
        distance, mass = _pairs(cells.position, cells.std, side)
        part, own = np.ceil(PARTS * cells.part) / PARTS, float(cells.variance.sum())
        each = np.unique(part)
        within = np.array([(cells.std**2 - cells.variance)[part == one].sum() for one in each])
        of_tiles = float((np.bincount(cells.tile, cells.std) ** 2).sum() - (cells.std**2).sum())
        weight = np.float64(cells.weight.sum())  # tiny weights give NaN where Python raises
        return cls(distance, mass, of_tiles, within, each, own, float(cells.std.sum()), weight)

    @property
    def independent(self) -> float:
        """Return the variance of the mean if no two pixels are correlated."""
        return self.own / self.weight**2

    @property
    def full(self) -> float:
        """Return the variance of the mean if all pixels are fully correlated."""
        return (self.std / self.weight) ** 2

    def variance(self, model: CorrelationModel) -> float:
        """Return the variance of the mean under a model, with the predicted variances."""
        between = float((self.mass * model(self.distance)).sum()) + model.tile * self.in_tiles
        return (between + self._within(model) + self.own) / self.weight**2

    def shares(self, model: CorrelationModel) -> Floats:
        """Return the shares of the variance from each range of a model, from its tiles and from its constant."""
        within = self._within(model) / model.shared if model.shared else 0.0
        parts = [
            sill * (float((self.mass * np.exp(-self.distance / reach)).sum()) + within)
            for sill, reach in zip(model.sills, model.ranges, strict=True)
        ]
        parts.append(model.tile * (self.in_tiles + within))
        parts.append(model.constant * (float(self.mass.sum()) + within))
        return np.array(parts) / self.weight**2 / self.variance(model)

    def _within(self, model: CorrelationModel) -> float:
        """Return what the pairs of pixels of the same cell add, times the squared weight."""
        return float((model.within_parts(self.part) * self.within).sum())


def _pairs(position: Floats, values: Floats, side: float) -> tuple[Floats, Floats]:
    """Return the distances of all pairs and twice the products of their values, or both by fine classes of distance."""
    if len(values) <= DIRECT:
        one, other = np.triu_indices(len(values), 1)
        return np.linalg.norm(position[one] - position[other], axis=-1), 2 * values[one] * values[other]
    longest = float(np.linalg.norm(np.ptp(position, axis=0))) + side
    edges = np.geomspace(side / 2, 2 * longest, 2 + int(FINE * np.log2(4 * longest / side)))
    edges = np.concatenate([[0.0], edges])
    found = pair_sums(position, values[:, np.newaxis], Labels.none(len(values)), edges, side)
    products, distance, _ = found.of(np.ones(1, np.bool_))
    return distance, 2 * products[:, 0]


@dataclass(frozen=True)
class Certainty:
    """How well a map tells its correlation: the number of independent parts it has for each range.

    Parameters
    ----------
    distance, mass : float64 (classes)
        Distances of pairs of cells in metres, and twice the products of their weights.
    own : float
        Sum of the squared weights of cells.
    weight : float
        Sum of the weights.
    tiles : float
        Number of tiles of like weight.
    """

    distance: Floats
    mass: Floats
    own: float
    weight: float
    tiles: float

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, correlation: ErrorCorrelation) -> Self:
        """Return the certainty of the map on which a correlation was estimated."""
        cells = correlation.cells.some(correlation.cells.informative)
        distance, mass = _pairs(cells.position, cells.z_weight, correlation.side)
        of_tiles = np.bincount(cells.tile, cells.z_weight)
        total = float(cells.z_weight.sum())
        tiles = float(total**2 / (of_tiles**2).sum())
        return cls(distance, mass, float((cells.z_weight**2).sum()), total, tiles)

    def parts(self, reach: float) -> float:
        """Return the number of parts of the map whose squared errors are independent at a range."""
        alike = float((self.mass * np.exp(-2 * self.distance / reach)).sum()) + self.own
        return self.weight**2 / alike

    def freedom(self, area: AreaPairs, model: CorrelationModel, others: Sequence[CorrelationModel]) -> float:
        """Return the degrees of freedom of the variance of an area's mean under a model; see `freedom_of`."""
        return freedom_of(area, model, others, (*map(self.parts, model.ranges), self.tiles, 1.0))


def freedom_of(
    area: AreaPairs, model: CorrelationModel, others: Sequence[CorrelationModel], parts: Sequence[float]
) -> float:
    """Return the degrees of freedom of the variance of an area's mean (Satterthwaite 1946).

    The smaller of two: from the independent parts that the map has for each range of the model, its tiles and its
    constant, and from how far the variance differs between `others`, the models of a jackknife.
    """
    shares = area.shares(model)
    by_parts = 1 / float((shares**2 / np.array(parts)).sum()) if shares.any() else np.inf
    each = np.log([other.zms * area.variance(other) for other in others])
    spread = (len(each) - 1) * float(each.var())
    return min(by_parts, 2 / spread if spread > 0 else np.inf)


def half_width(level: float, freedom: float) -> float:
    """Return half the width of Student's central interval of that level, in standard deviations.

    >>> round(half_width(0.9, 10.0), 4), round(half_width(0.9, np.inf), 4)
    (1.8125, 1.6449)
    """
    half = quantile((1 + level) / 2)
    if freedom > 1e6:
        return half
    return _half_width(half, 1 - level, float(freedom))


def beyond(away: float, freedom: float) -> float:
    """Return the probability of a deviation of Student's distribution that is larger in size: the inverse.

    >>> round(beyond(1.8125, 10.0), 4)
    0.1
    """
    factor = (8 * freedom + 1) / (8 * freedom + 3)
    return math.erfc(factor * math.sqrt(freedom * math.log1p(away**2 / freedom) / 2))


@compiled_for("f8, f8, f8")
def _half_width(half: float, alpha: float, freedom: float) -> float:
    return half_width_of_mixture(half, alpha, np.ones(1), np.ones(1), freedom)
