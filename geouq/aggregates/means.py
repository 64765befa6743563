"""Means and totals of areas: predicted value, std under each model of correlation, and an interval."""

import re
from dataclasses import dataclass

import numpy as np

from geouq.aggregates.area import AreaPairs, half_width
from geouq.aggregates.cells import AreaCells
from geouq.aggregates.known import KnownCorrelation

LEAST_FREEDOM = 5.0  # of the variance of a mean, below which there is no interval
OVERFLOW = "overflow"
TOO_FEW = "too few cells or tiles to tell how errors are correlated"
TOO_FAR = "errors are correlated over too much of the map: fewer than 5 degrees of freedom"
SEVERAL_DATES = "tiles lie in the same place (several dates), and how their errors are correlated is not known"
CUTS_CELLS = "the area is small and consists of parts of cells: choose a smaller cell_size"
TRUTH_ALONE = "the truth's own error is as large as all errors, so that those of the map are not known"
NO_ERRORS = "all errors are 0"
CERTAIN = "it is certain of each pixel whether it belongs to the area"
PER_AREA = re.compile(r"\s*(?:/\s*(ha|km2|km\^2|km²|m2|m\^2|m²)|\s(ha|km|m)(?:\^|\*\*)?(-1|-2|⁻¹|⁻²))$")
SQUARE_METRES = {"ha": 1e4, "km": 1e6, "m": 1.0}


@dataclass(frozen=True)
class AreaMean:
    """The predicted mean of an area and what is known of its error.

    Parameters
    ----------
    mean : float
        Predicted mean.
    area : float
        In square metres; NaN if it is not known. Tiles in the same place, such as those of several dates, count once.
    n : int
        Number of valid pixels.
    std_independent, std_fitted, std_full : float
        Std of the mean from the predicted variances: without correlation, with the fitted one, with full correlation.
    std : float
        Std with the fitted correlation, after correction of the predicted variance by mean z^2.
    low, high : float
        Interval of the mean; NaN if there is none.
    level : float
        Of the interval.
    reason : str
        Why there is no interval, or "".
    freedom : float
        Degrees of freedom of the variance.
    n_independent : float
        Number of independent pixels whose mean would be as certain.
    error : float
        Observed error of the mean; NaN without truth.
    """

    mean: float
    area: float
    n: int
    std_independent: float
    std_fitted: float
    std_full: float
    std: float
    low: float
    high: float
    level: float
    reason: str
    freedom: float
    n_independent: float
    error: float


def area_mean(
    cells: AreaCells, correlation: KnownCorrelation | None, level: float, side: float, unknown: str = TOO_FEW
) -> AreaMean:
    """Return the predicted mean of an area with an interval.

    Parameters
    ----------
    cells : AreaCells
        Of the area; at least one.
    correlation : KnownCorrelation or None
        Of the errors; None if it is not known.
    level : float
        Level of the interval.
    side : float
        Of a cell in metres.
    unknown : str
        Why the correlation is not known, if it is not.

    Notes
    -----
    The correlation is estimated, so the interval uses Student's distribution. With fewer than 5 degrees of freedom,
    the map has too few independent parts to estimate the variance of such a mean, and there is no interval. There
    is none either if tiles lie in the same place, as errors of different dates may be the same.
    """
    pairs, times = AreaPairs.of(cells, side), cells.times_counted
    fitted = std = freedom = independent = np.nan
    reason = unknown
    if correlation is not None and pairs.own == 0:
        fitted, std, reason = 0.0, 0.0, CERTAIN
    elif correlation is not None and times.max() > 1:
        reason = SEVERAL_DATES
    elif correlation is not None and not cells.stand_for_pixels:
        reason = CUTS_CELLS
    elif correlation is not None:
        variance = pairs.variance(correlation.model)
        fitted, std = np.sqrt(variance), np.sqrt(correlation.model.zms * variance)
        freedom = correlation.freedom(pairs)
        independent = float(cells.variance.sum() / cells.weight_square.sum() / variance)
        reason = "" if freedom >= LEAST_FREEDOM else TOO_FAR
    mean = float(cells.mean.sum() / pairs.weight)
    if not np.isfinite([mean, pairs.full, pairs.independent]).all():
        reason = OVERFLOW
    half = half_width(level, freedom) * std if not reason else np.nan
    error = float(cells.error.sum() / pairs.weight)
    return AreaMean(
        mean, float((cells.area / times).sum()), int(cells.n.sum()), np.sqrt(pairs.independent), fitted,
        np.sqrt(pairs.full), std, mean - half, mean + half, level, reason, freedom, independent, error,
    )  # fmt: skip


def per_area(units: str) -> tuple[str, float]:
    """Return the unit of totals of a variable, and the square metres by which an area is divided for it.

    >>> per_area("Mg/ha"), per_area("kg m-2"), per_area("m")
    (('Mg', 10000.0), ('kg', 1.0), ('m m2', 1.0))
    """
    found = PER_AREA.search(units)
    if found is None or (found[2] and (found[2] == "ha") != (found[3] in {"-1", "⁻¹"})):
        return (f"{units} m2" if units and units != "1" else "m2"), 1.0
    name = (found[1] or found[2]).rstrip("2²^")
    return units[: found.start()].strip() or "1", SQUARE_METRES[name]
