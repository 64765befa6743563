"""Whether the predicted variance is as large as the squared error, overall and bin by bin of the predicted variance.

Per bin k of share w_k: MV_k is the mean predicted variance, MSE_k the mean squared error, RMV_k and RMSE_k their
roots. Empty bins enter no average. The default bins are those that a run shows first: of skewed variances, one
equal-width bin holds nearly all pixels.
"""

import numpy as np
from numpy.typing import NDArray

from geouq.config import EQUAL_COUNT_10, BinScheme
from geouq.metrics.norms import equal_weight, variance_weight
from geouq.metrics.record import (
    IN_COMPARISONS,
    IN_DIFFERENCES,
    NOT_NEGATIVE,
    SHARE,
    Around,
    Ratio,
    VarianceGaps,
    metric,
)
from geouq.metrics.sources import LAVES, LEVI, NOTEBOOK, PERNOT, PERNOT_2023
from geouq.summary import Binned, Summary, VarianceProfile

Floats = NDArray[np.float64]


def bin_edges(profile: VarianceProfile, scheme: BinScheme) -> Floats:
    """Return the bin edges (..., bins + 1) of a scheme for a variance profile; NaN without pixels.

    equal-width: linspace from the lowest to the highest variance; log-width: the same in the logarithm; equal-count:
    the k/M quantiles; equal-split: the lowest variance of each group.
    """
    if scheme.edges is not None:
        return np.broadcast_to(scheme.edges, (*profile.lowest.shape, scheme.count + 1))
    some = np.isfinite(profile.lowest)
    lowest, highest = np.where(some, profile.lowest, np.nan), np.where(some, profile.highest, np.nan)
    if scheme.scheme == "equal-count":
        edges = profile.quantiles([k / scheme.count for k in range(scheme.count + 1)])
        edges[..., 0], edges[..., -1] = lowest, highest
        return edges
    if scheme.scheme == "equal-split":
        edges = profile.split(scheme.count).edges.copy()
        edges[..., 0], edges[..., -1] = lowest, highest
        return edges
    if scheme.scheme == "equal-width":
        return np.linspace(lowest, highest, scheme.count + 1, axis=-1)
    edges = np.exp(np.linspace(np.log(lowest), np.log(highest), scheme.count + 1, axis=-1))
    edges[..., 0], edges[..., -1] = lowest, highest
    return edges


def binned(summary: Summary, scheme: BinScheme, edges: Floats | None = None) -> Binned:
    """Return the sums of the summary's pixels by bin: of the scheme's own edges, or of the edges given."""
    if edges is not None:
        return summary.variance.binned(edges)
    if scheme.scheme == "equal-split":
        return summary.variance.split(scheme.count)
    profile, own = summary.variance, (scheme.scheme, scheme.count, scheme.edges)
    return summary.once("binned", own, lambda: profile.binned(bin_edges(profile, scheme)))


@metric(
    "UCE",
    unit="unit^2",
    ideal="0",
    above="variance and error disagree",
    source=LAVES,
    choice="bins",
    gaps=VarianceGaps(1.0, variance_weight),
    heading="UCE",
    rank=11,
    shown=(*IN_COMPARISONS, "cell map", "corrections", "cell sums"),
)
def uce(summary: Summary, bins: BinScheme = EQUAL_COUNT_10, edges: Floats | None = None) -> Floats:
    """Uncertainty calibration error, sum of w_k |MV_k - MSE_k|; in the unit squared, ideal 0.

    Laves et al. 2021, arXiv 2104.12376.
    """
    return binned(summary, bins, edges).once(_uce).copy()


@metric(
    "ENCE",
    unit="1",
    ideal="small",
    above="std and error disagree",
    source=LEVI,
    choice="bins",
    gaps=VarianceGaps(0.5, equal_weight, is_mean=True),
    heading="ENCE",
    rank=12,
    shown=(*IN_DIFFERENCES, "recalibration", "corrections", "cell sums"),
    is_guarded=True,
)
def ence(summary: Summary, bins: BinScheme = EQUAL_COUNT_10, edges: Floats | None = None) -> Floats:
    """Expected normalised calibration error, mean over used bins of |RMV_k - RMSE_k| / RMV_k; unit 1.

    A perfect forecaster scores `ence_null`, not 0. Levi et al. 2019, arXiv 1905.11659, eq. 8.
    """
    return binned(summary, bins, edges).once(_ence).copy()


