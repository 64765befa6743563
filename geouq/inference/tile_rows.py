"""Tiles as rows of numbers that add, for what cells do not keep: coverage by groups, order, thresholds, curves.

Groups stay those of the whole pool, as the bins of cells do: where a border falls into a key, each group gets the share
of that key that it has in the pool.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.compiled import compiled
from geouq.config import Intervals
from geouq.inference.bootstrap import left_out, left_out_groups, resampled
from geouq.inference.influence import WEIGHT
from geouq.inference.joint_rows import PairRows, SampleOwners
from geouq.inference.order_rows import OrderFrame, moment_row
from geouq.inference.resamples import NOT_BY_CELL, Resampled
from geouq.inference.squares import Positions, Squares, positions_of
from geouq.inference.statistic_rows import MOMENTS, moments_of
from geouq.metrics import Metric, MetricOptions, Value, evaluate_metric, metrics_of
from geouq.summary import CoverageProfile, Summary, TilePlace, ZHistogram
from geouq.summary.moments import CENTRED
from geouq.summary.summary import COVERAGE_BY
from geouq.summary.threshold_sums import ThresholdSums

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ROWS = 512  # of more tiles, those that follow each other are joined
TOGETHER = 64  # resamples whose order is told at a time
Tiles = Callable[[], Iterable[Mapping[str, Summary]]]


@dataclass(frozen=True)
class TileFrame:
    """What the tiles of a pool are measured against.

    groups : by what pixels are grouped, the keys of the pool and the share that each group has of each, (keys, groups).
    """

    whole: Summary
    centre: Floats
    groups: Mapping[str, tuple[Ints, Floats]]
    order: OrderFrame | None

    @classmethod
    def of(cls, whole: Summary, choices: MetricOptions) -> "TileFrame":
        """Return the frame of a pool whose summary is `whole`, with at least one pixel."""
        groups = {by: whole.coverage_by(by) for by in choices.groupings}
        shares = {by: (one.keys, one.group_shares(choices.groups.count, int(whole.n))) for by, one in groups.items()}
        centre = np.array([whole.moments.mean(name) for name in CENTRED])
        return cls(whole, centre, shares, OrderFrame.of(whole, centre) if choices.ordering else None)

    def row(self, tile: Summary) -> Floats:
        """Return what a tile with pixels adds, float64 (columns), but for the order."""
        parts = [moment_row(tile.moments, self.centre), tile.z.counts, tile.thresholds.sums.ravel()]
        for by, (keys, shares) in self.groups.items():
            profile = tile.coverage_by(by)
            inside = np.zeros((shares.shape[1], profile.counts.shape[-1]))
            _share_out(np.searchsorted(keys, profile.keys), np.cumsum(profile.counts, axis=-1), shares, inside)
            parts.append(inside.ravel())
        return np.concatenate(parts)

    def summary(self, rows: Floats) -> Summary:
        """Return the Summary that sums of rows (R, columns) are, of what follows from them."""
        whole, columns = self.whole, len(self.whole.levels) + 1
        shapes = [(whole.z.counts.size,), whole.thresholds.sums.shape]
        shapes += [(shares.shape[1], columns) for _, shares in self.groups.values()]
        ends = np.cumsum([MOMENTS, *(int(np.prod(shape)) for shape in shapes)])
        moments, *parts = np.split(rows, ends[:-1], axis=-1)
        shaped = [part.reshape(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)]
        counts: NDArray[Any] = shaped[0]  # whole numbers, or weights
        inside = dict(zip(self.groups, shaped[2:], strict=True))
        return whole.having(
            moments=moments_of(moments, self.centre),
            z=ZHistogram(whole.z.probabilities, counts),
            thresholds=ThresholdSums(whole.thresholds.thresholds, shaped[1]),
            **{COVERAGE_BY + by: _Grouped(np.arange(one.shape[1]), one) for by, one in inside.items()},
        )


@dataclass(frozen=True)
class TileRows:
    """Rows of the tiles of a pool that have pixels, float64 (tiles, columns); `order` those of the order, if asked for.

    pairs : of the sample for the joint log-loss, where there is one. tiles : number of the row of each tile, in the
    order of their names, -1 of those without pixels.

    Of more than 512 tiles, those that follow each other are joined, so that the memory is bounded.
    """

    frame: TileFrame
    rows: Floats
    order: Floats | None
    tiles: Ints
    pairs: PairRows | None = None

    def squares(self, places: Sequence[TilePlace]) -> Squares:
        """Return the squares that hold the groups of tiles of which each is left out."""
        places = sorted(places, key=lambda place: place.tile)
        used, group = self.tiles >= 0, left_out_groups(len(self.rows))[self.tiles]
        centres = positions_of(places, [(1, 1)] * len(places)).some(used)
        _, first, group = np.unique(group[used], return_index=True, return_inverse=True)
        x, y = (np.bincount(group, one) / np.bincount(group) for one in (centres.x, centres.y))
        weight = np.bincount(left_out_groups(len(self.rows)), self.rows[:, WEIGHT]).astype(np.float64)
        return Squares.of(Positions(x, y, centres.sheet[first], centres.area), weight)


def rows_of_tiles(
    wholes: Mapping[str, Summary], choices: Mapping[str, MetricOptions], tiles: Tiles, count: int
) -> dict[str, TileRows]:
    """Return the rows of each variable that has pixels, of `count` tiles that are gone through once, in their order."""
    frames = {name: TileFrame.of(whole, choices[name]) for name, whole in wholes.items() if whole.n}
    found: dict[str, dict[int, list[Floats]]] = {name: {} for name in frames}
    owners = {name: SampleOwners(frame.whole) for name, frame in frames.items()}
    joined, tile_numbers = min(count, MOST_ROWS), {name: np.full(count, -1) for name in frames}
    for i, tile in enumerate(tiles()):
        number = i * joined // count
        for name, frame in frames.items():
            if tile[name].n:
                row = [frame.row(tile[name]), *([frame.order.row(tile[name])] if frame.order else [])]
                before = found[name].get(number)
                found[name][number] = row if before is None else [a + b for a, b in zip(before, row, strict=True)]
                owners[name].add(tile[name], number)
                tile_numbers[name][i] = len(found[name]) - 1
    return {name: _stacked(frames[name], rows, tile_numbers[name], owners[name]) for name, rows in found.items()}


def _stacked(frame: TileFrame, rows: Mapping[int, list[Floats]], tiles: Ints, owners: SampleOwners) -> TileRows:
    light, *order = (np.stack(one) for one in zip(*rows.values(), strict=True))
    return TileRows(frame, light, order[0] if order else None, tiles, owners.pairs(list(rows)))


def resampled_by_tiles(
    name: str, choices: MetricOptions, tiles: TileRows, places: Sequence[TilePlace], settings: Intervals
) -> tuple[Iterator[Resampled], Summary]:
    """All numbers that cells do not keep, and the summary of the resamples, in which tiles are drawn."""
    squares = tiles.squares(places)
    rows, rest = resampled(tiles.rows, settings.resamples, settings.seed, name), left_out(tiles.rows)
    drawn, without = tiles.frame.summary(rows), tiles.frame.summary(rest)

    def numbers() -> Iterator[Resampled]:
        """Yield each metric that cells do not keep, with its values in the resamples."""
        for metric in metrics_of(choices.form):
            if metric.choice in NOT_BY_CELL - {"ordering"} or metric.name.endswith("_interval"):
                summaries = (tiles.frame.whole, drawn, without)
                for value, *others in zip(*(evaluate_metric(metric, one, choices) for one in summaries), strict=True):
                    yield _resampled(value, squares, *(other.value for other in others))
        yield from _order_of(name, choices, tiles, squares, settings)
        yield from _joint_of(name, choices, tiles, squares, settings)

    return numbers(), drawn


def _resampled(value: Value, squares: Squares, replicates: Floats, without: Floats) -> Resampled:
    """Return a number whose influences follow from leaving out groups of tiles."""
    of_groups = (1 - squares.share) * (float(value.value) - without)
    of_groups = of_groups - squares.share * of_groups.sum()
    return Resampled(value, replicates, of_groups, squares.sums(of_groups), of_groups, squares)


def _joint_of(
    name: str, choices: MetricOptions, tiles: TileRows, squares: Squares, settings: Intervals
) -> Iterator[Resampled]:
    """Yield the numbers of pairs of pixels."""
    if tiles.pairs is None:
        return
    count = len(tiles.rows)
    for metric in metrics_of(choices.form):
        if metric.of_pairs is None:
            continue
        (value,) = evaluate_metric(metric, tiles.frame.whole, choices)
        drawn = tiles.pairs.resampled(name, metric.of_pairs, count, settings.resamples, settings.seed)
        yield _resampled(value, squares, drawn, tiles.pairs.left_out(metric.of_pairs, count))


def _order_of(
    name: str, choices: MetricOptions, tiles: TileRows, squares: Squares, settings: Intervals
) -> Iterator[Resampled]:
    """Yield the numbers that follow from the order, of some resamples at a time.

    Classes of the resamples are coarser than the number: all are moved by the difference that this makes.
    """
    frame = tiles.frame.order
    if frame is None or tiles.order is None:
        return
    both = resampled(tiles.order, settings.resamples, settings.seed, name), left_out(tiles.order)
    for metric in metrics_of(choices.form):
        if metric.choice == "ordering":
            (value,) = evaluate_metric(metric, tiles.frame.whole, choices)
            by_classes = value.value - metric.function(frame.summary(tiles.order.sum(0, keepdims=True)))[0]
            yield _resampled(value, squares, *(_in_parts(metric, frame, rows) + by_classes for rows in both))


def _in_parts(metric: Metric, frame: OrderFrame, rows: Floats) -> Floats:
    parts = (rows[first : first + TOGETHER] for first in range(0, len(rows), TOGETHER))
    return np.concatenate([metric.function(frame.summary(part)) for part in parts])


@dataclass(frozen=True)
class _Grouped(CoverageProfile):
    """Pixels inside the intervals by the groups of the pool, which are the keys."""

    def grouped(self, groups: int, n: NDArray[np.int64]) -> Floats:  # noqa: ARG002  those of the pool
        """Return the counts of the groups, which stay those of the whole unit."""
        return self.counts


@compiled
def _share_out(place: Ints, inside: Floats, shares: Floats, out: Floats) -> None:
    """Add pixels by key (keys, columns) to those by group, (groups, columns)."""
    for k in range(len(place)):
        for g in range(shares.shape[1]):
            share = shares[place[k], g]
            if share > 0:
                for j in range(inside.shape[1]):
                    out[g, j] += share * inside[k, j]
