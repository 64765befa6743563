"""The layers of a tile: which rasters hold the prediction of each model, the truth, and what goes with them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from geouq.config.forms import BandOrder, FormFiles
from geouq.config.layer_file import Layers, Selected, paths_written, selected
from geouq.config.sections import Level, Predicted, Text
from geouq.config.validation_errors import Steps, quoted, raise_each
from geouq.config.values import (
    AREA,
    FORM_KEYS,
    MODEL,
    TILE,
    grouping_name,
    model_name,
    repeated,
    tile_pattern,
    weights_pattern,
)
from geouq.config.variables import Variable

CompareOn = Literal["common", "own"]
SPREADS = (("variance",), ("std",), ("relative_std",), ("lower", "upper", "level"))  # the ways to give the uncertainty
OF_LAYERS = r"(?:members|member_variance|layers)\.[^.]+|quantiles\.[\d.e-]+"
KEY = re.compile(rf"models\.(?P<model>.+?)\.(?P<layer>{OF_LAYERS}|\w+)")
H = TypeVar("H", str, float)
BY_NAMES = (
    "models that are listed with their rasters give mean and variance; write `models: [their names]`, and {model} in "
    "the paths of data"
)
Pattern = Annotated[str, Field(min_length=1), AfterValidator(tile_pattern)]
Weights = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(weights_pattern),
    WithJsonSchema({"anyOf": [{"const": AREA}, {"type": "string", "pattern": "[{}./]"}]}),
]
Named = dict[Annotated[Text, AfterValidator(grouping_name)], Pattern]
GROUPINGS = ("covariates", "classes")  # keys below which rasters have names
NOISES = ("truth_variance", "truth_std", "truth_relative_std")  # the ways to give the error of the truth
NOT_ADDED = "the error of the truth is added to a predicted variance; leave it out, or give mean and variance"
TWO_FORMS = "the prediction is given in another form already; leave this out"
NO_INTERVAL = "an interval is taken as it was given, so there is nothing to add this to; give variance or std"


class PredictionFiles(Layers):
    """The rasters of one model's prediction."""

    mean: Predicted = Field(description="predicted mean: a path with {tile}")
    variance: Predicted | None = Field(
        default=None, description="predicted variance: a path with {tile}. Give this, or `std`, or an interval"
    )
    std: Predicted | None = Field(default=None, description="predicted standard deviation: a path with {tile}")
    relative_std: Predicted | None = Field(
        default=None,
        description="predicted standard deviation relative to the mean: a path with {tile}. Its unit tells whether it "
        'is a share or in per cent: `{path: ..., units: "%"}`, or `units: "1"`',
    )
    lower: Predicted | None = Field(
        default=None, description="lower end of a predicted interval: a path with {tile}; needs `upper` and `level`"
    )
    upper: Predicted | None = Field(default=None, description="upper end of that interval: a path with {tile}")
    level: Level | None = Field(
        default=None,
        validate_default=True,
        description="level of that interval, such as 0.9. Its std is its width divided by the width of a standard "
        "normal interval of this level",
    )

    @property
    def spread(self) -> Literal["variance", "std", "relative_std", "interval"]:
        """Return how the uncertainty of the prediction is given."""
        if self.variance is not None:
            return "variance"
        if self.std is not None:
            return "std"
        return "interval" if self.relative_std is None else "relative_std"

    @property
    def predicted(self) -> dict[str, str]:
        """Return the path pattern of each layer that is given."""
        layers = {layer: getattr(self, layer) for layer in PredictionFiles.model_fields}
        return {layer: text for layer, text in layers.items() if isinstance(text, str)}

    def of_model(self, name: str) -> Self:
        """Return the rasters of one model, where its name stands for {model}."""
        return self.model_copy(update={layer: text.replace(MODEL, name) for layer, text in self.predicted.items()})

    @field_validator("std", "relative_std", "lower", "upper", "level")
    @classmethod
    def _instead_of_the_others(cls, given: H | None, info: ValidationInfo) -> H | None:
        """Require that the uncertainty is given once."""
        own = next(layers for layers in SPREADS if info.field_name in layers)
        for other in (layer for layers in SPREADS if layers != own for layer in layers):
            if given is not None and info.data.get(other) is not None:
                raise ValueError(f"give either {other} or {info.field_name}, not both")
        return given

    @field_validator("level")
    @classmethod
    def _whole(cls, level: float | None, info: ValidationInfo) -> float | None:
        """Require an uncertainty, and an interval with both ends and its level."""
        read = {"level": level, **info.data}
        if any(layer not in read for layers in SPREADS for layer in layers):
            return level
        given = [layer for layers in SPREADS for layer in layers if read[layer] is not None]
        if not given:
            raise ValueError("missing key 'variance' (or 'std', or 'relative_std', or 'lower', 'upper' and 'level')")
        missing = [layer for layer in SPREADS[-1] if read[layer] is None]
        if given[0] in SPREADS[-1] and missing:
            raise ValueError(f"missing key '{missing[0]}': an interval needs lower, upper and level")
        return level