@metric(
    "UCE/max",
    unit="1",
    ideal="0",
    above="gaps are alike in all bins",
    source=NOTEBOOK,
    choice="bins",
    bounds=SHARE,
    is_judged=False,
)
def uce_normalized(summary: Summary, bins: BinScheme = EQUAL_COUNT_10, edges: Floats | None = None) -> Floats:
    """UCE divided by the largest |MV_k - MSE_k|; unit 1, in [0, 1], 0 if all gaps are 0."""
    per_bin = binned(summary, bins, edges)
    return _normalized(per_bin.once(_uce), per_bin.once(_variance_gap))


@metric(
    "ENCE/max",
    unit="1",
    ideal="0",
    above="gaps are alike in all bins",
    source=NOTEBOOK,
    choice="bins",
    bounds=SHARE,
    is_judged=False,
)
def ence_normalized(summary: Summary, bins: BinScheme = EQUAL_COUNT_10, edges: Floats | None = None) -> Floats:
    """ENCE divided by the largest relative gap; unit 1, in [0, 1], 0 if all gaps are 0."""
    per_bin = binned(summary, bins, edges)
    return _normalized(per_bin.once(_ence), per_bin.once(_relative_gap))


@metric(
    "ENCE_0",
    unit="1",
    ideal="none",
    above="bins hold few pixels",
    source=PERNOT_2023,
    choice="bins",
    on_effective=True,
    bounds=NOT_NEGATIVE,
    is_judged=False,
)
def ence_null(
    summary: Summary,
    bins: BinScheme = EQUAL_COUNT_10,
    edges: Floats | None = None,
    effective: Floats | None = None,
) -> Floats:
    """ENCE that a perfect Gaussian forecaster scores with these bins; unit 1.

    Mean over used bins of sqrt(sum w^2 v^2 / pi) / sum w v, about sqrt(bins / (n pi)). Pernot, arXiv 2305.11905.
    Missing for other distributions.

    Parameters
    ----------
    effective : float64 (bins), optional
        Number of independent pixels that each bin is worth, at most its pixels. By default all pixels are
        independent.
    """
    per_bin = binned(summary, bins, edges)
    independent = per_bin.once(_independent_gap)
    if not summary.distribution.is_normal:
        return np.full(np.shape(summary.n), np.nan)
    if effective is None:
        return _mean(independent)
    return _mean(independent * np.sqrt(_worth(per_bin, effective)))


@metric(
    "ENCE - ENCE_0",
    unit="1",
    ideal="0",
    above="std and error disagree",
    source=PERNOT_2023,
    choice="bins",
    on_effective=True,
    gaps=VarianceGaps(0.5, equal_weight, is_mean=True),
    is_tested=True,
    scale=Around(0.5),
)
def ence_excess(
    summary: Summary,
    bins: BinScheme = EQUAL_COUNT_10,
    edges: Floats | None = None,
    effective: Floats | None = None,
) -> Floats:
    """ENCE minus the ENCE of a perfect forecaster; unit 1, ideal 0.

    It estimates the ENCE of unlimited pixels, which is 0 for a perfect forecaster, and which its interval is for.
    Where gaps are much larger than their noise, it is too small by up to `ence_null`, and may lie below the interval.
    `effective` as in `ence_null`.
    """
    return ence(summary, bins, edges) - ence_null(summary, bins, edges, effective)


@metric(
    "ZMS",
    unit="1",
    ideal="1",
    above="errors larger than predicted",
    source=PERNOT,
    bounds=NOT_NEGATIVE,
    is_tested=True,
    scale=Ratio(4.0),
    heading="mean z²",
    rank=9,
    shown=(*IN_DIFFERENCES, "recalibration", "cell map", "corrections", "cell sums"),
)
def zms(summary: Summary) -> Floats:
    """Mean of z^2; unit 1, ideal 1, above 1 errors are larger than predicted (Pernot, arXiv 2402.10043)."""
    return summary.moments.mean_square("z")


