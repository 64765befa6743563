"""The variables of an experiment: bands, units, and what may be said of each."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationInfo, WithJsonSchema, field_validator

from geouq.config.layer_bands import LayerBands, problems_of_bands
from geouq.config.sections import Names, Text
from geouq.config.validation_errors import Steps, raise_each
from geouq.config.values import finite, unique
from geouq.core.distribution import LOWEST_DEGREES, TRANSFORMS, Distribution, distribution_of
from geouq.core.naming import file_name


class VariableSettings(LayerBands):
    """The settings of a variable, below its name."""

    band: int | None = Field(
        default=None,
        ge=1,
        description="band of the variable in every layer that does not name another one, from 1; default: place in "
        "the list",
    )
    units: Annotated[str, WithJsonSchema({"type": ["string", "number"]})] = Field(
        default="", description="unit of the mean, for tables and figures"
    )
    reference_mean: float | None = Field(
        default=None,
        description="divisor of `nbias`, `nmae` and `nrmse`; default: the mean of the truth",
    )
    thresholds: Annotated[tuple[float, ...], AfterValidator(unique), AfterValidator(finite)] = Field(
        default=(),
        max_length=20,
        description="values; the forecast that the truth exceeds each of them is scored, and `areas.csv` has the area "
        "above each. Each costs about 15 % of the time of a sweep",
    )
    distribution: Literal["normal", "lognormal", "truncated_normal", "gamma", "student_t"] = Field(
        default="normal",
        description="distribution of the forecast, with this mean and std. For `truncated_normal`, they are those of "
        "the normal distribution before its truncation at 0",
    )
    degrees: float | None = Field(
        default=None,
        gt=LOWEST_DEGREES,
        validate_default=True,
        description="degrees of freedom of `distribution: student_t`",
    )
    transform: Literal["log", "log1p", "sqrt"] | None = Field(
        default=None,
        description="function of the variable whose mean and std are stored. The forecast is normal on this scale. The "
        "truth and all results are on the scale of the variable",
    )

    @field_validator("degrees")
    @classmethod
    def _of_student(cls, degrees: float | None, info: ValidationInfo) -> float | None:
        is_student = info.data.get("distribution") == "student_t"
        if is_student and degrees is None:
            raise ValueError("missing key 'degrees': distribution: student_t needs its degrees of freedom, such as 5")
        if degrees is not None and not is_student:
            raise ValueError("is for distribution: student_t alone; leave it out")
        return degrees

    @field_validator("transform")
    @classmethod
    def _of_normal(cls, transform: str | None, info: ValidationInfo) -> str | None:
        if transform is not None and info.data.get("distribution", "normal") != "normal":
            raise ValueError("a forecast with a transform is normal on that scale; leave distribution or this out")
        return transform

    @property
    def distributed(self) -> Distribution:
        """Return the distribution that the predicted mean and variance describe."""
        return TRANSFORMS[self.transform] if self.transform else distribution_of(self.distribution, self.degrees)

    @property
    def how_distributed(self) -> str:
        """Return a sentence on the meaning of mean and std; empty for a normal forecast."""
        if self.transform:
            return f"mean and std are taken as those of a normal forecast of {self.transform} of the variable"
        if self.distribution == "truncated_normal":
            return "mean and std are taken as those of a normal distribution before its truncation at 0"
        name = str(self.distributed)
        return "" if self.distributed.is_normal else f"mean and std are taken as those of a {name} distribution"


class Variable(VariableSettings):
    """A variable with its band, which is settled; of several models, the variable of one of them.

    `name` is its own then too, as in `AGB (ensemble)`.
    """

    name: Text = Field(description="name of the variable")
    band: int = Field(ge=1, description="band of the variable in every layer that does not name another one, from 1")
    model: str = Field(default="", description="name of the model; empty if there is only one")

    @property
    def variable(self) -> str:
        """Name of the variable, which all models share."""
        return self.name.removesuffix(f" ({self.model})") if self.model else self.name

    @property
    def file_name(self) -> str:
        """Return the name in files, such as AGB, or AGB@ensemble for a model."""
        return file_name(self.variable) + (f"@{self.model}" if self.model else "")

    def of_model(self, model: str) -> "Variable":
        """Return the variable as one of several models predicts it; as it is where there is one alone."""
        own = {"name": f"{self.name} ({model})" if model else self.name, "model": model}
        return self.model_copy(update={**self.of_one_model(model), **own})

    @property
    def bands(self) -> tuple[int, str]:
        """Return what tells which bands it is made of."""
        return self.band, repr(self.layer_bands) if self.layer_bands else ""

    @property
    def noise(self) -> float | None:
        """Return the variance of the truth's own error, where it is a number."""
        return self.truth_variance if isinstance(self.truth_variance, float) else None