Models = tuple[str, ...] | dict[str, PredictionFiles]
AT_FIRST_USE = ConfigDict(defer_build=True)  # most configurations list no models
_NAMES = TypeAdapter(tuple[Annotated[Text, AfterValidator(model_name)], ...], config=AT_FIRST_USE)
_OWN_FILES = TypeAdapter(dict[Annotated[Text, AfterValidator(model_name)], PredictionFiles], config=AT_FIRST_USE)


def models_of(written: object) -> object:
    """Return the models from a list of names, or from a mapping of names to their rasters."""
    if written is None:
        return None
    found: Models
    if isinstance(written, Mapping):
        raise_each(_of_forms(written))
        found = _OWN_FILES.validate_python(written)
        twice: list[tuple[Steps, str]] = [
            ((name,), f"{quoted(name)} differs from another model in the case of letters alone")
            for place, name in enumerate(found)
            if name.casefold() in [other.casefold() for other in list(found)[:place]]
        ]
        raise_each(twice)
    elif isinstance(written, list | tuple):
        found = _NAMES.validate_python(written)
        raise_each(repeated([name.casefold() for name in found], quoted))
    else:
        raise ValueError("needs a list of names for {model}, or a mapping of names to the rasters of each")  # noqa: TRY004  reported as a validation error
    if not found:
        raise ValueError("names no model; leave the key out where there is one prediction")
    return found


