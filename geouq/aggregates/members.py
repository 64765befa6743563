"""Means of areas of each member of an ensemble: their spread, and the rank of the truth, by the size of the area.

The mean of a member over an area is known exactly, so that nothing is assumed of how errors are correlated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import half_width
from geouq.aggregates.blocks import ENOUGH, sides_of
from geouq.aggregates.cells import MOMENTS, AreaCells
from geouq.aggregates.scales import FEWEST_BLOCKS, FEWEST_FOLDS, NO_AREA, ScaleNumber
from geouq.aggregates.shares import FORM
from geouq.metrics.aggregate_names import MEMBER_ERRORS, SPREAD_SKILL
from geouq.summary import Moments, TilePlace
from geouq.summary.form import FormSums
from geouq.summary.statistic import Statistic

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MemberCells:
    """Cells with their weight, float64 (cells), and the weighted sums of the members' errors, (cells, members)."""

    cells: AreaCells
    weight: Floats
    errors: Floats

    @classmethod
    def of(cls, cells: AreaCells, tiles: Iterable[tuple[Ints, Mapping[str, Statistic]]]) -> Self:
        """Return the cells of some tiles; tiles : numbers of the cells of each and their statistics, in their order."""
        weight, errors = [], []
        for numbers, statistics in tiles:
            moments, form = cast("Moments", statistics[MOMENTS]), cast("FormSums", statistics[FORM])
            order = np.argsort(numbers)
            order = order[moments.n[order] > 0]
            weight.append(moments.weight[order])
            errors.append(form.of(MEMBER_ERRORS)[order])
        return cls(cells, np.concatenate(weight), np.concatenate(errors))

    def some(self, chosen: NDArray[np.bool_]) -> Self:
        """Return some of the cells."""
        return type(self)(self.cells.some(chosen), self.weight[chosen], self.errors[chosen])


@dataclass(frozen=True)
class MemberMeans:
    """Means of some areas.

    Parameters
    ----------
    errors : float64 (B, members)
        Error of the mean of each member.
    area : float64 (B)
        Of the valid pixels in square metres; NaN where it is not known.
    fold : int64 (B)
        Number of the tile; areas that lie in several tiles are folds of their own.
    """

    errors: Floats
    area: Floats
    fold: Ints

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def side(self) -> float:
        """Return the side of a square with the mean area in metres; NaN if areas are not known."""
        return float(np.sqrt(self.area.mean()))

    @property
    def rank_shares(self) -> Floats:
        """Return the share of areas at each rank of the true mean, float64 (members + 1), as `rank_histogram` does."""
        first, last = ((self.errors < 0).sum(1), (self.errors <= 0).sum(1))
        rank = np.arange(self.errors.shape[1] + 1)
        may_have = (rank >= first[:, np.newaxis]) & (rank <= last[:, np.newaxis])
        return np.asarray((may_have / may_have.sum(1, keepdims=True)).mean(axis=0))

    def spread_skill(self, level: float) -> ScaleNumber:
        """Return the spread of the members' means by the RMSE of their mean, as `spread_skill` of pixels.

        The interval is by a jackknife of tiles, on the logarithm. level : of the interval.
        """
        value, folds = _ratio(self.errors), np.unique(self.fold)
        if not len(self):
            return ScaleNumber(SPREAD_SKILL, np.nan, np.nan, np.nan, NO_AREA)
        if len(self) < FEWEST_BLOCKS or len(folds) < FEWEST_FOLDS:
            reason = f"{len(self)} areas, in {len(folds)} parts of the map, are too few"
            return ScaleNumber(SPREAD_SKILL, value, np.nan, np.nan, reason)
        left_out = np.array([_ratio(self.errors[self.fold != fold]) for fold in folds])
        if not (np.isfinite(left_out) & (left_out > 0)).all():
            return ScaleNumber(SPREAD_SKILL, value, np.nan, np.nan, "the spread or the error of the means is 0")
        half = half_width(level, len(folds) - 1) * np.sqrt((len(folds) - 1) * np.log(left_out).var())
        return ScaleNumber(SPREAD_SKILL, value, float(value / np.exp(half)), float(value * np.exp(half)))


def _ratio(errors: Floats) -> float:
    """Return the spread of the members by the RMSE of their mean."""
    members = errors.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread, square = errors.var(axis=1).sum(), (errors.mean(axis=1) ** 2).sum()
        return float(np.sqrt((members + 1) / (members - 1) * np.divide(spread, square)))


def member_scales(
    whole: MemberCells, regions: Mapping[str, MemberCells], places: Sequence[TilePlace]
) -> dict[tuple[str, int], MemberMeans]:
    """Return means of blocks by their side in cells, of tiles and of regions; only sizes of which there are areas."""
    found = dict(_scales(whole, regions, places))
    return {key: own for key, own in found.items() if len(own)}


def _scales(
    whole: MemberCells, regions: Mapping[str, MemberCells], places: Sequence[TilePlace]
) -> Iterator[tuple[tuple[str, int], MemberMeans]]:
    cells, size = whole.cells, places[0].cell_size if places else 0
    for side in sides_of(places):
        enough = ENOUGH * (side * size) ** 2
        yield ("block", side), _means(whole, (cells.tile, cells.row // side, cells.column // side), enough)
    yield ("tile", 0), _means(whole, (cells.tile,), 1)
    parts = [_means(own, (np.zeros_like(own.cells.tile),), 1) for own in regions.values() if len(own.cells)]
    if parts:
        errors, area = (np.concatenate([getattr(part, name) for part in parts]) for name in ("errors", "area"))
        yield ("region", 0), MemberMeans(errors, area, np.arange(len(errors)))


def _means(of: MemberCells, keys: tuple[Ints, ...], enough: float) -> MemberMeans:
    """Return the means of the areas whose cells have the same keys, where these have enough valid pixels."""
    each, number = np.unique(np.stack(keys), axis=1, return_inverse=True)
    count, cells = each.shape[1], of.cells

    def added(values: Floats) -> Floats:
        """Return the sums over the cells of each area."""
        total = np.zeros((count, *values.shape[1:]))
        np.add.at(total, number.ravel(), values)
        return total

    kept = added(cells.n) >= enough
    errors = added(of.errors)[kept] / added(of.weight)[kept][:, np.newaxis]
    finite = np.isfinite(errors).all(axis=1)
    return MemberMeans(errors[finite], added(cells.area)[kept][finite], each[0][kept][finite])
