"""How certain the difference of a number between two forecasts of the same pixels, or between two evaluation units, is.

Of the same pixels, the same blocks of both are drawn, so that what makes both look good or bad falls out of the
difference. Replicates are moved so that their median is the difference observed: a norm such as UCE is larger in each
resample than in the evaluation unit, of a good forecast more so than of a bad one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals
from geouq.inference.blocks import cut_into_blocks, on_common_squares, side_of_blocks, units_of
from geouq.inference.bootstrap import CellsOf, N, basis_of_cells
from geouq.inference.limits import rounded
from geouq.inference.long_run import LongRun, long_run
from geouq.inference.resamples import NOT_KEPT, Resampled, few_in_a_bin, resampled_by_cells, too_few, too_uncertain
from geouq.metrics import MetricOptions, Value, evaluate_metrics, loss
from geouq.summary import Summary, TilePlace

Floats = NDArray[np.float64]
Key = tuple[str, str, str]
Transform = Callable[[Floats], Floats]


@dataclass(frozen=True)
class ForecastSample:
    """The summary of a variable of an evaluation unit, its metric options and its cells."""

    whole: Summary
    metric_options: MetricOptions
    places: Sequence[TilePlace]
    cells_of: CellsOf


@dataclass(frozen=True)
class Uncertain:
    """A number and how it varies; None for a reason."""

    value: Value
    spread: Resampled | None = None
    reason: str = ""


@dataclass(frozen=True)
class Drawn:
    """The numbers of each side by metric, bins and group; same_pixels : whether all count as many in each block."""

    sides: tuple[Mapping[Key, Uncertain], ...]
    same_pixels: bool


@dataclass(frozen=True)
class Difference:
    """A number less another, the ends of its interval, and whether one of the two is better.

    value : None where one of the two is missing. low, high, p_value : None for a reason. better : 1 for the number
    itself, -1 for the other, 0 where they are equal or nothing is better. p_value : of the observed difference in how
    far both are from ideal, were there none; of the plain difference where nothing is ideal.
    """

    value: float | None
    better: int = 0
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    reason: str = ""


def draw_together(name: str, sides: Sequence[ForecastSample], settings: Intervals) -> Drawn:
    """Return the numbers of forecasts of the same tiles and cells, with the same blocks drawn for all.

    Blocks are as large as the forecast needs whose residuals reach farthest, and those count in which any has a pixel.
    name : of the evaluation unit, from which the draws follow.
    """
    counts = {int(side.whole.n) for side in sides}
    if 0 in counts:
        return Drawn(tuple(_bare(side, "no pixel") for side in sides), len(counts) == 1)
    units = on_common_squares(
        [units_of(side.places, side.cells_of, basis_of_cells(side.whole, side.metric_options)) for side in sides]
    )
    widest = max(side_of_blocks(one, settings) for one in units)
    blocks, sums = zip(*(cut_into_blocks(one, *widest) for one in units), strict=True)
    used = np.any([one[:, N] > 0 for one in sums], axis=0)
    same = all(np.array_equal(one[:, N], sums[0][:, N]) for one in sums)
    if reason := next(filter(None, (too_few(one.cells, one.count) for one in blocks)), ""):
        return Drawn(tuple(_bare(side, reason) for side in sides), same)
    uncertain = []
    for side, rows, cells, cut in zip(sides, sums, units, blocks, strict=True):
        metric_options, drawn, numbers = resampled_by_cells(
            name, side.whole, side.metric_options, units=cells, blocks=cut, sums=rows[used], settings=settings
        )
        uncertain.append({_key(one.value): one for one in _uncertain(numbers, side.whole, drawn, metric_options)})
    return Drawn(tuple(uncertain), same)


ROUNDING = 1e-6  # of influences, whose gradients are numerical

Deviations = Callable[[Resampled, Resampled, float, Transform], tuple[Floats, list[LongRun]]]


def paired_difference(other: Uncertain, base: Uncertain, level: float) -> Difference:
    """Return the difference of two forecasts of the same pixels, drawn together."""
    return _difference(other, base, level, _paired)


def unpaired_difference(other: Uncertain, base: Uncertain, level: float) -> Difference:
    """Return the difference of two evaluation units without a common pixel, drawn each for itself."""
    return _difference(other, base, level, _unpaired)


def _difference(other: Uncertain, base: Uncertain, level: float, deviations: Deviations) -> Difference:
    numbers = float(other.value.value), float(base.value.value)
    if not np.isfinite(numbers).all():
        return Difference(None, reason="no value")
    difference, losses = numbers[0] - numbers[1], loss(other.value, np.array(numbers))
    away = difference if losses is None else float(losses[0] - losses[1])
    better = 0 if losses is None else int(np.sign(-away))
    if other.spread is None or base.spread is None:
        return Difference(difference, better, reason=other.reason or base.reason)
    around, long_runs = deviations(other.spread, base.spread, level, _same)
    if reason := next(filter(None, map(too_uncertain, long_runs)), ""):
        return Difference(difference, better, reason=reason)
    defined = np.isfinite(around)
    if defined.sum() < level * len(defined):
        return Difference(difference, better, reason="not defined in all resamples")
    low, high = difference + np.quantile(around[defined], [(1 - level) / 2, (1 + level) / 2])
    judged = around if losses is None else deviations(other.spread, base.spread, level, _distance_of(other.value))[0]
    return Difference(difference, better, *rounded((low, high)), two_sided(away + judged[np.isfinite(judged)]))


def two_sided(replicates: Floats) -> float:
    """Return twice the share of replicates that lie on the other side of 0, or on it; in (0, 1].

    >>> two_sided(np.array([-1.0, 1.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 6.0]))
    0.4
    """
    fewer = min((replicates <= 0).sum(), (replicates >= 0).sum())
    return min(1.0, 2 * (1 + int(fewer)) / (1 + len(replicates)))


def _same(numbers: Floats) -> Floats:
    return numbers


def _distance_of(value: Value) -> Transform:
    def distance(numbers: Floats) -> Floats:
        """Return how far numbers are from the ideal; the numbers themselves if none is better."""
        losses = loss(value, numbers)
        return numbers if losses is None else losses

    return distance


def _paired(other: Resampled, base: Resampled, level: float, of: Transform) -> tuple[Floats, list[LongRun]]:
    """Return the widened deviations of the replicates of a difference, and its long-run variance."""
    influences = [_beyond_rounding(one, two) for one, two in zip(_moved(other, of), _moved(base, of), strict=True)]
    spread = long_run(other.influences.squares, *influences)
    return _around(of(other.replicates) - of(base.replicates), spread, level), [spread]


def _beyond_rounding(one: Floats, other: Floats) -> Floats:
    """Return the difference of influences; 0 where only the last digits of their gradients differ."""
    away = one - other
    return away if np.abs(away).max() > ROUNDING * np.abs([one, other]).max() else np.zeros_like(away)


def _unpaired(other: Resampled, base: Resampled, level: float, of: Transform) -> tuple[Floats, list[LongRun]]:
    """Return the same of numbers that are drawn each for itself."""
    spreads = [long_run(one.influences.squares, *_moved(one, of)) for one in (other, base)]
    away = [_around(of(one.replicates), spread, level) for one, spread in zip((other, base), spreads, strict=True)]
    return away[0] - away[1], spreads


def _moved(one: Resampled, of: Transform) -> tuple[Floats, Floats, Floats]:
    """Return the influences of squares, blocks and cells on a function of a number."""
    value = np.asarray(one.value.value)
    own = one.influences
    squares, blocks, cells = (
        of(value + each[one.place]) - of(value) for each in (own.of_squares, own.of_blocks, own.of_cells)
    )
    return squares, blocks, cells


def _around(replicates: Floats, spread: LongRun, level: float) -> Floats:
    return spread.widening(level) * (replicates - _median(replicates))


def _median(replicates: Floats) -> float:
    defined = replicates[np.isfinite(replicates)]
    return float(np.median(defined)) if len(defined) else np.nan


def _bare(side: ForecastSample, reason: str) -> dict[Key, Uncertain]:
    return {_key(value): Uncertain(value, reason=reason) for value in evaluate_metrics(side.whole, side.metric_options)}


def _uncertain(
    numbers: Iterator[Resampled | Value], whole: Summary, drawn: Summary, metric_options: MetricOptions
) -> Iterator[Uncertain]:
    for one in numbers:
        if isinstance(one, Value):
            yield Uncertain(one, reason=NOT_KEPT)
            continue
        reason = few_in_a_bin(
            one, whole, drawn, metric_options
        )  # a difference may be certain where its numbers are not
        yield Uncertain(one.value, None if reason else one, reason)


def _key(value: Value) -> Key:
    return value.name, value.bins, value.group
