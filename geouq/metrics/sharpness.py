"""How narrow the predictions are, whatever the truth says; of two calibrated maps the sharper one is better."""

import numpy as np
from numpy.typing import NDArray

from geouq.gaussian import half_width
from geouq.metrics.record import NOT_NEGATIVE, metric
from geouq.metrics.sources import DEFINITION, KULESHOV, LEVI
from geouq.summary import Summary

Floats = NDArray[np.float64]


@metric(
    "C_v",
    unit="1",
    ideal="large",
    above="the std differs between pixels",
    source=LEVI,
    bounds=NOT_NEGATIVE,
    is_judged=False,
    rank=6,
    shown=("table",),
)
def cv(summary: Summary) -> Floats:
    """Dispersion C_v of the predicted std, std(s, n - 1) / mean(s); unit 1.

    A constant prediction of the std can be calibrated and has 0: it says nothing of where the map is wrong. Levi et
    al. 2019, arXiv 1905.11659. Missing for fewer than 2 pixels.
    """
    unbiased = np.where(summary.n > 1, summary.n / np.where(summary.n > 1, summary.n - 1, 1), np.nan)
    return np.sqrt(summary.moments.product("std", "std") * unbiased) / mean_std(summary)


@metric("MV", unit="unit^2", ideal="small", above="wide", source=KULESHOV, bounds=NOT_NEGATIVE, is_judged=False)
def sharpness(summary: Summary) -> Floats:
    """Mean predicted variance; in the unit squared, small is sharp (Kuleshov et al. 2018, arXiv 1807.00263)."""
    return summary.moments.mean("variance")


@metric(
    "RMV",
    unit="unit",
    ideal="small",
    above="wide",
    source=KULESHOV,
    bounds=NOT_NEGATIVE,
    is_judged=False,
    heading="RMV",
    rank=5,
    shown=("page", "table", "summary", "comparison", "corrections"),
)
def sharpness_rms(summary: Summary) -> Floats:
    """Root of the mean predicted variance; in the variable's unit, small is sharp."""
    return np.sqrt(sharpness(summary))


@metric("mean s", unit="unit", ideal="small", above="wide", source=DEFINITION, bounds=NOT_NEGATIVE, is_judged=False)
def mean_std(summary: Summary) -> Floats:
    """Mean predicted standard deviation; in the variable's unit, small is sharp."""
    return summary.moments.mean("std")


@metric(
    "width",
    unit="unit",
    ideal="small",
    above="wide",
    source=DEFINITION,
    choice="level",
    bounds=NOT_NEGATIVE,
    is_judged=False,
    shown=("corrections",),
)
def width(summary: Summary, level: float) -> Floats:
    """Mean width of the central interval of that level; in the variable's unit, small is sharp."""
    if level == summary.given:
        return summary.moments.mean("given_width")
    return 2 * half_width(level) * mean_std(summary)
