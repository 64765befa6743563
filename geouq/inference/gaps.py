"""Numbers that are norms of signed gaps between what is predicted and what is observed: too large, however calibrated.

Gaps of the variance are told as log(MSE / MV) of each bin, whose noise is alike on both sides and wherever it stands;
those of the calibration curve as differences of shares. UCE has the unit of the variance: a resample has a share of
pixels and a mean variance of its own in each bin, by which it weighs its gaps.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.inference.folded import Noise
from geouq.metrics import Choices, Value, binned, calibration_curve, group_coverage, interval_curve
from geouq.metrics.curve import area_to_diagonal, squared_error
from geouq.summary import Binned, Summary

Floats = NDArray[np.float64]
Weighted = Callable[[Floats, Floats], Floats]
RELIABILITY = "threshold_reliability"
OF_PROBABILITY_BINS = (RELIABILITY, "threshold_resolution", "threshold_within")


@dataclass(frozen=True)
class Gaps:
    """Signed gaps of a pool and its resamples, and the number that they give.

    signed : float64 (gaps), NaN where a bin is empty; drawn : the same of each resample, (R, gaps). weighted : the
    number, of gaps and their weights; weight, drawn_weight : of the pool and of each resample. whole : False where
    errors of exactly 0 fill a bin, so that its gap is infinite.
    """

    signed: Floats
    drawn: Floats
    weighted: Weighted
    weight: Floats
    drawn_weight: Floats
    whole: bool = True

    def norm(self, gaps: Floats) -> Floats:
        """The number that gaps give in the pool."""
        return self.weighted(gaps, self.weight)

    def noise(self, widening: float) -> Noise:
        """What may lie between gaps observed and true ones: deviations of resamples, that much wider.

        Weights, which are above 0, are widened in the logarithm.
        """
        with np.errstate(divide="ignore", invalid="ignore"):  # the weight of a bin that was not drawn is 0
            weight = self.weight * np.exp(widening * np.log(self.drawn_weight / self.weight))
        return Noise(widening * (self.drawn - self.signed), lambda gaps: self.weighted(gaps, weight))


def is_folded(value: Value) -> bool:
    """Whether a number is a norm of gaps."""
    name = value.metric.name
    return name in _VARIANCE or name in _CURVE or name in _GROUPS or name == RELIABILITY


def gaps_of(value: Value, whole: Summary, resamples: Summary, choices: Choices) -> Gaps:
    """Gaps of the whole pool and of its resamples."""
    name = value.metric.name
    if name in _CURVE:
        curve, levels = _curve_of(name), choices.calibration_levels
        own, others = (curve(summary, levels) - levels for summary in (whole, resamples))
        return Gaps(own, others, _CURVE[name](choices), np.ones(len(own)), np.ones(len(own)))
    if name in _GROUPS:
        own, others = (_groups(value, summary, choices) - (value.level or 0.0) for summary in (whole, resamples))
        return Gaps(own, others, _GROUPS[name], np.ones(len(own)), np.ones(len(own)))
    if name == RELIABILITY:
        (own, weight), (others, drawn) = (_probability_gaps(value, summary, choices) for summary in (whole, resamples))
        return Gaps(own, others, _mean_square, weight, drawn)
    scheme = next(scheme for scheme in choices.schemes if scheme.name == value.bins)
    bins = [_binned(summary, scheme, choices) for summary in (whole, resamples)]
    weighted, weight_of = _VARIANCE[name]
    (own, others), (weight, drawn) = map(_log_ratio, bins), map(weight_of, bins)
    some_error = bool((bins[0].squared_error[bins[0].n > 0] > 0).all())
    return Gaps(own, others, weighted, weight, drawn, some_error)


def rests_on_few_blocks(value: Value, whole: Summary, resamples: Summary, choices: Choices) -> bool:
    """Whether a number is of bins, one of which lies in so few blocks that a resample drew none of them."""
    if value.bins:
        scheme = next(scheme for scheme in choices.schemes if scheme.name == value.bins)
        own, others = (_binned(summary, scheme, choices).n > 0 for summary in (whole, resamples))
    elif value.group:
        own, others = (np.isfinite(_groups(value, summary, choices)) for summary in (whole, resamples))
    elif value.metric.name in OF_PROBABILITY_BINS:
        own, others = (_probability_gaps(value, summary, choices)[1] > 0 for summary in (whole, resamples))
    else:
        return False
    return bool((own & ~others).any())


def _binned(summary: Summary, scheme: BinScheme, choices: Choices) -> Binned:
    return binned(summary, scheme, (choices.shared_edges or {})[scheme.name])


def _log_ratio(per_bin: Binned) -> Floats:
    ratio = per_bin.mse / per_bin.mean_variance
    return np.log(np.where(ratio > 0, ratio, np.nan))


def _groups(value: Value, summary: Summary, choices: Choices) -> Floats:
    """Coverage of each group."""
    return group_coverage(summary, value.level or 0.0, value.group, choices.groups.count)


def _probability_gaps(value: Value, summary: Summary, choices: Choices) -> tuple[Floats, Floats]:
    """Mean probability of exceeding less the frequency of it in each bin, NaN where it is empty; and its share."""
    threshold = next(t for t in choices.thresholds if value.name == f"{value.metric.name}_{t:g}")
    n, probability, _, exceeded, _ = np.moveaxis(summary.thresholds.of(threshold), -1, 0)
    gaps = np.divide(probability - exceeded, n, out=np.full(n.shape, np.nan), where=n > 0)
    return gaps, n / np.maximum(n.sum(-1, keepdims=True), np.finfo(np.float64).tiny)


def _curve_of(name: str) -> Callable[..., Floats]:
    return interval_curve if name.endswith("_interval") else calibration_curve


def _mean_square(gaps: Floats, weight: Floats) -> Floats:
    return np.nansum(weight * np.square(gaps), axis=-1)


def _root_mean_square(gaps: Floats, _: Floats) -> Floats:
    used = np.isfinite(gaps).sum(-1)
    return np.sqrt(np.nansum(np.square(gaps), axis=-1) / np.maximum(used, 1))


def _of_those_below(gaps: Floats, weight: Floats) -> Floats:
    return _root_mean_square(np.where(gaps < 0, gaps, np.nan), weight)


def _uce(gaps: Floats, weight: Floats) -> Floats:
    return np.nansum(weight * np.abs(np.expm1(gaps)), axis=-1)


def _ence(gaps: Floats, _: Floats) -> Floats:
    used = np.isfinite(gaps).sum(-1)
    return np.nansum(np.abs(np.expm1(gaps / 2)), axis=-1) / np.maximum(used, 1)


def _mean_variance(per_bin: Binned) -> Floats:
    """What each bin adds to the mean variance."""
    return per_bin.share * per_bin.mean_variance


def _alike(per_bin: Binned) -> Floats:
    return np.ones(per_bin.n.shape)


_VARIANCE: Mapping[str, tuple[Weighted, Callable[[Binned], Floats]]] = {
    "uce": (_uce, _mean_variance),
    "ence": (_ence, _alike),
    "ence_excess": (_ence, _alike),
}
_GROUPS: Mapping[str, Weighted] = {"rmscd": _root_mean_square, "rmscd_under": _of_those_below}
_OF_CURVE: Mapping[str, Callable[[Choices], Weighted]] = {
    "mace": lambda _: lambda gaps, _: np.abs(gaps).mean(-1),
    "rmsce": lambda _: lambda gaps, _: np.sqrt(np.square(gaps).mean(-1)),
    "calibration_error": lambda c: (
        lambda gaps, _: squared_error(gaps + c.calibration_levels, c.calibration_levels, c.calibration_weights)
    ),
    "miscalibration_area": lambda c: (
        lambda gaps, _: area_to_diagonal(gaps + c.calibration_levels, c.calibration_levels)
    ),
}
_CURVE = dict(_OF_CURVE) | {f"{name}_interval": norm for name, norm in _OF_CURVE.items()}
