"""Summaries of whatever holds the pixels: numpy, dask and xarray alike.

Pixels that are summarised together are added in the order of their array (the last dimension fastest), whatever its
shape. A dask array is summarised chunk by chunk, and the chunks are added in their order, four at a time: counts (n,
coverage, histograms) equal those of the numpy array, other sums do to rounding (of PIT to 1e-5); the same chunks always
give the same bits, and one chunk gives those of numpy.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.arguments import (
    as_count,
    as_distribution,
    as_mapping,
    as_number,
    as_numbers,
    checked_levels,
    given_variance,
    is_dask,
    is_xarray,
)
from geouq.arrays.forms import MORE, PLACE, VALUE, places_in, points_of_form
from geouq.arrays.points import TAIL, Points, summarize_points
from geouq.arrays.summary_array import Coordinates, SummaryArray
from geouq.config.model import LEVELS
from geouq.core.errors import ConfigError, DataError, GeouqError
from geouq.core.gaussian import half_width
from geouq.core.grid import SQUARE
from geouq.reading.decoded import NO_STATUS, Decoded, on_real_scale
from geouq.summary import GROUPED_BY, Summary, add_all
from geouq.summary.form import GAUSSIAN
from geouq.sweep.settings import Settings

if TYPE_CHECKING:
    import xarray as xr

PIXELS = ("mean", "variance", "lower", "upper", "truth", "truth_variance")  # of one shape; others are broadcast
OPTIONAL = ("weights", "truth_variance")
LAST_CODE = 65535
FAN_IN = 4
NOTHING: Mapping[str, Any] = MappingProxyType({})
Dim = int | Hashable | Sequence[int] | Iterable[Hashable] | None


def summarize(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    truth_variance: Any = None,
    covariates: Mapping[str, Any] = NOTHING,
    classes: Mapping[str, Any] = NOTHING,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
    tail: int = TAIL,
    ordering: bool = False,
    thresholds: Sequence[float] = (),
    distribution: str = "normal",
    degrees: float | None = None,
    transform: str | None = None,
) -> Any:
    """Return the summary of pixels: one for all, or one for each place along the dimensions that are kept.

    Parameters
    ----------
    mean, variance, truth : array (...), DataArray or number
        Prediction and truth of the same pixels: numpy, dask or xarray, with any number of dimensions. Pixels that are
        masked or NaN, or whose variance is not positive, do not count. DataArrays are matched by names of dimensions.
    std : array, optional
        Predicted standard deviation, instead of the variance.
    weights : array, optional
        How much each pixel counts; may be broadcast.
    truth_variance : array, optional
        Variance of the error of the truth itself, which is added to the predicted variance.
    covariates : mapping of names to arrays, optional
        Coverage is kept in groups of pixels by these values.
    classes : mapping of names to arrays, optional
        Coverage is kept in each class of these codes, from 0 to 65535.
    dim : int, str or sequence of these, optional
        Dimensions to reduce: axes of numpy and dask arrays, names for xarray. By default all of them. Each place that
        is kept takes about 2 ms.
    levels : sequence of float
        Levels of the intervals whose coverage and scores are kept.
    tail : int
        Number of equal-width bins that are exact.
    ordering : bool
        Keep what `geouq.ause` and `geouq.spearman` need.
    thresholds : sequence of float
        Values whose forecasts of being exceeded are kept.
    distribution : {"normal", "lognormal", "truncated_normal", "gamma", "student_t"}
        Distribution of the forecast, with this mean and variance. For truncated_normal, they are those of the normal
        distribution before its truncation at 0.
    degrees : float, optional
        Degrees of freedom of student_t, above 2.
    transform : {"log", "log1p", "sqrt"}, optional
        Function of the variable whose mean and variance are given. The forecast is normal on this scale. The truth and
        all results are on the scale of the variable.

    Returns
    -------
    Summary, SummaryArray or delayed
        A SummaryArray has the dimensions that `dim` does not name. With a dask array, the result is a `dask.delayed`:
        add it, compute it, or pass it to `geouq.evaluate`.

    Raises
    ------
    DataError
        If variances or weights are negative, or shapes or coordinates do not match.
    ConfigError
        If a level is not between 0 and 1, a distribution is unknown, or another argument excludes it.

    Notes
    -----
    A summary of at most 65 536 valid pixels keeps all of them (16 bytes each), so that all bins are exact. A summary of
    more pixels keeps those of the tail, and other bins are placed on the profile. Sums of summaries keep as much as
    one summary of all their pixels.

    Examples
    --------
    >>> int(summarize([1.0, 2, 3], [0.01, 0.25, 1], [1.5, 3, 2], levels=[0.9]).n)
    3
    """
    variance = given_variance(variance, std, truth)
    settings = _settings(levels, covariates, classes, tail=tail, ordering=ordering, thresholds=thresholds)
    settings = replace(settings, distribution=as_distribution(distribution, degrees, transform))
    if truth_variance is not None and not settings.distribution.is_normal:
        raise ConfigError("truth_variance is added to normal forecasts alone; leave it or the distribution out")
    layers = {"mean": mean, "variance": variance, "truth": truth, "truth_variance": truth_variance, "weights": weights}
    return of_layers(layers | dict(covariates) | dict(classes), dim, settings)


def summarize_intervals(
    mean: Any,
    lower: Any,
    upper: Any,
    truth: Any,
    level: float,
    *,
    weights: Any = None,
    covariates: Mapping[str, Any] = NOTHING,
    classes: Mapping[str, Any] = NOTHING,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
    tail: int = TAIL,
    ordering: bool = False,
    thresholds: Sequence[float] = (),
) -> Any:
    """Return the summary of a forecast that is given as closed intervals instead of a variance.

    Coverage, misses, width and interval score of `level` are those of the given intervals. For all else the forecast is
    normal about its mean. Its std is the width of the interval divided by the width of a standard normal interval of
    that level.

    Parameters
    ----------
    mean : array (...), DataArray or number
        Predicted mean.
    lower, upper : array (...), DataArray or number
        Ends of the predicted interval.
    truth : array (...), DataArray or number
        Truth.
    level : float
        Level of the intervals, such as 0.9.
    weights, covariates, classes, dim, levels, tail, ordering, thresholds : as in `geouq.summarize`

    Returns
    -------
    Summary, SummaryArray or delayed
        As from `geouq.summarize`.

    Raises
    ------
    DataError
        If an upper end lies below its lower end, or shapes or coordinates do not match.
    ConfigError
        If a level is not between 0 and 1.

    Examples
    --------
    >>> import geouq
    >>> summary = summarize_intervals([1.0, 2], [0.0, 1.5], [3.0, 2.5], [3.0, 1.0], 0.9)
    >>> float(geouq.coverage(summary, level=0.9))
    0.5
    """
    wanted = sorted({*as_numbers("levels", levels), as_number("level", level)})
    settings = _settings(wanted, covariates, classes, tail=tail, ordering=ordering, thresholds=thresholds)
    layers = {"mean": mean, "lower": lower, "upper": upper, "truth": truth, "weights": weights}
    return of_layers(layers | dict(covariates) | dict(classes), dim, replace(settings, given=level))


def _settings(
    levels: Sequence[float],
    covariates: Mapping[str, Any],
    classes: Mapping[str, Any],
    *,
    tail: int,
    ordering: bool,
    thresholds: Sequence[float],
) -> Settings:
    as_count("tail", tail, 0)
    as_mapping("covariates", covariates)
    as_mapping("classes", classes)
    groups = (*GROUPED_BY, *covariates, *classes)
    if len(set(groups)) < len(groups):
        raise ConfigError(f"groups {', '.join(groups)}: two have one name; choose another")
    exceeded = as_numbers("thresholds", thresholds)
    return Settings(
        checked_levels(levels),
        SQUARE,
        tail,
        groups=groups,
        ordering=ordering,
        thresholds=exceeded,
        classes=tuple(classes),
    )


def of_layers(layers: Mapping[str, Any], dim: Dim, settings: Settings) -> Any:
    """Of arrays by name, None for those that may be left out, and are."""
    given = {name: layer for name, layer in layers.items() if layer is not None or name not in OPTIONAL}
    if settings.form.sampled_members:
        given |= places_in(given)
    if any(map(is_xarray, given.values())):
        return _of_xarray(given, dim, settings)
    return _of_arrays({name: _array(layer, name) for name, layer in given.items()}, dim, settings)


@dataclass(frozen=True)
class _Places:
    """Where summaries stand: the dimensions that are kept, and their coordinates."""

    dims: tuple[str, ...]
    coords: Coordinates | None = None

    def filled(self, found: NDArray[np.object_]) -> Summary | SummaryArray:
        """Return the one summary, or all of them."""
        array = SummaryArray(self.dims, found, self.coords)
        return array if self.dims else array.total()


def _of_arrays(layers: Mapping[str, Any], dim: Dim, settings: Settings) -> Any:
    """Of numpy and dask arrays."""
    shapes = {layer.shape for name, layer in layers.items() if _is_pixels(name) and layer.shape}
    if len(shapes) > 1:
        told = ", ".join(f"{name} {layer.shape}" for name, layer in layers.items())
        raise DataError(f"the arrays have different shapes: {told}; give one shape, or a single number")
    shape = shapes.pop() if shapes else (1,)
    reduced = _axes(dim, len(shape))
    kept = [axis for axis in range(len(shape)) if axis not in reduced]
    moved = {name: _broadcast(layer, shape, name).transpose(*kept, *reduced) for name, layer in layers.items()}
    return _summarized(moved, _Places(tuple(f"dim_{axis}" for axis in kept)), settings)


def _of_xarray(layers: Mapping[str, Any], dim: Dim, settings: Settings) -> Any:
    """Of DataArrays, and single numbers beside them."""
    import xarray as xr  # noqa: PLC0415  loaded already, as there is a DataArray

    for name, layer in layers.items():
        if not is_xarray(layer) and np.ndim(layer):
            raise DataError(f"{name} is a {type(layer).__name__} and others are DataArrays; give it as a DataArray too")
    arrays = [layer if is_xarray(layer) else xr.DataArray(layer) for layer in layers.values()]
    try:
        arrays = list(xr.broadcast(*xr.align(*arrays, join="exact", copy=False)))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the arrays do not lie on the same coordinates ({reason}); align them first") from None
    dims = arrays[0].dims
    reduced = _names(dim, dims)
    kept = tuple(str(name) for name in dims if name not in reduced)
    data = {
        name: _array(array.transpose(*kept, *reduced).data, name) for name, array in zip(layers, arrays, strict=True)
    }
    return _summarized(data, _Places(kept, _coordinates(arrays, kept)), settings)


def _coordinates(arrays: Sequence["xr.DataArray"], kept: tuple[str, ...]) -> Coordinates:
    """Return the coordinates along what is kept that no two arrays contradict."""
    found: dict[str, Any] = {}
    for array in arrays:
        for name, coord in array.coords.items():
            if set(coord.dims) <= set(kept):
                found.setdefault(str(name), []).append(coord)
    return {
        name: (tuple(map(str, first.dims)), first.values)
        for name, (first, *others) in found.items()
        if all(first.variable.equals(other.variable) for other in others)
    }


def _summarized(layers: Mapping[str, Any], places: _Places, settings: Settings) -> Any:
    """Of arrays (kept..., reduced...)."""
    if any(map(is_dask, layers.values())):
        return _lazily(layers, places, settings)
    kept = len(places.dims)
    found = np.empty(layers["truth"].shape[:kept], np.object_)
    for index, summary in zip(np.ndindex(found.shape), _of_block(layers, kept, settings), strict=True):
        found[index] = summary
    return places.filled(found)


def _of_block(layers: Mapping[str, NDArray[Any]], kept: int, settings: Settings) -> list[Summary]:
    """Return a summary for each place along the first dimensions, in their order."""
    found = []
    for index in np.ndindex(layers["truth"].shape[:kept]):
        points = _points({name: layer[index].reshape(-1) for name, layer in layers.items()}, settings)
        try:
            found.append(summarize_points(points, settings))
        except DataError:
            if not (points.variance < 0).any():
                raise
            raise DataError(_negative(points)) from None
    return found


def _points(layers: Mapping[str, NDArray[Any]], settings: Settings) -> Points:
    """Return the pixels of a position in the form that a summary needs."""
    if settings.form != GAUSSIAN:
        return points_of_form(settings.form, layers)
    bounds: tuple[NDArray[np.float64], ...] = ()
    if settings.given is None:
        variance = layers["variance"]
    else:
        bounds = tuple(layers[end].astype(np.float64) for end in ("lower", "upper"))
        std = (bounds[1] - bounds[0]) / (2 * half_width(settings.given))
        variance = std * np.abs(std)
    mean, status = layers["mean"], NO_STATUS
    if not settings.distribution.is_normal:
        m, v = on_real_scale(settings.distribution, Decoded(mean, None, NO_STATUS), Decoded(variance, None, NO_STATUS))
        mean, variance, status = m.values, v.values, m.status
    if "truth_variance" in layers:
        variance = with_truth_variance(variance, layers["truth_variance"])
    for name in settings.classes:
        _require_codes(layers[name], name)
    groups = tuple(layers[name].astype(np.float32) for name in settings.groups if name not in GROUPED_BY)
    return Points(mean, variance, layers["truth"], layers.get("weights"), bounds, groups, status)


def with_truth_variance(variance: NDArray[Any], more: NDArray[Any]) -> NDArray[np.float64]:
    """Return the predicted variance plus the variance of the truth's own error; NaN if that is missing."""
    if (more < 0).any():
        raise DataError(f"the lowest truth_variance is {np.nanmin(more):.6g}; variances are >= 0")
    values = variance.astype(np.float64)
    return np.where(values > 0, values + np.where(np.isfinite(more), more, np.nan), values)


