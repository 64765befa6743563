"""The bins of the predicted variance, and the groups of pixels, that an experiment asks for."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_serializer, model_validator

from geouq.config.base import Section
from geouq.config.validation_errors import quoted, raise_each
from geouq.config.values import GroupedBy, increasing, repeated, unique

Edges = Annotated[tuple[float, ...], Field(min_length=2, max_length=1001), AfterValidator(increasing)]


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
        description="properties by which pixels are grouped; each costs 3 to 5 % of the sweep",
    )
    count: int = Field(default=10, ge=2, le=100, description="number of groups, of equal numbers of pixels")


GROUPS = Groups()


class Bins(Section):
    """The bins of the predicted variance."""

    schemes: tuple[BinScheme, ...] = Field(
        default=(EQUAL_WIDTH_10, EQUAL_COUNT_10),
        min_length=1,
        description="schemes of the bins",
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
