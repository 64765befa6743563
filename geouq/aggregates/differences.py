"""By how much the means of areas of a forecast are better than those of another one, over the same areas."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import beyond, half_width
from geouq.aggregates.blocks import BlockMeans
from geouq.aggregates.scales import FEWEST_BLOCKS, FEWEST_FOLDS, NO_AREA, is_covered, scores_of, squared_z, too_few
from geouq.inference import Difference
from geouq.metrics.aggregate_names import MODELS, RMSE, coverage_name, crps_name, nll_name, zms_name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OUTCOMES = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])  # of two forecasts that cover an area or not
ADDED = 0.5  # areas with each pair of outcomes
EVEN = "the difference is the same in all parts of the map"


@dataclass(frozen=True)
class ScaleDifference:
    """A number of areas of equal size, of a forecast and of the first forecast, over the same areas.

    Parameters
    ----------
    metric : str
        `aggregate_zms_<model>`, `aggregate_coverage_<model>_<level>`, `aggregate_crps_<model>`,
        `aggregate_nll_<model>` or `aggregate_rmse`.
    areas : int
        Number of areas for which all forecasts have the number.
    side : float
        Side of a square with their mean area in metres; NaN if areas are not known.
    value, baseline : float
        The number of this forecast and of the first one; NaN without an area.
    difference : Difference
        `value` minus `baseline`, with an interval.
    """

    metric: str
    areas: int
    side: float
    value: float
    baseline: float
    difference: Difference


def differences_of_scale(
    forecasts: Sequence[BlockMeans], levels: Sequence[float], interval: float
) -> list[list[ScaleDifference]]:
    """Return the differences of each forecast but the first from the first.

    Parameters
    ----------
    forecasts : sequence of BlockMeans
        Means of areas of equal size, of forecasts of the same truth.
    levels : sequence of float
        Of the intervals of the means whose coverage is compared.
    interval : float
        Level of the intervals of the differences.

    Returns
    -------
    list of list of ScaleDifference
        For each forecast but the first, over the areas that all forecasts have; empty lists if there is none.

    Notes
    -----
    Intervals are by a jackknife: each fold of the map is left out of both forecasts at once. What makes an area
    hard for both falls out of the difference. The interval of a difference of RMSE is the interval of mean squares,
    divided by the sum of both RMSE. Differences of coverage have the jackknife's effective number of areas, to
    which half an area is added for each pair of outcomes (Agresti and Min 2005, Statistics in Medicine 24, 729).
    The p-value is of the difference in the distance from the ideal; of scores, whose ideal is the lowest, of the
    difference.
    """
    found = [list[ScaleDifference]() for _ in forecasts[1:]]
    common = _common(forecasts)
    for scores in _scores(common, levels) if len(common[0]) else ():
        for which, own in enumerate(found, 1):
            own.append(scores.difference(which, interval))
    return found


def _common(forecasts: Sequence[BlockMeans]) -> list[BlockMeans]:
    """Return the areas that all forecasts have, in the same order."""
    numbers = reduce(np.intersect1d, (own.number for own in forecasts))
    return [own.some(np.intersect1d(own.number, numbers, return_indices=True)[1]) for own in forecasts]


@dataclass(frozen=True)
class _Scores:
    """What each area has of each forecast, float64 (forecasts, areas), and the ideal of the number of all areas.

    squares : squared errors of means, by their variance or not, or scores. each : the numbers whose mean, or its root,
    is compared: these squares, or whether the areas are covered. ideal : -inf if there is none and less is better.
    """

    metric: str
    squares: Floats
    each: Floats
    fold: Ints
    side: float
    ideal: float

    @property
    def is_share(self) -> bool:
        """Whether the number is a share of areas."""
        return self.squares is not self.each

    def difference(self, which: int, interval: float) -> ScaleDifference:
        """Return the difference of a forecast from the first."""
        areas = len(self.fold)
        if not areas:
            return ScaleDifference(self.metric, 0, np.nan, np.nan, np.nan, Difference(None, reason=NO_AREA))
        pair = self.each[[0, which]]
        baseline, value = pair.mean(axis=1).tolist()
        if np.array_equal(self.squares[0], self.squares[which]):
            found = Difference(0.0, 0, 0.0, 0.0, 1.0)
        else:
            found = self._difference(pair, baseline, value, interval)
        if self.metric == RMSE:
            baseline, value = np.sqrt([baseline, value]).tolist()
            found = _of_roots(found, baseline, value)
        return ScaleDifference(self.metric, areas, self.side, value, baseline, found)

    def _difference(self, pair: Floats, baseline: float, value: float, interval: float) -> Difference:
        plain = value - baseline
        away = abs(value - self.ideal) - abs(baseline - self.ideal) if np.isfinite(self.ideal) else plain
        better, folds = int(np.sign(-away)), len(np.unique(self.fold))
        if len(self.fold) < FEWEST_BLOCKS or folds < FEWEST_FOLDS:
            return Difference(plain, better, reason=too_few(len(self.fold)))
        sign = np.where([baseline < self.ideal, value < self.ideal], -1.0, 1.0)  # of a change for the worse
        (kept, spread), (judged, judged_spread) = self._spread(pair, np.ones(2)), self._spread(pair, sign)
        if not min(spread, judged_spread) > 0:
            return Difference(plain, better, reason=EVEN)
        half = half_width(interval, folds - 1) * spread
        low, high = min(kept * plain - half, plain), max(kept * plain + half, plain)
        if self.is_share:
            low, high = max(low, -1.0), min(high, 1.0)
        return Difference(plain, better, low, high, beyond(judged * away / judged_spread, folds - 1))

    def _spread(self, pair: Floats, sign: Floats) -> tuple[float, float]:
        """Return by how much the difference of a pair, each times its sign, shrinks, and its standard error."""
        left_out = _left_out(pair, self.fold) * sign
        spread = float(np.sqrt((len(left_out) - 1) * (left_out[:, 1] - left_out[:, 0]).var()))
        if not self.is_share:
            return 1.0, spread
        one, other = sign[:, np.newaxis] * pair
        return _with_added(other - one, sign[1] * OUTCOMES[1] - sign[0] * OUTCOMES[0], spread, len(left_out))


def _of_roots(difference: Difference, one: float, other: float) -> Difference:
    """Return the difference of two roots from the difference of their squares, which is nearer to normal."""
    if difference.low is None or difference.high is None:
        return replace(difference, value=other - one)
    total = one + other or 1.0
    return replace(difference, value=other - one, low=difference.low / total, high=difference.high / total)


def _left_out(pair: Floats, fold: Ints) -> Floats:
    """Return the means of a pair without each fold, (folds, 2)."""
    number, count = np.unique(fold, return_inverse=True, return_counts=True)[1:]
    sums = np.stack([np.bincount(number, one) for one in pair], axis=-1)
    return np.asarray((sums.sum(axis=0) - sums) / (len(fold) - count)[:, np.newaxis])


def _with_added(each: Floats, added: Floats, spread: float, folds: int) -> tuple[float, float]:
    """Return by how much a mean shrinks if outcomes are added, each half a time, and its standard error then.

    spread : standard error of the mean by the jackknife, from which its effective number of areas follows. If all areas
    agree there is none, and each fold counts as one area.
    """
    areas = float(len(each))
    if variance := float(each.var()):
        areas = min(variance / spread**2, areas) if spread > 0 else areas
    else:
        areas = float(folds)
    total = areas + ADDED * len(added)
    mean = (areas * each.mean() + ADDED * added.sum()) / total
    square = (areas * (each**2).mean() + ADDED * (added**2).sum()) / total
    return areas / total, float(np.sqrt((square - mean**2) / total))


def _scores(forecasts: Sequence[BlockMeans], levels: Sequence[float]) -> Iterator[_Scores]:
    """Yield the scores under each model of correlation and the squared errors, of areas for which all have them."""
    z = [squared_z(own) for own in forecasts]
    for model in MODELS:
        squares, fold, side = _known([own[model] for own in z], forecasts[0])
        yield _Scores(zms_name(model), squares, squares, fold, side, 1.0)
        for level in levels:
            covered = is_covered(squares, level).astype(np.float64)
            yield _Scores(coverage_name(model, level), squares, covered, fold, side, level)
        for name, ideal in ((crps_name(model), 0.0), (nll_name(model), -np.inf)):
            scores, fold, side = _known([scores_of(own, model)[name] for own in forecasts], forecasts[0])
            yield _Scores(name, scores, scores, fold, side, ideal)
    squares, fold, side = _known([own.error**2 for own in forecasts], forecasts[0])
    yield _Scores(RMSE, squares, squares, fold, side, 0.0)


def _known(squares: Sequence[Floats], areas: BlockMeans) -> tuple[Floats, Ints, float]:
    """Return the squares of the areas for which all forecasts have them, with their folds and their mean side."""
    known = np.flatnonzero(np.isfinite(squares).all(axis=0))
    return np.stack(squares)[:, known], areas.fold[known], areas.some(known).side if len(known) else np.nan
