"""Large squares across the tiles of an evaluation unit, and how correlated they may be.

The long-run variance of a number is estimated from some 49 squares, which cross the edges of tiles. Few and large ones
show what matters for the variance of a mean, which is the correlation over long distances.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.inference.factor import without_mean
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
    found, area = [], 0.0
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
        found.append((x, y, np.full(len(x), sheet)))
        area += height * width * abs(move.determinant)
    x, y, own = (np.concatenate(one) for one in zip(*found, strict=True))
    return Positions(x, y, own, area)


@dataclass(frozen=True)
class Squares:
    """The squares of an evaluation unit and models of their correlation.

    Parameters
    ----------
    number : int64 (parts)
        The square of each part.
    share : float64 (parts)
        Weight of each part over that of all.
    weight : float64 (squares)
        Weight of each square.
    precisions : float64 (models, squares, squares)
        For each model the inverse covariance, projected so that the mean drops out.
    prior : float64 (models)
        Logarithm of the prior probability.
    determinants : float64 (models)
        Logarithm of the part of the restricted likelihood that follows from the model alone.
    totals : float64 (models)
        Variance of the sum of all squares over that of one of mean weight.
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
        own = np.bincount(number, weight).astype(np.float64)
        distance = np.hypot(centre_x[:, np.newaxis] - centre_x, centre_y[:, np.newaxis] - centre_y) / side
        distance[sheet[:, np.newaxis] != sheet] = np.inf
        relative = own / own.mean()
        models = _models(distance)
        precisions, determinants = np.empty((len(models), len(own), len(own))), np.empty(len(models))
        totals = np.empty(len(models))
        for k, (_, nugget, correlation) in enumerate(models):
            covariance = (1 - nugget) * relative[:, np.newaxis] * relative * correlation + nugget * np.diag(relative)
            totals[k] = covariance.sum()
            precisions[k], determinants[k] = without_mean(covariance, relative)
        prior = np.log([prior for prior, _, _ in models])
        return cls(number, weight / weight.sum(), own, precisions, prior, determinants, totals)

    def sums(self, rows: Floats) -> Floats:
        """Return the sums of the rows of each square, of parts in the first dimension."""
        found = np.zeros((len(self.weight), *rows.shape[1:]))
        np.add.at(found, self.number, rows)
        return found


def _models(distance: Floats) -> list[tuple[float, float, Floats]]:
    """Prior, nugget and correlation of each model: none, exponential and Gaussian ones."""
    found = [
        (weight / np.sqrt(1 + reach), nugget, np.exp(-((distance / reach) ** power)))
        for (power, weight), reach, nugget in product(SHAPES.items(), RANGES, NUGGETS)
    ]
    share = (1 - UNCORRELATED) / sum(prior for prior, _, _ in found)
    return [(UNCORRELATED, 1.0, np.zeros_like(distance)), *((share * prior, *one) for prior, *one in found)]


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
    own = np.bincount(number, weight).astype(np.float64)
    x, y = (np.bincount(number, weight * one) / own for one in (positions.x, positions.y))
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
