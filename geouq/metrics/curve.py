"""Calibration curve: how often the truth falls below each predicted quantile, and inside each central interval.

All are exact counts of the z histogram, whose edges are the quantiles of whole multiples of 0.005 in that of a tile, so
that `levels` may be any multiples of 0.01; SummaryError where they are not. Kuleshov et al. 2018, arXiv 1807.00263.
The probability integral transform PIT = Phi(z) is uniform between 0 and 1 where predictions are calibrated.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS, CalibrationWeights
from geouq.metrics.norms import area_to_diagonal, squared_error
from geouq.metrics.record import NOT_NEGATIVE, SHARE, Around, CurveGaps, metric
from geouq.metrics.sources import CHUNG, DAWID, KULESHOV, TRAN
from geouq.summary import Summary

Floats = NDArray[np.float64]
Levels = Sequence[float]


def calibration_curve(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Share of the truth that is at most the predicted quantile, PIT <= p, for each level p; (..., levels), unit 1.

    Ideal p. A forecast that is too low (bias below 0) has its curve below the diagonal, one that is too high above it.
    At the median, truth equal to the quantile counts; at a lower quantile it does not, and at a higher one it does.
    """
    found = summary.once("calibration_curve", tuple(levels), lambda: _share(_up_to(summary, levels), summary))
    return found.copy("K")  # the layout decides the order of later sums


