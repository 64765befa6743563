"""Numbers that are norms of signed gaps between what is predicted and what is observed: too large, however calibrated.

A gap of the variance is log(MSE / MV) of a bin: its noise is symmetric and does not depend on its size;
those of the calibration curve as differences of shares. UCE has the unit of the variance: a resample has a share of
pixels and a mean variance of its own in each bin, by which it weighs its gaps.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.inference.folded import Noise
from geouq.metrics import MetricOptions, Value, binned, group_coverage
from geouq.metrics.norms import NormKind
from geouq.metrics.record import CurveGaps, GroupGaps, ProbabilityGaps, VarianceGaps
from geouq.summary import Binned, Summary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gaps:
    """Signed gaps of an evaluation unit and its resamples, and the norm that the number is.

    Parameters
    ----------
    norm : str
        Kind of the norm.
    signed : float64 (gaps)
        Gaps of the evaluation unit, NaN for an empty bin.
    drawn : float64 (R, gaps)
        Gaps of each resample.
    weight, drawn_weight : float64 (gaps) and (R, gaps), optional
        Weights of the evaluation unit and of each resample, above 0; all 1 by default.
    whole : bool
        False if all errors of a bin are exactly 0, so that its gap is infinite.
    ratios : VarianceGaps or None
        How the number follows, where gaps are logarithms of ratios.
    levels : float64 (gaps)
        Ascending levels of the gaps of a curve.
    """

    norm: NormKind
    signed: Floats
    drawn: Floats
    weight: Floats | None = None
    drawn_weight: Floats | None = None
    whole: bool = True
    ratios: VarianceGaps | None = None
    levels: Floats = field(default_factory=lambda: np.empty(0))

    def of_first(self, resamples: int) -> "Gaps":
        """Return the gaps with those of the first resamples alone."""
        weight = None if self.drawn_weight is None else self.drawn_weight[:resamples]
        return replace(self, drawn=self.drawn[:resamples], drawn_weight=weight)

    @property
    def defined(self) -> bool:
        """Return whether each resample has a gap."""
        return bool(np.isfinite(self.drawn - self.signed).any(axis=-1).all())

    def noise(self, widening: float) -> Noise:
        """Return what may lie between gaps observed and true ones: deviations of resamples, that much wider.

        Weights are widened in the logarithm.
        """
        gaps = widening * (self.drawn - self.signed)
        if self.weight is None or self.drawn_weight is None:
            return Noise(self.norm, gaps, levels=self.levels)
        weight = self.weight
        if (weight != self.drawn_weight).any() or not (weight > 0).all():
            with np.errstate(divide="ignore", invalid="ignore"):  # the weight of a bin that was not drawn is 0
                weight = weight * np.exp(widening * np.log(self.drawn_weight / weight))
        weight = np.vstack([self.weight, np.broadcast_to(weight, gaps.shape)])
        if self.ratios is None:
            return Noise(self.norm, gaps, weight)
        shares = self.ratios.shares(np.vstack([self.signed, gaps]), weight)
        return Noise(self.norm, gaps, shares, power=self.ratios.power)


def gaps_of(value: Value, whole: Summary, resamples: Summary, metric_options: MetricOptions) -> Gaps | None:
    """Return the gaps of the whole evaluation unit and of its resamples; None of a number that is no norm of gaps."""
    match value.metric.gaps:
        case CurveGaps():
            return _curve_gaps(value.metric.gaps, whole, resamples, metric_options)
        case GroupGaps(norm):
            observed, replicates = (
                _groups(value, summary, metric_options) - (value.level or 0.0) for summary in (whole, resamples)
            )
            return Gaps(norm, observed, replicates)
        case ProbabilityGaps():
            (observed, weight), (replicates, drawn) = (
                _probability_gaps(value, one, metric_options) for one in (whole, resamples)
            )
            return Gaps("squares", observed, replicates, weight, drawn)
        case VarianceGaps():
            return _variance_gaps(value, value.metric.gaps, whole, resamples, metric_options)
    return None


def _curve_gaps(gaps: CurveGaps, whole: Summary, resamples: Summary, metric_options: MetricOptions) -> Gaps:
    levels = sorted(metric_options.calibration_levels)
    observed, replicates = (gaps.curve(summary, levels) - levels for summary in (whole, resamples))
    by_counts = gaps.norm == "squares" and metric_options.calibration_weights == "counts"
    return Gaps("relative squares" if by_counts else gaps.norm, observed, replicates, levels=np.array(levels))


def _variance_gaps(
    value: Value, gaps: VarianceGaps, whole: Summary, resamples: Summary, metric_options: MetricOptions
) -> Gaps:
    scheme = next(scheme for scheme in metric_options.schemes if scheme.name == value.bins)
    bins = [binned_as_shared(summary, scheme, metric_options) for summary in (whole, resamples)]
    (observed, replicates), (weight, drawn) = (
        [per_bin.once(function) for per_bin in bins] for function in (_log_ratio, gaps.weight)
    )
    some_error = bool((bins[0].squared_error[bins[0].n > 0] > 0).all())
    return Gaps("ratios", observed, replicates, weight, drawn, some_error, gaps)


def rests_on_few_blocks(value: Value, whole: Summary, resamples: Summary, metric_options: MetricOptions) -> bool:
    """Return whether a bin of the number lies in so few blocks that a resample drew none of them."""
    if value.bins:
        scheme = next(scheme for scheme in metric_options.schemes if scheme.name == value.bins)
        used, drawn = (binned_as_shared(summary, scheme, metric_options).used for summary in (whole, resamples))
    elif value.group:
        used, drawn = (np.isfinite(_groups(value, summary, metric_options)) for summary in (whole, resamples))
    elif value.metric.in_probability_bins:
        used, drawn = (_probability_gaps(value, summary, metric_options)[1] > 0 for summary in (whole, resamples))
    else:
        return False
    return bool((used & ~drawn).any())


def binned_as_shared(summary: Summary, scheme: BinScheme, metric_options: MetricOptions) -> Binned:
    """Return the sums of a summary in bins with the shared edges."""
    return binned(summary, scheme, (metric_options.shared_edges or {})[scheme.name])


def _log_ratio(per_bin: Binned) -> Floats:
    ratio = per_bin.mse / per_bin.mean_variance
    return np.log(np.where(ratio > 0, ratio, np.nan))


def _groups(value: Value, summary: Summary, metric_options: MetricOptions) -> Floats:
    """Return the coverage of each group."""
    return group_coverage(summary, value.level or 0.0, value.group, metric_options.groups.count)


def _probability_gaps(value: Value, summary: Summary, metric_options: MetricOptions) -> tuple[Floats, Floats]:
    """Mean probability of exceeding less the frequency of it in each bin, NaN where it is empty; and its share."""
    threshold = next(t for t in metric_options.thresholds if value.name == f"{value.metric.name}_{t:g}")
    n, probability, _, exceeded, _ = np.moveaxis(summary.thresholds.of(threshold), -1, 0)
    gaps = np.divide(probability - exceeded, n, out=np.full(n.shape, np.nan), where=n > 0)
    return gaps, n / np.maximum(n.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