def _of_forms(written: Mapping[Any, Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the keys of ensembles, quantiles and probabilities below a model."""
    for name, files in written.items():
        yield from (((str(name), key), BY_NAMES) for key in FORM_KEYS if isinstance(files, Mapping) and key in files)


def key_of(model: str, layer: str) -> str:
    """Return what a layer of a prediction is called: as in the configuration, below its model where there are several.

    >>> key_of("", "mean"), key_of("v1.2", "mean")
    ('mean', 'models.v1.2.mean')
    """
    return f"models.{model}.{layer}" if model else layer


def model_and_layer(key: str) -> tuple[str, str]:
    """Return the model of such a key, empty for the only one, and the layer.

    >>> model_and_layer("models.v1.2.mean"), model_and_layer("mean")
    (('v1.2', 'mean'), ('', 'mean'))
    >>> model_and_layer("models.v1.2.quantiles.0.05")
    ('v1.2', 'quantiles.0.05')
    """
    found = KEY.fullmatch(key)
    return (found["model"], found["layer"]) if found else ("", key)


class SharedData(Layers):
    """The layers of a tile that all models have in common."""

    truth: Pattern = Field(description="truth (reference values): a path with {tile}")
    truth_variance: Pattern | None = Field(
        default=None, description="variance of the error of the truth itself: a path with {tile}"
    )
    truth_std: Pattern | None = Field(
        default=None, description="std of the error of the truth itself: a path with {tile}"
    )
    truth_relative_std: Pattern | None = Field(
        default=None,
        description="std of the error of the truth itself relative to the truth: a path with {tile}, with its unit, as "
        "in `relative_std`",
        examples=["truth/{tile}_relative_std.tif"],
    )
    mask: Pattern | None = Field(default=None, description="pixels with 0 or nodata do not count: a path with {tile}")
    weights: Weights | None = Field(
        default=None,
        description="weight of each pixel: `area` (its area on the ground), or a path with {tile}; default: equal "
        "weights",
    )
    covariates: Named = Field(
        default={},
        description="name: raster, a path with {tile}. Coverage is reported in groups of pixels by its values, such "
        "as the slope",
    )
    classes: Named = Field(
        default={},
        description="name: raster of codes from 0 to 65535, a path with {tile}. Coverage is reported in each class",
    )

    select: Annotated[dict[str, Selected] | None, BeforeValidator(selected)] = Field(
        default=None,
        description="for arrays with dimensions other than those of the map, and for `time` of paths with {time}: the "
        "labels to evaluate, in all layers that have the dimension, written as in `select` of a layer; default: each "
        "label is a tile",
    )

    @property
    def groupings(self) -> tuple[str, ...]:
        """Return the names of the rasters that group the coverage."""
        return (*self.covariates, *self.classes)

    @property
    def area_weighted(self) -> bool:
        """Return whether pixels count by their area."""
        return self.weights == AREA

    @property
    def shared(self) -> dict[str, str]:
        """Path pattern of each layer that is given as rasters; those with names follow a dot, as in classes.cover."""
        layers = {layer: getattr(self, layer) for layer in SharedData.model_fields}
        own = {layer: text for layer, text in layers.items() if isinstance(text, str) and text != AREA}
        return own | {f"{key}.{name}": text for key in GROUPINGS for name, text in getattr(self, key).items()}

    @field_validator("classes")
    @classmethod
    def _other_names(cls, classes: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        both: list[tuple[Steps, str]] = [
            ((name,), "a covariate has this name; choose another one")
            for name in classes
            if name in info.data.get("covariates", {})
        ]
        raise_each(both)
        return classes

    @field_validator(*NOISES)
    @classmethod
    def _not_with_intervals(cls, pattern: str | None, info: ValidationInfo) -> str | None:
        if pattern is not None and info.data.get("lower") is not None:
            raise ValueError(NO_INTERVAL)
        return pattern

    @field_validator(*NOISES)
    @classmethod
    def _once(cls, pattern: str | None, info: ValidationInfo) -> str | None:
        """Require that the error of the truth is given once."""
        others = (key for key in NOISES if key != info.field_name and info.data.get(key) is not None)
        if pattern is not None and (other := next(others, "")):
            raise ValueError(f"give either {other} or {info.field_name}, not both")
        return pattern


class Data(SharedData, PredictionFiles):
    """The rasters of a tile: a prediction with a mean and an uncertainty, and the truth."""


class FormData(SharedData, FormFiles):
    """The rasters of a tile whose prediction is an ensemble, a variance in two parts, quantiles or probabilities."""

    @field_validator("band_order")
    @classmethod
    def _whole(cls, order: BandOrder, info: ValidationInfo) -> BandOrder:
        """Require classes for probabilities."""
        read = info.data
        if read.get("probabilities") is not None and "class_codes" in read and read["class_codes"] is None:
            raise ValueError("missing key 'class_codes': the name of each class and its code in the truth")
        return order

    @field_validator(*NOISES)
    @classmethod
    def _of_a_variance(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            raise ValueError(NOT_ADDED)
        return pattern

    @field_validator("covariates", "classes")
    @classmethod
    def _of_coverage(cls, rasters: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        read = info.data
        if rasters and (read.get("quantiles") is not None or read.get("probabilities") is not None):
            raise ValueError("coverage by groups needs a prediction with a variance; leave it out")
        return rasters


def data_for_models(written: object, info: ValidationInfo) -> object:
    """Layers of a tile as the models, which were read before them, need them: with the prediction, or without."""
    if isinstance(written, SharedData) or not isinstance(written, Mapping):
        return written
    models = info.data.get("models")
    problems = list(_problems_of_tiles(written, models if isinstance(models, Mapping) else {}))
    try:
        found = _layers_for_models(written, info)
    except ValidationError as error:
        raise_each([*problems, *((problem["loc"], problem["msg"]) for problem in error.errors())])
        raise
    raise_each(problems)
    return found


def _layers_for_models(written: Mapping[str, Any], info: ValidationInfo) -> SharedData:
    if "models" not in info.data:  # where they are faulty, they do not tell what data needs of the prediction
        return _without_prediction(written, {})
    models = info.data["models"]
    if isinstance(models, Mapping):
        return _without_prediction(written, models)
    if any(written.get(key) is not None for key in (*FORM_KEYS, "variance_epistemic")):
        other = [key for key in PredictionFiles.model_fields if key != "mean" or not _is_in_parts(written)]
        raise_each(((key,), TWO_FORMS) for key in other if written.get(key) is not None)
        form = FormData.model_validate(written)
        raise_each(_placeholders(form.written, several=models is not None))
        return form
    found = Data.model_validate(written)
    raise_each(_placeholders({(layer,): path for layer, path in found.predicted.items()}, several=models is not None))
    return found


def _problems_of_tiles(
    written: Mapping[str, Any], models: Mapping[str, PredictionFiles]
) -> Iterator[tuple[Steps, str]]:
    """Yield each path that lacks {tile}, where others have it."""
    paths = dict(paths_written(written))
    others = [path for files in models.values() for path in files.predicted.values()]
    if not any(TILE in path for path in (*paths.values(), *others)):
        return
    for steps, path in paths.items():
        if TILE not in path:
            shown = path if "://" in path else PurePath(path).name
            yield steps, f"{quoted(shown)} needs {TILE} where the name of the tile stands"
    if paths and all(TILE not in path for path in others) and others:
        yield next(iter(paths)), f"has {TILE}, but the paths of models have not; write it in all paths, or in none"


def _is_in_parts(written: Mapping[str, Any]) -> bool:
    """Return whether a part of the variance is given, which needs a mean."""
    return any(written.get(key) is not None for key in ("variance_aleatoric", "variance_epistemic"))


def _without_prediction(written: Mapping[str, Any], models: Mapping[str, PredictionFiles]) -> SharedData:
    """Return the auxiliary layers, with all problems."""
    problems: list[tuple[Steps, str]] = [
        ((key,), "models gives the rasters of each prediction; write this key below a model")
        for key in written
        if models and key in PredictionFiles.model_fields and written[key] is not None
    ]
    problems += [((key,), BY_NAMES) for key in FORM_KEYS if models and written.get(key) is not None]
    own = (*PredictionFiles.model_fields, *FormFiles.model_fields)
    rest = {key: value for key, value in written.items() if key not in own}
    try:
        found = SharedData.model_validate(rest)
    except ValidationError as error:
        problems += [(problem["loc"], problem["msg"]) for problem in error.errors()]
    else:
        given = [name for name, files in models.items() if files.lower is not None]
        noises = [key for key in NOISES if getattr(found, key) is not None]
        problems += [((key,), f"model {name}: {NO_INTERVAL}") for key in noises for name in given]
    raise_each(problems)
    return found


def _placeholders(paths: Mapping[Steps, str], *, several: bool) -> Iterator[tuple[Steps, str]]:
    """Yield the paths of a prediction that hold {model} without need, or lack it."""
    for steps, path in paths.items():
        if several and MODEL not in path:
            yield steps, f"{quoted(path)} needs {MODEL} where the name of the model stands"
        elif not several and MODEL in path:
            yield steps, f"{quoted(path)}: {MODEL} needs a list of the models' names, such as models: [a, b]"


def predictions_read(read: Mapping[str, Any]) -> list[PredictionFiles]:
    """Return the predictions among keys that are read already and free of faults."""
    models, data = read.get("models"), read.get("data")
    if isinstance(models, dict):
        return list(models.values())
    return [data] if isinstance(data, Data) else []


def _problems_of_distribution(
    variable: Variable, data: object, predictions: Sequence[PredictionFiles]
) -> Iterator[str]:
    """Yield the problems of a variable whose forecast is not normal."""
    key = "transform" if variable.transform else "distribution"
    what = f"{key} of {quoted(variable.name)}"
    if isinstance(data, FormData):
        yield f"{what} is for predictions that are given as a mean and a variance or std; leave it out"
    if any(files.lower is not None for files in predictions):
        yield f"{what}: the std of an interval is that of a normal forecast; give variance or std instead of lower"
    if variable.transform and any(files.relative_std is not None for files in predictions):
        yield f"{what}: a std relative to a transformed mean is no std; give variance or std of the transformed values"
    if variable.noise or (isinstance(data, SharedData) and any(getattr(data, own) is not None for own in NOISES)):
        yield f"{what}: the error of the truth is added to normal forecasts alone; leave one out"


def problems_of_variables(
    data: object, variables: Sequence[Variable], predictions: Sequence[PredictionFiles]
) -> Iterator[tuple[Steps, str]]:
    """Yield the keys of variables that only forecasts with a mean and a variance can have."""
    for i, variable in enumerate(variables):
        if not variable.distributed.is_normal:
            yield from (((i,), problem) for problem in _problems_of_distribution(variable, data, predictions))
    if not isinstance(data, FormData):
        return
    for i, variable in enumerate(variables):
        if variable.truth_variance is not None:
            yield (i,), f"truth_variance of {quoted(variable.name)}: {NOT_ADDED}"
        if variable.thresholds and data.given_by in ("quantiles", "probabilities"):
            yield (i,), f"thresholds of {quoted(variable.name)} are of predictions that have a variance; leave them out"


def layers_given(read: Mapping[str, Any]) -> set[str]:
    """Return the keys of the layers that the configuration gives, those with names after a dot."""
    data = read.get("data")
    predictions = (data, *predictions_read(read))
    found = {key for own in predictions if isinstance(own, PredictionFiles | FormFiles) for key in own.predicted}
    return found | set(data.shared if isinstance(data, SharedData) else ())


def noise_given(read: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that exclude a noise of the truth given by variable."""
    if any(files.lower is not None for files in predictions_read(read)):
        yield "models gives lower" if isinstance(read.get("models"), dict) else "data gives lower"
    data = read.get("data")
    for key in ("truth_std", "truth_relative_std"):
        if isinstance(data, SharedData) and getattr(data, key) is not None:
            yield f"data gives {key}"
