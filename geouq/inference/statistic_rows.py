"""Statistics as rows of numbers that add: what a resample is a weighted sum of, and the statistic that such a sum is.

Each statistic has one kind of rows. Plain rows are the arrays of the statistic. Rows of moments are taken about the
means of the whole pool, so that a sum loses no digits.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geouq.summary import CellSummaries, Moments
from geouq.summary.moments import CENTRED, LEFT, PRODUCTS, RIGHT, SUMS
from geouq.summary.statistic import Statistic

Floats = NDArray[np.float64]

C = len(CENTRED)
MOMENTS = 2 + len(SUMS) + len(PRODUCTS)  # columns of n, weight, sums and products


class StatisticRows(Protocol):
    """How one statistic becomes rows, and rows become the statistic."""

    @property
    def width(self) -> int:
        """Number of columns."""

    def of_cells(self, cells: CellSummaries, name: str) -> Floats:
        """Return a row for each cell, float64 (cells, width); name : of the statistic."""

    def statistic(self, rows: Floats) -> Statistic:
        """Return the statistic that sums of rows (R, width) are, with the leading dimension (R)."""


@dataclass(frozen=True)
class PlainRows:
    """Rows of a statistic whose arrays add.

    like : one of the same kind, from which all but the arrays is taken. shapes : of its arrays, without leading ones.
    """

    like: Statistic
    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, statistic: Statistic) -> Self:
        """Return the rows of statistics like one with a leading dimension."""
        return cls(statistic, {name: own.shape[1:] for name, own in statistic.to_arrays().items()})

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(map(math.prod, self.shapes.values()))

    def of_cells(self, cells: CellSummaries, name: str) -> Floats:
        """Return the arrays of a statistic of cells; zeros for a tile that has no pixel and lacks it."""
        own = cells.statistics.get(name)
        return np.zeros((len(cells), self.width)) if own is None else self.rows(own, len(cells))

    def rows(self, statistic: Statistic, count: int) -> Floats:
        """Return the arrays side by side, float64 (count, width)."""
        arrays = statistic.to_arrays()
        columns = [arrays[name].reshape(count, math.prod(shape)) for name, shape in self.shapes.items()]
        return np.concatenate([np.empty((count, 0)), *columns], axis=1)

    def statistic(self, rows: Floats) -> Statistic:
        """Return the statistic of these arrays."""
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = zip(self.shapes.items(), np.split(rows, ends[:-1], axis=-1), strict=True) if self.shapes else ()
        return self.like.with_arrays({name: part.reshape(len(rows), *shape) for (name, shape), part in parts})


@dataclass(frozen=True)
class MomentRows:
    """Rows of moments about a centre, float64 (5): the means of what is `CENTRED` in the whole pool."""

    centre: Floats

    @property
    def width(self) -> int:
        """Number of columns."""
        return MOMENTS

    def of_cells(self, cells: CellSummaries, name: str) -> Floats:  # noqa: ARG002  there are no others
        """Return n, weight, sums and products about the centre."""
        return moment_columns(cells.moments, self.centre)

    def statistic(self, rows: Floats) -> Moments:
        """Return the moments that sums of such rows are."""
        return moments_of(rows, self.centre)


def moment_columns(moments: Moments, centre: Floats) -> Floats:
    """Columns of n, weight, sums and products about the centre, which add; float64 (rows, `MOMENTS`)."""
    weight, sums = moments.weight[:, np.newaxis], moments.sums.copy()
    sums[:, :C] -= weight * centre
    away = np.divide(sums[:, :C], weight, out=np.zeros_like(sums[:, :C]), where=weight > 0)
    products = moments.products + weight * away[:, LEFT] * away[:, RIGHT]
    return np.concatenate([moments.n[:, np.newaxis].astype(np.float64), weight, sums, products], axis=1)


def moments_of(columns: Floats, centre: Floats) -> Moments:
    """Return the moments that sums of such columns are."""
    n, weight, sums, products = np.split(columns, np.cumsum([1, 1, len(SUMS)]), axis=-1)
    away = np.divide(sums[:, :C], weight, out=np.zeros_like(sums[:, :C]), where=weight > 0)
    sums = sums.copy()
    sums[:, :C] += weight * centre
    products = products - weight * away[:, LEFT] * away[:, RIGHT]
    products[:, :C] = np.maximum(products[:, :C], 0)  # squares, of which the last digit may be left over
    return Moments(np.rint(n[:, 0]).astype(np.int64), weight[:, 0], sums, products)