def _require_codes(values: NDArray[Any], name: str) -> None:
    odd = np.isfinite(values) & ((values < 0) | (values > LAST_CODE) | (values != np.floor(values)))
    if odd.any():
        raise DataError(f"classes {name}: {values[odd][0]:.6g} is no code; give whole numbers from 0 to {LAST_CODE}")


def _negative(points: Points) -> str:
    count, lowest = int((points.variance < 0).sum()), np.nanmin(points.variance)
    if points.bounds:
        return f"{count} intervals have their upper end below the lower one; set those to NaN that are not to count"
    return (
        f"{count} predicted variances are negative, the lowest {lowest:.6g} (a std of {-np.sqrt(-lowest):.6g}, if stds "
        "were given); set those to NaN that are not to count"
    )


def _lazily(layers: Mapping[str, Any], places: _Places, settings: Settings) -> Any:
    """Return the chunks summarised where they are, then added in their order."""
    import dask.array as da  # noqa: PLC0415  loaded already, as there is a dask array
    from dask.delayed import delayed  # noqa: PLC0415

    axes, kept = tuple(range(layers["truth"].ndim)), len(places.dims)
    whole = [layer if is_dask(layer) else da.from_array(layer, chunks=-1) for layer in layers.values()]
    chunks, alike = da.core.unify_chunks(*(part for layer in whole for part in (layer, axes)))
    # not optimised, so that arrays made of the same chunks read them once
    blocks = [layer.to_delayed(optimize_graph=False) for layer in alike]
    shape = blocks[0].shape
    summed = {}
    for place in np.ndindex(shape[:kept]):
        parts = [
            delayed(_of_block)(
                {name: block[place + rest] for name, block in zip(layers, blocks, strict=True)}, kept, settings
            )
            for rest in np.ndindex(shape[kept:])
        ]
        while len(parts) > 1:
            parts = [delayed(_added)(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        summed[place] = parts[0]
    lengths = [chunks[axis] for axis in axes[:kept]]
    return delayed(_assembled)(list(summed.values()), lengths, places)


def _added(parts: Sequence[list[Summary]]) -> list[Summary]:
    return [add_all(of_place) for of_place in zip(*parts, strict=True)]


def _assembled(
    parts: Sequence[list[Summary]], lengths: Sequence[Sequence[int]], places: _Places
) -> Summary | SummaryArray:
    """Return the summaries of all chunks in their places."""
    found = np.empty([sum(length) for length in lengths], np.object_)
    spans = [[range(end - size, end) for size, end in zip(n, accumulate(n), strict=True)] for n in lengths]
    for part, span in zip(parts, product(*spans), strict=True):
        for index, summary in zip(product(*span), part, strict=True):
            found[index] = summary
    return places.filled(found)


def _is_pixels(name: str) -> bool:
    return name in PIXELS or name.startswith((VALUE, MORE))


def _array(layer: Any, name: str) -> Any:
    """Return a numpy or dask array of float32 or float64 (weights: float64), NaN where masked."""
    if is_dask(layer):
        import dask.array as da  # noqa: PLC0415  loaded already

        if np.isnan(layer.shape).any():
            raise DataError(f"the sizes of chunks of {name} are not known; call its compute_chunk_sizes() first")
        return da.map_blocks(_floats, layer, name, dtype=_kind(layer.dtype, name), meta=np.empty((0,) * layer.ndim))
    return _floats(layer, name)


def _floats(layer: Any, name: str) -> NDArray[np.floating]:
    try:
        values = layer if isinstance(layer, np.ndarray) else np.asarray(layer)
        kind = _kind(values.dtype, name)
        return np.ma.filled(values.astype(kind, copy=False), np.nan)
    except GeouqError:
        raise
    except (TypeError, ValueError):
        raise DataError(f"{name} is a {type(layer).__name__} that holds no numbers; give an array of them") from None


def _kind(dtype: Any, name: str) -> np.dtype[Any]:
    if dtype.kind not in "biuf":
        raise DataError(f"{name} holds values of type {dtype}; give numbers")
    return np.dtype(np.float32 if dtype == np.float32 and name not in ("weights", PLACE) else np.float64)


def _broadcast(layer: Any, shape: tuple[int, ...], name: str) -> Any:
    try:
        if is_dask(layer):
            import dask.array as da  # noqa: PLC0415  loaded already

            return da.broadcast_to(layer, shape)
        return np.broadcast_to(layer, shape)
    except ValueError:
        raise DataError(f"{name} of shape {layer.shape} do not broadcast to the pixels' shape {shape}") from None


def _axes(dim: Dim, count: int) -> list[int]:
    """Return the axes to reduce, in their order."""
    if dim is None:
        return list(range(count))
    requested = [dim] if isinstance(dim, (int, str)) or not isinstance(dim, Iterable) else list(dim)
    axes = [int(axis) for axis in requested if isinstance(axis, (int, np.integer)) and -count <= axis < count]
    found = {axis % count for axis in axes}
    if len(axes) < len(requested) or len(found) < len(requested):
        raise DataError(f"dim={dim!r}: the arrays have {count} axes; give numbers from {-count} to {count - 1}")
    return sorted(found)


def _names(dim: Dim, dims: Sequence[Hashable]) -> list[Hashable]:
    """Return the names of dimensions to reduce, in their order."""
    if dim is None:
        return list(dims)
    requested = [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dim)
    for name in requested:
        if name not in dims:
            raise DataError(f"dim={dim!r}: there is no dimension {name!r}; they are {', '.join(map(str, dims))}")
    return [name for name in dims if name in requested]
