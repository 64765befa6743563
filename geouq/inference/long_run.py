"""The long-run variance of a number, how uncertain it is, and the number of effective cells.

The variance is estimated from some 49 large squares, which cross the edges of tiles. They show what matters for the
variance of a mean, which is the correlation over long distances.

Models of the correlation between squares are weighted by their restricted likelihood. Each model gives a variance
of the number with so many degrees of freedom; the number's deviation follows the mixture of Student's distributions.
Heavy tails make the likelihood flatter and the degrees of freedom fewer.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.core.compiled import compiled_for
from geouq.core.gaussian import quantile
from geouq.inference.bootstrap import sums_by_block
from geouq.inference.compiled_limits import Spread, widening_at
from geouq.summary import TilePlace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
WANTED = 49  # squares, if all of the area is used
MOST = 62
GROWTH = 1.05  # of the side, until there are few enough
RANGES = (1.6, 3.2)  # sides of a square
NUGGETS = (0.05, 0.2, 0.4)
SHAPES = {1: 0.3, 2: 1.0}  # exponential and Gaussian correlation, by its power, and prior weight
UNCORRELATED = 0.7  # prior probability; with these priors, intervals of simulated maps hold what they claim
SMALLEST = 1e-12  # square of a diagonal element of the factor
ROUNDING = 1e-9  # of influences that are alike everywhere, last digits are left


@dataclass(frozen=True)
class Positions:
    """Where the parts of an evaluation unit are.

    Parameters
    ----------
    x, y : float64 (parts)
        Centres in pixels of the first tile.
    sheet : int64 (parts)
        Number of the coordinate system. Parts of different ones are taken to lie far apart.
    area : float
        Of all parts together, in square pixels.
    """

    x: Floats
    y: Floats
    sheet: Ints
    area: float

    def some(self, chosen: NDArray[np.bool_]) -> "Positions":
        """Return those of some parts, which have a like share of the area."""
        return Positions(self.x[chosen], self.y[chosen], self.sheet[chosen], self.area * float(chosen.mean()))


def positions_of(places: Sequence[TilePlace], shapes: Sequence[tuple[int, int]]) -> Positions:
    """Return the centres of the parts into which tiles are cut, in rows of `shapes` from the top left.

    Tiles in the same place, such as those of several dates, are on different sheets.
    """
    sheets: dict[tuple[str, int], tuple[int, TilePlace]] = {}
    alike = Counter[tuple[str, Affine]]()
    centres, area = [], 0.0
    for place, (rows, columns) in zip(places, shapes, strict=True):
        here = place.grid.crs, place.grid.transform
        sheet, first = sheets.setdefault((place.grid.crs, alike[here]), (len(sheets), place))
        alike[here] += 1
        height, width = place.grid.shape
        down, across = np.mgrid[:rows, :columns].reshape(2, -1) + 0.5
        move = place.grid.transform
        move = ~first.grid.transform @ move if not first.grid.transform.is_degenerate else move
        down, across = down * height / rows, across * width / columns
        x, y = move.a * across + move.b * down + move.c, move.d * across + move.e * down + move.f
        centres.append((x, y, np.full(len(x), sheet)))
        area += height * width * abs(move.determinant)
    x, y, sheet_of = (np.concatenate(one) for one in zip(*centres, strict=True))
    return Positions(x, y, sheet_of, area)


@dataclass(frozen=True)
class Squares:
    """The squares of an evaluation unit and models of their correlation.

    Parameters
    ----------
    number : int64 (parts)
        The square of each part.
    share : float64 (parts)
        Weight of each part, relative to all.
    weight : float64 (squares)
        Weight of each square.
    precisions : float64 (models, squares, squares)
        For each model the inverse covariance, projected so that the mean drops out.
    prior : float64 (models)
        Logarithm of the prior probability.
    determinants : float64 (models)
        Logarithm of the part of the restricted likelihood that follows from the model alone.
    totals : float64 (models)
        Variance of the sum of all squares, relative to one square of mean weight.
    """

    number: Ints
    share: Floats
    weight: Floats
    precisions: Floats
    prior: Floats
    determinants: Floats
    totals: Floats

    @classmethod
    def of(cls, positions: Positions, weight: Floats) -> "Squares":
        """Return the squares that hold the parts at these positions, of such weights."""
        number, centre_x, centre_y, sheet, side = _cut(positions, weight)
        weights = np.bincount(number, weight).astype(np.float64)
        distance = np.hypot(centre_x[:, np.newaxis] - centre_x, centre_y[:, np.newaxis] - centre_y) / side
        distance[sheet[:, np.newaxis] != sheet] = np.inf
        relative = weights / weights.mean()
        models = _models(distance)
        precisions, determinants = np.empty((len(models), len(weights), len(weights))), np.empty(len(models))
        totals = np.empty(len(models))
        for k, (_, nugget, correlation) in enumerate(models):
            covariance = (1 - nugget) * relative[:, np.newaxis] * relative * correlation + nugget * np.diag(relative)
            totals[k] = covariance.sum()
            precisions[k], determinants[k] = without_mean(covariance, relative)
        prior = np.log([prior for prior, _, _ in models])
        return cls(number, weight / weight.sum(), weights, precisions, prior, determinants, totals)

    def sums(self, rows: Floats) -> Floats:
        """Return the sums of the rows of each square, of parts in the first dimension."""
        columns = np.ascontiguousarray(rows.reshape(len(rows), -1))
        return sums_by_block(columns, self.number, len(self.weight)).reshape(-1, *rows.shape[1:])


def _models(distance: Floats) -> list[tuple[float, float, Floats]]:
    """Return the prior, nugget and correlation of each model: none, exponential and Gaussian ones."""
    models = [
        (weight / np.sqrt(1 + reach), nugget, np.exp(-((distance / reach) ** power)))
        for (power, weight), reach, nugget in product(SHAPES.items(), RANGES, NUGGETS)
    ]
    share = (1 - UNCORRELATED) / sum(prior for prior, _, _ in models)
    return [(UNCORRELATED, 1.0, np.zeros_like(distance)), *((share * prior, *one) for prior, *one in models)]


def _cut(positions: Positions, weight: Floats) -> tuple[Ints, Floats, Floats, Ints, float]:
    """Return the number of the square of each part, and of each square the centre and the sheet; and the side."""
    side = float(np.sqrt(positions.area / min(WANTED, len(positions.x))))
    sheets = int(positions.sheet.max()) + 1
    if sheets > WANTED:
        number = np.unique(positions.sheet * WANTED // sheets, return_inverse=True)[1].ravel()
        count = int(number.max()) + 1
        return number, np.zeros(count), np.zeros(count), np.arange(count), side
    while True:
        number, sheet = _numbers(positions, side)
        if len(sheet) <= MOST:
            break
        side *= GROWTH
    weights = np.bincount(number, weight).astype(np.float64)
    x, y = (np.bincount(number, weight * one) / weights for one in (positions.x, positions.y))
    return number, x, y, sheet, side


def _numbers(positions: Positions, side: float) -> tuple[Ints, Ints]:
    """Return the number of the square of each part, and sheet of each square."""
    place = np.stack([positions.sheet, *(_along(one, side) for one in (positions.y, positions.x))])
    squares, number = np.unique(place, axis=1, return_inverse=True)
    return number.ravel().astype(np.int64), squares[0]


def _along(centres: Floats, side: float) -> Ints:
    """Return the number of the row or column of squares, which are placed evenly between the outermost centres."""
    lowest, length = centres.min(), float(np.ptp(centres))
    count = max(1, round(length / side + 0.5))
    return np.minimum(np.floor((centres - lowest) / max(length, 1e-9) * count), count - 1).astype(np.int64)


def without_mean(covariance: Floats, mean: Floats) -> tuple[Floats, float]:
    """Return the inverse of a covariance, projected so that multiples of `mean` drop out, and the log-determinants.

    The latter are minus half the logarithm of the determinant of the covariance and of mean' inverse mean, as in a
    restricted likelihood.
    """
    factor = _factor(covariance)
    inverse = _inverse(factor)
    precision = _gram(inverse)
    solved = _times(precision, mean)
    size = float((solved * mean).sum())
    projected = precision - solved[:, np.newaxis] * solved / size
    return projected, -float(np.log(np.diagonal(factor)).sum()) - 0.5 * float(np.log(size))


@compiled_for("f8[:,::1]")
def _factor(covariance: Floats) -> Floats:
    """Return the lower triangular L with L L' = covariance."""
    n = len(covariance)
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = covariance[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(max(total, SMALLEST)) if i == j else total / factor[j, j]
    return factor


@compiled_for("f8[:,::1]")
def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix, transposed."""
    n = len(factor)
    inverse = np.zeros((n, n))
    for j in range(n):
        inverse[j, j] = 1 / factor[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * inverse[j, k]
            inverse[j, i] = total / factor[i, i]
    return inverse


@compiled_for("f8[:,::1]")
def _gram(upper: Floats) -> Floats:
    """Return U U' of an upper triangular matrix."""
    n = len(upper)
    gram = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, n):
                total += upper[i, k] * upper[j, k]
            gram[i, j] = gram[j, i] = total
    return gram


