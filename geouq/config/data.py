"""The layers of a tile: which rasters hold the prediction, the truth, and what goes with them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, WithJsonSchema, field_validator

from geouq.config.base import Section, Text
from geouq.config.forms import BandOrder, FormFiles
from geouq.config.prediction import BY_NAMES, PredictionFiles
from geouq.config.validation_errors import Steps, quoted, raise_each
from geouq.config.values import AREA, FORM_KEYS, MODEL, grouping_name, tile_pattern, weights_pattern
from geouq.config.variables import Variable

Pattern = Annotated[str, Field(min_length=1), AfterValidator(tile_pattern)]
Weights = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(weights_pattern),
    WithJsonSchema({"anyOf": [{"const": AREA}, {"type": "string", "pattern": r"\{tile\}"}]}),
]
Named = dict[Annotated[Text, AfterValidator(grouping_name)], Pattern]
GROUPINGS = ("covariates", "classes")  # keys below which rasters have names
NOT_ADDED = "truth_variance is added to a predicted variance; leave it out, or give mean and variance"
TWO_FORMS = "the prediction is given in another form already; leave this out"
NO_INTERVAL = "an interval is taken as it was given, so there is nothing to add this to; give variance or std"


class SharedData(Section):
    """The layers of a tile that all models have in common."""

    truth: Pattern = Field(description="truth (reference values): a path with {tile}")
    truth_variance: Pattern | None = Field(
        default=None, description="variance of the error of the truth itself: a path with {tile}"
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

    @property
    def groupings(self) -> tuple[str, ...]:
        """Names of the rasters by which coverage is grouped."""
        return (*self.covariates, *self.classes)

    @property
    def area_weighted(self) -> bool:
        """Whether pixels count by their area."""
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

    @field_validator("truth_variance")
    @classmethod
    def _not_with_intervals(cls, pattern: str | None, info: ValidationInfo) -> str | None:
        if pattern is not None and info.data.get("lower") is not None:
            raise ValueError(NO_INTERVAL)
        return pattern


class Data(SharedData, PredictionFiles):
    """The rasters of a tile: a prediction with a mean and an uncertainty, and the truth."""


class FormData(SharedData, FormFiles):
    """The rasters of a tile whose prediction is an ensemble, a variance in two parts, quantiles or probabilities."""

    @field_validator("band_order")
    @classmethod
    def _whole(cls, order: BandOrder, info: ValidationInfo) -> BandOrder:
        """Probabilities have classes."""
        read = info.data
        if read.get("probabilities") is not None and "class_codes" in read and read["class_codes"] is None:
            raise ValueError("missing key 'class_codes': the name of each class and its code in the truth")
        return order

    @field_validator("truth_variance")
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


def _is_in_parts(written: Mapping[str, Any]) -> bool:
    """Whether one part of a variance is given, so that there is a mean beside it."""
    return any(written.get(key) is not None for key in ("variance_aleatoric", "variance_epistemic"))


def _without_prediction(written: Mapping[str, Any], models: Mapping[str, PredictionFiles]) -> SharedData:
    """Return the layers beside the predictions, with every fault."""
    faults: list[tuple[Steps, str]] = [
        ((key,), "models gives the rasters of each prediction; write this key below a model")
        for key in written
        if models and key in PredictionFiles.model_fields and written[key] is not None
    ]
    faults += [((key,), BY_NAMES) for key in FORM_KEYS if models and written.get(key) is not None]
    own = (*PredictionFiles.model_fields, *FormFiles.model_fields)
    rest = {key: value for key, value in written.items() if key not in own}
    try:
        found = SharedData.model_validate(rest)
    except ValidationError as error:
        faults += [(fault["loc"], fault["msg"]) for fault in error.errors()]
    else:
        if found.truth_variance is not None:
            given = (name for name, files in models.items() if files.lower is not None)
            faults += [(("truth_variance",), f"model {name}: {NO_INTERVAL}") for name in given]
    raise_each(faults)
    return found


def _placeholders(paths: Mapping[Steps, str], *, several: bool) -> Iterator[tuple[Steps, str]]:
    """Paths of a prediction that hold {model} without need, or lack it."""
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


def faults_of_variables(data: object, variables: Sequence[Variable]) -> Iterator[tuple[Steps, str]]:
    """Yield what is asked of variables that a prediction in another form than mean and variance does not have."""
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
    """Yield what leaves no room for a noise of the truth that is told by variable."""
    if any(files.lower is not None for files in predictions_read(read)):
        yield "models gives lower" if isinstance(read.get("models"), dict) else "data gives lower"
