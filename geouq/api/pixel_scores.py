"""Scores of every pixel, as the maps of a run show them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from geouq.arrays.arguments import as_text, checked_levels, each, given_variance, is_xarray, mapped
from geouq.arrays.datasets import units_of
from geouq.config import suggestion
from geouq.core import gaussian
from geouq.core.errors import ConfigError, DataError
from geouq.maps.pixel_maps import PIXEL_MAPS, Forecast, PixelMap, covered, map_named
from geouq.metrics import level_name
from geouq.metrics.record import OF_VARIANCE

Floats = NDArray[np.float64]

LEVEL = 0.9
WHAT = "mean, variance and truth"
INTERVAL_SCORE = gaussian.interval_score.__name__
COVERED = covered.__name__
OF_ONE_LEVEL = (INTERVAL_SCORE, COVERED)
NO_SCORES = ("mean", "std")  # maps of the prediction alone


def _known() -> tuple[str, ...]:
    """Return the names of all scores."""
    maps = (one for one in PIXEL_MAPS.values() if one.forms == OF_VARIANCE and not one.of_level)
    return (*(one.name for one in maps if one.name not in NO_SCORES), *OF_ONE_LEVEL)


SCORES = tuple(name for name in _known() if name != "abs_error")


def pixel_scores(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    scores: str | Sequence[str] = SCORES,
    level: float | Sequence[float] = LEVEL,
    units: str | None = None,
) -> Any:
    """Return scores of every pixel of a normal forecast.

    Parameters
    ----------
    mean, variance, truth, std : array
        Forecast (variance or std) and truth: numpy, dask or xarray, of one shape or broadcast, or matched by names.
    scores : str or sequence of str
        Some of ``error`` (mean - truth), ``abs_error``, ``z`` ((truth - mean) / std), ``pit``, ``nll``, ``crps``,
        ``interval_score`` and ``covered`` (1 if the truth lies in the central interval, else 0).
    level : float or sequence of float
        Levels of the intervals.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.

    Returns
    -------
    Dataset or dict of str to array
        Float64 of the shape of the pixels for each score; a score of a level ends in it, as ``interval_score_90``. NaN
        where a value is missing or the variance is not positive. A Dataset if an array is a DataArray. Dask arrays
        stay lazy. `error`, `abs_error`, `crps` and `interval_score` have the unit of the variable, the others 1.

    Raises
    ------
    DataError
        If a variance is negative, or if shapes or coordinates do not match.
    ConfigError
        If a score is not known, or if levels are not different numbers between 0 and 1.
    ArgumentError
        If an argument has a wrong type.

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, equations 21 and 43.

    Examples
    --------
    >>> found = pixel_scores([0.0, 1.0], [1.0, 4.0], [0.0, np.nan], scores=["z", "crps"])
    >>> found["z"], found["crps"]
    (array([ 0., nan]), array([0.2337, nan]))
    >>> list(pixel_scores([0.0], std=[1.0], truth=[3.0], scores="covered", level=[0.5, 0.9]))
    ['covered_50', 'covered_90']
    """
    arrays, wanted = (
        (mean, given_variance(variance, std, truth), truth),
        dict(_scores(scores, checked_levels(level, "level"))),
    )
    found = {name: mapped(partial(_of_pixels, own), arrays, WHAT, np.float64) for name, own in wanted.items()}
    return _dataset(found, wanted, units_of(truth, units)) if any(map(is_xarray, arrays)) else found


def _dataset(found: Mapping[str, Any], scores: Mapping[str, PixelMap], unit: str) -> xr.Dataset:
    for name, score in scores.items():
        found[name].attrs = {"long_name": score.long_name, "units": unit if score.unit == "unit" else "1"}
    return xr.Dataset(found)


def _scores(scores: str | Sequence[str], levels: Sequence[float]) -> Iterator[tuple[str, PixelMap]]:
    """Yield the name of each score and what it is; raise ConfigError for one that is not known."""
    known = _known()
    for score in [scores] if isinstance(scores, str) else each("scores", scores):
        if as_text("scores", score) not in known:
            raise ConfigError(f"scores: there is no {score!r}{suggestion(score, known)}; known are {', '.join(known)}")
        if score not in OF_ONE_LEVEL:
            yield score, map_named(score)
            continue
        for level in levels:
            name = level_name(score, level)
            yield name, map_named(name) if score == COVERED else _interval_score(level)


def _interval_score(level: float) -> PixelMap:
    def scores(forecast: Forecast) -> Floats:
        """Return the interval score of each pixel."""
        return gaussian.interval_score(*forecast[:3], level)

    what = f"interval score of the central interval of {100 * level:g} %"
    return PixelMap(INTERVAL_SCORE, scores, what, unit="unit")


def _of_pixels(score: PixelMap, mean: NDArray[Any], variance: NDArray[Any], truth: NDArray[Any]) -> Floats:
    """Return the score of numpy arrays that are broadcast."""
    if (variance < 0).any():
        raise DataError(
            f"{int((variance < 0).sum())} predicted variances are negative, the lowest {np.nanmin(variance):.6g}; "
            "set those to NaN that are not to count"
        )
    layers = np.broadcast_arrays(*(layer.astype(np.float64) for layer in (mean, variance, truth)))
    counts = np.logical_and.reduce([np.isfinite(layer) for layer in layers]) & (layers[1] > 0)
    found = np.full(counts.shape, np.nan)
    found[counts] = score.function(Forecast(*(layer[counts] for layer in layers)))
    return found
