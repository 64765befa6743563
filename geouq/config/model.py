"""The models of a configuration, frozen, with validation errors in plain words."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    field_serializer,
    field_validator,
    model_validator,
)

from geouq.config.data import (
    CompareOn,
    Data,
    FormData,
    Models,
    PredictionFiles,
    SharedData,
    data_for_models,
    key_of,
    layers_given,
    model_and_layer,
    models_of,
    noise_given,
    predictions_read,
    problems_of_variables,
)
from geouq.config.layer_file import LayerFile, is_array
from geouq.config.regions import (
    ALL,
    Regions,
    Splits,
    names_from_files,
    problems_of,
    problems_of_splits,
    split_lists,
    tile_lists,
    written_names,
)
from geouq.config.sections import (
    GROUPS,
    NOT_RECALIBRATED,
    AreaMeans,
    Bins,
    BinScheme,
    Gate,
    Groups,
    Intervals,
    Level,
    Names,
    Output,
    Recalibration,
    Section,
    Text,
    VarianceRule,
    method_alone,
    problem_of_groups,
)
from geouq.config.tiles import (
    FileTiles,
    MosaicTiles,
    TileCut,
    TileIndex,
    TilePolygons,
    Tiles,
    asset_in,
    tiles_of,
)
from geouq.config.validation_errors import Problem, Steps, quoted, raise_each, suggestion
from geouq.config.values import (
    CALIBRATION_LEVELS,
    CELLS,
    TILE,
    TIME,
    VARIABLE,
    calibration_level,
    cell_side,
    experiment_name,
    known_drivers,
    problem_of_name,
    repeated,
    supported_version,
    unique,
)
from geouq.config.variables import (
    NORMAL_ALONE,
    Variable,
    VariableSettings,
    not_normal,
    problems_of_bands_of,
    settled_variables,
    with_labels,
)
from geouq.config.yaml_text import Written

LEVELS = (0.5, 0.8, 0.9, 0.95)

CalibrationLevel = Annotated[
    float,
    AfterValidator(calibration_level),
    WithJsonSchema({"type": "number", "minimum": 0.01, "maximum": 0.99}),  # 0.07 / 0.01 is no whole number
]
CalibrationWeights = Literal["equal", "counts"]


def _all_tiles(written: object) -> object:
    return None if written == "all" else tiles_of(written)


def _by_key(paths: Mapping[Steps, str]) -> dict[str, str]:
    return {".".join(map(str, steps)): path for steps, path in paths.items()}


def _names_in(info: ValidationInfo) -> Names | None:
    """Return the names of the tiles that were read before; None where there are none, or steps of them have others."""
    data = info.data.get("data")
    paths = [path for files in predictions_read(info.data) for path in files.predicted.values()]
    paths += data.written.values() if isinstance(data, FormData) else ()
    tiles = info.data.get("tiles")
    if any(TIME in path or is_array(path) for path in paths) or (isinstance(tiles, FileTiles) and tiles.time):
        return None
    return tiles.names if isinstance(tiles, Tiles) else tiles


def _schemes(written: object) -> object:
    return {"schemes": written} if isinstance(written, list | tuple) else written


def _none_or_settings(written: object, _: object) -> AreaMeans | Literal["none"]:
    return "none" if written == "none" else AreaMeans.model_validate(written)


def _groups(written: object) -> object:
    return {"by": written} if isinstance(written, list | tuple) else written


def _bands_from_files(bands: Any) -> str:
    number, others = bands
    return f"this set of bands ({others})" if others else f"band {number}"


class Experiment(Section):
    """A configuration: the rasters, variables and regions to evaluate, and what to write.

    Its fields are the keys of the configuration. `tiles` and `variables` are None if they follow from the rasters.
    Paths are absolute, also in names of GDAL; URLs stay as written. Two experiments are equal if all but their
    `source` is.
    """

    model_config = ConfigDict(title="geouq experiment")

    version: Annotated[int, AfterValidator(supported_version), WithJsonSchema({"const": 1})] = Field(
        description="version of the format: 1"
    )
    name: Annotated[Text, AfterValidator(experiment_name)] = Field(
        description="name of the experiment and of the folder of its results"
    )
    models: Annotated[
        Models | None,
        BeforeValidator(models_of, json_schema_input_type=list[Text] | dict[Text, PredictionFiles] | None),
    ] = Field(
        default=None,
        description="several predictions of the same truth: a list of names for {model} in the paths of `data`, or "
        "the rasters of each model by its name",
    )
    compare_on: CompareOn = Field(
        default="common",
        description="pixels on which models are evaluated: `common` (valid for all models) or `own`",
        examples=["own"],
    )
    data: Annotated[
        Data | FormData | SharedData, BeforeValidator(data_for_models, json_schema_input_type=Data | FormData)
    ] = Field(description="the rasters of a tile")
    reference_mean: str | None = Field(
        default=None,
        min_length=1,
        description="YAML file of training statistics with the list `labels_mean`, in band order",
    )
    labels_mean: tuple[float, ...] | None = Field(
        default=None,
        description="mean of the training labels of each band; default: those in `reference_mean`",
        examples=[[12.5, 140.0]],
    )
    variables: Annotated[
        tuple[Variable, ...] | None,
        BeforeValidator(settled_variables, json_schema_input_type=list[Text] | dict[str, VariableSettings | None]),
    ] = Field(
        default=None,
        description="names in band order, or settings of each variable by its name; default: the descriptions of the "
        "bands",
    )
    tiles: Annotated[
        TileCut | TilePolygons | FileTiles | Annotated[Names, Field(min_length=1)] | None,
        BeforeValidator(
            _all_tiles, json_schema_input_type=list[Text] | TileCut | TilePolygons | FileTiles | Literal["all"]
        ),
    ] = Field(
        default=None,
        description="names of the tiles; or where they come from: squares of a mosaic (`{grid: 4096}`), "
        "polygons of a mosaic, items of STAC, or an index; default: all tiles that have every layer",
    )
    regions: Regions = Field(
        default={},
        description="name: a list of tiles, or polygons, or classes of a raster, or a union or difference of other "
        "regions. Regions may overlap; `all` always exists",
    )
    splits: Splits | None = Field(
        default=None,
        description="tiles in and out of the distribution of the training data: names of tiles, or of regions that "
        "are lists of tiles. Both become regions, and `shift.csv` compares them",
    )
    training_tiles: Names = Field(
        default=(),
        description="names of the tiles that the models were trained on; a run warns if it evaluates one of them",
        examples=[["r0c0", "r0c1"]],
    )
    bins: Annotated[Bins, BeforeValidator(_schemes, json_schema_input_type=Bins | list[BinScheme])] = Field(
        default=Bins(), description="bins of the predicted variance: a list of schemes, or settings"
    )
    levels: Annotated[tuple[Level, ...], AfterValidator(unique)] = Field(
        default=LEVELS,
        min_length=1,
        validate_default=True,
        description="levels of the intervals, between 0 and 1; the level of a given interval is always added",
    )
    calibration_levels: Annotated[tuple[CalibrationLevel, ...], AfterValidator(unique)] = Field(
        default=CALIBRATION_LEVELS,
        min_length=1,
        description="levels of the calibration curve, multiples of 0.01; default: 0.05, 0.10 ... 0.95",
    )
    calibration_weights: CalibrationWeights = Field(
        default="equal",
        description="weights of these levels in `calibration_error`: `equal`, or `counts` of the pixels below each "
        "quantile",
    )
    groups: Annotated[Groups, BeforeValidator(_groups, json_schema_input_type=Groups | list[str])] = Field(
        default=GROUPS, description="groups of pixels for which coverage is reported: a list of properties, or settings"
    )
    ordering: bool = Field(
        default=False,
        description="report AUSE and the rank correlation of |error| and std; costs 3 to 4 % of the sweep",
    )
    intervals: Intervals = Field(default=Intervals(), description="settings of the intervals and tests of regions")
    aggregates: Annotated[
        AreaMeans | Literal["none"],
        WrapValidator(_none_or_settings, json_schema_input_type=AreaMeans | Literal["none"]),
    ] = Field(
        default=AreaMeans(),
        description="means and totals of regions, and how their errors are correlated; `none`: do not compute them",
    )
    recalibration: Annotated[
        Recalibration | None, BeforeValidator(method_alone, json_schema_input_type=Recalibration | str | None)
    ] = Field(
        default=None,
        description="recalibrate after the run: the name of a method, such as `best`, or settings; default: do not",
    )
    variance: VarianceRule = Field(default=VarianceRule(), description="treatment of invalid variances")
    cell_size: Annotated[int, AfterValidator(cell_side), WithJsonSchema({"enum": [16, 32, 64, 128, 256]})] | None = (
        Field(default=None, description="side of a cell in pixels; default: a side that suits the tiles", examples=[64])
    )
    drivers: Annotated[Names, AfterValidator(known_drivers), Field(min_length=1)] = Field(
        default=("GTiff",),
        description="GDAL names of the formats to read, such as `GTiff`, `VRT`, `netCDF`. A VRT can make GDAL read "
        "any file or address: allow it only if you trust its author",
    )
    band_descriptions: Literal["compare", "ignore"] = Field(
        default="compare",
        description="`compare`: refuse layers whose band descriptions or variable names contradict the order of the "
        "bands; `ignore`: use band numbers alone",
        examples=["ignore"],
    )
    fingerprint: Literal["modified", "checksum"] = Field(
        default="modified",
        description="how an unchanged file is recognised, so that its tile is not read again: `modified` (size and "
        "time of change; for files on servers, their header) or `checksum` (SHA-256 of every file in each"
        " run; local files only)",
    )
    output: Output = Field(default=Output(), description="what is written, and where")
    gates: tuple[Gate, ...] = Field(default=(), description="bounds that make a run fail")

    _source: Path = PrivateAttr(default=Path())
    _written: Written | None = PrivateAttr(default=None)
    _predictions_alone: bool = PrivateAttr(default=False)

    @property
    def predictions_alone(self) -> bool:
        """Return whether the predicted mean is in the place of the truth, so that nothing is evaluated."""
        return self._predictions_alone

    @property
    def source(self) -> Path:
        """Return the configuration file; an empty path when made in Python."""
        return self._source

    @property
    def output_directory(self) -> Path:
        """Return the folder of the results, relative to where geouq is started."""
        return Path(self.output.directory.replace("{name}", self.name))

    @property
    def tile_names(self) -> tuple[str, ...] | None:
        """Return the names of the tiles; None where the rasters give them."""
        return self.tiles.names if isinstance(self.tiles, Tiles) else self.tiles

    def of_tiles(self, names: tuple[str, ...]) -> Self:
        """Return the same experiment on some of its tiles."""
        source = self.tiles
        tiles = source.model_copy(update={"names": names}) if isinstance(source, Tiles) else names
        return self.model_copy(update={"tiles": tiles})

    @property
    def groupings(self) -> tuple[str, ...]:
        """Return the groups of the coverage: those in `groups`, and the auxiliary rasters."""
        return (*self.groups.by, *self.data.groupings)

    @property
    def predictions(self) -> dict[str, PredictionFiles]:
        """Return the rasters of the prediction of each model by its name, or of the only one by an empty name."""
        if isinstance(self.models, dict):
            return dict(self.models)
        if not isinstance(self.data, Data):
            return {}
        return {"": self.data} if self.models is None else {name: self.data.of_model(name) for name in self.models}

    @property
    def forms(self) -> dict[str, FormData]:
        """Return the same of predictions that are not given as mean and variance."""
        if not isinstance(self.data, FormData):
            return {}
        return {"": self.data} if self.models is None else {name: self.data.of_model(name) for name in self.models}

    @property
    def patterns(self) -> dict[str, str]:
        """Path pattern of each layer by its key, such as mean, models.ensemble.mean, truth, classes.cover."""
        given: dict[str, FormData | PredictionFiles] = {**self.predictions, **self.forms}
        found = {key_of(name, layer): p for name, own in given.items() for layer, p in own.predicted.items()}
        return found | self.data.shared

    @property
    def settings(self) -> dict[str, LayerFile]:
        """Return how the values of a layer are stored, of the layers for which that is written, by keys of patterns."""
        given: dict[str, FormData | PredictionFiles] = {**self.predictions, **self.forms}
        every = {key_of(name, layer): own.settings_of(layer) for name, own in given.items() for layer in own.predicted}
        every |= {layer: self.data.settings_of(layer) for layer in self.data.shared}
        return {layer: own for layer, own in every.items() if own is not None}

    @property
    def zone_layers(self) -> tuple[str, ...]:
        """Return the keys of the regions that are not lists of tiles."""
        lists = self.tile_lists
        return tuple(key for key in self.regions if key not in lists)

    @property
    def tile_lists(self) -> dict[str, tuple[str, ...]]:
        """Return those regions that are lists of tiles, and the two sides of the splits."""
        return tile_lists(self.regions) | split_lists(self.splits, self.regions)

    def source_of(self, layer: str) -> FileTiles | None:
        """Return the source that names the files of a layer, which is named as in `patterns`; None of a path."""
        if asset_in(self.patterns[layer]) is None:
            return None
        own = self.settings.get(layer)
        if own is not None and own.tiles is not None:
            return own.tiles
        return self.tiles if isinstance(self.tiles, FileTiles) else None

    @property
    def dated(self) -> tuple[str, ...]:
        """Return the layers with a file for each time: by {time} in the path, or as items or an index have times."""
        return tuple(layer for layer, pattern in self.patterns.items() if self._is_dated(layer, pattern))

    def _is_dated(self, layer: str, pattern: str) -> bool:
        source = self.source_of(layer) if layer in self.patterns else None
        return TIME in pattern if source is None else source.time is not None

    def problem_of_layer(self, layer: str, message: str) -> Problem:
        """Make a fault at the place of a layer, which is named as in `patterns`."""
        return self.problem(*self._steps_of(layer), message=message)

    def _steps_of(self, layer: str) -> Steps:
        model, own = model_and_layer(layer)
        if isinstance(self.models, dict) and model:
            return ("models", model, own)
        return ("data", *own.split(".", 1))

    def problem(self, *steps: str | int, message: str) -> Problem:
        """Return a problem at the place in the file that the keys and positions `steps` lead to."""
        return Problem(None, 0, steps, message) if self._written is None else self._written.problem(steps, message)

    def model_post_init(self, context: Mapping[str, Any] | None) -> None:
        """Remember the file that `context` names as its source, and what was written there."""
        if context is not None:
            self._source, self._written = context["source"], context["written"]
            self._predictions_alone = context.get("predictions_alone", False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Experiment) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]  # regions are a dict

    @field_validator("variables")
    @classmethod
    def _complete(cls, variables: tuple[Variable, ...], info: ValidationInfo) -> tuple[Variable, ...]:
        """Require distinct bands of variables, and reference means of these variables."""
        raise_each(repeated([variable.bands for variable in variables], _bands_from_files))
        raise_each(repeated([variable.name for variable in variables], quoted))
        raise_each(((i,), problem) for i, v in enumerate(variables) if (problem := problem_of_name(v.name)))
        raise_each(
            ((i,), f"truth_variance of {quoted(variable.name)}: {other} already; leave one out")
            for i, variable in enumerate(variables)
            for other in noise_given(info.data)
            if variable.noise is not None
        )
        raise_each(problems_of_variables(info.data.get("data"), variables, predictions_read(info.data)))
        if "data" in info.data and "models" in info.data:
            raise_each(problems_of_bands_of(variables, layers_given(info.data), [*(info.data["models"] or ())]))
        return with_labels(variables, info.data.get("labels_mean"), info.data.get("reference_mean"))

    @field_validator("levels", "calibration_levels")
    @classmethod
    def _sorted(cls, levels: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(sorted(levels))

    @field_validator("levels")
    @classmethod
    def _with_that_of_the_interval(cls, levels: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        """Add the level of the given intervals to the levels."""
        given = {own.level for own in predictions_read(info.data) if own.level is not None}
        return tuple(sorted({*levels, *given}))

    @field_validator("tiles")
    @classmethod
    def _that_paths_tell_apart(cls, tiles: Tiles | Names | None, info: ValidationInfo) -> Tiles | Names | None:
        paths = [path for files in predictions_read(info.data) for path in files.predicted.values()]
        if isinstance(tiles, MosaicTiles):
            if any(TILE in path for path in paths):
                raise ValueError(f"one mosaic is cut, so paths have no {TILE}; name the tiles, or leave tiles out")
        elif (
            isinstance(tiles, tuple)
            and len(tiles) > 1
            and paths
            and not any(TILE in p or TIME in p or is_array(p) for p in paths)
        ):
            raise ValueError(f"{len(tiles)} tiles are named, but no path has {TILE} where their names stand")
        return tiles

    @model_validator(mode="after")
    def _with_files(self) -> Self:
        """Require a path of each layer, or a source that names its files."""
        found = {
            layer: self._problem_of_files(layer, pattern) or self._problem_of_times(layer, pattern)
            for layer, pattern in self.patterns.items()
        }
        raise_each((self._steps_of(layer), problem) for layer, problem in found.items() if problem)
        if isinstance(self.tiles, FileTiles) and not any(self.source_of(layer) for layer in self.patterns):
            raise_each([(("tiles",), "no layer takes its files from here; write, such as mean: {band: 1}, no path")])
        return self

    def _problem_of_files(self, layer: str, pattern: str) -> str:
        asset, source = asset_in(pattern), self.source_of(layer)
        if VARIABLE in pattern and self.variables is None:
            return f"{VARIABLE} stands for the names of variables: write them, such as variables: [AGB, height]"
        if VARIABLE in pattern and self._is_of_many_bands(layer):
            return f"{VARIABLE} is not for files of several quantiles or classes; evaluate one variable a run"
        if asset is None and isinstance(self.tiles, FileTiles) and TILE not in pattern and TIME not in pattern:
            return f"needs {TILE} where the name of the tile stands"
        if asset is not None and source is None:
            return "missing key 'path': path of the raster; without one, tiles names items or an index"
        if asset == "" and source is not None and source.usual is None:
            return "missing key 'asset': name of the asset; or give that of all layers, as tiles.asset"
        return ""

    def _problem_of_times(self, layer: str, pattern: str) -> str:
        """Return what is wrong with {time} in the path of a layer, or with a path that lacks it."""
        if TIME in (asset_in(pattern) or ""):
            return f"the name of an asset cannot hold {TIME}, as the item has the time: {self._time_of_tiles()}"
        models = {name: files.predicted for name, files in self.predictions.items()}
        models |= {name: {**own.predicted, **_by_key(own.written)} for name, own in self.forms.items()}
        each = [{key_of(model, key): path for key, path in paths.items()} for model, paths in models.items()]
        for paths in each:
            if layer in paths:
                is_mixed = any(self._is_dated(*own) for own in paths.items())
                has_one = self._is_dated(layer, pattern) or is_array(pattern)
                return self._without_time(layer) if is_mixed and not has_one else ""
        has_times = any(self._is_dated(*own) or is_array(own[1]) for paths in each for own in paths.items())
        return "" if has_times or not self._is_dated(layer, pattern) else self._alone_with_time(pattern)

    def _alone_with_time(self, pattern: str) -> str:
        """Return what to do about a layer with times where the prediction has none."""
        if TIME not in pattern:
            return "its items or features have a time, but the prediction has none; give it one, or leave time out here"
        if isinstance(self.tiles, FileTiles):
            return f"has {TIME}, but the tiles have no time: {self._time_of_tiles()}"
        return f"has {TIME}, but the paths of the prediction have not; write it there too, or one of the times here"

    def _without_time(self, layer: str) -> str:
        """Return what a layer of a prediction needs to have a file for each time."""
        why = "as other layers of the prediction have it"
        if layer not in self.patterns or self.source_of(layer) is None:
            return f"needs {TIME} where the time stands, {why}"
        return f"needs a time of its items or features, {why}: write time below its tiles"

    def _time_of_tiles(self) -> str:
        """Return what says which time the files of a tile have."""
        if isinstance(self.tiles, TileIndex):
            return "write tiles.time, the attribute that holds the time of a feature"
        return "write tiles.time, the property that holds the time of an item, such as time: datetime"

    def _is_of_many_bands(self, layer: str) -> bool:
        """Return whether the bands of a layer are quantiles or classes."""
        key = model_and_layer(layer)[1].partition(".")[0]
        return key == "probabilities" or (key == "quantiles" and isinstance(self.data, FormData) and self.data.in_bands)

    @field_validator("regions")
    @classmethod
    def _of_known_tiles(cls, regions: Regions, info: ValidationInfo) -> Regions:
        raise_each(problems_of(regions, _names_in(info)))
        return regions

    @field_validator("splits")
    @classmethod
    def _of_tiles_apart(cls, splits: Splits | None, info: ValidationInfo) -> Splits | None:
        if splits is not None and "regions" in info.data:
            raise_each(problems_of_splits(splits, info.data["regions"], _names_in(info)))
        return splits

    @field_validator("output")
    @classmethod
    def _maps_that_there_are(cls, output: Output, info: ValidationInfo) -> Output:
        if "data" in info.data and set(output.maps) - {CELLS}:  # the records of maps are not loaded for nothing
            problems = resolve_name("geouq.maps.names:problems_of_maps")
            raise_each(problems(output.maps, info.data["data"], info.data.get("levels", ())))
        return output

    @field_validator("recalibration")
    @classmethod
    def _by_known_regions(cls, wanted: Recalibration | None, info: ValidationInfo) -> Recalibration | None:
        if wanted is not None and isinstance(info.data.get("data"), FormData):
            raise ValueError(NOT_RECALIBRATED)
        if wanted is not None and (name := not_normal(info.data.get("variables") or ())):
            raise ValueError(f"{quoted(name)} {NORMAL_ALONE}")
        if wanted is not None and "regions" in info.data:
            problem = problem_of_groups(wanted, info.data["regions"])
            if problem:
                raise ValueError(problem)
        return wanted

    @field_validator("gates")
    @classmethod
    def _of_known_names(cls, gates: tuple[Gate, ...], info: ValidationInfo) -> tuple[Gate, ...]:
        """Require that variables, regions and bins of the gates exist, as far as these are known and valid."""
        read = info.data
        known: dict[str, list[str]] = {}
        if read.get("variables"):
            known["variable"] = [variable.name for variable in read["variables"]]
        if "models" in read:
            known["model"] = [*(read["models"] or ())]
        if "regions" in read and not names_from_files(read["regions"]):
            known["region"] = [ALL, *written_names(read["regions"]), *(read.get("splits") or ())]
        if "bins" in read:
            known["bins"] = [scheme.name for scheme in read["bins"].schemes]
        raise_each(
            ((i, key), f"{quoted(name)} is not known{suggestion(name, names)}")
            for i, gate in enumerate(gates)
            for key, names in known.items()
            if (name := getattr(gate, key)) is not None and name not in names
        )
        return gates

    @field_serializer("variables")
    def _by_name(self, variables: tuple[Variable, ...] | None) -> dict[str, dict[str, Any]] | None:
        if variables is None:
            return None
        return {v.name: v.model_dump(exclude={"name", "model"}, exclude_none=True) for v in variables}
