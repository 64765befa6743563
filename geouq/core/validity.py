"""Which pixels count, and why the others do not.

A pixel of a variable is valid when truth, mean and variance are finite after scale and offset, none equals its file's
nodata in the stored type, none is masked, and the variance is positive; of several models on common pixels, when it is
so for all of them. Of probabilities of classes, all must be finite, none negative, their sum 1 within 1e-3
and rounding, and the truth one of the classes. Any other is counted under the first of `REASONS` that holds.
"""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled, inlined

REASONS = (
    "truth_nodata",
    "mean_nodata",
    "variance_nodata",
    "not_finite",
    "masked",
    "variance_not_positive",
    "weight_zero",
    "other_model",
    "not_a_distribution",
    "class_not_mapped",
)
OUTSIDE = 255  # status of a pixel that is looked at but belongs to another set: neither valid nor excluded
TRUTH_NODATA, MEAN_NODATA, VARIANCE_NODATA, NOT_FINITE, MASKED, VARIANCE_NOT_POSITIVE = range(6)
WEIGHT_ZERO, OTHER_MODEL, NOT_A_DISTRIBUTION, CLASS_NOT_MAPPED = range(6, len(REASONS))


class Nodata(NamedTuple):
    """Declared nodata of mean, variance and truth, each (3); values are NaN where none is declared.

    is_nan tells a file that declares NaN from one that declares nothing: there a NaN is merely not finite.
    """

    values: NDArray[np.float64]
    is_nan: NDArray[np.bool_]

    @classmethod
    def of(cls, mean: float | None, variance: float | None, truth: float | None) -> Self:
        """Return the nodata of three files as they declare it, None for nothing."""
        declared = (mean, variance, truth)
        values = np.array([np.nan if value is None else value for value in declared], np.float64)
        return cls(values, np.array([value is not None and math.isnan(value) for value in declared]))


@inlined
def stored_limits(mean, variance, truth, nodata):
    """Return what pixels are compared with, in the type of each array: nodata as stored, infinity, and zero."""
    real_m, real_v, real_y = mean.dtype.type, variance.dtype.type, truth.dtype.type
    no_mean, no_variance, no_truth = (
        real_m(nodata.values[0]),
        real_v(nodata.values[1]),
        real_y(nodata.values[2]),
    )
    return no_mean, no_variance, no_truth, real_m(np.inf), real_v(np.inf), real_y(np.inf), real_v(0)


@inlined
def is_valid(mean, variance, truth, limits):
    """Whether one pixel counts, without a branch; any comparison with NaN is false, as a nodata of NaN needs."""
    no_mean, no_variance, no_truth, inf_mean, inf_variance, inf_truth, zero = limits
    finite = (abs(mean) < inf_mean) & (abs(truth) < inf_truth) & (variance < inf_variance)
    return finite & (variance > zero) & (mean != no_mean) & (variance != no_variance) & (truth != no_truth)


@inlined
def reason_of(mean, variance, truth, status, limits, is_nan):
    """First reason for which one pixel does not count, -1 if there is none.

    status is the reader's reason + 1, or 0, or `OUTSIDE`, which is none.
    """
    if status == OUTSIDE:
        return -1
    no_mean, no_variance, no_truth = limits[:3]
    found = np.int64(status) - 1 if status > 0 else len(REASONS)
    if truth == no_truth or (is_nan[2] and np.isnan(truth)):
        found = min(found, TRUTH_NODATA)
    elif mean == no_mean or (is_nan[0] and np.isnan(mean)):
        found = min(found, MEAN_NODATA)
    elif variance == no_variance or (is_nan[1] and np.isnan(variance)):
        found = min(found, VARIANCE_NODATA)
    elif not (np.isfinite(truth) and np.isfinite(mean) and np.isfinite(variance)):
        found = min(found, NOT_FINITE)
    elif not variance > 0:
        found = min(found, VARIANCE_NOT_POSITIVE)
    return found if found < len(REASONS) else -1


@compiled
def classify(
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    truth: NDArray[np.floating],
    status: NDArray[np.uint8],
    nodata: Nodata,
) -> NDArray[np.int8]:
    """Return the reason of every pixel (rows, columns) as an index into `REASONS`, -1 where it is valid."""
    limits = stored_limits(mean, variance, truth, nodata)
    reasons = np.empty(truth.shape, np.int8)
    for r in range(truth.shape[0]):
        for c in range(truth.shape[1]):
            found = status[r, c] if status.size > 0 else 0
            reasons[r, c] = reason_of(mean[r, c], variance[r, c], truth[r, c], found, limits, nodata.is_nan)
    return reasons


@compiled
def any_valid(truth: NDArray[np.floating], nodata: Nodata, status: NDArray[np.uint8]) -> bool:
    """Return whether one truth at least is finite, not nodata and not excluded already; arrays in one dimension."""
    limits = stored_limits(truth, truth, truth, nodata)
    no_truth, infinite = limits[2], limits[5]
    for i in range(len(truth)):
        if abs(truth[i]) < infinite and truth[i] != no_truth and (status.size == 0 or status[i] == 0):
            return True
    return False


@compiled
def mark_invalid(
    mean: NDArray[np.floating],
    variance: NDArray[np.floating],
    truth: NDArray[np.floating],
    status: NDArray[np.uint8],
    nodata: Nodata,
    invalid: NDArray[np.bool_],
) -> None:
    """Set `invalid` to True where a pixel does not count; arrays in one dimension."""
    limits = stored_limits(mean, variance, truth, nodata)
    for i in range(len(truth)):
        counts = is_valid(mean[i], variance[i], truth[i], limits) & (status.size == 0 or status[i] == 0)
        invalid[i] |= not counts


@compiled
def unify_nodata(values: NDArray[np.float32], nodata: np.float32, limit: np.float32) -> None:
    """Make every finite value that lies beyond the limit on the side of nodata equal to it, in place."""
    sign = np.sign(nodata)
    for i in range(len(values)):
        away = values[i] * sign
        values[i] = nodata if (away > limit) & (away < np.float32(np.inf)) else values[i]
