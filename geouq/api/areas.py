"""Means and totals of areas of arrays, as `geouq run` computes them for rasters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geouq.aggregates import (
    Aggregates,
    AggregateSettings,
    Areas,
    aggregates_of,
    models_as_json,
    tables_of_aggregates,
    warning_of,
)
from geouq.api.intervals import map_of, summarize_map
from geouq.api.position import Maps, maps_of
from geouq.arrays.arguments import as_number, as_numbers, checked_levels, is_xarray
from geouq.arrays.datasets import units_of
from geouq.arrays.points import ARRAY
from geouq.arrays.validation import Dim
from geouq.config import Variable
from geouq.config.model import LEVELS
from geouq.config.regions import ALL
from geouq.core.errors import DataError
from geouq.inference import DEFAULTS
from geouq.metrics import MetricOptions
from geouq.rasters.ground import notes_of_pixel_sizes
from geouq.runs.store import Part
from geouq.summary import CellSummaries, TilePlace
from geouq.summary.statistic import Statistic
from geouq.tables.columns import COLUMNS
from geouq.tables.rows import Table, as_frame

COORDINATES = "coordinates"  # unit of distances without a CRS
NAMES = ("areas", "aggregates", "error_correlation", "error_correlogram")
CONSTANT = ["variable", "model"]  # columns that tell nothing of a single variable and a single model
Mask = NDArray[np.bool_]


class AreaTables(NamedTuple):
    """What is known of means of areas of a variable; columns as in the files of these names.

    Parameters
    ----------
    areas : DataFrame
        Mean and total of the whole and of each region, with std and interval.
    aggregates : DataFrame
        How well such intervals hold, by the size of the area.
    error_correlation, error_correlogram : DataFrame
        Parameters of the fitted correlation of errors, and the correlation by distance.
    models : dict
        Parameters of the fitted correlation by name: `mean`, and `mean > T` for the area above T; `mean (NAME)` of
        several models.
    notes : tuple of str
        What makes areas and totals wrong: pixels that differ in area on the ground, and have no weights.
    aggregate_comparison : DataFrame
        How models differ from the first one, by the size of the area; without rows for a single model.
    """

    areas: pd.DataFrame
    aggregates: pd.DataFrame
    error_correlation: pd.DataFrame
    error_correlogram: pd.DataFrame
    models: dict[str, Any]
    notes: tuple[str, ...]
    aggregate_comparison: pd.DataFrame


def evaluate_areas(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    truth_variance: Any = None,
    regions: Any = None,
    dim: Dim = None,
    level: float = 0.9,
    levels: float | Sequence[float] = LEVELS,
    thresholds: float | Sequence[float] = (),
    units: str | None = None,
    cell_size: int | None = None,
    crs: Any = None,
) -> AreaTables:
    """Return means and totals of areas with their uncertainty, as a run whose tiles are these maps.

    Parameters
    ----------
    mean, variance, truth, std, weights : array (..., rows, columns)
        As in `geouq.intervals`. Where coordinates are angles, give the areas of the pixels as weights. Of several
        models, `mean` is a mapping of their names to arrays, and so is `variance` or `std`, unless it is the same for
        all. The pixels that count for all models are evaluated. Tables then have a column `model`.
    truth_variance : array (..., rows, columns), optional
        Variance of the truth's own error. It is removed from the correlation of errors and from the std of means.
    regions : mapping of str to bool array, or array of labels, optional
        Pixels of each region, whose masks may overlap; or one label a pixel, where 0, NaN and "" are no region.
    dim : two names of dimensions or axes, optional
        Those of the map; needed if there are more than two. Every other place is a tile, such as a date.
    level : float
        Of the intervals of means.
    levels : float or sequence of float
        Of the intervals whose coverage `aggregates` tells.
    thresholds : float or sequence of float
        Values; the area in which the truth exceeds each of them is evaluated too.
    units : str, optional
        Of the mean; by default those of `truth`. With a unit per area, such as Mg/ha, totals are in Mg.
    cell_size, crs : int, CRS, optional
        As in `geouq.intervals`.

    Returns
    -------
    AreaTables
        Tables, and the fitted correlation of errors. Without a CRS, distances are in the unit of the coordinates, or
        in pixels, and areas are not known.

    Raises
    ------
    DataError, ConfigError, ArgumentError
        If pixels have no position on a regular map, if regions do not match it, or for what arguments cannot be.

    References
    ----------
    Wadoux and Heuvelink (2023), Uncertainty of spatial averages and totals of natural resource maps.

    Examples
    --------
    >>> truth = np.random.default_rng(0).normal(size=(160, 160))
    >>> west = np.arange(160) < 80
    >>> found = evaluate_areas(0.0, 1.0, truth, regions={"west": np.broadcast_to(west, (160, 160))})
    >>> found.areas.name.tolist(), bool(abs(found.areas["std"][0] * 160 - 1) < 0.2)
    (['all', 'west'], True)
    >>> found = evaluate_areas({"old": 0.0, "new": truth / 2}, 1.0, truth)
    >>> rmse = found.aggregate_comparison.query("metric == 'aggregate_rmse'")
    >>> rmse.better.tolist()
    ['new', 'new', 'new']
    """
    exceeded, own = as_numbers("thresholds", thresholds), tuple(sorted(checked_levels(levels)))
    (level,) = checked_levels(as_number("level", level), "level")
    layers = {"weights": weights, "truth_variance": truth_variance}
    maps = {
        model: map_of(one, variances, truth, std=stds, dim=dim, crs=crs, **layers)
        for model, (one, variances, stds) in _models(mean, variance, std).items()
    }
    first = next(iter(maps.values()))
    masks = [(name, _on_map(mask, truth, dim, first)) for name, mask in _regions(regions)]
    options = MetricOptions(own, (), thresholds=exceeded)
    variable = Variable(name="mean", band=1, units=units_of(truth, units), thresholds=exceeded)
    variables = [variable.of_model(model) for model in maps]
    settings = AggregateSettings(own, level, DEFAULTS.level, {one.name: exceeded for one in variables})
    found = {
        one.name: aggregates_of(_summarized(own_maps, masks, options, cell_size).areas(), settings, one.name)
        for one, own_maps in zip(variables, _on_common_pixels(list(maps.values())), strict=True)
    }
    notes = [
        *notes_of_pixel_sizes([first.grid], weighted=weights is not None),
        *(warning_of(one, wrong) for one in variables if (wrong := found[one.name].overstated)),
    ]
    return _tables(found, variables, own, notes, has_crs=bool(first.grid.crs))


def _models(mean: Any, variance: Any, std: Any) -> dict[str, tuple[Any, Any, Any]]:
    """Return mean, variance and std of each model by its name; the name of a single one is empty."""
    if not isinstance(mean, Mapping):
        for name, given in (("variance", variance), ("std", std)):
            if isinstance(given, Mapping):
                raise DataError(f"{name} is of several models and mean is not; give both as mappings of their names")
        return {"": (mean, variance, std)}
    for name in mean:
        if not isinstance(name, str) or not name:
            raise DataError(f"mean: {name!r} cannot name a model; give text")
    for name, given in (("variance", variance), ("std", std)):
        if isinstance(given, Mapping) and set(given) != set(mean):
            raise DataError(f"{name} is of the models {', '.join(map(str, given))}, and mean of {', '.join(mean)}")
    return {model: (one, *(_of_model(given, model) for given in (variance, std))) for model, one in mean.items()}


def _of_model(given: Any, model: str) -> Any:
    return given[model] if isinstance(given, Mapping) else given


def _on_common_pixels(maps: Sequence[Maps]) -> list[Maps]:
    """Return the maps of models, without the truth of pixels that do not count for all of them."""
    if len(maps) == 1:
        return list(maps)
    first = maps[0]
    if any((own.grid, own.layers["truth"].shape) != (first.grid, first.layers["truth"].shape) for own in maps):
        raise DataError("the models are on different maps; give one shape and the same coordinates")
    counts = np.logical_and.reduce([_counts(own) for own in maps])
    return [_within(counts, own) for own in maps]


def _counts(maps: Maps) -> Mask:
    """Return which pixels count; negative variances do, so that they are refused."""
    mean, variance = maps.layers["mean"], maps.layers["variance"]
    return np.isfinite(mean) & np.isfinite(variance) & (variance != 0)


def _tables(
    found: Mapping[str, Aggregates],
    variables: Sequence[Variable],
    levels: Sequence[float],
    notes: Sequence[str],
    *,
    has_crs: bool,
) -> AreaTables:
    """Return the tables of all models; has_crs : whether distances are in metres."""
    from geouq.comparison.areas import BY_AREAS, models_by_areas  # noqa: PLC0415  it imports figures

    tables = tables_of_aggregates(found, variables, DEFAULTS.level)
    tables |= models_by_areas(found, variables, levels, DEFAULTS.level)
    constant = CONSTANT if len(variables) == 1 and not variables[0].model else CONSTANT[:1]
    frames = {
        name: as_frame(tables.get(name, Table(COLUMNS[name], ()))).drop(columns=constant) for name in (*NAMES, BY_AREAS)
    }
    models = models_as_json(found, variables)
    if not has_crs:
        frames["error_correlation"] = frames["error_correlation"].replace({"units": {"m": COORDINATES}})
        models = {name: model | {"distance": COORDINATES} for name, model in models.items()}
    return AreaTables(**frames, models=models, notes=tuple(notes))


@dataclass(frozen=True)
class _Held:
    """Cells of maps and of their regions. places : of the maps. cells : by the name of the tile and of the region."""

    places: Sequence[TilePlace]
    cells: Mapping[tuple[str, str], CellSummaries]

    def part(self, tile: str) -> Part:
        """Return all of a tile."""
        return Part(tile, Path())

    def keeps(self, name: str) -> bool:
        """Return whether the cells have a statistic."""
        return all(name in own.statistics for own in self.cells.values())

    def statistics_of(
        self,
        part: Part,
        variable: str,  # noqa: ARG002  there is one
        names: Sequence[str],
    ) -> tuple[NDArray[np.int64], dict[str, Statistic]]:
        """Return the numbers of the cells of a part, and some of their statistics."""
        own = self.cells[part.tile, part.zone]
        return np.arange(len(own)), {name: own.statistics[name] for name in names}

    def areas(self) -> Areas:
        """Return the areas of the maps."""
        zones: dict[str, list[Part]] = {}
        for tile, zone in self.cells:
            if zone:
                zones.setdefault(zone, []).append(Part(tile, Path(), zone))
        return Areas(self, self.places, {}, zones)


def _summarized(maps: Maps, masks: Iterable[tuple[str, Mask]], options: MetricOptions, cell_size: int | None) -> _Held:
    """Return the cells of each map, and of each region in it that has pixels."""
    tiles = {f"{ARRAY}{k}": index for k, index in enumerate(np.ndindex(maps.shape))}
    found = {tile: summarize_map(maps, index, options, cell_size=cell_size, tile=tile) for tile, index in tiles.items()}
    cells = {(tile, ""): own.cells for tile, (_, own) in found.items()}
    for name, mask in masks:
        inside = _within(mask, maps)
        for tile, index in tiles.items():
            own = summarize_map(inside, index, options, cell_size=cell_size, tile=tile)[1]
            if own.whole.n:
                cells[tile, name] = own.cells
    return _Held([place for place, _ in found.values()], cells)


def _regions(regions: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name of each region, and whether each pixel belongs to it."""
    if regions is None:
        return
    if isinstance(regions, Mapping):
        yield from ((_checked(name), mask) for name, mask in regions.items())
        return
    labels = regions if is_xarray(regions) else np.ma.filled(np.ma.asarray(regions), 0)
    for label in np.unique(np.asarray(labels)).tolist():
        if label and label == label:  # noqa: PLR0124  is it NaN
            yield _checked(f"{label:g}" if isinstance(label, float) else str(label)), labels == label


def _checked(name: Any) -> str:
    """Return the name of a region; raise DataError for what cannot be one."""
    if not isinstance(name, str) or name in ("", ALL):
        raise DataError(f"regions: {name!r} cannot name a region; give text other than {ALL!r}")
    return name


def _on_map(mask: Any, truth: Any, dim: Dim, maps: Maps) -> Mask:
    """Return which pixels belong to a region, bool, so that it can be broadcast to the layers of the maps."""
    if is_xarray(truth):
        mask = maps_of({"truth": truth, "regions": mask}, dim).layers["regions"]
    elif np.shape(mask) not in (maps.grid.shape, maps.layers["truth"].shape):
        raise DataError(f"regions: a mask has the shape {np.shape(mask)}; give {maps.grid.shape}, as the map has")
    return np.asarray(mask).astype(np.bool_)


def _within(mask: Mask, maps: Maps) -> Maps:
    """Return the maps with the truth missing outside of a mask."""
    truth = maps.layers["truth"]
    return replace(maps, layers=maps.layers | {"truth": np.where(mask, truth, truth.dtype.type(np.nan))})
