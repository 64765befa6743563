"""What predicted probabilities of classes are worth.

The Brier score is reliability - resolution + uncertainty + within, exactly: each of these is summed over classes, with
ten bins of the probability of each; the last bin is closed.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.form_curves import CLASS_CURVE, Curve, curves_of
from geouq.metrics.form_sums import counted, mean_of, sums_of
from geouq.metrics.record import IN_DIFFERENCES, NOT_NEGATIVE, SHARE, Around, Span, metric
from geouq.metrics.sources import BRIER, DEFINITION, GNEITING, GUO, MURPHY, STEPHENSON
from geouq.summary import Summary

Floats = NDArray[np.float64]


def _twice_within(whole: Summary) -> Floats:
    return 2 * brier_within(whole)


N, P, PP, HIT, PH = range(5)


@metric(
    "BS",
    unit="1",
    ideal="small",
    above="worse",
    source=BRIER,
    forms=("classes",),
    bounds=NOT_NEGATIVE,
    heading="Brier score",
    rank=40,
    shown=(*IN_DIFFERENCES, "cell sums", "cell map"),
)
def brier(summary: Summary) -> Floats:
    """Mean of sum_k (p_k - o_k)^2 over all classes; unit 1, from 0 to 2, small is good (Brier 1950)."""
    return mean_of(summary, "classes", "brier")


@metric(
    "REL",
    unit="1",
    ideal="0",
    above="probabilities mislead",
    source=MURPHY,
    forms=("classes",),
    bounds=NOT_NEGATIVE,
    heading="reliability",
    rank=41,
    shown=("page", "table", "regions"),
)
def brier_reliability(summary: Summary) -> Floats:
    """Part of the Brier score by which probabilities and frequencies differ in each bin; unit 1, ideal 0 (Murphy 1973).

    The score is reliability - resolution + uncertainty + within, exactly. Stephenson et al. 2008.
    """
    sums = _by_class(summary)
    n, gap = _used(sums), sums[..., P] - sums[..., HIT]
    return _by_weight(np.nansum(gap**2 / n, axis=(-2, -1)), summary)


@metric(
    "RES",
    unit="1",
    ideal="large",
    above="forecasts separate cases",
    source=MURPHY,
    forms=("classes",),
    bounds=NOT_NEGATIVE,
    heading="resolution",
    rank=42,
    shown=("page", "table"),
)
def brier_resolution(summary: Summary) -> Floats:
    """Part of the Brier score by which frequencies differ between bins; unit 1, large is good (Murphy 1973)."""
    sums = _by_class(summary)
    n = _used(sums)
    away = sums[..., HIT] / n - _frequencies(summary)[..., np.newaxis]
    return _by_weight(np.nansum(n * away**2, axis=(-2, -1)), summary)


@metric(
    "UNC", unit="1", ideal="none", above="truth is variable", source=MURPHY, forms=("classes",), bounds=NOT_NEGATIVE
)
def brier_uncertainty(summary: Summary) -> Floats:
    """Part of the Brier score that no forecast can reduce, sum of f (1 - f) over classes; unit 1 (Murphy 1973)."""
    frequency = _frequencies(summary)
    return np.asarray((frequency * (1 - frequency)).sum(-1))


@metric(
    "WB",
    unit="1",
    ideal="none",
    above="bins are coarse",
    source=STEPHENSON,
    forms=("classes",),
    scale=Around(_twice_within),
)
def brier_within(summary: Summary) -> Floats:
    """Variance of p within bins less twice its covariance with the truth there; unit 1 (Stephenson et al. 2008)."""
    sums = _by_class(summary)
    n = _used(sums)
    variance = sums[..., PP] - sums[..., P] ** 2 / n
    covariance = sums[..., PH] - sums[..., P] * sums[..., HIT] / n
    return _by_weight(np.nansum(variance - 2 * covariance, axis=(-2, -1)), summary)


@metric(
    "log loss",
    unit="1",
    ideal="small",
    above="worse",
    source=GNEITING,
    forms=("classes",),
    bounds=NOT_NEGATIVE,
    heading="log-loss",
    rank=43,
    shown=(*IN_DIFFERENCES, "cell sums"),
)
def log_loss(summary: Summary) -> Floats:
    """Mean of -log p of the true class; unit 1, small is good, infinite where one true class was given 0."""
    return mean_of(summary, "classes", "log_loss")


@metric(
    "p = 0", unit="1", ideal="0", above="rules out what is there", source="Good 1952", forms=("classes",), bounds=SHARE
)
def impossible(summary: Summary) -> Floats:
    """Share of pixels whose true class was given the probability 0, which make the log loss infinite; unit 1, ideal 0.

    Good 1952.
    """
    return mean_of(summary, "classes", "impossible")


@metric(
    "accuracy",
    unit="1",
    ideal="1",
    above="never",
    source=DEFINITION,
    forms=("classes",),
    bounds=SHARE,
    scale=Span(0.0, 1.0),
    heading="accuracy",
    percent="%",
    rank=44,
    shown=(*IN_DIFFERENCES, "cell sums"),
)
def accuracy(summary: Summary) -> Floats:
    """Share of pixels whose most probable class is the true one; unit 1, ideal 1. Of equal classes the first counts."""
    return _by_weight(sums_of(summary, "classes").of("top")[..., 2].sum(-1), summary)


@metric(
    "confidence",
    unit="1",
    ideal="none",
    above="sure",
    source=GUO,
    forms=("classes",),
    bounds=SHARE,
    scale=Span(0.0, 1.0),
    heading="confidence",
    percent="%",
    rank=45,
    shown=("cell sums",),
)
def confidence(summary: Summary) -> Floats:
    """Mean probability of the most probable class; unit 1, as large as the accuracy when calibrated."""
    return _by_weight(sums_of(summary, "classes").of("top")[..., 1].sum(-1), summary)


@metric(
    "conf - acc",
    unit="1",
    ideal="0",
    above="over-confident",
    source=GUO,
    forms=("classes",),
    bounds=(-1.0, 1.0),
    is_tested=True,
    part="spread",
    scale=Around(0.2),
    heading="confidence less accuracy",
    percent="percentage points",
    rank=43,
    shown=("page", "table", "cell sums"),
)
def overconfidence(summary: Summary) -> Floats:
    """Mean probability of the most probable class less the accuracy; unit 1, ideal 0, above 0 is over-confident."""
    return confidence(summary) - accuracy(summary)


@metric(
    "share error",
    unit="1",
    ideal="0",
    above="over-prediction",
    source=MURPHY,
    forms=("classes",),
    choice="class",
    bounds=(-1.0, 1.0),
    is_tested=True,
    part="bias",
    scale=Around(0.2),
    heading="predicted minus observed share",
    percent="percentage points",
    rank=48,
    shown=("page", "table", "cell sums"),
)
def share_bias(summary: Summary, place: int) -> Floats:
    """Mean probability of a class less the share of pixels that belong to it; unit 1, ideal 0.

    Summed over classes it is 0. place : of the class, from 0. Murphy 1973.
    """
    sums = _by_class(summary)[..., place, :, :]
    return _by_weight((sums[..., P] - sums[..., HIT]).sum(-1), summary)


@metric(
    "ECE",
    unit="1",
    ideal="0",
    above="confidence misleads",
    source=GUO,
    forms=("classes",),
    bounds=SHARE,
    heading="ECE of the top class",
    rank=46,
    shown=IN_DIFFERENCES,
)
def ece(summary: Summary) -> Floats:
    """Mean gap between confidence and accuracy in ten bins of the confidence; unit 1, ideal 0 (Guo et al. 2017)."""
    top = mean_of(summary, "classes", "top")
    return np.asarray(np.abs(top[..., 1] - top[..., 2]).sum(-1))


@metric(
    "ECE_c",
    unit="1",
    ideal="0",
    above="probabilities mislead",
    source="Kull et al. 2019, arXiv 1910.12656",
    forms=("classes",),
    bounds=SHARE,
    heading="ECE of classes",
    rank=47,
    shown=("page", "table"),
)
def ece_classwise(summary: Summary) -> Floats:
    """Mean over classes of the gap between probability and frequency in ten bins; unit 1, ideal 0.

    Kull et al. 2019.
    """
    sums = _by_class(summary)
    gaps = np.abs(sums[..., P] - sums[..., HIT]).sum(-1)
    return _by_weight(gaps.mean(-1), summary)


def reliability(summary: Summary) -> tuple[Floats, Floats, Floats]:
    """Weight, mean probability and frequency in each bin of each class, (..., classes, 10); NaN in empty bins."""
    sums = _by_class(summary)
    n = _used(sums)
    return sums[..., N], sums[..., P] / n, sums[..., HIT] / n


@curves_of("classes", "probability of the class (1)", "truth of the class (share, 1)", of_many=True)
def class_curves(summary: Summary) -> Iterator[Curve]:
    """Yield the frequency of each class by its mean probability, in ten bins of the latter."""
    _, probability, frequency = reliability(summary)
    by_class = (np.moveaxis(one, -2, 0) for one in (probability, frequency))
    for name, x, y in zip(summary.given_as.layer_labels, *by_class, strict=True):
        yield f"{CLASS_CURVE}{name}", x, y


def _by_class(summary: Summary) -> Floats:
    return sums_of(summary, "classes").of("by_class")


def _frequencies(summary: Summary) -> Floats:
    """Return the share of truth of each class."""
    return np.asarray(mean_of(summary, "classes", "by_class")[..., HIT].sum(-1))


def _used(sums: Floats) -> Floats:
    """Return the weight of each bin; NaN where it is empty."""
    return np.where(sums[..., N] > 0, sums[..., N], np.nan)


def _by_weight(total: Floats, summary: Summary) -> Floats:
    return np.asarray(total / counted(summary))
