"""Counts, sums and centred products of what is measured per pixel, and how they add.

Second moments are kept about the mean and merged pairwise (Chan, Golub and LeVeque 1979), never as a difference of
large sums: errors of 0.1 about a truth of 10 000 keep all their digits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary.statistic import Dimensions, Partition, Statistic

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

CENTRED = ("error", "abs_error", "std", "truth", "z")
GIVEN = ("given_below", "given_above", "given_width", "given_miss")
SUMS = (*CENTRED, "variance", "nll", "crps", "pit", "pit_square", *GIVEN)  # those of PIT are of PIT - 1/2
PRODUCTS = (
    ("error", "error"),
    ("abs_error", "abs_error"),
    ("std", "std"),
    ("truth", "truth"),
    ("z", "z"),
    ("std", "abs_error"),
    ("error", "truth"),
)
LEFT = np.array([CENTRED.index(left) for left, _ in PRODUCTS])
RIGHT = np.array([CENTRED.index(right) for _, right in PRODUCTS])


@dataclass(frozen=True)
class Moments(Statistic):
    """First and second moments of a set of pixels; leading dimensions are free.

    n : int64 (...), the number of pixels.
    weight : float64 (...), the sum of their weights; n where pixels have no weights, NaN where it overflows.
    sums : float64 (..., 14), weighted, in the order of `SUMS`. Those of `GIVEN` are of the interval that a forecast
        gives, 0 where it gives none: truth below and above it, its width, and how far truth lies outside.
    products : float64 (..., 7), weighted sums of products of deviations from the means, in the order of `PRODUCTS`.

    The predicted mean needs no sums of its own: it is truth plus error.
    """

    n: Counts
    weight: Floats
    sums: Floats
    products: Floats
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {"n": (), "weight": (), "sums": ("sum",), "products": ("product",)}
    explained: ClassVar[Mapping[str, str]] = {
        "n": "number of valid pixels",
        "weight": "sum of the weights of the valid pixels; their number where there are no weights",
        "sums": "sums over the valid pixels; divide by weight for means",
        "products": "sums of products of deviations from the means",
        "sum": "what is summed",
        "product": "which deviations are multiplied",
    }

    def labels(self) -> dict[str, Any]:
        """Return what is summed, and which deviations are multiplied."""
        return {"sum": list(SUMS), "product": [f"{left}*{right}" for left, right in PRODUCTS]}

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", finite_or_missing(self.weight))

    @cached_property
    def overflows(self) -> NDArray[np.bool_] | None:
        """Return where the sum of the weights leaves the range of floats; None where it does nowhere."""
        missing = np.isnan(self.weight)
        return missing if missing.any() else None

    def mean(self, name: str) -> Floats:
        """Return the mean of one of `SUMS`; NaN where there is no pixel."""
        return _divide(self.sums[..., SUMS.index(name)], self.weight)

    def product(self, left: str, right: str) -> Floats:
        """Return the mean of (left - its mean)(right - its mean) for one of `PRODUCTS`; NaN where there is no pixel."""
        return _divide(self.products[..., PRODUCTS.index((left, right))], self.weight)

    def mean_square(self, name: str) -> Floats:
        """Return the mean of the square, about zero: the centred part plus the squared mean, both of them positive."""
        return self.product(name, name) + self.mean(name) ** 2

    def __add__(self, other: Self) -> Self:
        more = other.to_arrays()
        pairs = {name: np.stack(np.broadcast_arrays(own, more[name])) for name, own in self.to_arrays().items()}
        return self.with_arrays(pairs).total(axis=0)

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis: the k-way form of the pairwise rule.

        The products of the whole are those within the parts plus those between the parts' means.
        """
        centres = len(CENTRED)
        if self.n.shape == (1,) and self.weight[0] >= 1 and np.isfinite(self.sums[0, :centres]).all():
            return type(self)(self.n[0], self.weight[0], self.sums[0], self.products[0] + 0.0)
        weight, sums = self.weight.sum(axis), self.sums.sum(axis)
        part_means = _divide(self.sums[..., :centres], self.weight[..., np.newaxis], empty=0.0)
        means = _divide(sums[..., :centres], weight[..., np.newaxis], empty=0.0)
        away = part_means - np.expand_dims(means, axis)
        between = self.weight[..., np.newaxis] * away[..., LEFT] * away[..., RIGHT]
        return type(self)(self.n.sum(axis), weight, sums, (self.products + between).sum(axis))

    def basis(self, partition: Partition) -> "MomentBasis":  # noqa: ARG002  any parts
        """Return the means of this whole, so that sums of second moments about them lose no digits."""
        means = [self.mean(name) if self.n else np.zeros(()) for name in CENTRED]
        return MomentBasis(self, np.array(means))


@dataclass(frozen=True)
class MomentBasis:
    """The basis of moments: those of the whole, and its means of what is `CENTRED`, float64 (5)."""

    whole: Moments
    centre: Floats

    @property
    def width(self) -> int:
        """Number of columns."""
        return 2 + len(SUMS) + len(PRODUCTS)

    def to_rows(self, part: Moments, count: int) -> Floats:
        """Return n, weight, and sums and products about the centre, float64 (count, width)."""
        n, weight = part.n.reshape(count, 1).astype(np.float64), part.weight.reshape(count, 1)
        sums, products = part.sums.reshape(count, len(SUMS)).copy(), part.products.reshape(count, len(PRODUCTS))
        sums[:, : len(CENTRED)] -= weight * self.centre
        away = _divide(sums[:, : len(CENTRED)], weight, empty=0.0)
        return np.concatenate([n, weight, sums, products + weight * away[:, LEFT] * away[:, RIGHT]], axis=1)

    def from_rows(self, rows: Floats) -> Moments:
        """Return the moments that sums of rows are."""
        n, weight, sums, products = np.split(rows, np.cumsum([1, 1, len(SUMS)]), axis=-1)
        away, sums = _divide(sums[:, : len(CENTRED)], weight, empty=0.0), sums.copy()
        sums[:, : len(CENTRED)] += weight * self.centre
        products = products - weight * away[:, LEFT] * away[:, RIGHT]
        squares = products[:, : len(CENTRED)]
        squares[:] = np.maximum(squares, 0)  # the last digit may be left over
        return Moments(np.rint(n[:, 0]).astype(np.int64), weight[:, 0], sums, products)


def no_moments() -> Moments:
    """Return the moments of no pixel."""
    return Moments(np.zeros((), np.int64), np.zeros(()), np.zeros(len(SUMS)), np.zeros(len(PRODUCTS)))


def finite_or_missing(weight: Floats) -> Floats:
    """Return sums of weights with NaN instead of infinity, so that no finite sum divided by one becomes 0."""
    return np.where(np.isinf(weight), np.nan, weight) if np.isinf(weight).any() else weight


def _divide(total: Floats, weight: Floats, empty: float = np.nan) -> Floats:
    shape, used = np.broadcast_shapes(total.shape, weight.shape), weight > 0
    if used.all():  # three times as fast as with `where`
        return np.divide(total, weight, out=np.empty(shape))
    return np.divide(total, weight, out=np.full(shape, empty), where=used)