@metric(
    "mean z",
    unit="1",
    ideal="0",
    above="under-prediction",
    source=PERNOT,
    is_tested=True,
    part="bias",
    scale=Around(1.0),
    heading="mean of z",
    rank=7,
    shown=("page", "table", "cell sums"),
)
def z_mean(summary: Summary) -> Floats:
    """Mean of z = (truth - mean) / std; unit 1, ideal 0, above 0 is under-prediction."""
    return summary.moments.mean("z")


@metric(
    "std z",
    unit="1",
    ideal="1",
    above="over-confident",
    source=PERNOT,
    bounds=NOT_NEGATIVE,
    is_tested=True,
    part="spread",
    scale=Ratio(2.0),
    heading="std of z",
    rank=8,
    shown=("page", "table", "cell sums"),
)
def z_std(summary: Summary) -> Floats:
    """Standard deviation (population) of z; unit 1, ideal 1, above 1 is over-confident."""
    return np.sqrt(summary.moments.product("z", "z"))


@metric("RCE", unit="1", ideal="0", above="errors smaller than predicted", source=PERNOT, scale=Around(1.0))
def rce(summary: Summary) -> Floats:
    """Relative calibration error (RMV - RMSE) / RMV; unit 1, ideal 0, below 0 errors are larger than predicted.

    Pernot 2024, arXiv 2402.10043.
    """
    rmv = np.sqrt(summary.moments.mean("variance"))
    return (rmv - np.sqrt(summary.moments.mean_square("error"))) / rmv


def _variance_gap(per_bin: Binned) -> Floats:
    return np.abs(per_bin.mean_variance - per_bin.mse)


def _relative_gap(per_bin: Binned) -> Floats:
    rmv = np.sqrt(per_bin.mean_variance)
    return np.abs(rmv - np.sqrt(per_bin.mse)) / rmv


def _uce(per_bin: Binned) -> Floats:
    return _sum(per_bin.share * per_bin.once(_variance_gap))


def _ence(per_bin: Binned) -> Floats:
    return _mean(per_bin.once(_relative_gap))


def _independent_gap(per_bin: Binned) -> Floats:
    """Return the relative gap of each bin that a perfect Gaussian forecaster has with independent pixels."""
    has_pixels = per_bin.used.all()
    variance, n = (own if has_pixels else np.where(per_bin.used, own, np.nan) for own in (per_bin.variance, per_bin.n))
    independent = np.sqrt(per_bin.squared_variance / np.pi) / variance
    least = 1 / np.sqrt(np.pi * n)  # of weights and variances that are alike
    lost = (independent < 0.999 * least).any(-1, keepdims=True)  # squares too small for a float; cells round to 1e-4
    return np.where(lost, np.nan, independent) if lost.any() else independent


def _worth(per_bin: Binned, effective: Floats) -> Floats:
    """Return the pixels of each bin for each that is independent; 1 in a bin without any."""
    used = per_bin.used & (effective > 0)
    if used.all():
        return np.asarray(per_bin.n / effective)
    return np.divide(per_bin.n, effective, out=np.ones(per_bin.n.shape), where=used)


def _normalized(value: Floats, gaps: Floats) -> Floats:
    largest = np.fmax.reduce(gaps, axis=-1)
    return np.where(largest == 0, 0.0, value / np.where(largest == 0, 1.0, largest))


def _sum(gaps: Floats) -> Floats:
    if not np.isnan(gaps).any():
        return np.asarray(gaps.sum(-1))
    return np.where(np.isnan(gaps).all(-1), np.nan, np.nansum(gaps, axis=-1))


def _mean(gaps: Floats) -> Floats:
    if gaps.shape[-1] and not np.isnan(gaps).any():
        return np.asarray(gaps.sum(-1) / gaps.shape[-1])
    used = (~np.isnan(gaps)).sum(-1)
    return np.nansum(gaps, axis=-1) / np.where(used > 0, used, np.nan)
