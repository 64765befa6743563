"""The sections of a configuration that set how numbers are made: bins, groups, intervals, outputs, recalibration."""

import re
from collections.abc import Iterable, Mapping
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)

from geouq.config.validation_errors import in_plain_words, quoted, raise_each
from geouq.config.values import (
    CELLS,
    GroupedBy,
    directory_pattern,
    increasing,
    level,
    metric_name,
    predicted_pattern,
    repeated,
    unique,
)

# YAML itself may read a name such as 0346, no or 1e3 as another type; here it stays text
Text = Annotated[str, Field(min_length=1), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Names = Annotated[tuple[Text, ...], AfterValidator(unique)]
Level = Annotated[float, AfterValidator(level)]
Predicted = Annotated[str, Field(min_length=1), AfterValidator(predicted_pattern)]
Edges = Annotated[tuple[float, ...], Field(min_length=2, max_length=1001), AfterValidator(increasing)]
Unit = Literal["m", "px"]
FIGURES = ("reliability", "calibration")  # of the whole; pages draw diagrams of regions themselves
MAPS = ("cells",)  # maps with a value a pixel cost more than the sweep
LEAVE_ONE_REGION_OUT, K_FOLD = "leave-one-region-out", "k-fold"
NOT_RECALIBRATED = "corrections are of mean and variance; leave recalibration out, or give the forecast as these"
OneMethod = Literal["scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal"]
Method = Literal["best", "scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal", "by_group"]
Judge = Literal["auto", "both", "leave-one-region-out", "k-fold"]


class Section(BaseModel):
    """A mapping of the configuration: frozen, without unknown keys; a null is like a key not written."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_plain_words(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None or key not in cls.model_fields}
        try:
            return handler(data)
        except ValidationError as error:
            raise in_plain_words(error, cls) from None


class BinScheme(Section):
    """A rule for the edges of the bins of the predicted variance."""

    model_config = ConfigDict(
        json_schema_extra={"required": [], "anyOf": [{"required": ["scheme"]}, {"required": ["edges"]}]}
    )

    scheme: Literal["equal-width", "equal-count", "equal-split", "log-width", "edges"] = Field(
        description="rule of the edges: equal-width, equal-count, equal-split, log-width or edges"
    )
    count: int = Field(
        default=10, ge=1, le=1000, description="number of bins, at least 2; with edges, their number less 1"
    )
    edges: Edges | None = Field(
        default=None, description="edges of the bins, increasing, in the squared unit of the variable"
    )

    @property
    def name(self) -> str:
        """Name in the tables, such as equal-width-10."""
        return f"{self.scheme}-{self.count}"

    @model_validator(mode="before")
    @classmethod
    def _edges_say_scheme_and_count(cls, data: object) -> object:
        if isinstance(data, Mapping) and isinstance(edges := data.get("edges"), list | tuple):
            return {"scheme": "edges", "count": max(len(edges) - 1, 1), **data}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.scheme == "edges") != (self.edges is not None):
            raise ValueError(f"scheme {self.scheme} {'has no' if self.edges else 'needs'} edges")
        if self.edges and self.count != len(self.edges) - 1:
            raise ValueError(
                f"{len(self.edges)} edges make {len(self.edges) - 1} bins, not {self.count}; leave count out"
            )
        if self.edges is None and self.count < 2:
            raise ValueError(f"count: {self.count} bin shows nothing; give 2 or more")
        return self

    @model_serializer
    def _as_written(self) -> dict[str, Any]:
        return {"edges": self.edges} if self.edges else {"scheme": self.scheme, "count": self.count}


EQUAL_WIDTH_10 = BinScheme(scheme="equal-width", count=10)
EQUAL_COUNT_10 = BinScheme(scheme="equal-count", count=10)


def preferred_first(schemes: Iterable[BinScheme]) -> tuple[BinScheme, ...]:
    """Return the schemes in the order in which people see them: equal-count bins first, as all of them hold pixels.

    Of skewed variances, one equal-width bin holds nearly all pixels, and the others lie in few blocks.
    """
    return tuple(sorted(schemes, key=lambda scheme: scheme.scheme != "equal-count"))


class Groups(Section):
    """The groups of pixels for which coverage is reported."""

    by: Annotated[tuple[GroupedBy, ...], AfterValidator(unique)] = Field(
        default=("truth",),
        description="properties that define groups of pixels; each costs 3 to 5 % of the sweep",
    )
    count: int = Field(default=10, ge=2, le=100, description="number of groups, of equal numbers of pixels")


GROUPS = Groups()


class Bins(Section):
    """The bins of the predicted variance."""

    schemes: tuple[BinScheme, ...] = Field(
        default=(EQUAL_WIDTH_10, EQUAL_COUNT_10),
        min_length=1,
        description="schemes of the bins",
        examples=[[{"scheme": "equal-count", "count": 20}]],
    )
    exact: bool = Field(default=False, description="place every edge exactly; this may need a second sweep")
    scope: Literal["own", "experiment"] = Field(
        default="own",
        description="`own`: each tile and region has its own edges; `experiment`: all have the same edges",
    )

    @field_validator("schemes")
    @classmethod
    def _unique(cls, schemes: tuple[BinScheme, ...]) -> tuple[BinScheme, ...]:
        raise_each(repeated([scheme.name for scheme in schemes], quoted))
        return schemes


def length(text: str) -> tuple[float, Unit]:
    """Return a length and its unit, metres or pixels.

    >>> length("5 km"), length("512 px")
    ((5000.0, 'm'), (512.0, 'px'))
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(m|km|px)\s*", text)
    if not found or not float(found[1]):
        raise ValueError(f'{quoted(text)} is no side of blocks; write auto, tile, or a length such as "5 km", "512 px"')
    number, unit = float(found[1]), found[2]
    return (number * 1000, "m") if unit == "km" else (number, "m" if unit == "m" else "px")


def _block(text: str) -> str:
    if text not in ("auto", "tile"):
        length(text)
    return text


class Intervals(Section):
    """The spatial bootstrap of the intervals and tests: blocks of cells are drawn with replacement."""

    resamples: int = Field(default=1000, ge=100, le=100_000, description="number of resamples")
    block: Annotated[Text, AfterValidator(_block)] = Field(
        default="auto",
        description="side of the blocks: `auto` (from the correlation of the residuals), `tile`, or a length such as "
        "`5 km` or `512 px`",
    )
    level: Level = Field(default=0.95, description="level of the intervals")
    method: Literal["bca", "percentile"] = Field(
        default="bca", description="`bca` (bias-corrected and accelerated) or `percentile`"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="seed of the random numbers")


class AreaMeans(Section):
    """Means and totals of areas: how errors are correlated, and the intervals that follow."""

    level: Level = Field(default=0.9, description="level of the intervals of means and totals")


def _nothing(written: object) -> object:
    return () if written == "none" else written


def _drawn(figures: tuple[str, ...]) -> tuple[str, ...]:
    if set(figures) - set(FIGURES):  # the records of figures are not loaded for nothing: matplotlib is large
        raise_each(resolve_name("geouq.drawing:unknown_figures")(figures))
    return figures


class VarianceRule(Section):
    """The treatment of invalid variances."""

    negative: Literal["error", "exclude"] = Field(
        default="error",
        description="`error`: a negative variance stops the tile; `exclude`: its pixel is excluded and counted",
        examples=["exclude"],
    )


Figures = Annotated[
    tuple[str, ...],
    BeforeValidator(_nothing, json_schema_input_type=tuple[str, ...] | Literal["none"]),
    AfterValidator(unique),
    AfterValidator(_drawn),
]


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
        description="maps to write, or `none`. Maps of pixels, such as `z`, `error` or `covered_90`, are listed in "
        "outputs.md. Maps of cells: `cells` (every metric), or metrics such as `uce`",
    )
    figures: Figures = Field(
        default=FIGURES, description="figures of the whole to draw if they have something to show, or `none`"
    )
    region_figures: Figures = Field(
        default=(), description="figures of each region to draw, or `none`", examples=[["reliability"]]
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
    model: Text | None = Field(default=None, description="name of a model, if there are several", examples=["ensemble"])
    region: Text = Field(default="all", description="name of a region")
    bins: str | None = Field(default=None, description="bins of a metric of bins, such as `equal-count-10`")
    group: str | None = Field(
        default=None, description="property of a metric of groups, such as `truth`", examples=["truth"]
    )
    areas: int | Literal["tile", "region"] | None = Field(
        default=None,
        description="size of the areas of a metric of means, such as `aggregate_coverage_calibrated_90`: side of a "
        "square in cells (1, 2, 4 ...), `tile` or `region`",
    )
    share: Text | None = Field(
        default=None,
        description="threshold, or name of a class, if the metric is of the area above it or of the class",
    )
    min: float | None = Field(default=None, description="lowest value that passes")
    max: float | None = Field(default=None, description="highest value that passes")
    on: Literal["estimate", "interval"] = Field(
        default="estimate", description="what must keep the bounds: the `estimate`, or the whole `interval`"
    )

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("needs min or max, or both")
        if (self.areas is not None) != self.metric.startswith("aggregate_"):
            raise ValueError("areas belongs to metrics of means, aggregate_..., and these need it (areas: 1)")
        if self.share is not None and self.areas is None:
            raise ValueError("share belongs to metrics of means, aggregate_...")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}: no value can pass")
        return self


