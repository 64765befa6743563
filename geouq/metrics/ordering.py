"""Whether the predicted std tells large errors from small ones. Both metrics need the ordering profile."""

import numpy as np
from numpy.typing import NDArray

from geouq.metrics.order_resolution import ause_resolution, spearman_resolution
from geouq.metrics.record import NOT_NEGATIVE, metric
from geouq.metrics.sparsification import normalized_area, rank_correlation
from geouq.summary import Summary

Floats = NDArray[np.float64]

UNRESOLVED = 1.0  # resolution from which a number says nothing


@metric(
    "AUSE",
    unit="1",
    ideal="0",
    above="std is large where errors are not",
    source="Ilg et al. 2018, arXiv 1802.07095",
    choice="ordering",
    resolution=ause_resolution,
    bounds=NOT_NEGATIVE,
)
def ause(summary: Summary) -> Floats:
    """Area between the sparsification curve of the RMSE and the best one, divided by the RMSE; unit 1, ideal 0.

    Ilg et al. 2018, arXiv 1802.07095. Exact where the summary keeps every pixel (at most 65 536); elsewhere
    `ause_resolution` estimates the error. Raises SummaryError where the summary keeps no ordering.
    """
    return normalized_area(summary)


@metric(
    "rho(|e|, s)",
    unit="1",
    ideal="large",
    above="std follows error",
    source="Spearman 1904",
    choice="ordering",
    resolution=spearman_resolution,
    bounds=(-1.0, 1.0),
)
def spearman(summary: Summary) -> Floats:
    """Rank correlation of |error| and predicted std; unit 1, large is good, missing where either is constant.

    Exact where the summary keeps every pixel (at most 65 536). Elsewhere pixels of one class of std or |error| share a
    rank, and `spearman_resolution` estimates the error; missing where that is 1 or more. Raises SummaryError as `ause`
    does.
    """
    found = rank_correlation(summary)
    if np.ndim(found) == 0 and spearman_resolution(summary) >= UNRESOLVED:
        return np.full((), np.nan)
    return found
