"""The long-run variance of a number, how uncertain it is, and the number of effective cells.

Models of the correlation between large squares are weighted by their restricted likelihood. Each model gives a variance
of the number with so many degrees of freedom; the number's deviation follows the mixture of Student's distributions.
Heavy tails make the likelihood flatter and the degrees of freedom fewer.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.gaussian import quantile
from geouq.inference.squares import Squares

Floats = NDArray[np.float64]

STEPS = 40  # halvings
ROUNDING = 1e-9  # of influences that are alike everywhere, last digits are left


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

    def widening(self, level: float) -> float:
        """Return the factor by which deviations of resamples are multiplied to hold the level."""
        if not self.drawn > 0:
            return 1.0
        half = _half_width(1 - level, self.chances, self.deviations, self.freedom)
        return half / (quantile((1 + level) / 2) * self.drawn)


def long_run(squares: Squares, of_squares: Floats, of_blocks: Floats, of_cells: Floats) -> LongRun:
    """Return the long-run variance of a number from its influences, summed by squares, by blocks and by cells.

    Parameters
    ----------
    of_squares, of_blocks, of_cells : float64 (squares), (blocks), (cells)
        Influences, each with a sum of 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        count, size = len(of_squares), float(np.square(of_squares).mean())
    if not np.isfinite(size) or count == 1:
        return LongRun(np.ones(1), np.zeros(1), 0.0, 0.0, 1.0, 0.0)
    sizes = _quadratic_forms(squares.precisions, of_squares / math.sqrt(size)) if size > 0 else np.zeros(1)
    if not sizes.min() > ROUNDING:
        return LongRun(np.ones(1), np.zeros(1), np.inf, 0.0, float(len(of_cells)), 0.0)
    tempered = 1 / (1 + _excess(of_squares / np.sqrt(squares.weight)) / 2)
    logarithm = squares.prior + tempered * (squares.determinants - (count - 1) / 2 * np.log(sizes))
    chances = np.exp(logarithm - logarithm.max())
    chances /= chances.sum()
    deviations = np.sqrt(squares.totals * sizes / (count - 1) * size)
    variance = math.exp(float((chances * np.log(np.square(deviations))).sum()))
    effective = len(of_cells) * min(1.0, float(np.square(of_cells).sum()) / variance)
    drawn = math.sqrt(float(np.square(of_blocks).sum()))
    return LongRun(chances, deviations, tempered * (count - 1), drawn, effective, math.sqrt(variance))


def _excess(values: Floats) -> float:
    """Return the excess kurtosis of values whose mean is about 0, at least 0."""
    return max(0.0, float((values**4).mean() / np.square(values).mean() ** 2) - 3)


@compiled
def _quadratic_forms(matrices: Floats, vector: Floats) -> Floats:
    """Return vector' matrix vector of each symmetric matrix."""
    found = np.zeros(len(matrices))
    for k in range(len(matrices)):
        for i in range(len(vector)):
            total = 0.5 * matrices[k, i, i] * vector[i]
            for j in range(i):
                total += matrices[k, i, j] * vector[j]
            found[k] += 2 * vector[i] * total
    return found


@compiled
def _half_width(alpha: float, chances: Floats, deviations: Floats, freedom: float) -> float:
    """Return what the size of the deviation exceeds with the probability alpha.

    Tails of Student's distribution by Wallace 1959, The Annals of Mathematical Statistics 30, 1124.
    """
    factor = (8 * freedom + 1) / (8 * freedom + 3)
    low, high = 0.0, 64 * deviations.max()
    for _ in range(STEPS):
        middle, beyond = (low + high) / 2, 0.0
        for k in range(len(chances)):
            away = middle / deviations[k]
            beyond += chances[k] * math.erfc(factor * math.sqrt(freedom * math.log1p(away * away / freedom) / 2))
        if beyond > alpha:
            low = middle
        else:
            high = middle
    return high