NORMAL_ALONE = (
    "has a distribution or a transform, and corrections are of normal forecasts alone; leave recalibration out"
)


def not_normal(variables: Sequence[Variable]) -> str:
    """Return the name of the first variable whose forecast is not normal; empty if there is none."""
    return next((variable.name for variable in variables if not variable.distributed.is_normal), "")


def distributions_of(variables: Iterable[Variable]) -> list[str]:
    """Return the meaning of mean and std for each variable whose forecast is not normal."""
    return list(dict.fromkeys(f"{own.variable}: {own.how_distributed}" for own in variables if own.how_distributed))


AT_FIRST_USE = ConfigDict(defer_build=True)  # most configurations use one of the two
_SETTINGS = TypeAdapter(dict[Text, VariableSettings | None], config=AT_FIRST_USE)
_NAMES = TypeAdapter(Names, config=AT_FIRST_USE)


def settled_variables(written: object) -> object:
    """Return the variables from names in band order, or from a mapping of names to settings."""
    if isinstance(written, Sequence) and any(isinstance(entry, Variable) for entry in written):
        return written
    if isinstance(written, Mapping):
        settings = _SETTINGS.validate_python(written)
    else:
        settings = dict.fromkeys(_NAMES.validate_python(written))
    if not settings:
        raise ValueError("names no variable; leave the key out to take the names from the bands")
    return tuple(
        Variable(name=name, **{"band": position, **(entry.model_dump(exclude_none=True) if entry else {})})
        for position, (name, entry) in enumerate(settings.items(), 1)
    )


def problems_of_bands_of(
    variables: Sequence[Variable], layers: Collection[str], models: Collection[str]
) -> Iterator[tuple[Steps, str]]:
    """Yield faults of the bands that variables name of layers."""
    for i, variable in enumerate(variables):
        yield from (((i, *steps), problem) for steps, problem in problems_of_bands(variable, layers, models))


def with_labels(
    variables: tuple[Variable, ...], labels: Sequence[float] | None, statistics: str | None
) -> tuple[Variable, ...]:
    """Return the variables with the means of the training labels, by band, as reference means where they have none."""
    if labels is None:
        return variables
    raise_each(
        ((i,), problem)
        for i, variable in enumerate(variables)
        if variable.reference_mean is None and (problem := _problem_of_label(variable, labels, statistics))
    )
    return tuple(
        variable
        if variable.reference_mean is not None
        else variable.model_copy(update={"reference_mean": labels[_band_of_label(variable) - 1]})
        for variable in variables
    )


def _band_of_label(variable: Variable) -> int:
    """Return the band of the truth, 0 where its description names it."""
    truth = variable.band if variable.truth is None else variable.truth
    return truth if isinstance(truth, int) else 0


def _problem_of_label(variable: Variable, labels: Sequence[float], statistics: str | None) -> str:
    band, source = _band_of_label(variable), statistics or "this configuration"
    if not band:
        return (
            f"labels_mean of {source} goes by numbers of bands; name the truth's band by number, or give reference_mean"
        )
    if band > len(labels):
        return f"labels_mean of {source} has no entry for band {band}; it has {len(labels)}"
    return ""
