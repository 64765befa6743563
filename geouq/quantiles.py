"""Forecasts that are given as quantiles of any levels.

Numbers are functions of the summary, here by name, or all at once by `geouq.table` and `geouq.evaluate`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.forms import VALUE
from geouq.arrays.inputs import Dim, checked_levels, of_layers
from geouq.config.model import LEVELS
from geouq.errors import DataError
from geouq.kernel import SQUARE
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
    quantile_coverage,
    wis,
)
from geouq.reading.form_pixels import pinball_losses
from geouq.summary.form import Quantiles
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
    "quantile_coverage",
    "summarize",
    "wis",
]


def summarize(values: Any, levels: Sequence[float], truth: Any, *, weights: Any = None, dim: Dim = None) -> Any:
    """What pixels contribute, as of `geouq.summarize`, of quantiles.

    values : quantiles of these levels, along the first dimension or one after the other in a list; each, and truth, of
    one shape. levels : between 0 and 1, in any order. weights, dim : as in `geouq.summarize`. A pixel of which one
    quantile says nothing does not count; quantiles that cross are counted, and put in order.

    Raises DataError for other numbers of quantiles and levels, ConfigError for levels that are none.

    >>> summary = summarize([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], [0.05, 0.5, 0.95], [1.5, 5.0])
    >>> float(pinball(summary, 0.95)), float(pair_coverage(summary, 0.9))
    (0.4875, 0.5)
    """
    given, own = list(values), checked_levels(levels)
    if len(given) != len(own):
        raise DataError(f"there are {len(given)} quantiles along the first dimension and {len(own)} levels")
    order = sorted(range(len(own)), key=own.__getitem__)
    layers = {f"{VALUE}{place}": given[i] for place, i in enumerate(order)}
    settings = Settings(LEVELS, SQUARE, tail=0, groups=(), form=Quantiles(tuple(own[i] for i in order)))
    return of_layers({"truth": truth, "weights": weights} | layers, dim, settings)


def mean_pinball(values: Any, levels: Sequence[float], truth: Any) -> NDArray[np.float64]:
    """Mean pinball loss of each quantile, (levels): of arrays in memory without gaps, where nothing else is asked for.

    values (levels, ...), truth (...). NaN where a value is missing: `summarize` leaves such pixels out.

    >>> mean_pinball(np.array([[0.0, 1.0], [2.0, 4.0]]), (0.05, 0.95), np.array([1.5, 5.0])).tolist()
    [0.1375, 0.4875]
    """
    own = checked_levels(levels)
    y = np.ascontiguousarray(truth)
    rows = np.ascontiguousarray(values)
    if rows.shape != (len(own), *y.shape):
        raise DataError(f"values have the shape {rows.shape}; {len(own)} levels of {y.shape} pixels need one for each")
    kind = np.float32 if rows.dtype == y.dtype == np.float32 else np.float64
    return pinball_losses(
        rows.reshape(len(own), -1).astype(kind, copy=False), np.array(own), y.ravel().astype(kind, copy=False)
    )
