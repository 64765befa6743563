"""Tiles as the blocks of a bootstrap, for what cells do not keep: groups, order, thresholds, pairs of pixels.

Of more than 512 tiles, those that follow each other are joined, so that the memory is bounded.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.core.errors import SummaryError
from geouq.inference.bootstrap import (
    WEIGHT,
    BootstrapBasis,
    basis_of_tiles,
    draws,
    left_out,
    left_out_groups,
    resampled,
)
from geouq.inference.limits import Replicates, widened
from geouq.inference.long_run import Positions, Squares, long_run, positions_of
from geouq.inference.resamples import Influences, Resampled, too_uncertain
from geouq.metrics import Metric, MetricOptions, Value, evaluate_metric, group_coverage, metrics_of
from geouq.metrics.ensemble import joint_losses_of
from geouq.summary import Summary, TilePlace
from geouq.summary.form import TAU
from geouq.summary.joint_sample import JointSample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OfPairs = Callable[[Mapping[int, Floats]], Floats]  # the number of each pair, from its losses
Tiles = Callable[[], Iterable[Mapping[str, Summary]]]

MOST_ROWS = 512
TOGETHER = 64  # resamples that are evaluated at a time
ROUNDING = 1e-9  # of a number: smaller differences are those of last digits


@dataclass(frozen=True)
class PairRows:
    """Pairs of pixels of the sample for the joint log-loss, which do not add linearly.

    The two pixels of a pair lie in one tile or in two.

    Where tiles are drawn, a pair counts as often as its tile is drawn, and a pair of two tiles as often as both are: so
    the whole is the resample in which each is drawn once, and the share of pairs within a tile stays the same.

    tiles : int64 (2, pairs). losses : by the number of observations, float64 (pairs).
    """

    tiles: Ints
    losses: dict[int, Floats]

    @classmethod
    def of(cls, sample: JointSample, owner: Ints) -> Self:
        """Return the pairs of a sample whose pixels belong to tiles."""
        losses = {count: joint_losses_of(sample, count) for count in (1, TAU)}
        return cls(np.stack([owner, np.roll(owner, -1)]), losses)

    def resampled(self, name: str, metric: OfPairs, tiles: int, resamples: int, seed: int) -> Floats:
        """Return the metric in each resample of so many tiles, drawn from the seed and the name; NaN without a pair."""
        return np.concatenate([self._means(some, metric) for some in draws(tiles, resamples, seed, name)])

    def left_out(self, metric: OfPairs, tiles: int) -> Floats:
        """Return the metric without each tile, or, of more than 200, without each group of them."""
        group = left_out_groups(tiles)
        groups = int(group[-1]) + 1
        return self._means((np.arange(groups)[:, np.newaxis] != group).astype(np.uint16), metric)

    def _means(self, counts: NDArray[np.uint16], metric: OfPairs) -> Floats:
        """Return means over pairs, of tiles that are drawn as often as counts (resamples, tiles)."""
        means, (one, other) = np.full(len(counts), np.nan), self.tiles
        for i, drawn in enumerate(counts.astype(np.float64)):
            times = np.where(one == other, drawn[one], drawn[one] * drawn[other])
            total = times.sum()
            if total > 0:
                means[i] = (times * metric(self.losses)).sum() / total
        return means


@dataclass(frozen=True)
class TileRows:
    """Rows of the tiles of an evaluation unit that have pixels, float64 (tiles, columns).

    tiles : number of the row of each tile, in the order of their names, -1 of those without pixels. pairs : of the
    sample for the joint log-loss, where there is one.
    """

    whole: Summary
    basis: BootstrapBasis
    rows: Floats
    tiles: Ints
    pairs: PairRows | None = None

    def squares(self, places: Sequence[TilePlace]) -> Squares:
        """Return the squares with the groups of tiles that the jackknife leaves out."""
        places = sorted(places, key=lambda place: place.tile)
        used, group = self.tiles >= 0, left_out_groups(len(self.rows))[self.tiles]
        centres = positions_of(places, [(1, 1)] * len(places)).some(used)
        _, first, group = np.unique(group[used], return_index=True, return_inverse=True)
        x, y = (np.bincount(group, one) / np.bincount(group) for one in (centres.x, centres.y))
        weight = np.bincount(left_out_groups(len(self.rows)), self.rows[:, WEIGHT]).astype(np.float64)
        return Squares.of(Positions(x, y, centres.sheet[first], centres.area), weight)


class _Collector:
    """Collect the rows of the tiles of a variable, and the tile of each pixel of the sample."""

    def __init__(self, whole: Summary, metric_options: MetricOptions, count: int) -> None:
        self._whole, self._basis = whole, basis_of_tiles(whole, metric_options)
        self._rows: dict[int, Floats] = {}
        self._tiles = np.full(count, -1)
        self._sample = None if whole.form is None else whole.form.sample
        self._owner = np.full(0 if self._sample is None else len(self._sample.number), -1)

    def add(self, i: int, tile: Summary) -> None:
        """Take in the tile of number i."""
        if not tile.n:
            return
        count = len(self._tiles)
        number, row = i * min(count, MOST_ROWS) // count, self._basis.rows(tile, 1)
        self._rows[number] = self._rows[number] + row if number in self._rows else row
        self._tiles[i] = len(self._rows) - 1
        sample = None if tile.form is None else tile.form.sample
        if self._sample is not None and sample is not None:
            self._owner[np.isin(self._sample.number, sample.number)] = len(self._rows) - 1

    def rows(self) -> TileRows:
        """Return the rows of all."""
        has_pairs = self._sample is not None and len(self._sample.number) > 1
        pairs = PairRows.of(self._sample, self._owner) if self._sample is not None and has_pairs else None
        return TileRows(self._whole, self._basis, np.concatenate(list(self._rows.values())), self._tiles, pairs)


def rows_of_tiles(
    wholes: Mapping[str, Summary], metric_options: Mapping[str, MetricOptions], tiles: Tiles, count: int
) -> dict[str, TileRows]:
    """Return the rows of each variable that has pixels, of `count` tiles that are gone through once, in their order."""
    collectors = {name: _Collector(whole, metric_options[name], count) for name, whole in wholes.items() if whole.n}
    for i, tile in enumerate(tiles()):
        for name, collector in collectors.items():
            collector.add(i, tile[name])
    return {name: collector.rows() for name, collector in collectors.items()}


def resampled_by_tiles(
    name: str,
    metric_options: MetricOptions,
    tiles: TileRows,
    places: Sequence[TilePlace],
    settings: Intervals,
    *,
    wanted: Container[str],
) -> tuple[Iterator[Resampled], Summary]:
    """Return the numbers of the metrics of these names that tiles keep, and the summary of the resamples."""
    squares = tiles.squares(places)
    drawn = resampled(tiles.rows, settings.resamples, settings.seed, name)
    each = [_summaries(tiles.basis, rows) for rows in (tiles.rows.sum(0, keepdims=True), drawn, left_out(tiles.rows))]

    def numbers() -> Iterator[Resampled]:
        """Yield each wanted metric that tiles keep, with its values in the resamples."""
        for metric in metrics_of(metric_options.form):
            if metric.name not in wanted:
                continue
            values = list(evaluate_metric(metric, tiles.whole, metric_options))
            if metric.of_pairs is not None and tiles.pairs is not None:
                pairs, count = tiles.pairs, len(tiles.rows)
                replicates = pairs.resampled(name, metric.of_pairs, count, settings.resamples, settings.seed)
                yield _resampled(values[0], squares, replicates, pairs.left_out(metric.of_pairs, count))
                continue
            try:
                numbers = zip(*(_numbers(metric, summaries, metric_options) for summaries in each), strict=True)
            except SummaryError:
                continue
            for value, (together, replicates, without) in zip(values, numbers, strict=True):
                moved = _coarseness(float(value.value), float(together[0]))
                yield _resampled(value, squares, replicates + moved, without + moved)

    return numbers(), tiles.basis.summary(drawn)


def group_limits(
    name: str, metric_options: MetricOptions, tiles: TileRows, places: Sequence[TilePlace], settings: Intervals
) -> dict[tuple[str, float], Floats]:
    """Return the limits of the coverage of each group, by grouping and level, float64 (2, groups).

    They are percentile limits of resamples of tiles, as cells do not keep groups, and as wide as the long-run variance
    of the coverage of the group makes them. NaN where this is too uncertain, or some resample lacks the group.
    """
    squares, count = tiles.squares(places), metric_options.groups.count
    drawn = resampled(tiles.rows, settings.resamples, settings.seed, name)
    parts = [_summaries(tiles.basis, rows) for rows in (drawn, left_out(tiles.rows))]
    found = {}
    for by, level in product(metric_options.groupings, metric_options.levels):
        whole = group_coverage(tiles.whole, level, by, count)
        each = [np.concatenate([group_coverage(one, level, by, count) for one in part]) for part in parts]
        found[by, level] = np.full((2, len(whole)), np.nan)
        for k, own in enumerate(whole):
            found[by, level][:, k] = _group_limits(float(own), each[0][:, k], each[1][:, k], squares, settings.level)
    return found


def _group_limits(
    own: float, replicates: Floats, without: Floats, squares: Squares, level: float
) -> tuple[float, float]:
    if not (np.isfinite(own) and np.isfinite(replicates).all() and np.isfinite(without).all()):
        return np.nan, np.nan
    of_groups = _influences(own, without, squares)
    spread = long_run(squares, squares.sums(of_groups), of_groups, of_groups)
    if too_uncertain(spread):
        return np.nan, np.nan
    return widened(own, Replicates(np.sort(replicates)).limits(level), spread.widening(level), (0.0, 1.0))


def _summaries(basis: BootstrapBasis, rows: Floats) -> list[Summary]:
    return [basis.summary(rows[first : first + TOGETHER]) for first in range(0, len(rows), TOGETHER)]


def _numbers(metric: Metric, summaries: Sequence[Summary], metric_options: MetricOptions) -> list[Floats]:
    """Return the replicates of each value of a metric; SummaryError where tiles keep too little for it."""
    parts = [[value.value for value in evaluate_metric(metric, one, metric_options)] for one in summaries]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _coarseness(value: float, together: float) -> float:
    """Return the difference of a number from the number of all rows together, which may be in coarser classes."""
    return value - together if abs(value - together) > ROUNDING * abs(value) else 0.0


def _resampled(value: Value, squares: Squares, replicates: Floats, without: Floats) -> Resampled:
    """Return a number whose influences follow from leaving out groups of tiles."""
    of_groups = _influences(float(value.value), without, squares)
    alone = of_groups[np.newaxis]
    return Resampled(value, replicates, Influences(alone, squares.sums(of_groups)[np.newaxis], alone, squares))


def _influences(own: float, without: Floats, squares: Squares) -> Floats:
    """Return what each group of tiles adds to a number, which is `without` where the group is left out."""
    of_groups = (1 - squares.share) * (own - without)
    return of_groups - squares.share * of_groups.sum()
