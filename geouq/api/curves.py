"""Curves and bins as arrays with named coordinates: the numbers of `curves.csv` and `bins.csv` of a run.

Every function takes arrays (numpy, dask or xarray, as `geouq.evaluate`), or a Summary, a SummaryArray or a lazy one in
the place of `mean`. Dask arrays are computed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from geouq import metrics
from geouq.arrays.arguments import as_count, as_text, checked_levels
from geouq.arrays.datasets import places_of, units_of
from geouq.arrays.metric_functions import Bins, bin_scheme, summary_of
from geouq.arrays.points import TAIL
from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import Dim
from geouq.config import CALIBRATION_LEVELS, EQUAL_COUNT_10, BinScheme
from geouq.core.errors import ConfigError, SummaryError
from geouq.core.units import squared_unit
from geouq.metrics import LEFT_OUT
from geouq.metrics.groups import GROUPS
from geouq.summary import Binned, Summary

Floats = NDArray[np.float64]
Levels = float | Sequence[float]

PIT_BINS = 20
LEVEL = 0.9


def calibration_curve(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Levels = CALIBRATION_LEVELS,
) -> xr.DataArray:
    """Return the share of the truth that is at most each predicted quantile.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
    levels : float or sequence of float
        Levels of the quantiles, whole multiples of 0.01 between 0 and 1.

    Returns
    -------
    DataArray (..., level)
        Shares, unit 1, along the dimensions that are kept and `level`. The ideal is the level. NaN without pixels.

    Raises
    ------
    ConfigError
        If levels are not different numbers between 0 and 1.
    DataError
        If the arrays do not match or hold what they must not.
    SummaryError
        If a level is no multiple of 0.01.
    ArgumentError
        If an argument has a wrong type.

    References
    ----------
    Kuleshov, Fenner and Ermon (2018), Accurate uncertainties for deep learning using calibrated regression.

    Examples
    --------
    >>> curve = calibration_curve([0.0, 0.0], [1.0, 1.0], [-0.5, 1.0], levels=[0.25, 0.5, 0.9])
    >>> curve.to_numpy()
    array([0. , 0.5, 1. ])
    """
    own = checked_levels(levels)
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim)
    attrs = {"long_name": "share of the truth at most the predicted quantile", "units": "1"}
    return _level_curve(summary, "calibration", own, lambda one: metrics.calibration_curve(one, own), attrs)


def interval_curve(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Levels = CALIBRATION_LEVELS,
) -> xr.DataArray:
    """Return the share of the truth inside the central interval of each level.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
    levels : float or sequence of float
        Levels of the intervals, whole multiples of 0.01 between 0 and 1.

    Returns
    -------
    DataArray (..., level)
        Shares, unit 1, along the dimensions that are kept and `level`. The ideal is the level. NaN without pixels.

    Raises
    ------
    ConfigError, DataError, SummaryError, ArgumentError
        As in `geouq.calibration_curve`.

    References
    ----------
    Chung et al. (2021), Uncertainty toolbox, arXiv 2109.10254.

    Examples
    --------
    >>> interval_curve([0.0, 0.0], [1.0, 1.0], [-0.5, 1.0], levels=[0.5, 0.9]).to_numpy()
    array([0.5, 1. ])
    """
    own = checked_levels(levels)
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim)
    attrs = {"long_name": "share of the truth inside the central interval", "units": "1"}
    return _level_curve(summary, "calibration_interval", own, lambda one: metrics.interval_curve(one, own), attrs)


def pit_histogram(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    bins: int = PIT_BINS,
) -> xr.DataArray:
    """Return the density of the probability integral transform (PIT) of the truth.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
    bins : int
        Number of equal bins, a divisor of 200.

    Returns
    -------
    DataArray (..., pit)
        Density, unit 1, along the dimensions that are kept and `pit`, the middle of each bin. The ideal is 1.

    Raises
    ------
    ConfigError
        If 200 is no multiple of the number of bins.
    DataError, ArgumentError
        As in `geouq.calibration_curve`.

    References
    ----------
    Gneiting, Balabdaoui and Raftery (2007), Probabilistic forecasts, calibration and sharpness.

    Examples
    --------
    >>> pit_histogram([0.0, 0.0], [1.0, 1.0], [-0.5, 1.0], bins=4).to_numpy()
    array([0., 2., 0., 2.])
    """
    if FINE_BINS % as_count("bins", bins, 2):
        raise ConfigError(f"bins={bins}: give a divisor of {FINE_BINS}, such as {PIT_BINS}")
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim)
    middles = (np.arange(bins) + 0.5) / bins
    coord = ("pit", middles, {"long_name": "PIT of the truth", "units": "1"})

    def density(one: Summary) -> Floats:
        """Return the density of the PIT in each bin."""
        return bins * one.z.regular(bins) / np.where(one.n > 0, one.moments.weight, np.nan)[..., np.newaxis]

    attrs = {"long_name": "density of the PIT", "units": "1"}
    return _along(summary, "pit_histogram", {"pit": coord}, density, attrs)


def sparsification_curve(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    units: str | None = None,
) -> xr.Dataset:
    """Return the RMSE of the pixels that remain without those of largest predicted variance.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
        A Summary must keep the order of errors: ``geouq.summarize(..., ordering=True)``.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.

    Returns
    -------
    Dataset (..., left_out)
        `sparsification`, and `oracle`, in which the pixels of largest error are left out: the best possible order. Both
        have the unit of the variable. `left_out` is the share of pixels, 0 to 0.99.

    Raises
    ------
    SummaryError
        If a Summary does not keep the order of errors.
    DataError, ArgumentError
        As in `geouq.calibration_curve`.

    References
    ----------
    Ilg et al. (2018), Uncertainty estimates and multi-hypotheses networks for optical flow.

    Examples
    --------
    >>> curves = sparsification_curve([0.0, 0.0], [1.0, 4.0], [1.0, 3.0])
    >>> curves.sparsification.sel(left_out=[0, 0.5]).to_numpy().tolist()
    [2.236, 1.0]
    """
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim, ordering=True)
    coord = ("left_out", LEFT_OUT, {"long_name": "share of the pixels left out", "units": "1"})
    own = {
        "sparsification": (metrics.sparsification_curve, "RMSE without the pixels of largest predicted variance"),
        "oracle": (metrics.oracle_curve, "RMSE without the pixels of largest error"),
    }
    unit = units_of(truth, units)
    return xr.Dataset(
        {
            name: _along(summary, name, {"left_out": coord}, curve, {"long_name": text, "units": unit})
            for name, (curve, text) in own.items()
        }
    )


def group_coverage(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    level: Levels = LEVEL,
    by: str = "truth",
    groups: int = GROUPS,
) -> xr.DataArray:
    """Return the coverage in groups of pixels of equal number, in the order of what they are grouped by.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
    level : float or sequence of float
        Levels of the central intervals.
    by : str
        ``truth``, ``mean`` or ``variance``; of a Summary also the name of a covariate or of classes that it keeps.
    groups : int
        Number of groups; without effect on classes.

    Returns
    -------
    DataArray (..., group) or (..., group, level)
        Shares, unit 1, along the dimensions that are kept, and `level` if there are several. `group` is the middle of
        the share of pixels that the group holds, or the code of its class. The ideal is the level.

    Raises
    ------
    SummaryError
        If a Summary does not keep the level, or the coverage by that.
    ConfigError, DataError, ArgumentError
        As in `geouq.calibration_curve`.

    Examples
    --------
    >>> found = group_coverage([0.0, 0, 0, 0], [1.0, 1, 1, 1], [-3.0, 0, 1, 3], level=0.9, groups=2)
    >>> found.to_numpy(), found.group.to_numpy()
    (array([0.5, 0.5]), array([0.25, 0.75]))
    """
    own, number = checked_levels(level, "level"), as_count("groups", groups)
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim, levels=own)
    places = _group_places(summary, as_text("by", by), number)
    coord = ("group", places, {"long_name": f"place in the order of {by}", "units": "1"})
    attrs = {"long_name": "coverage of the central interval", "units": "1"}

    def of_levels(one: Summary) -> Floats:
        """Return the coverage of the groups for each level, along the last dimension."""
        return np.stack([metrics.group_coverage(one, p, by, number) for p in own], axis=-1)

    coords = {"group": coord, "level": ("level", list(own), {"long_name": "level", "units": "1"})}
    found = _along(summary, "group_coverage", coords, of_levels, attrs)
    return found.isel(level=0) if np.ndim(level) == 0 else found


def binned(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    bins: Bins = EQUAL_COUNT_10,
    units: str | None = None,
) -> xr.Dataset:
    """Return what a reliability diagram shows: mean predicted variance and mean squared error in bins of the variance.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.evaluate`
    bins : int, str, sequence of float or BinScheme
        As in `geouq.uce`: a number of equal-count bins, the name of a scheme, edges, or a BinScheme.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.

    Returns
    -------
    Dataset (..., bin)
        `lower` and `upper` edge, `mean_variance` and `mse` in the squared unit of the variable, `n` (pixels), and
        `share` (of the pixels, or of their weights), unit 1. `bin` counts from 1. Empty bins have n 0, and NaN for
        means. `exact` (...) is False if edges are placed on the profile of the variance. The attribute `bins` names
        the scheme.

    Raises
    ------
    ConfigError
        If there is no such scheme.
    DataError, ArgumentError
        As in `geouq.calibration_curve`.

    References
    ----------
    Levi et al. (2022), Evaluating and calibrating uncertainty prediction in regression tasks.

    Examples
    --------
    >>> found = binned([0.0, 0, 0, 0], [1.0, 1, 4, 4], [1.0, -1, 2, 4], bins=2)
    >>> found.mean_variance.to_numpy(), found.mse.to_numpy()
    (array([1., 4.]), array([ 1., 10.]))
    """
    scheme = bin_scheme(bins, EQUAL_COUNT_10)
    summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim, tail=max(TAIL, scheme.count))
    square = squared_unit(units_of(truth, units))
    coord = ("bin", np.arange(1, scheme.count + 1), {"long_name": "number of the bin"})
    found: dict[str, xr.DataArray] = {}
    for name, (value, text, unit) in _OF_BINS.items():
        attrs = {"long_name": text, "units": unit or square}
        found[name] = _along(summary, name, {"bin": coord}, partial(_of_bins, value, scheme), attrs)
    exact = _along(
        summary, "exact", {}, lambda one: metrics.binned(one, scheme).exact, {"long_name": "edges are exact"}
    )
    return xr.Dataset(found | {"exact": exact}, attrs={"bins": scheme.name})


FINE_BINS = 200  # of equal probability, which a summary keeps
_OF_BINS: dict[str, tuple[Callable[[Binned], NDArray[Any]], str, str]] = {
    "lower": (lambda one: one.edges[..., :-1], "lower edge of the predicted variance", ""),
    "upper": (lambda one: one.edges[..., 1:], "upper edge of the predicted variance", ""),
    "n": (lambda one: np.asarray(one.n, np.int64), "number of pixels", "1"),
    "mean_variance": (lambda one: one.mean_variance, "mean predicted variance", ""),
    "mse": (lambda one: one.mse, "mean squared error", ""),
    "share": (lambda one: one.share, "share of the pixels", "1"),
}


def _group_places(summary: Summary | SummaryArray, by: str, groups: int) -> Floats:
    """Return where each group stands; raise SummaryError if summaries hold different classes."""
    first, *others = [metrics.group_places(one, by, groups) for one in _each(summary)]
    if not all(np.array_equal(first, other) for other in others):
        raise SummaryError(f"by={by!r}: the summaries hold different classes; give them one by one")
    return first


def _each(summary: Summary | SummaryArray) -> list[Summary]:
    """Return all summaries; raise SummaryError if there is none."""
    if isinstance(summary, Summary):
        return [summary]
    if not summary.summaries.size:
        raise SummaryError(f"there is no summary in an array of shape {summary.shape}")
    return list(summary)


def _of_bins(value: Callable[[Binned], NDArray[Any]], scheme: BinScheme, summary: Summary) -> NDArray[Any]:
    return value(metrics.binned(summary, scheme))


def _level_curve(
    summary: Summary | SummaryArray,
    name: str,
    levels: Sequence[float],
    curve: Callable[[Summary], Floats],
    attrs: dict[str, str],
) -> xr.DataArray:
    coord = ("level", np.array(levels), {"long_name": "level", "units": "1"})
    return _along(summary, name, {"level": coord}, curve, attrs)


def _along(
    summary: Summary | SummaryArray,
    name: str,
    coord: Mapping[str, Any],
    values_of: Callable[[Summary], NDArray[Any]],
    attrs: Mapping[str, str],
) -> xr.DataArray:
    """Return values of each summary along the dimensions that are kept, then those of `coord`."""
    more = tuple(coord)
    dims, coords = places_of(summary)
    each = [np.asarray(values_of(one)) for one in _each(summary)]
    shape = (*summary.n.shape, *each[0].shape[each[0].ndim - len(more) :])
    return xr.DataArray(np.stack(each).reshape(shape), coords | dict(coord), (*dims, *more), name, dict(attrs))
