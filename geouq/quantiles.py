"""Forecasts that are given as quantiles of any levels.

Numbers are functions of the summary, here by name, or all at once by `geouq.table` and `geouq.evaluate`.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.arguments import checked_levels
from geouq.arrays.forms import VALUE
from geouq.arrays.layers import in_front, labels_of, layers_of
from geouq.arrays.validation import Dim, of_layers
from geouq.config.model import LEVELS
from geouq.core.errors import DataError
from geouq.core.grid import SQUARE
from geouq.forms.quantiles import Quantiles, pinball_losses
from geouq.metrics.quantiles import (
    crossing,
    crps_integral,
    crps_integral_normalized,
    crps_quantiles,
    pair_coverage,
    pair_coverage_above,
    pair_coverage_below,
    pair_interval_score,
    pair_width,
    pinball,
    pinball_mean,
    quantile_calibration,
    quantile_coverage,
    wis,
)
from geouq.sweep.settings import Settings

__all__ = [
    "crossing",
    "crps_integral",
    "crps_integral_normalized",
    "crps_quantiles",
    "mean_pinball",
    "pair_coverage",
    "pair_coverage_above",
    "pair_coverage_below",
    "pair_interval_score",
    "pair_width",
    "pinball",
    "pinball_mean",
    "quantile_calibration",
    "quantile_coverage",
    "summarize",
    "wis",
]


def summarize(
    values: Any,
    levels: Sequence[float],
    truth: Any,
    *,
    weights: Any = None,
    dim: Dim = None,
    quantile_dim: Hashable | None = None,
) -> Any:
    """Return what pixels contribute, as `geouq.summarize` does, of quantiles.

    Parameters
    ----------
    values : array (levels, ...), DataArray or sequence of arrays
        Quantiles of these levels. Of numpy and dask arrays, they are along the first dimension; of a DataArray, along
        `quantile_dim`, wherever it stands. Quantiles that cross are counted, and put in order.
    levels : sequence of float
        Levels between 0 and 1, in the order of the quantiles. A coordinate of a DataArray that holds other levels, or
        these in another order, is an error.
    truth : array (...)
        Truth, of the shape of one quantile.
    weights, dim : as in `geouq.summarize`
    quantile_dim : str, optional
        Name of the dimension of quantiles. By default the one that the truth does not have; of several, that with a
        usual name, such as quantile or level.

    Returns
    -------
    Summary, SummaryArray or delayed
        A pixel where one quantile has no value does not count.

    Raises
    ------
    DataError
        If the numbers of quantiles and levels differ, if the levels contradict the coordinate of the quantiles, or if
        it is not clear which dimension holds the quantiles.
    ConfigError
        If levels are not different numbers between 0 and 1.

    Examples
    --------
    >>> summary = summarize([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], [0.05, 0.5, 0.95], [1.5, 5.0])
    >>> float(pinball(summary, 0.95)), float(pair_coverage(summary, 0.9))
    (0.4875, 0.5)
    """
    given, own = layers_of(values, truth, "quantile", quantile_dim, dim), checked_levels(levels)
    if len(given) != len(own):
        raise DataError(f"there are {len(given)} quantiles along the first dimension and {len(own)} levels")
    _require_these_levels(labels_of(values, truth, "quantile", quantile_dim), own)
    order = sorted(range(len(own)), key=own.__getitem__)
    layers = {f"{VALUE}{place}": given[i] for place, i in enumerate(order)}
    settings = Settings(LEVELS, SQUARE, tail=0, groups=(), form=Quantiles(tuple(own[i] for i in order)))
    return of_layers({"truth": truth, "weights": weights} | layers, dim, settings)


def _require_these_levels(labels: Any, levels: Sequence[float]) -> None:
    """Raise DataError where the coordinate of the quantiles holds levels, and these are others."""
    if labels is None or labels.dtype.kind != "f" or not ((labels > 0) & (labels < 1)).all():
        return
    if not np.allclose(labels, levels, rtol=0, atol=1e-6):
        raise DataError(
            f"the quantiles are labelled {labels.tolist()} and levels are {list(levels)}; give these labels"
        )


def mean_pinball(values: Any, levels: Sequence[float], truth: Any) -> NDArray[np.float64]:
    """Return the mean pinball loss of each quantile, (levels), of arrays in memory without gaps.

    Parameters
    ----------
    values : array (levels, ...) or DataArray
        Quantiles. The dimension of quantiles of a DataArray is the one that the truth does not have.
    levels : sequence of float
        Levels between 0 and 1.
    truth : array (...) or DataArray
        Truth of the same pixels.

    Returns
    -------
    array (levels)
        NaN where a value is missing: `summarize` leaves such pixels out.

    Examples
    --------
    >>> mean_pinball(np.array([[0.0, 1.0], [2.0, 4.0]]), (0.05, 0.95), np.array([1.5, 5.0])).tolist()
    [0.1375, 0.4875]
    """
    own = checked_levels(levels)
    _require_these_levels(labels_of(values, truth, "quantile"), own)
    rows, y = map(np.ascontiguousarray, in_front(values, truth, "quantile"))
    if rows.shape != (len(own), *y.shape):
        raise DataError(f"values have the shape {rows.shape}; {len(own)} levels of {y.shape} pixels need one for each")
    kind = np.float32 if rows.dtype == y.dtype == np.float32 else np.float64
    return pinball_losses(
        rows.reshape(len(own), -1).astype(kind, copy=False), np.array(own), y.ravel().astype(kind, copy=False)
    )
