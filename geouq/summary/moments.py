"""Counts, sums and centred products of what is measured per pixel, and how they add.

Second moments are kept about the mean and merged pairwise (Chan, Golub and LeVeque 1979), never as a difference of
large sums: errors of 0.1 about a truth of 10 000 keep all their digits.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CENTRED = ("error", "abs_error", "std", "truth", "mean", "z")
SUMS = (*CENTRED, "variance", "nll", "crps")
PRODUCTS = (
    ("error", "error"),
    ("abs_error", "abs_error"),
    ("std", "std"),
    ("truth", "truth"),
    ("mean", "mean"),
    ("z", "z"),
    ("std", "abs_error"),
    ("mean", "truth"),
)
LEFT = np.array([CENTRED.index(left) for left, _ in PRODUCTS])
RIGHT = np.array([CENTRED.index(right) for _, right in PRODUCTS])


@dataclass(frozen=True)
class Moments:
    """First and second moments of a set of pixels; leading dimensions are free.

    n : int64 (...), the number of pixels.
    sums : float64 (..., 9), in the order of `SUMS`.
    products : float64 (..., 8), sums of products of deviations from the means, in the order of `PRODUCTS`.
    """

    n: Counts
    sums: Floats
    products: Floats

    def mean(self, name: str) -> Floats:
        """Mean of one of `SUMS`; NaN where there is no pixel."""
        return _divide(self.sums[..., SUMS.index(name)], self.n)

    def product(self, left: str, right: str) -> Floats:
        """Sum of (left - its mean)(right - its mean) for one of `PRODUCTS`."""
        return self.products[..., PRODUCTS.index((left, right))]

    def mean_square(self, name: str) -> Floats:
        """Mean of the square, about zero: the centred part plus the squared mean, both of them positive."""
        return _divide(self.product(name, name), self.n) + self.mean(name) ** 2

    def __add__(self, other: Self) -> Self:
        stacked = [np.stack(np.broadcast_arrays(a, b)) for a, b in zip(self._arrays(), other._arrays(), strict=True)]
        return type(self)(*stacked).total(axis=0)

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis: the k-way form of the pairwise rule.

        The products of the whole are those within the parts plus those between the parts' means.
        """
        axis = range(self.n.ndim)[axis]
        n = self.n.sum(axis)
        sums = self.sums.sum(axis)
        centres = len(CENTRED)
        part_means = _divide(self.sums[..., :centres], self.n[..., np.newaxis], empty=0.0)
        means = _divide(sums[..., :centres], n[..., np.newaxis], empty=0.0)
        away = part_means - np.expand_dims(means, axis)
        between = self.n[..., np.newaxis] * away[..., LEFT] * away[..., RIGHT]
        return type(self)(n, sums, (self.products + between).sum(axis))

    def _arrays(self) -> tuple[Counts, Floats, Floats]:
        return self.n, self.sums, self.products


def _divide(total: Floats, n: Counts, empty: float = np.nan) -> Floats:
    return np.divide(total, n, out=np.full(np.broadcast_shapes(total.shape, n.shape), empty), where=n > 0)
