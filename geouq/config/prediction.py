"""Which rasters hold a prediction, and how several models of one truth are named."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter, ValidationInfo, field_validator

from geouq.config.base import Section, Text
from geouq.config.validation_errors import Steps, quoted, raise_each
from geouq.config.values import FORM_KEYS, MODEL, level, model_name, predicted_pattern, repeated

Predicted = Annotated[str, Field(min_length=1), AfterValidator(predicted_pattern)]
Level = Annotated[float, AfterValidator(level)]
CompareOn = Literal["common", "own"]
SPREADS = (("variance",), ("std",), ("lower", "upper", "level"))  # the ways to give the uncertainty
OF_LAYERS = r"(?:members|member_variance|layers)\.[^.]+|quantiles\.[\d.e-]+"
KEY = re.compile(rf"models\.(?P<model>.+?)\.(?P<layer>{OF_LAYERS}|\w+)")
H = TypeVar("H", str, float)
BY_NAMES = (
    "models that are listed with their rasters give mean and variance; write `models: [their names]`, and {model} in "
    "the paths of data"
)


class PredictionFiles(Section):
    """The rasters of one model's prediction."""

    mean: Predicted = Field(description="predicted mean: a path with {tile}")
    variance: Predicted | None = Field(
        default=None, description="predicted variance: a path with {tile}. Give this, or `std`, or an interval"
    )
    std: Predicted | None = Field(default=None, description="predicted standard deviation: a path with {tile}")
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
    def spread(self) -> Literal["variance", "std", "interval"]:
        """How the uncertainty of the prediction is given."""
        if self.variance is not None:
            return "variance"
        return "std" if self.std is not None else "interval"

    @property
    def predicted(self) -> dict[str, str]:
        """Path pattern of each layer that is given."""
        layers = {layer: getattr(self, layer) for layer in PredictionFiles.model_fields}
        return {layer: text for layer, text in layers.items() if isinstance(text, str)}

    def of_model(self, name: str) -> Self:
        """Return the rasters of one model, where its name stands for {model}."""
        return self.model_copy(update={layer: text.replace(MODEL, name) for layer, text in self.predicted.items()})

    @field_validator("std", "lower", "upper", "level")
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
            raise ValueError("missing key 'variance' (or 'std', or 'lower', 'upper' and 'level')")
        missing = [layer for layer in SPREADS[-1] if read[layer] is None]
        if given[0] in SPREADS[-1] and missing:
            raise ValueError(f"missing key '{missing[0]}': an interval needs lower, upper and level")
        return level


Models = tuple[str, ...] | dict[str, PredictionFiles]
_NAMES = TypeAdapter(tuple[Annotated[Text, AfterValidator(model_name)], ...])
_OWN_FILES = TypeAdapter(dict[Annotated[Text, AfterValidator(model_name)], PredictionFiles])


def models_of(written: object) -> object:
    """Models from a list of names, or from a mapping of names to their rasters."""
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
        raise ValueError("needs a list of names for {model}, or a mapping of names to the rasters of each")  # noqa: TRY004  told as a fault
    if not found:
        raise ValueError("names no model; leave the key out where there is one prediction")
    return found


def _of_forms(written: Mapping[Any, Any]) -> Iterator[tuple[Steps, str]]:
    """Keys of ensembles, quantiles and probabilities below a model."""
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
