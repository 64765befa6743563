"""What is made of the numbers: where they are written, which maps there are, and which bounds they must keep."""

from pkgutil import resolve_name
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from geouq.config.base import Section, Text
from geouq.config.validation_errors import raise_each
from geouq.config.values import CELLS, FIGURES_OF_RUNS, directory_pattern, figure_name, metric_name, unique

MAPS = ("cells",)  # maps with a value a pixel cost more than the sweep


def _nothing(written: object) -> object:
    return () if written == "none" else written


class VarianceRule(Section):
    """The treatment of invalid variances."""

    negative: Literal["error", "exclude"] = Field(
        default="error",
        description="`error`: a negative variance stops the tile; `exclude`: its pixel is excluded and counted",
    )


class Output(Section):
    """What is written, and where."""

    directory: Annotated[str, Field(min_length=1), AfterValidator(directory_pattern)] = Field(
        default="results/{name}", description="folder of the results, relative to the working directory"
    )
    maps: Annotated[
        tuple[str, ...],
        BeforeValidator(_nothing, json_schema_input_type=tuple[str, ...] | Literal["none"]),
        AfterValidator(unique),
    ] = Field(
        default=MAPS,
        description="maps to write, or `none`. Maps of pixels: `mean`, `std`, `error`, `abs_error`, `z`, `pit`, "
        "`nll`, `crps`, `status` (the reason why a pixel does not count), `covered_90` or another level, "
        "`aleatoric_share`, `epistemic_share`, `confidence`, `correct`, `brier`. Maps of cells: `cells` "
        "(every metric), or metrics such as `uce`",
    )
    figures: Annotated[
        tuple[Annotated[str, AfterValidator(figure_name)], ...],
        BeforeValidator(_nothing, json_schema_input_type=tuple[str, ...] | Literal["none"]),
        AfterValidator(unique),
    ] = Field(
        default=FIGURES_OF_RUNS, description="figures to draw if they have something to show, or `none`; default: all"
    )

    @field_validator("maps")
    @classmethod
    def _known(cls, maps: tuple[str, ...]) -> tuple[str, ...]:
        if set(maps) - {CELLS}:  # the records of maps and metrics are not loaded for nothing
            raise_each(resolve_name("geouq.maps.names:unknown_maps")(maps))
        return maps


class Gate(Section):
    """A bound that a metric must keep for the run to succeed."""

    metric: Annotated[str, AfterValidator(metric_name)] = Field(description="name of a metric, such as `coverage_90`")
    variable: Text = Field(description="name of a variable")
    model: Text | None = Field(default=None, description="name of a model, if there are several")
    region: Text = Field(default="all", description="name of a region")
    bins: str | None = Field(default=None, description="bins of a metric of bins, such as `equal-count-10`")
    group: str | None = Field(default=None, description="property of a metric of groups, such as `truth`")
    min: float | None = Field(default=None, description="lowest value that passes")
    max: float | None = Field(default=None, description="highest value that passes")
    on: Literal["estimate", "interval"] = Field(
        default="estimate", description="what must keep the bounds: the `estimate`, or the whole `interval`"
    )

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("needs min or max, or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}: no value can pass")
        return self