@compiled_for("f8[:,::1], f8[::1]")
def _times(matrix: Floats, vector: Floats) -> Floats:
    result = np.zeros(len(vector))
    for i in range(len(vector)):
        for j in range(len(vector)):
            result[i] += matrix[i, j] * vector[j]
    return result


@dataclass(frozen=True)
class LongRun:
    """How a number deviates from its expectation.

    Parameters
    ----------
    chances : float64 (models)
        Probability of each model of the correlation.
    deviations : float64 (models)
        Standard deviation of the number under each.
    freedom : float
        Degrees of freedom of these.
    drawn : float
        Standard deviation that resamples of blocks give the number, to first order.
    effective : float
        Number of uncorrelated cells that would make the number as certain.
    deviation : float
        Standard deviation of the number: the geometric mean of `deviations`, weighted by `chances`.
    """

    chances: Floats
    deviations: Floats
    freedom: float
    drawn: float
    effective: float
    deviation: float

    @property
    def ratio(self) -> float:
        """Return the standard deviation over that which resamples of blocks give."""
        return self.deviation / self.drawn if self.drawn > 0 else 1.0

    @property
    def spread(self) -> Spread:
        """Return the argument of the compiled functions."""
        return self.chances, self.deviations, self.freedom, self.drawn

    def widening(self, level: float) -> float:
        """Return the factor by which deviations of resamples are multiplied to hold the level."""
        if level not in self._widenings:
            self._widenings[level] = self._widening(level)
        return self._widenings[level]

    def _widening(self, level: float) -> float:
        return widening_at(quantile((1 + level) / 2), 1 - level, self.spread)

    @cached_property
    def _widenings(self) -> dict[float, float]:
        return {}


