"""Sums of forecasts that are given as ensembles, quantiles or probabilities, for the metrics of these."""

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary import FormSums, Summary

Floats = NDArray[np.float64]


def sums_of(summary: Summary, kinds: str | tuple[str, ...]) -> FormSums:
    """Return the sums of a forecast of one of these kinds; SummaryError where it is of another."""
    wanted = (kinds,) if isinstance(kinds, str) else kinds
    if summary.form is None or summary.kind not in wanted:
        raise SummaryError(f"this number is of {' or '.join(wanted)} forecasts; the summary is of a {summary.kind} one")
    return summary.form


def mean_of(summary: Summary, kinds: str | tuple[str, ...], name: str) -> Floats:
    """Return the mean of one of the sums; NaN where there is no pixel."""
    total = sums_of(summary, kinds).of(name)
    weight = counted(summary)
    return np.asarray(total / weight.reshape((*weight.shape, *(1,) * (total.ndim - weight.ndim))))


def counted(summary: Summary) -> Floats:
    """Return the weight of the pixels; NaN without pixels."""
    return np.asarray(np.where(summary.n > 0, summary.moments.weight, np.nan))
