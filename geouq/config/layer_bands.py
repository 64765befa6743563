"""Bands of single layers below a variable: a number or the description of a band, and of several models one each."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from geouq.config.sections import Section
from geouq.config.validation_errors import Steps, quoted, raise_each, suggestion

OF_PREDICTIONS = (
    *("mean", "variance", "std", "relative_std", "lower", "upper"),
    *("variance_aleatoric", "variance_epistemic"),
)
OF_ONE_RASTER = ("truth", "truth_variance", "truth_std", "truth_relative_std", "mask", "weights")
OF_NAMED_RASTERS = ("covariates", "classes")

BAND_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}]}


def band_written(written: object) -> int | str:
    """Accept the number of a band, from 1, or its description.

    >>> band_written("2"), band_written("height_std")
    (2, 'height_std')
    """
    if isinstance(written, Mapping | list | tuple | bool) or str(written) == "":
        raise ValueError("needs the number of a band, or its description")
    text = str(written)
    if not re.fullmatch(r"[+-]?\d+", text):
        return text
    if int(text) < 1:
        raise ValueError(f"{quoted(text)} is no band; the first one is 1")
    return int(text)


def _bands_written(written: object) -> dict[str, int | str]:
    if not isinstance(written, Mapping):
        raise ValueError("needs a mapping of names to bands")  # noqa: TRY004  reported as a validation error
    found, problems = {}, list[tuple[Steps, str]]()
    for name, own in written.items():
        try:
            found[str(name)] = band_written(own)
        except ValueError as error:
            problems.append(((str(name),), str(error)))
    raise_each(problems)
    return found


def _of_models(written: object) -> int | str | dict[str, int | str]:
    return _bands_written(written) if isinstance(written, Mapping) else band_written(written)


def _number_or_band(written: object) -> float | str:
    try:
        return float(str(written))
    except ValueError:
        return band_written(written)


Band = Annotated[int | str, BeforeValidator(band_written), WithJsonSchema(BAND_SCHEMA)]
OfModels = Annotated[
    int | str | dict[str, int | str],
    BeforeValidator(_of_models),
    WithJsonSchema({"anyOf": [*BAND_SCHEMA["anyOf"], {"type": "object", "additionalProperties": BAND_SCHEMA}]}),
]
OfNames = Annotated[
    dict[str, int | str],
    BeforeValidator(_bands_written),
    WithJsonSchema({"type": "object", "additionalProperties": BAND_SCHEMA}),
]
NumberOrBand = Annotated[
    float | str,
    BeforeValidator(_number_or_band),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "minLength": 1}]}),
]


class LayerBands(Section):
    """Which band of single layers holds a variable, where that is another one than `band`."""

    mean: OfModels | None = Field(
        default=None, description="band of the mean, by number or description; with several models also `model: band`"
    )
    variance: OfModels | None = Field(default=None, description="band of the variance, as for the mean")
    std: OfModels | None = Field(default=None, description="band of the std, as for the mean")
    relative_std: OfModels | None = Field(default=None, description="band of the relative std, as for the mean")
    lower: OfModels | None = Field(default=None, description="band of the lower end of the interval, as for the mean")
    upper: OfModels | None = Field(default=None, description="band of the upper end of the interval, as for the mean")
    variance_aleatoric: OfModels | None = Field(default=None, description="band of this variance, as for the mean")
    variance_epistemic: OfModels | None = Field(default=None, description="band of this variance, as for the mean")
    truth: Band | None = Field(default=None, description="band of the truth, by number or description")
    truth_variance: NumberOrBand | None = Field(
        default=None,
        description="variance of the error of the truth itself, the same for all pixels; default: none. If `data` "
        "gives rasters of it: the band, by number or description",
    )
    truth_std: Band | None = Field(
        default=None, description="band of the std of the truth's error, by number or description"
    )
    truth_relative_std: Band | None = Field(
        default=None, description="band of the relative std of the truth's error, by number or description"
    )
    mask: Band | None = Field(default=None, description="band of the mask, by number or description")
    weights: Band | None = Field(default=None, description="band of the weights, by number or description")
    covariates: OfNames | None = Field(default=None, description="name of a covariate: its band")
    classes: OfNames | None = Field(default=None, description="name of a class raster: its band")

    def band_in(self, layer: str) -> int | str | None:
        """Return the band that is written for a layer, such as std or classes.cover; None where none is."""
        key, _, name = layer.partition(".")
        if key not in LayerBands.model_fields:
            return None
        written = getattr(self, key)
        if isinstance(written, float):
            return int(written)
        found: int | str | None = written.get(name) if isinstance(written, Mapping) else written
        return found

    @property
    def layer_bands(self) -> dict[str, Any]:
        """Return the bands as they are written, by layer; without the number that stands for truth_variance."""
        given = {key: getattr(self, key) for key in LayerBands.model_fields if key != "truth_variance"}
        return {key: written for key, written in given.items() if written is not None}

    def of_one_model(self, model: str) -> dict[str, int | str | None]:
        """Return the bands of the layers of a prediction that are written by model, as they are for one of them."""
        written = {key: getattr(self, key) for key in OF_PREDICTIONS}
        return {key: own.get(model) for key, own in written.items() if isinstance(own, Mapping)}


def problems_of_bands(
    written: LayerBands, layers: Collection[str], models: Collection[str]
) -> Iterator[tuple[Steps, str]]:
    """Yield what is wrong with bands of layers that there are not, or of models that there are not.

    layers : keys of data, those with names followed by a dot and the name.
    """
    for key, own in written.layer_bands.items():
        if key in OF_NAMED_RASTERS:
            yield from (((key, name), f"data has no {key}.{name}") for name in own if f"{key}.{name}" not in layers)
        elif key not in layers:
            given = ", ".join(sorted(layer for layer in layers if "." not in layer))
            yield (key,), f"names a band of {key}, but data gives no {key}; it gives {given}"
        elif isinstance(own, Mapping):
            unknown = (model for model in own if model not in models)
            yield from (((key, model), f"{quoted(model)} is no model{suggestion(model, models)}") for model in unknown)
    for problem in _problems_of_noise(written.truth_variance, is_raster="truth_variance" in layers):
        yield ("truth_variance",), problem


def _problems_of_noise(written: float | str | None, *, is_raster: bool) -> Iterator[str]:
    if written is None:
        return
    if is_raster and isinstance(written, float) and (written < 1 or written % 1):
        yield f"data gives truth_variance as rasters, so this names a band of it, and {written:g} is none"
    elif not is_raster and isinstance(written, str):
        yield f"{quoted(written)} is not a number, and data gives no rasters of truth_variance with bands"
    elif not is_raster and isinstance(written, float) and written < 0:
        yield f"{quoted(f'{written:g}')} is less than 0"
