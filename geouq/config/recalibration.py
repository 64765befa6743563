"""How a forecast is recalibrated, and on what that is judged."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from geouq.config.base import Names, Section, Text

LEAVE_ONE_REGION_OUT, K_FOLD = "leave-one-region-out", "k-fold"
NOT_RECALIBRATED = "corrections are of mean and variance; leave recalibration out, or give the forecast as these"
OneMethod = Literal["scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal"]
Method = Literal["best", "scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal", "by_group"]
Judge = Literal["auto", "both", "leave-one-region-out", "k-fold"]


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
    )
    folds: int = Field(default=5, ge=2, description="number of folds of `k-fold`, at most the number of tiles")
    by: Text | None = Field(
        default=None, description="key of the classes or polygons that are the groups of `by_group`"
    )
    within: OneMethod = Field(default="scale", description="method of `by_group` in each group")
    apply: Annotated[Names, BeforeValidator(_all_tiles, json_schema_input_type=list[Text] | Text)] = Field(
        default=(), description="tiles whose recalibrated rasters are written, or `all`; default: none"
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


def fault_of_groups(recalibration: Recalibration, regions: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the groups; None for nothing. regions : by key, lists of tiles among them."""
    layers = [key for key, region in regions.items() if not isinstance(region, tuple)]
    if recalibration.by is None and recalibration.method == "by_group":
        return "by_group needs by: the key of regions of classes or polygons that are its groups"
    if recalibration.by is not None and recalibration.by not in layers:
        known = ", ".join(layers) or "there are none"
        return f"by: {recalibration.by!r} is no key of regions of classes or polygons ({known})"
    return None
