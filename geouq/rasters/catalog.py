"""Which files make which tile: names matched to patterns and headers read, but no pixel."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from geouq.config import (
    Experiment,
    FormData,
    Problem,
    TileCut,
    TilePolygons,
    Variable,
    config_error,
    key_of,
    model_and_layer,
)
from geouq.core.distribution import Distribution
from geouq.core.errors import DataError, GeouqError
from geouq.core.failures import Failure
from geouq.core.grid import Grid, Window
from geouq.core.wording import counted
from geouq.rasters.alignment import on_one_grid
from geouq.rasters.areas import require_areas
from geouq.rasters.array_layout import TIME
from geouq.rasters.files import Stamp
from geouq.rasters.gdal import keep_gdal_options
from geouq.rasters.host_limit import requests_per_host
from geouq.rasters.layered import Layered, layered_models
from geouq.rasters.members import with_members
from geouq.rasters.mosaic import MosaicPart, squares_of
from geouq.rasters.predictions import Prediction, is_predicted
from geouq.rasters.raster import Raster, number_of_band
from geouq.rasters.sidecars import folders_listed_once
from geouq.rasters.source_file import stamp_of_source
from geouq.rasters.sources import Sources, sources_of
from geouq.rasters.steps import StepLabel, steps_of_tiles, with_selection
from geouq.rasters.stored import in_units_of, require_one_variable
from geouq.rasters.tile_names import (
    has_steps,
    is_of,
    missing_in_tables,
    problems_of_names,
    unknown_tiles,
    wanted_names,
)
from geouq.rasters.vector import read_polygons
from geouq.rasters.wiring import problems_of_wiring
from geouq.summary.form import GAUSSIAN, Form

if TYPE_CHECKING:
    from geouq.rasters.polygon_tiles import Outline
READERS = 8  # threads
RASTERS_OF_READER = 32  # GDAL and PROJ take as long to begin in a thread as to read so many headers
ORIGIN = ("mean", "truth")  # layers whose unit is that of a variable for which none is written
REMOTE_READERS = 64  # that wait for servers most of the time


@dataclass(frozen=True)
class Tile:
    """One tile: the rasters of its layers, all on one grid.

    variables : of several models, each variable of each, those of a variable together. predictions : by model, of a
    single one by an empty name. common : of several models, whether a pixel counts for all or for none. truth_variance,
    truth_std, truth_relative_std : the error of the truth itself, of which one may be given, and whose variance is
    added to the predicted one; numbers of it stand with the variables. weights : how
    much each pixel counts; None where all count alike, or by their area if `area_weighted`. covariates, classes : by
    whose values, or codes, coverage is grouped. labels : where along other dimensions of arrays it lies. outline : the
    polygons outside of which pixels are masked. notes : what the user should know of how its layers are read.
    alignments : how layers are brought to the grid of the mean, as the configuration says.
    """

    name: str
    grid: Grid
    variables: tuple[Variable, ...]
    predictions: Mapping[str, Prediction | Layered]
    truth: Raster
    mask: Raster | None = None
    truth_variance: Raster | None = None
    truth_std: Raster | None = None
    truth_relative_std: Raster | None = None
    weights: Raster | None = None
    area_weighted: bool = False
    covariates: Mapping[str, Raster] = field(default_factory=dict)
    classes: Mapping[str, Raster] = field(default_factory=dict)
    common: bool = True
    labels: tuple[StepLabel, ...] = ()
    outline: "Outline | None" = None
    notes: tuple[str, ...] = field(default=(), compare=False)
    alignments: tuple[str, ...] = field(default=(), compare=False)

    @property
    def weighted(self) -> bool:
        """Return whether pixels have weights."""
        return self.area_weighted or self.weights is not None

    @property
    def form(self) -> Form:
        """Return the form of the prediction."""
        (first, *_) = self.predictions.values()
        return first.form if isinstance(first, Layered) else GAUSSIAN

    @property
    def layers(self) -> int:
        """Return the number of layers of a variable in all predictions: 1 for mean and variance."""
        return sum(one.layers for one in self.predictions.values() if isinstance(one, Layered)) or 1

    @property
    def noisy_truth(self) -> bool:
        """Return whether the error of the truth is known."""
        noises = (self.truth_variance, self.truth_std, self.truth_relative_std)
        return any(noise is not None for noise in noises) or any(variable.noise for variable in self.variables)

    @property
    def given(self) -> dict[str, float]:
        """Level of the intervals that are given in the place of a variance, of each variable that has some."""
        levels = ((variable.name, self.predictions[variable.model].level) for variable in self.variables)
        return {name: level for name, level in levels if level is not None}

    @property
    def distributions(self) -> dict[str, Distribution]:
        """Return the distribution that mean and variance of each variable describe."""
        return {variable.name: variable.distributed for variable in self.variables}

    @cached_property
    def rasters(self) -> dict[str, Raster]:
        """Return the layers that are there, by their key in the configuration; names in that follow a dot."""
        shared = {
            "truth": self.truth,
            "truth_variance": self.truth_variance,
            "truth_std": self.truth_std,
            "truth_relative_std": self.truth_relative_std,
            "mask": self.mask,
            "weights": self.weights,
        }
        found = {key_of(model, layer): r for model, own in self.predictions.items() for layer, r in own.rasters.items()}
        found |= {layer: raster for layer, raster in shared.items() if raster}
        found |= {f"covariates.{name}": raster for name, raster in self.covariates.items()}
        return found | {f"classes.{name}": raster for name, raster in self.classes.items()}

    def together(self, variable: Variable) -> tuple[Variable, ...]:
        """Return the same variable of all models."""
        return tuple(other for other in self.variables if other.variable == variable.variable)

    def variables_of(self, layer: str) -> tuple[Variable, ...]:
        """Return the variables that a layer is read for: those of its model, or all."""
        return tuple(variable for variable in self.variables if _is_read_for(layer, variable))

    def bands_of(self, variable: Variable) -> dict[str, int]:
        """Return the number of the band that holds a variable in each layer that it is read from."""
        own = ((layer, raster) for layer, raster in self.rasters.items() if _is_read_for(layer, variable))
        return {layer: number_of_band(raster, layer, variable) for layer, raster in own}

    def bands_in(self, layer: str, variable: Variable) -> tuple[int, ...]:
        """Return the numbers of the bands that hold a variable in a layer: several, where its members are bands."""
        prediction, key = self.predictions[variable.model], model_and_layer(layer)[1]
        if isinstance(prediction, Layered) and key in prediction.rasters:
            return dict((*prediction.values(variable), *prediction.more(variable)))[key]
        return (number_of_band(self.rasters[layer], layer, variable),)

    def part(self, name: str, window: Window) -> Self:
        """Return the part of the tile that lies in a window, as a tile of that name."""
        rasters = {layer: raster.part(window) for layer, raster in self.rasters.items()}
        return replace(self.with_rasters(rasters), name=name, grid=self.grid.part(window))

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same tile with these layers, by their keys as in `rasters`."""
        predictions = {
            model: own.with_rasters({layer: rasters[key_of(model, layer)] for layer in own.rasters})
            for model, own in self.predictions.items()
        }
        return replace(self, predictions=predictions, **_shared_fields(rasters))


