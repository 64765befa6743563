"""The layers of a tile: which rasters hold the prediction, the truth, and what goes with them."""

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from geouq.config.faults import Steps, raise_each
from geouq.config.section import Section, Text
from geouq.config.values import AREA, grouping_name, level, tile_pattern, weights_pattern

Pattern = Annotated[str, Field(min_length=1), AfterValidator(tile_pattern)]
Weights = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(weights_pattern),
    WithJsonSchema({"anyOf": [{"const": AREA}, {"type": "string", "pattern": r"\{tile\}"}]}),
]
Level = Annotated[float, AfterValidator(level)]
Named = dict[Annotated[Text, AfterValidator(grouping_name)], Pattern]
GROUPINGS = ("covariates", "classes")  # keys below which rasters have names
SPREADS = (("variance",), ("std",), ("lower", "upper", "level"))  # the ways to give the uncertainty
H = TypeVar("H", str, float)


class Data(Section):
    """The layers of a tile."""

    mean: Pattern = Field(description="predicted mean: a path with {tile}, relative to this file")
    variance: Pattern | None = Field(
        default=None, description="predicted variance: a path with {tile}; give either this, or std, or an interval"
    )
    std: Pattern | None = Field(
        default=None, description="predicted standard deviation: a path with {tile}; give either this or variance"
    )
    lower: Pattern | None = Field(
        default=None, description="lower end of a predicted interval: a path with {tile}; needs upper and level too"
    )
    upper: Pattern | None = Field(default=None, description="upper end of that interval: a path with {tile}")
    level: Level | None = Field(
        default=None,
        validate_default=True,
        description="share of the truth that the interval is to hold, such as 0.9; the std is taken to be its width "
        "divided by that of a standard normal's interval of this level",
    )
    truth: Pattern = Field(description="reference values: a path with {tile}")
    truth_variance: Pattern | None = Field(
        default=None, description="variance of the error of the reference values themselves: a path with {tile}"
    )
    mask: Pattern | None = Field(default=None, description="pixels to leave out (0 or no data): a path with {tile}")
    weights: Weights | None = Field(
        default=None, description="how much pixels count: area for that of each, or a path with {tile}; default: alike"
    )
    covariates: Named = Field(
        default={}, description="name: raster by whose values coverage is grouped, such as the slope; paths with {tile}"
    )
    classes: Named = Field(
        default={}, description="name: raster of codes from 0 to 65535 in each of which coverage is told; with {tile}"
    )

    @property
    def spread(self) -> Literal["variance", "std", "interval"]:
        """How the uncertainty of the prediction is given."""
        if self.variance is not None:
            return "variance"
        return "std" if self.std is not None else "interval"

    @property
    def groupings(self) -> tuple[str, ...]:
        """Names of the rasters by which coverage is grouped."""
        return (*self.covariates, *self.classes)

    @property
    def area_weighted(self) -> bool:
        """Whether pixels count by their area."""
        return self.weights == AREA

    @property
    def patterns(self) -> dict[str, str]:
        """Path pattern of each layer that is given as rasters; those with names follow a dot, as in classes.cover."""
        own = {layer: text for layer, text in self if isinstance(text, str) and text != AREA}
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

    @field_validator("std", "lower", "upper", "level")
    @classmethod
    def _instead_of_the_others(cls, given: H | None, info: ValidationInfo) -> H | None:
        """The uncertainty is given once."""
        own = next(layers for layers in SPREADS if info.field_name in layers)
        for other in (layer for layers in SPREADS if layers != own for layer in layers):
            if given is not None and info.data.get(other) is not None:
                raise ValueError(f"give either {other} or {info.field_name}, not both")
        return given

    @field_validator("level")
    @classmethod
    def _whole(cls, level: float | None, info: ValidationInfo) -> float | None:
        """The uncertainty is given, and an interval with both ends and its level; what is faulty is told already."""
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

    @field_validator("truth_variance")
    @classmethod
    def _not_with_intervals(cls, pattern: str | None, info: ValidationInfo) -> str | None:
        if pattern is not None and info.data.get("lower") is not None:
            raise ValueError(
                "an interval is taken as it was given, so there is nothing to add this to; give variance or std"
            )
        return pattern
