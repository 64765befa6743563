"""Tiles as rows of numbers that add, of which the order of errors and of predicted variances follows.

Each order is told by classes of the pool of about as many pixels: 200 of errors, 40 of variances together with these,
200 of variances alone; so a row has some thousand numbers at most.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.inference.statistic_rows import MOMENTS, moment_columns, moments_of
from geouq.summary import Moments, Summary, VarianceProfile
from geouq.summary.ordering_profile import OrderingProfile
from geouq.summary.variance_profile import FINE_SHIFT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ERRORS, VARIANCES, ALONE = 200, 40, 200  # classes
SQUARED_ERROR, LAST = 1, -1  # fields of a variance profile


@dataclass(frozen=True)
class OrderFrame:
    """What the order in the tiles of a pool is measured against: its keys, and the class of each.

    of_variance : by key of the variance profile. of_both : by key of the ordering, numbers of the pairs of classes.
    variances, squared_errors : mean value of the pixels of each pair.
    """

    whole: Summary
    centre: Floats
    of_variance: Ints
    of_both: Ints
    variances: Floats
    squared_errors: Floats

    @classmethod
    def of(cls, whole: Summary, centre: Floats) -> Self | None:
        """Return the frame of a pool; None where the order was not kept."""
        order, profile = whole.ordering, whole.variance
        if order is None or not whole.n:
            return None
        alone = _classes(np.arange(len(profile.keys)), profile.sums[:, LAST], ALONE)
        errors, variances = (
            _classes(values, order.n, count)
            for values, count in ((order.squared_error, ERRORS), (order.variance, VARIANCES))
        )
        both = variances * (errors.max() + 1) + errors
        pairs = np.arange(both.max() + 1)
        means = [
            _means(values, order.n, own)[shown]
            for values, own, shown in (
                (order.variance, variances, pairs // (errors.max() + 1)),
                (order.squared_error, errors, pairs % (errors.max() + 1)),
            )
        ]
        return cls(whole, centre, alone, both, *means)

    def row(self, tile: Summary) -> Floats:
        """Return what a tile adds, float64 (columns)."""
        order, profile, (alone, pairs) = tile.ordering, tile.variance, self._classes
        if order is None:
            raise ValueError("a tile of a pool that keeps the order keeps it too")
        own = self.of_variance[np.searchsorted(self.whole.variance.keys, profile.keys)]
        both = self.of_both[np.searchsorted(_keys(self.whole), order.keys)]
        columns = [np.bincount(own, profile.sums[:, field], alone) for field in (SQUARED_ERROR, LAST)]
        return np.concatenate([moment_row(tile.moments, self.centre), *columns, np.bincount(both, order.n, pairs)])

    def summary(self, rows: Floats) -> Summary:
        """Return the Summary that sums of rows (R, columns) are, of what order takes."""
        alone, pairs = self._classes
        moments, squared_error, n, both = np.split(rows, np.cumsum([MOMENTS, alone, alone]), axis=-1)
        sums = np.stack([np.zeros_like(n), squared_error, n], axis=-1)
        none = np.zeros(len(rows))
        return self.whole.having(
            moments=moments_of(moments, self.centre),
            variance=VarianceProfile(FINE_SHIFT, np.arange(alone), sums, none, none),
            ordering=_Ordered(np.arange(pairs), both[:, :, np.newaxis], self.variances, self.squared_errors),
        )

    @property
    def _classes(self) -> tuple[int, int]:
        return int(self.of_variance.max()) + 1, len(self.variances)


@dataclass(frozen=True)
class _Ordered(OrderingProfile):
    """Pixels by pairs of classes, whose values are known."""

    variances: Floats
    squared_errors: Floats

    @property
    def variance(self) -> Floats:
        """Return the variances."""
        return self.variances

    @property
    def squared_error(self) -> Floats:
        """Return the squared errors."""
        return self.squared_errors


def moment_row(moments: Moments, centre: Floats) -> Floats:
    """Return what the moments of one tile add, float64 (columns)."""
    one = Moments(*(np.asarray(part)[np.newaxis] for part in vars(moments).values()))
    return moment_columns(one, centre)[0]


def _keys(whole: Summary) -> Ints:
    return whole.ordering.keys if whole.ordering else np.empty(0, np.int64)


def _classes(values: NDArray[np.generic], n: Floats, count: int) -> Ints:
    """Return the number of the class of each value: about as many pixels each, and equal values in one."""
    distinct, place = np.unique(values, return_inverse=True)
    pixels = np.bincount(place, n, len(distinct))
    found = np.floor((np.cumsum(pixels) - pixels / 2) / max(pixels.sum(), 1) * count).astype(np.int64)
    return np.unique(found, return_inverse=True)[1][place]


def _means(values: Floats, n: Floats, classes: Ints) -> Floats:
    weight = np.bincount(classes, n)
    return np.bincount(classes, n * values) / np.where(weight > 0, weight, 1.0)
