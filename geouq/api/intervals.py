"""Intervals and tests of the metrics of arrays, as `geouq run` computes them for a raster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import ValidationError

from geouq.api.position import Maps, maps_of
from geouq.arrays.arguments import as_count, as_number, as_numbers, as_text, checked_levels, given_variance
from geouq.arrays.datasets import SCHEMES, schemes_of, units_of
from geouq.arrays.metric_functions import Bins
from geouq.arrays.points import ARRAY, TAIL, summarize_grid
from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import Dim, with_truth_variance
from geouq.config import GROUPS, Intervals
from geouq.config.model import LEVELS
from geouq.config.regions import ALL
from geouq.core.errors import ConfigError, DataError, wrong_type
from geouq.inference import DEFAULTS, Inference, infer
from geouq.metrics import MetricOptions, Value, evaluate_metrics, unit_of
from geouq.reading.variable_window import NO_TRUTH_VARIANCE
from geouq.summary import RunningTotal, Summary, TilePlace, VariableSummary
from geouq.summary.truth_error import pixel_statistics
from geouq.sweep.settings import SMALLEST_CELL, Settings, cell_size_for

EXACT = ("weights", "truth_variance")  # of float64
COLUMNS = {
    "value": "value of the metric",
    "ci_low": "lower limit of the interval",
    "ci_high": "upper limit of the interval",
    "n_effective": "number of effective cells",
    "p_value": "p-value of the test that the metric has its ideal value",
}


@dataclass(frozen=True)
class Inferred:
    """One map: its summary, and each metric with what is inferred of it."""

    summary: Summary
    values: tuple[Value, ...]
    inference: Inference


def intervals(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: float | Sequence[float] = LEVELS,
    bins: Bins | Sequence[Bins] = SCHEMES,
    reference_mean: float | None = None,
    units: str | None = None,
    thresholds: float | Sequence[float] = (),
    settings: Intervals | Mapping[str, Any] = DEFAULTS,
    cell_size: int | None = None,
    crs: Any = None,
    tile: str = ARRAY,
) -> xr.Dataset:
    """Return every metric of a map with its interval and p-value, as a run with this map as its only tile.

    Parameters
    ----------
    mean, variance, truth, std, weights : array (..., rows, columns)
        As in `geouq.evaluate`. Positions follow from the regular coordinates of DataArrays, or from rows and columns.
    dim : two names of dimensions or axes, optional
        Those of the map; needed if there are more than two. Every other place is a map of its own.
    levels, bins, reference_mean, units, thresholds : as in `geouq.evaluate`
    settings : mapping, optional
        Keys of `intervals` in a configuration: ``resamples``, ``block``, ``level``, ``method`` and ``seed``.
    cell_size, crs, tile : int, CRS, str, optional
        Side of a cell in pixels; by default as in a run. Coordinate reference system; by default taken from the
        DataArrays. Blocks in metres need it. Name of the tile, which orders pixels of equal variance.

    Returns
    -------
    Dataset (..., number)
        `value`, `ci_low`, `ci_high` (in `units`), `ci_method` (the reason if limits are NaN), `n_effective`, `p_value`
        (NaN if not tested), with the coordinates `metric`, `bins`, `group` and `units`; and `n`, `n_cells` of the map.

    Raises
    ------
    DataError, ConfigError, ArgumentError
        If pixels have no position on a regular map, or for what arrays, settings and types cannot be.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals. Lahiri (2003), Resampling methods for dependent data.

    Examples
    --------
    >>> truth = np.random.default_rng(0).normal(size=(160, 160))
    >>> found = intervals(0.0, 1.0, truth, settings={"resamples": 100})
    >>> bool(found.ci_low[found.metric == "coverage_90"] < 0.9)
    True
    """
    bootstrap, options = _settings(settings), _options(levels, bins, reference_mean, thresholds)
    maps = map_of(mean, variance, truth, std=std, weights=weights, dim=dim, crs=crs)
    infer_each = partial(infer_map, maps, options=options, settings=bootstrap, cell_size=cell_size, tile=tile)
    return _dataset([*map(infer_each, np.ndindex(maps.shape))], maps, units_of(truth, units), bootstrap)


def _options(levels: Any, bins: Any, reference_mean: Any, thresholds: Any) -> MetricOptions:
    reference = None if reference_mean is None else as_number("reference_mean", reference_mean)
    own, exceeded = tuple(sorted(checked_levels(levels))), as_numbers("thresholds", thresholds)
    return MetricOptions(own, schemes_of(bins), reference, thresholds=exceeded)


def infer_map(
    maps: Maps,
    index: tuple[int, ...],
    options: MetricOptions,
    settings: Intervals,
    *,
    cell_size: int | None = None,
    tile: str = ARRAY,
) -> Inferred:
    """Return the metrics of a map and what is inferred of them, as for the whole of a run of a tile."""
    place, found = summarize_map(maps, index, options, cell_size=cell_size, tile=tile)
    total = RunningTotal(options.levels)
    total.add(found.whole)
    whole = total.summary()

    def cells_of(_: str) -> list[tuple[NDArray[np.int64], Any]]:
        """Return the places and sums of the cells of the only tile."""
        return [(np.arange(len(found.cells)), found.cells)]

    inference = infer(ALL, whole, options, places=[place], cells_of=cells_of, settings=settings)
    values = tuple(evaluate_metrics(whole, replace(options, effective=inference.effective)))
    return Inferred(whole, values, inference)


def summarize_map(
    maps: Maps, index: tuple[int, ...], options: MetricOptions, *, cell_size: int | None = None, tile: str = ARRAY
) -> tuple[TilePlace, VariableSummary]:
    """Return where one map is, and its summary with its cells, as a run of a tile sweeps it."""
    layers = {name: layer[index] for name, layer in maps.layers.items()}
    size = cell_size_for([maps.grid]) if cell_size is None else as_count("cell_size", cell_size, SMALLEST_CELL)
    tail = max([TAIL, *(scheme.count for scheme in options.schemes)])
    noise = layers.get("truth_variance", NO_TRUTH_VARIANCE)
    sweep = Settings(
        tuple(options.levels),
        size,
        tail,
        groups=GROUPS.by,
        thresholds=tuple(options.thresholds),
        added=pixel_statistics(truth_error="truth_variance" in layers),
    )
    pixels, weight = (layers["mean"], layers["variance"], layers["truth"]), layers.get("weights")
    found = summarize_grid(pixels, maps.grid, sweep, weight=weight, truth_variance=noise, tile=as_text("tile", tile))
    return TilePlace(tile, maps.grid, size), found


def map_of(
    mean: Any,
    variance: Any,
    truth: Any,
    *,
    std: Any,
    weights: Any,
    truth_variance: Any = None,
    dim: Dim = None,
    crs: Any = None,
) -> Maps:
    """Return the arrays as maps of floats; the variance includes the variance of the truth's own error."""
    if isinstance(mean, Summary | SummaryArray):
        raise DataError("a Summary does not keep the positions of pixels; give the arrays")
    layers = {"mean": mean, "variance": given_variance(variance, std, truth), "truth": truth}
    more = {"weights": weights, "truth_variance": truth_variance}
    maps = maps_of(layers | {name: layer for name, layer in more.items() if layer is not None}, dim, crs)
    floats = {name: _floats(name, layer) for name, layer in maps.layers.items()}
    if truth_variance is not None:
        floats["variance"] = with_truth_variance(floats["variance"], floats["truth_variance"])
    return replace(maps, layers=floats)


