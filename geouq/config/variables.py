"""The variables of an experiment: bands, units, and what may be said of each."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, TypeAdapter, WithJsonSchema

from geouq.config.section import Names, Section, Text
from geouq.config.values import finite, unique
from geouq.text.naming import file_name


class VariableSettings(Section):
    """What may be said of a variable below its name."""

    band: int | None = Field(
        default=None, ge=1, description="band in every layer, from 1; default: its place in the list"
    )
    units: Annotated[str, WithJsonSchema({"type": ["string", "number"]})] = Field(
        default="", description="units of the mean, for tables and figures"
    )
    reference_mean: float | None = Field(
        default=None,
        description="what bias, MAE and RMSE are divided by to be relative; default: the mean of the truth",
    )
    thresholds: Annotated[tuple[float, ...], AfterValidator(unique), AfterValidator(finite)] = Field(
        default=(),
        max_length=20,
        description="values of which the forecast that truth exceeds them is scored; each costs some 20 % of the sweep",
    )
    truth_variance: float | None = Field(
        default=None,
        ge=0,
        description="variance of the error of the reference values themselves, the same everywhere; default: none",
    )


class Variable(VariableSettings):
    """A variable with its band, which is settled; of several models, the variable of one of them.

    `name` is its own then too, as in `AGB (ensemble)`.
    """

    name: Text = Field(description="name of the variable")
    band: int = Field(ge=1, description="band in every layer, from 1")
    model: str = Field(default="", description="whose prediction it is; empty where there is one alone")

    @property
    def variable(self) -> str:
        """Name of the variable, which all models share."""
        return self.name.removesuffix(f" ({self.model})") if self.model else self.name

    @property
    def file_name(self) -> str:
        """Name in files, such as AGB, or AGB@ensemble: that of no other variable holds an @."""
        return file_name(self.variable) + (f"@{self.model}" if self.model else "")

    def of_model(self, model: str) -> "Variable":
        """The variable as one of several models predicts it; as it is where there is one alone."""
        return self.model_copy(update={"name": f"{self.name} ({model})" if model else self.name, "model": model})


_SETTINGS = TypeAdapter(dict[Text, VariableSettings | None])
_NAMES = TypeAdapter(Names)


def settled_variables(written: object) -> object:
    """Variables from names in band order, or from a mapping of names to settings."""
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