def _is_read_for(layer: str, variable: Variable) -> bool:
    return model_and_layer(layer)[0] == variable.model or not is_predicted(layer)


def _shared_fields(rasters: Mapping[str, Raster]) -> dict[str, Any]:
    """Return the layers that belong to no prediction, by the field of a Tile that holds each."""
    found: dict[str, Any] = {"covariates": {}, "classes": {}}
    for key, raster in rasters.items():
        if not is_predicted(key):
            layer, _, name = key.partition(".")
            if name:
                found[layer][name] = raster
            else:
                found[layer] = raster
    return found


@dataclass(frozen=True)
class Catalog:
    """The tiles that can be evaluated, those that cannot, and what the user should know.

    sources : files that name the files of tiles, by their keys in the configuration. alignments : how layers are
    brought to the grid of the mean, as the configuration says.
    """

    tiles: tuple[Tile, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    sources: Mapping[str, Stamp] = field(default_factory=dict)
    alignments: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Return the variables of every tile."""
        return self.tiles[0].variables if self.tiles else ()

    @property
    def form(self) -> Form:
        """Return the form of the predictions of every tile; mean and variance without a tile."""
        return self.tiles[0].form if self.tiles else GAUSSIAN


def find_tiles(experiment: Experiment, workers: int | None = None) -> Catalog:
    """Find the experiment's tiles and read their headers, no more than `workers` at a time if that is given.

    Raises ConfigError where a pattern matches no file, a tile that is named has no file at all, or the layers of every
    tile are wired wrongly. A tile that lacks a layer or has an unusable one becomes a Failure and does not stop the
    others.
    """
    if isinstance(experiment.data, FormData) and (problems := _problems_of_form(experiment, experiment.data)):
        raise config_error(problems)
    requests_per_host()  # one message for a wrong limit, before any tile fails
    experiment = with_members(experiment)
    sources = sources_of(experiment)
    steps = {name: step.tile for name, step in sources.times.steps.items()}
    if problems := sources.problems() + unknown_tiles(experiment, sources.names, steps.values()):
        raise config_error(problems)
    names, notes = wanted_names(experiment, sources.names, sources.tiles, steps)
    if not names:
        raise config_error([experiment.problem("tiles", message=f"there is no tile to evaluate; {'; '.join(notes)}")])
    if problems := missing_in_tables(experiment, names):
        raise config_error(problems)
    missing = {name: own for name in names if (own := sources.missing(name))}
    failures = [Failure(name, "catalog", "MissingLayer", "; ".join(own)) for name, own in missing.items()]
    complete = [name for name in names if name not in missing]
    variables = _SharedVariables(experiment)
    rasters = len(complete) * len(sources.patterns)
    readers = workers or readers_for(rasters, remote=sources.remote)
    with folders_listed_once(rasters), ThreadPoolExecutor(readers, initializer=keep_gdal_options) as pool:
        opened = list(pool.map(lambda name: _open_tile(name, sources, variables), complete))
    tiles = [tile for tile in opened if isinstance(tile, Tile)]
    failures += [failure for failure in opened if isinstance(failure, Failure)]
    tiles, wrong = _rightly_wired(tiles, experiment)
    if isinstance(experiment.tiles, TileCut | TilePolygons):
        tiles, of_parts = _cut(tiles, experiment, experiment.tiles)
        notes = [*notes, *of_parts]
    tiles, odd = _with_same_variables(tiles)
    if has_steps(experiment):
        tiles, without, left_out = steps_of_tiles(tiles, experiment, [own.tile for own in (*failures, *wrong, *odd)])
        failures, notes = [*failures, *without], [*notes, *left_out]
    failures = sorted([*failures, *wrong, *odd], key=lambda failure: failure.tile)
    notes = [*notes, *sources.notes, *dict.fromkeys(note for tile in tiles for note in tile.notes)]
    stamps = {**sources.stamps, **_stamp_of_polygons(experiment)}
    alignments = dict.fromkeys(alignment for tile in tiles for alignment in tile.alignments)
    return Catalog(tuple(tiles), tuple(failures), tuple(notes), stamps, tuple(alignments))


def _stamp_of_polygons(experiment: Experiment) -> dict[str, Stamp]:
    """Return the file of the polygons that are tiles, by its key, if it is one of this machine."""
    mosaic = experiment.tiles
    if not isinstance(mosaic, TilePolygons) or not Path(mosaic.polygons).is_file():
        return {}
    return {"tiles.polygons": stamp_of_source(mosaic.polygons)}


def _cut(tiles: list[Tile], experiment: Experiment, mosaic: TileCut | TilePolygons) -> tuple[list[Tile], list[str]]:
    """Return the parts of the mosaic, and notes; ConfigError where it cannot be cut so, or a part is not known."""
    try:
        parts, notes = _parts_of(tiles, mosaic)
    except DataError as error:
        key, _, message = str(error).partition(": ")
        steps = ("tiles", key) if key in type(mosaic).model_fields else ("tiles",)
        raise config_error([experiment.problem(*steps, message=message if len(steps) > 1 else str(error))]) from None
    if has_steps(experiment):  # tiles are named after steps
        return [
            replace(tile.part(_with_time(part.name, tile), part.window), outline=part.outline)
            for tile, part in parts
            if is_of(part.name, mosaic.names or (part.name,))
        ], notes
    if parts and (problems := problems_of_names(experiment, {part.name for _, part in parts})):
        raise config_error(problems)
    return [
        replace(tile.part(part.name, part.window), outline=part.outline)
        for tile, part in parts
        if part.name in (mosaic.names or (part.name,))
    ], notes


def _parts_of(tiles: list[Tile], mosaic: TileCut | TilePolygons) -> tuple[list[tuple[Tile, MosaicPart]], list[str]]:
    """Return the parts of each mosaic; each time has its own mosaic; raise DataError on failure."""
    if isinstance(mosaic, TileCut):
        return [(tile, MosaicPart(*square)) for tile in tiles for square in squares_of(tile.grid, mosaic)], []
    from geouq.rasters.polygon_tiles import polygon_tiles  # noqa: PLC0415  compiled code is loaded where it is needed

    polygons, notes, by_grid = read_polygons(mosaic), list[str](), dict[Grid, list[MosaicPart]]()
    for tile in tiles:
        if tile.grid not in by_grid:
            by_grid[tile.grid], own = polygon_tiles(polygons, tile.grid, mosaic.names)
            notes += own
    return [(tile, part) for tile in tiles for part in by_grid[tile.grid]], [*polygons.notes, *dict.fromkeys(notes)]


def _with_time(name: str, tile: Tile) -> str:
    """Return the name of a square of a mosaic, with the time of its file if there is one."""
    return "_".join([name, *(step.label.name for step in tile.labels)])


def readers_for(rasters: int, *, remote: bool) -> int:
    """Return how many threads read headers: more where files are on servers, fewer where there are few files.

    >>> readers_for(27, remote=False), readers_for(27, remote=True)
    (1, 64)
    """
    return REMOTE_READERS if remote else min(READERS, -(-rasters // RASTERS_OF_READER) or 1)


class _SharedVariables:
    """The variables of an experiment. Tiles whose bands are described alike share them, as tiles may be thousands."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._by_description: dict[tuple[tuple[str, int, str], ...], _Variables] = {}

    def described_by(self, raster: Raster) -> "_Variables":
        """Return the variables of the configuration, or as the bands of a raster describe them."""
        given = self._experiment.variables
        described = () if given else tuple(_described(raster))
        if described not in self._by_description:
            single = given or _variables_of(described, self._experiment)
            models = self._experiment.forms or self._experiment.predictions
            own = _Variables(single, tuple(variable.of_model(model) for variable in single for model in models))
            self._by_description.setdefault(described, own)  # another thread may have been first
        return self._by_description[described]


class _Variables(NamedTuple):
    """The variables of a tile, and those of each model, where those of a variable stand together."""

    single: tuple[Variable, ...]
    of_models: tuple[Variable, ...]


def _open_tile(name: str, sources: Sources, variables: _SharedVariables) -> Tile | Failure:
    try:
        rasters = {layer: sources.raster(layer, name) for layer in sources.patterns}
        step = sources.times.steps.get(name)
        selected = with_selection(rasters, sources.experiment.data.select, in_names=(TIME,) if step else ())
        tile = _tile_of(name, selected, sources.experiment, variables)
        return replace(tile, labels=(StepLabel(TIME, TIME, step.label),)) if step else tile
    except GeouqError as error:
        return Failure(name, "header", type(error).__name__, str(error))


def _tile_of(name: str, rasters: Mapping[str, Raster], experiment: Experiment, shared: _SharedVariables) -> Tile:
    """Return a tile of these layers; GeouqError where grids or bands do not fit together."""
    predictions, variables = _predictions_of(rasters, experiment, shared)
    mean = next(iter(predictions.values())).mean
    if experiment.data.area_weighted:
        require_areas(mean.grid, mean.path)
    tile = Tile(
        name,
        mean.grid,
        variables,
        predictions,
        area_weighted=experiment.data.area_weighted,
        common=experiment.compare_on == "common",
        **_shared_fields(rasters),
    )
    rasters, alignments = on_one_grid(tile.rasters, mean, experiment.settings, of_codes=_is_truth_of_codes(tile.form))
    tile = replace(tile.with_rasters(rasters), alignments=alignments)
    for layer, raster in rasters.items():
        _require_bands(layer, raster, tile.variables_of(layer))
        require_one_variable(layer, raster, tile.variables_of(layer))
    return _in_units(tile, experiment)


def _is_truth_of_codes(form: Form) -> bool:
    """Return whether the truth of a form holds codes of classes."""
    return bool(getattr(form, "truth_is_code", False))


def _in_units(tile: Tile, experiment: Experiment) -> Tile:
    """Return a tile whose layers are in the units of their variables."""
    layers = tile.rasters
    units = {
        one.name: one.units
        or next(
            (layers[layer].bands[n - 1].units for layer, n in tile.bands_of(one).items() if layer in _origin(one)), ""
        )
        for one in tile.variables
    }
    variables = {layer: tile.variables_of(layer) for layer in layers}
    rasters, notes = in_units_of(variables, layers, experiment.settings, units, tile.bands_in)
    same = all(rasters[layer] is raster for layer, raster in layers.items())
    of_arrays = (note for raster in layers.values() if raster.array for note in raster.array.notes)
    notes = (*tile.notes, *dict.fromkeys(of_arrays), *notes)
    return replace(tile if same else tile.with_rasters(rasters), notes=notes)


def _origin(variable: Variable) -> tuple[str, ...]:
    """Return the layers that give the unit of a variable without a configured unit."""
    return ORIGIN[1:] if variable.transform else ORIGIN


def _predictions_of(
    rasters: Mapping[str, Raster], experiment: Experiment, shared: _SharedVariables
) -> tuple[dict[str, Prediction | Layered], tuple[Variable, ...]]:
    """Return the prediction of each model, and the variables of the models."""
    if experiment.forms:
        variables = shared.described_by(rasters["truth"])
        bands = {v.band: number_of_band(rasters["truth"], "truth", v) for v in variables.single}
        return {**layered_models(experiment.forms, experiment.levels, rasters, bands)}, variables.of_models
    predictions: dict[str, Prediction | Layered] = {
        model: Prediction.of(own, {layer: rasters[key_of(model, layer)] for layer in own.predicted})
        for model, own in experiment.predictions.items()
    }
    mean = next(iter(predictions.values())).mean
    return predictions, shared.described_by(mean).of_models


def _described(raster: Raster) -> Iterator[tuple[str, int, str]]:
    """Yield name, band and unit of each variable, as the bands of a raster describe them."""
    return ((name, number, raster.bands[number - 1].units) for name, number in raster.variables.items())


def _variables_of(described: Iterable[tuple[str, int, str]], experiment: Experiment) -> tuple[Variable, ...]:
    """Return the variables of bands that are described so."""
    means = experiment.labels_mean or ()
    return tuple(
        Variable(
            name=name, band=number, units=units, reference_mean=means[number - 1] if number <= len(means) else None
        )
        for name, number, units in described
    )


def _require_bands(layer: str, raster: Raster, variables: tuple[Variable, ...]) -> None:
    _, own = model_and_layer(layer)
    if own in ("members", "member_variance", "quantiles", "probabilities"):  # their bands are not those of variables
        if odd := next((i for i, band in enumerate(raster.bands, 1) if band.dtype.startswith("complex")), 0):
            raise DataError(f"{raster.path}: band {odd} holds complex numbers; give real ones")
        return
    for variable in variables:
        number = number_of_band(raster, layer, variable)
        if number > len(raster.bands):
            place = f"{variable.variable} is band {number} of the {own}"
            raise DataError(f"{raster.path} has {counted(len(raster.bands), 'band')}, but {place}")
        if raster.bands[number - 1].dtype.startswith("complex"):
            raise DataError(f"{raster.path}: band {number} holds complex numbers; give real ones")


def _rightly_wired(tiles: list[Tile], experiment: Experiment) -> tuple[list[Tile], list[Failure]]:
    """Return the tiles whose layers are distinct bands in one order, and failures for the others.

    Raises ConfigError where no tile is left: then the configuration is at fault.
    """
    compared = experiment.band_descriptions == "compare"
    has_truth = not experiment.predictions_alone
    problems = {tile.name: list(problems_of_wiring(tile, descriptions=compared, truth=has_truth)) for tile in tiles}
    wrong = {name: own for name, own in problems.items() if own}
    if wrong and len(wrong) == len(tiles):
        first = next(iter(wrong.values()))
        raise config_error(experiment.problem_of_layer(layer, message) for layer, message in first)
    failures = [Failure(name, "catalog", "DataError", own[0][1]) for name, own in wrong.items()]
    return [tile for tile in tiles if tile.name not in wrong], failures


def _problems_of_form(experiment: Experiment, data: FormData) -> list[Problem]:
    """Return what is wrong with a form that another package defines."""
    if data.form is None:
        return []
    from geouq.forms import problems_of_form  # noqa: PLC0415  compiled code is loaded where such a form is read

    return [experiment.problem("data", *keys, message=message) for keys, message in problems_of_form(data)]


def _with_same_variables(tiles: list[Tile]) -> tuple[list[Tile], list[Failure]]:
    """Tiles whose bands name the variables of the first one, of as many members, and failures for the others."""
    same: list[Tile] = []
    odd: list[Tile] = []
    for tile in tiles:
        is_same = (tile.variables, tile.form) == (tiles[0].variables, tiles[0].form)
        (same if is_same else odd).append(tile)
    return same, [Failure(tile.name, "catalog", "DataError", _odd_bands(tile, tiles[0])) for tile in odd]


def _odd_bands(tile: Tile, first: Tile) -> str:
    found, expected = (", ".join(dict.fromkeys(v.variable for v in one.variables)) for one in (tile, first))
    paths = [next(iter(one.predictions.values())).mean.path for one in (tile, first)]
    one, other = tile.form, first.form
    if tile.variables == first.variables and one.key == other.key and one.layers != other.layers:
        what = one.layer_name
        return f"{paths[0]} has {one.layers} {what}, but {paths[1]} has {other.layers}; give as many in every tile"
    return (
        f"{paths[0]} describes its bands as {found}, but {paths[1]} as {expected}; "
        "name the variables in the configuration"
    )