def _all_tiles(written: object) -> object:
    return (written,) if isinstance(written, str) else written


class Recalibration(Section):
    """Corrections of the predicted distribution, fitted on some tiles and judged on others."""

    method: Method = Field(
        default="best",
        description="correction. `best` is the method with the lowest pinball loss of its intervals on held-out "
        "tiles, unless it worsens NLL, an interval score or ENCE",
    )
    judge: Judge = Field(
        default="auto",
        description="what is held out. `auto`: whole regions, if two of them are lists of tiles, else tiles; "
        "`leave-one-region-out`: whole regions, together with regions that share their tiles; `k-fold`: "
        "tiles; `both`",
        examples=["k-fold"],
    )
    folds: int = Field(
        default=5, ge=2, description="number of folds of `k-fold`, at most the number of tiles", examples=[10]
    )
    by: Text | None = Field(
        default=None, description="key of the classes or polygons that are the groups of `by_group`"
    )
    within: OneMethod = Field(default="scale", description="method of `by_group` in each group", examples=["isotonic"])
    apply: Annotated[Names, BeforeValidator(_all_tiles, json_schema_input_type=list[Text] | Text)] = Field(
        default=(),
        description="tiles whose recalibrated rasters are written, or `all`; default: none",
        examples=["all"],
    )

    @field_validator("by")
    @classmethod
    def _not_best(cls, by: str | None, info: ValidationInfo) -> str | None:
        if by is not None and info.data.get("method") not in (None, "best", "by_group"):
            raise ValueError("only by_group (and best) has groups; leave it out, or write method: by_group")
        return by


def method_alone(written: object) -> object:
    """Return settings from the name of a method alone."""
    return {"method": written} if isinstance(written, str) else written


def problem_of_groups(recalibration: Recalibration, regions: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the groups; None for nothing. regions : by key, lists of tiles among them."""
    layers = [key for key, region in regions.items() if not isinstance(region, tuple)]
    if recalibration.by is None and recalibration.method == "by_group":
        return "by_group needs by: the key of regions of classes or polygons that are its groups"
    if recalibration.by is not None and recalibration.by not in layers:
        known = ", ".join(layers) or "there are none"
        return f"by: {recalibration.by!r} is no key of regions of classes or polygons ({known})"
    return None