def _floats(name: str, layer: NDArray[Any]) -> NDArray[np.floating]:
    if layer.dtype.kind not in "biuf":
        raise DataError(f"{name} holds values of type {layer.dtype}; give numbers")
    return layer if layer.dtype == np.float32 and name not in EXACT else layer.astype(np.float64)


def _settings(settings: Intervals | Mapping[str, Any]) -> Intervals:
    if isinstance(settings, Intervals):
        return settings
    if not isinstance(settings, Mapping):
        raise wrong_type("settings", settings, "give a mapping, such as {'resamples': 200}")
    try:
        return Intervals.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"settings: {first['loc'][0]}: {first['msg']}") from None


def _dataset(found: Sequence[Inferred], maps: Maps, units: str, settings: Intervals) -> xr.Dataset:
    """Return all numbers of all maps, in the order of `maps`."""
    first = found[0].values
    columns = {name: np.stack([_column(one, name) for one in found]) for name in (*COLUMNS, "ci_method")}
    dims, number = (*maps.dims, "number"), len(first)
    variables = {
        name: (dims, values.reshape(*maps.shape, number), {"long_name": COLUMNS.get(name, "how limits are computed")})
        for name, values in columns.items()
    }
    counts = {
        "n": ([int(one.summary.n) for one in found], "number of pixels"),
        "n_cells": ([one.inference.blocks.cells if one.inference.blocks else 0 for one in found], "number of cells"),
    }
    variables |= {
        name: (maps.dims, np.reshape(values, maps.shape), {"long_name": text, "units": "1"})
        for name, (values, text) in counts.items()
    }
    labels = {
        "metric": [value.name for value in first],
        "bins": [value.bins for value in first],
        "group": [value.group for value in first],
        "units": [unit_of(value.metric, units) for value in first],
    }
    coords = maps.coords | {name: ("number", values) for name, values in labels.items()}
    return xr.Dataset(variables, coords, {"ci_level": settings.level, "resamples": settings.resamples})


def _column(one: Inferred, name: str) -> NDArray[Any]:
    """Return one column of a map, a value for each of its numbers."""
    if name == "value":
        return np.array([float(value.value) for value in one.values])
    if name == "p_value":
        tested = {(test.metric, test.bins): test.p_value for test in one.inference.tests}
        return np.array([tested.get((v.name, v.bins), np.nan) if not v.group else np.nan for v in one.values])
    own = {(each.metric, each.bins, each.group): each for each in one.inference.intervals}
    each = [own[value.name, value.bins, value.group] for value in one.values]
    if name == "ci_method":
        return np.array([interval.reason or interval.method for interval in each])
    field = {"ci_low": "low", "ci_high": "high", "n_effective": "effective"}[name]
    return np.array([np.nan if getattr(i, field) is None else getattr(i, field) for i in each], np.float64)
