"""A model of how errors of pixels are correlated with distance, and how well a map can tell it.

The correlation of z between two pixels at the distance d is

    rho(d) = constant + tile [in one tile] + sum_k sill_k exp(-d / range_k),    rho(0) = 1.

What is left at d = 0 is the nugget: errors of a pixel that no other pixel shares.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CANDIDATES = 28  # ranges that are tried
PARTS = 64  # classes of the parts of cells
SHORTEST = 0.3  # sides of a cell
CONSTANT, TILE = 0, 1  # columns of the fit; those of the ranges follow
SAME_SIDE = 0.01
ROUNDING = 1e-10
LEAST_UNLIKE = 1e-12  # determinant of the correlations of columns, below which they are treated as equal
BETTER = 0.85  # of the misfit with one range, below which two are taken


@dataclass(frozen=True)
class CorrelationModel:
    """The correlation of z between pixels by distance.

    Parameters
    ----------
    sills : tuple of float
        Share of each exponential part.
    ranges : tuple of float
        Distance in metres at which each part falls to 1/e.
    constant : float
        Share of errors that all pixels have in common.
    tile : float
        Share of errors that the pixels of a tile have in common.
    within : float
        Mean correlation of two pixels of the same cell.
    side : float
        Side of that cell in metres.
    zms : float
        Mean of z^2: the true variance of errors relative to the predicted one.
    """

    sills: tuple[float, ...]
    ranges: tuple[float, ...]
    constant: float
    tile: float
    within: float
    side: float
    zms: float

    @property
    def nugget(self) -> float:
        """Return the share of errors that no other pixel has."""
        return max(1 - self.shared, 0.0)

    @property
    def shared(self) -> float:
        """Return the correlation of neighbouring pixels."""
        return sum(self.sills) + self.constant + self.tile

    def __call__(self, distance: Floats) -> Floats:
        """Return the correlation of pixels of different tiles at these distances in metres.

        >>> model = CorrelationModel((0.5,), (1000.0,), 0.1, 0.0, 0.55, 100.0, 1.0)
        >>> model(np.array([0.0, 1000.0, np.inf])).round(3)
        array([0.6  , 0.284, 0.1  ])
        """
        parts = [sill * np.exp(-distance / reach) for sill, reach in zip(self.sills, self.ranges, strict=True)]
        return np.add.reduce(parts, axis=0) + self.constant if parts else np.full(np.shape(distance), self.constant)

    def of_cells(self, side: float) -> "CorrelationModel":
        """Return the model for cells of another side in metres, with the mean correlation that it has in them."""
        if abs(side - self.side) <= SAME_SIDE * self.side:
            return self
        return replace(self, within=self._in_a_square(side), side=side)

    def within_parts(self, parts: Floats) -> Floats:
        """Return the mean correlation of two pixels of the same part of a cell, which is taken as a square.

        Pixels of a part are nearer to each other than those of the cell. If they are scattered over the cell instead,
        their correlation is smaller than this.

        Parameters
        ----------
        parts : float64 (parts)
            Share of the cell's pixels that are in each; rounded up to a multiple of 1 / PARTS.
        """
        if (parts == 1).all():
            return np.full(len(parts), self.within)
        return self._by_part[np.ceil(PARTS * parts).astype(np.int64)]

    @cached_property
    def _by_part(self) -> Floats:
        """Return the same of parts of 0, 1 / PARTS, ... of a cell, float64 (PARTS + 1)."""
        whole = self._in_a_square(self.side)
        nearer = [self._in_a_part(k / PARTS) / whole if whole else 1.0 for k in range(1, PARTS)]
        of_parts = np.minimum(self.within * np.array(nearer), max(self.shared, self.within))
        return np.concatenate([of_parts[:1], of_parts, [self.within]])

    def _in_a_part(self, part: float) -> float:
        """Return the mean correlation of two pixels in a square with that share of a cell.

        The shortest range that is tried may be longer than the true one. The most that such a range explains is that
        pairs far below the size of the part are alike, so that it is in inverse proportion to the area.
        """
        side, found = self.side * float(np.sqrt(part)), self.constant + self.tile
        for sill, reach in zip(self.sills, self.ranges, strict=True):
            is_short = reach <= (1 + SAME_SIDE) * SHORTEST * self.side
            most = _within_a_square(self.side / reach) / part if is_short else 0.0
            found += sill * min(max(_within_a_square(side / reach), most), 1.0)
        return found

    def _in_a_square(self, side: float) -> float:
        """Return the mean correlation of two pixels in a square of that side."""
        parts = [sill * _within_a_square(side / reach) for sill, reach in zip(self.sills, self.ranges, strict=True)]
        return sum(parts) + self.constant + self.tile

    def as_json(self) -> dict[str, Any]:
        """Return the model as plain values, with the formula."""
        return {
            "formula": "rho(d) = constant + tile (if in one tile) + sum(sill * exp(-d / range)); rho(0) = 1",
            "distance": "metres",
            "nugget": self.nugget,
            "sills": list(self.sills),
            "ranges": list(self.ranges),
            "constant": self.constant,
            "tile": self.tile,
            "within_cell": self.within,
            "cell_side": self.side,
            "zms": self.zms,
        }


@dataclass(frozen=True)
class Correlogram:
    """Products of z by distance, from which a model is fitted.

    Parameters
    ----------
    distance : float64 (classes)
        Mean distance of the pairs of cells of each class in metres; 0 for pairs of pixels in one cell.
    same : bool (classes)
        Whether both cells of a pair are in one tile.
    products, weights : float64 (classes)
        Sums of z z', and of the products of their weights.
    pairs : float64 (classes)
        Number of pairs of cells; of the first class, number of cells.
    zms : float
        Mean of z^2.
    side : float
        Of a cell, in metres.
    """

    distance: Floats
    same: NDArray[np.bool_]
    products: Floats
    weights: Floats
    pairs: Floats
    zms: float
    side: float

    @property
    def correlation(self) -> Floats:
        """Return the correlation of each class, without taking a mean away; NaN without a pair."""
        known = self.weights > 0
        return np.divide(self.products, self.weights * self.zms, out=np.full(len(self.pairs), np.nan), where=known)


def fitted(correlogram: Correlogram, noise: Floats) -> CorrelationModel:
    """Return the model that fits best by weighted least squares.

    Parameters
    ----------
    correlogram : Correlogram
        Of the training cells.
    noise : float64 (classes)
        Variance of the correlation of each class.

    Returns
    -------
    CorrelationModel
        With at most two ranges, of a grid of candidates from a third of a cell to the largest distance. A second range
        and the share of tiles are kept if the misfit falls by 15 %. Shares are not negative and at most 1 together.
    """
    correlation = correlogram.correlation
    known = np.isfinite(correlation) & (noise > 0)
    root = 1 / np.sqrt(noise[known])
    distance, side = correlogram.distance[known], correlogram.side
    candidates = np.geomspace(SHORTEST * side, max(distance.max(initial=0.0), 2 * side), CANDIDATES)
    each = [np.ones(len(root)), correlogram.same[known], *(_averaged(distance, reach, side) for reach in candidates)]
    columns = np.stack(each) * root
    fits = _Fits(columns @ columns.T, columns @ (correlation[known] * root))
    best = fits.smallest(float((correlation[known] ** 2 * root**2).sum()))
    shares = dict(zip(best.columns, best.shares, strict=True))
    constant, tile = shares.pop(CONSTANT, 0.0), shares.pop(TILE, 0.0)
    ranges = tuple(float(candidates[column - 2]) for column in shares)
    within = float(correlation[0]) if np.isfinite(correlation[0]) else sum(best.shares)
    within = min(max(within, 0.0), 1.0)
    return CorrelationModel(tuple(shares.values()), ranges, constant, tile, within, side, correlogram.zms)


@dataclass(frozen=True)
class _Fit:
    """Shares of some columns, and by how much they change the sum of squares."""

    columns: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    gain: float = 0.0


@dataclass(frozen=True)
class _Fits:
    """The normal equations of all columns; the first column is the constant."""

    gram: Floats
    target: Floats

    def smallest(self, size: float) -> _Fit:
        """Return the fit with the fewest parts; one more part has to lower the misfit by 15 %.

        size : sum of squares without a fit.
        """
        found = min((_Fit(), *(self._best(ranges, ()) for ranges in (0, 1))), key=lambda fit: fit.gain)
        for ranges, more in ((2, ()), (1, (TILE,)), (2, (TILE,))):
            other = self._best(ranges, more)
            if size + other.gain < BETTER * (size + found.gain) - ROUNDING * size:
                found = other
        return found

    def _best(self, ranges: int, more: tuple[int, ...]) -> _Fit:
        """Return the best fit with so many ranges and other columns, with or without a constant."""
        chosen = np.array(list(combinations(range(2, len(self.gram)), ranges)), np.int64)
        chosen = np.column_stack([np.full((len(chosen), 1), column) for column in more] + [chosen])
        found = [_Fit()]
        for columns in (chosen, np.column_stack([np.full(len(chosen), CONSTANT), chosen])):
            if columns.shape[1]:
                found += [self._best_of(columns, bounded=bounded) for bounded in (False, True)]
        return min(found, key=lambda fit: fit.gain)

    def _best_of(self, chosen: NDArray[np.int64], *, bounded: bool) -> _Fit:
        """Return the best fit of rows of columns; the shares sum to 1 if they are bounded, else to at most 1."""
        gram, target = self.gram[chosen[:, :, np.newaxis], chosen[:, np.newaxis]], self.target[chosen]
        shares = _solved(gram, target, bounded=bounded)
        with np.errstate(invalid="ignore"):
            allowed = (shares >= 0).all(1) & (shares.sum(1) <= 1 + ROUNDING)
        gain = np.einsum("ki,kij,kj->k", shares, gram, shares) - 2 * (shares * target).sum(1)
        gain = np.where(allowed, gain, 0.0)
        best = int(np.argmin(gain))
        if not gain[best] < 0:
            return _Fit()
        return _Fit(tuple(chosen[best].tolist()), tuple(shares[best].tolist()), float(gain[best]))


def _solved(gram: Floats, target: Floats, *, bounded: bool) -> Floats:
    """Return the solutions of the normal equations, with a sum of 1 where they are bounded; NaN where there is none."""
    count, size = target.shape
    scale = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = np.linalg.det(gram / (scale[:, :, np.newaxis] * scale[:, np.newaxis]))
    singular = ~(alike > LEAST_UNLIKE)
    if bounded:
        gram = np.pad(gram, ((0, 0), (0, 1), (0, 1)), constant_values=1.0)
        gram[:, -1, -1] = 0.0
        target = np.pad(target, ((0, 0), (0, 1)), constant_values=1.0)
    gram[singular] = np.eye(gram.shape[-1])
    solved = np.linalg.solve(gram, target[..., np.newaxis])[..., 0]
    solved[singular] = np.nan
    return np.asarray(solved[:, :size], np.float64).reshape(count, size)


def _averaged(distance: Floats, reach: float, side: float) -> Floats:
    """Return exp(-d / reach) at each distance; at 0, its mean over pairs of points in a cell."""
    found = np.exp(-distance / reach)
    found[distance == 0] = _within_a_square(side / reach)
    return found


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Return the nodes and weights between -1 and 1: finding them takes longer than all that is done with them."""
    return np.polynomial.legendre.leggauss(24)


@lru_cache(maxsize=4096)
def _within_a_square(side: float) -> float:
    """Return the mean of exp(-d) over pairs of points in a square of that side.

    The difference of two coordinates has a triangular density; by Gauss and Legendre, in polar coordinates, where the
    integrand is smooth at 0.
    """
    node, weight = _nodes()
    angle, of_angle = (node + 1) * np.pi / 8, weight * np.pi / 8  # an eighth of the square
    longest = side / np.cos(angle)
    radius = (node[:, np.newaxis] + 1) / 2 * longest
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    density = (1 - x / side) * (1 - y / side) / side**2
    inner = (weight[:, np.newaxis] / 2 * longest * radius * np.exp(-radius) * density).sum(0)
    return float(8 * (inner * of_angle).sum())