def long_run(squares: Squares, of_squares: Floats, of_blocks: Floats, of_cells: Floats) -> LongRun:
    """Return the long-run variance of one number. The parameters are as in `long_runs`, for one number."""
    return long_runs(squares, of_squares[np.newaxis], of_blocks[np.newaxis], of_cells[np.newaxis])[0]


def long_runs(squares: Squares, of_squares: Floats, of_blocks: Floats, of_cells: Floats) -> list[LongRun]:
    """Return the long-run variance of each number from its influences, summed by squares, by blocks and by cells.

    Parameters
    ----------
    of_squares, of_blocks, of_cells : float64 (numbers, squares), (numbers, blocks), (numbers, cells)
        Influences, each with a sum of 0.
    """
    of_squares, of_blocks, of_cells = map(np.ascontiguousarray, (of_squares, of_blocks, of_cells))
    count, cells = of_squares.shape[-1], of_cells.shape[-1]
    with np.errstate(all="ignore"):  # what overflows or is 0 is found below
        size = np.square(of_squares).mean(-1)
        sizes = _quadratic_forms(squares.precisions, of_squares / np.sqrt(np.where(size > 0, size, 1.0))[:, np.newaxis])
        tempered = 1 / (1 + _excess(of_squares / np.sqrt(squares.weight)) / 2)
        likelihood = tempered[:, np.newaxis] * (squares.determinants - (count - 1) / 2 * np.log(sizes))
        chances = _normalized(squares.prior + likelihood)
        deviations = np.sqrt(squares.totals * sizes / (count - 1) * size[:, np.newaxis])
        logarithm = (chances * np.log(np.square(deviations))).sum(-1)
        by_cell, drawn = np.square(of_cells).sum(-1), np.sqrt(np.square(of_blocks).sum(-1))
    found = []
    for k, known in enumerate(np.isfinite(size) & (count > 1)):
        if not known:
            found.append(LongRun(np.ones(1), np.zeros(1), 0.0, 0.0, 1.0, 0.0))
        elif not sizes[k].min() > ROUNDING:
            found.append(LongRun(np.ones(1), np.zeros(1), np.inf, 0.0, float(cells), 0.0))
        else:
            variance = math.exp(float(logarithm[k]))
            effective, freedom = cells * min(1.0, float(by_cell[k]) / variance), float(tempered[k]) * (count - 1)
            deviation = math.sqrt(variance)
            found.append(LongRun(chances[k], deviations[k], freedom, float(drawn[k]), effective, deviation))
    return found


def _normalized(logarithms: Floats) -> Floats:
    """Return probabilities that add to 1 along the last dimension."""
    chances = np.exp(logarithms - logarithms.max(-1, keepdims=True))
    return chances / chances.sum(-1, keepdims=True)


def _excess(values: Floats) -> Floats:
    """Return the excess kurtosis of values, along the last dimension, whose mean is about 0; at least 0."""
    # numpy rounds the square of an array differently from the square of a number; squares may be infinite
    squared = [size**2 for size in np.atleast_1d(np.square(values).mean(-1))]
    return np.maximum(0.0, (values**4).mean(-1) / squared - 3)


@compiled_for("f8[:,:,::1], f8[:,::1]")
def _quadratic_forms(matrices: Floats, vectors: Floats) -> Floats:
    """Return vector' matrix vector of each vector and symmetric matrix, (vectors, matrices).

    The vectors are the lanes of the innermost loop; each sum keeps its order.
    """
    count, size = vectors.shape
    lanes = np.ascontiguousarray(vectors.T)
    forms, total = np.zeros((len(matrices), count)), np.empty(count)
    for k in range(len(matrices)):
        for i in range(size):
            half = 0.5 * matrices[k, i, i]
            for v in range(count):
                total[v] = half * lanes[i, v]
            for j in range(i):
                factor = matrices[k, i, j]
                for v in range(count):
                    total[v] += factor * lanes[j, v]
            for v in range(count):
                forms[k, v] += 2 * lanes[i, v] * total[v]
    return np.ascontiguousarray(forms.T)