def interval_curve(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Return the share of the truth inside the closed central interval of each level; (..., levels), unit 1.

    Ideal the level. An over-confident forecast has its curve below the diagonal.
    """
    found = summary.once("interval_curve", tuple(levels), lambda: _share(_inside(summary, np.asarray(levels)), summary))
    return found.copy("K")  # the layout decides the order of later sums


@metric(
    "CAL",
    unit="1",
    ideal="0",
    above="quantiles miss their levels",
    source=KULESHOV,
    choice="calibration_weights",
    gaps=CurveGaps(calibration_curve, "squares"),
)
def calibration_error(
    summary: Summary, levels: Levels = CALIBRATION_LEVELS, weights: CalibrationWeights = "equal"
) -> Floats:
    """Sum over levels of w_j (p_j - share of PIT <= p_j)^2; unit 1, ideal 0.

    The weights w_j are 1, or (`counts`) proportional to the pixels with PIT <= p_j and 1 on average; where there are
    none at any level they are 1. Kuleshov et al. 2018.
    """
    return squared_error(calibration_curve(summary, levels), levels, weights)


@metric(
    "CAL_I",
    unit="1",
    ideal="0",
    above="coverage misses its levels",
    source=KULESHOV,
    choice="calibration_weights",
    gaps=CurveGaps(interval_curve, "squares"),
)
def calibration_error_interval(
    summary: Summary, levels: Levels = CALIBRATION_LEVELS, weights: CalibrationWeights = "equal"
) -> Floats:
    """Sum over levels of w_j (p_j - coverage_j)^2; unit 1, ideal 0. Weights as in `calibration_error`."""
    return squared_error(interval_curve(summary, levels), levels, weights)


@metric(
    "MACE",
    unit="1",
    ideal="0",
    above="quantiles miss their levels",
    source=CHUNG,
    choice="calibration",
    gaps=CurveGaps(calibration_curve, "mean size"),
    shown=("corrections",),
)
def mace(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Mean absolute calibration error, mean over levels of |p_j - share of PIT <= p_j|; unit 1, ideal 0."""
    return np.abs(calibration_curve(summary, levels) - levels).mean(-1)


@metric(
    "MACE_I",
    unit="1",
    ideal="0",
    above="coverage misses its levels",
    source=CHUNG,
    choice="calibration",
    gaps=CurveGaps(interval_curve, "mean size"),
)
def mace_interval(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Mean over levels of |p_j - coverage_j|; unit 1, ideal 0."""
    return np.abs(interval_curve(summary, levels) - levels).mean(-1)


@metric(
    "RMSCE",
    unit="1",
    ideal="0",
    above="quantiles miss their levels",
    source=CHUNG,
    choice="calibration",
    gaps=CurveGaps(calibration_curve, "root mean square"),
)
def rmsce(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Root mean squared calibration error, over levels, of p_j - share of PIT <= p_j; unit 1, ideal 0."""
    return np.sqrt(np.square(calibration_curve(summary, levels) - levels).mean(-1))


@metric(
    "RMSCE_I",
    unit="1",
    ideal="0",
    above="coverage misses its levels",
    source=CHUNG,
    choice="calibration",
    gaps=CurveGaps(interval_curve, "root mean square"),
)
def rmsce_interval(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Root mean square over levels of p_j - coverage_j; unit 1, ideal 0."""
    return np.sqrt(np.square(interval_curve(summary, levels) - levels).mean(-1))


@metric(
    "MA",
    unit="1",
    ideal="0",
    above="quantiles miss their levels",
    source=TRAN,
    choice="calibration",
    gaps=CurveGaps(calibration_curve, "area"),
    heading="miscalibration area",
    rank=13,
    shown=("recalibration", "corrections"),
)
def miscalibration_area(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Area between the diagonal and the line through (0, 0), all (p_j, share of PIT <= p_j), (1, 1); unit 1, ideal 0.

    Exact for that line, also where it crosses the diagonal. Tran et al. 2020, arXiv 1912.10066.
    """
    return area_to_diagonal(calibration_curve(summary, levels) - levels, levels)


@metric(
    "MA_I",
    unit="1",
    ideal="0",
    above="coverage misses its levels",
    source=TRAN,
    choice="calibration",
    gaps=CurveGaps(interval_curve, "area"),
)
def miscalibration_area_interval(summary: Summary, levels: Levels = CALIBRATION_LEVELS) -> Floats:
    """Area between the diagonal and the line through (0, 0), all (p_j, coverage_j), (1, 1); unit 1, ideal 0."""
    return area_to_diagonal(interval_curve(summary, levels) - levels, levels)


def _inside(summary: Summary, levels: Floats) -> NDArray[np.int64] | Floats:
    """Return the pixels (or their weight) inside the central interval of each level, (..., levels)."""
    ends = _up_to(summary, [*((1 - levels) / 2), *((1 + levels) / 2)])
    return ends[..., len(levels) :] - ends[..., : len(levels)]


def _up_to(summary: Summary, probabilities: Levels) -> NDArray[np.int64] | Floats:
    """Return the pixels (or their weight) below each edge of the z histogram, (..., probabilities)."""
    # rounded as the edges are, so that an edge written in two ways is one
    edges, place = np.unique(np.round(probabilities, 12), return_inverse=True)
    return summary.z.at(edges).counts.cumsum(-1)[..., place]


def _share(count: NDArray[np.int64] | Floats, summary: Summary) -> Floats:
    return count / np.where(summary.n > 0, summary.moments.weight, np.nan)[..., None]


@metric(
    "mean PIT",
    unit="1",
    ideal="1/2",
    above="under-prediction",
    source=DAWID,
    bounds=SHARE,
    is_tested=True,
    part="shape",
    scale=Around(0.25),
    shown=("corrections",),
)
def pit_mean(summary: Summary) -> Floats:
    """Mean of PIT; unit 1, ideal 1/2, above it is under-prediction.

    To within 1e-5 for thousands of pixels, 2e-3 for few: pixels are added up by steps of z.
    """
    return 0.5 + summary.moments.mean("pit")


@metric(
    "std PIT",
    unit="1",
    ideal="1/sqrt(12)",
    above="truth too often in the tails",
    source=DAWID,
    bounds=NOT_NEGATIVE,
    is_tested=True,
    part="shape",
    scale=Around(0.1),
    shown=("corrections",),
)
def pit_std(summary: Summary) -> Floats:
    """Standard deviation (population) of PIT; unit 1, ideal 1/sqrt(12) = 0.2887, above it truth favours the tails."""
    spread = summary.moments.mean("pit_square") - summary.moments.mean("pit") ** 2
    return np.sqrt(np.maximum(spread, 0.0))
