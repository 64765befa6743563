"""Predictions that are not given as mean and variance: the rasters of members, quantiles or probabilities."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from geouq.config.layer_file import Layers
from geouq.config.sections import Level, Names, Predicted, Text
from geouq.config.validation_errors import Steps, quoted, raise_each
from geouq.config.values import (
    FORM,
    FORM_KEYS,
    MEMBER,
    MODEL,
    SPLIT,
    member_pattern,
    name_in_tables,
)

Members = Annotated[str, Field(min_length=1), AfterValidator(member_pattern)]
BandOrder = Literal["variables", "layers"]
LAST_CODE = 65535
_PARTS = ("mean", "variance_aleatoric", "variance_epistemic")
_PATHS = ("members", "member_variance", "probabilities", "mean", "variance_aleatoric", "variance_epistemic")


class FormFiles(Layers):
    """The rasters of a prediction that is given as an ensemble, as quantiles, or as probabilities of classes."""

    members: Members | None = Field(
        default=None,
        description="means of the members of an ensemble: a path with {tile} and {member}, or the path of one file "
        "whose bands they are",
    )
    member_variance: Members | None = Field(
        default=None,
        description="variances of the members: a path as in `members`",
        examples=["predictions/{tile}_{member}_variance.tif"],
    )
    member_names: Names | None = Field(
        default=None,
        description="names for {member}; default: all names of letters, digits and - that have files",
        examples=[["m1", "m2", "m3"]],
    )
    quantiles: Annotated[dict[Level, Predicted], Field(min_length=1)] | None = Field(
        default=None,
        description="level: predicted quantile, a path with {tile}. If all paths are the same, the bands of the file "
        "are the levels in their order",
    )
    probabilities: Predicted | None = Field(
        default=None,
        description="probabilities of classes: a path with {tile}, with a band for each class in the order of "
        "`class_codes`",
    )
    class_codes: (
        dict[Annotated[Text, AfterValidator(name_in_tables)], Annotated[int, Field(ge=0, le=LAST_CODE)]] | None
    ) = Field(default=None, description="name of each class: its code in the truth, in the order of the bands")
    mean: Predicted | None = Field(
        default=None, description="predicted mean, if the variance is given in two parts: a path with {tile}"
    )
    variance_aleatoric: Predicted | None = Field(
        default=None,
        description="variance of the noise: a path with {tile}; needs `mean` and `variance_epistemic`",
        examples=["predictions/{tile}_aleatoric.tif"],
    )
    variance_epistemic: Predicted | None = Field(
        default=None,
        validate_default=True,
        description="variance of what the model does not know: a path with {tile}; needs `mean` and "
        "`variance_aleatoric`",
        examples=["predictions/{tile}_epistemic.tif"],
    )
    form: Text | None = Field(
        default=None, description="name of a form that another package defines; needs layers", examples=["uniform"]
    )
    layers: Annotated[dict[Text, Predicted], Field(min_length=1)] | None = Field(
        default=None,
        validate_default=True,
        description="rasters of a prediction of that form, paths with {tile}, by the names that the form gives them",
        examples=[{"low": "low/{tile}.tif", "high": "high/{tile}.tif"}],
    )
    band_order: BandOrder = Field(
        default="variables",
        validate_default=True,
        description="order of the bands of a file that holds members or quantiles: `variables` (all of the first "
        "variable first) or `layers` (the first member or quantile of all variables first)",
        examples=["layers"],
    )

    @property
    def given_by(self) -> str:
        """Return the key of its rasters: members, quantiles, probabilities, variance_aleatoric or form."""
        return next((key for key in FORM_KEYS if getattr(self, key) is not None), "")

    @property
    def draws(self) -> bool:
        """Return whether there are members without a variance of their own."""
        return self.members is not None and self.member_variance is None

    @property
    def in_bands(self) -> bool:
        """Return whether members, quantiles or probabilities are bands of one file."""
        if self.given_by in (SPLIT, FORM):
            return False
        if self.members is not None:
            return MEMBER not in self.members
        return self.quantiles is None or len(self.quantiles) > 1 == len(set(self.quantiles.values()))

    @property
    def predicted(self) -> dict[str, str]:
        """Return the path pattern of each layer, members by name."""
        if self.quantiles is not None:
            paths = self.quantiles.values()
            return (
                {"quantiles": next(iter(paths))}
                if self.in_bands
                else {f"quantiles.{level:g}": path for level, path in self.quantiles.items()}
            )
        if self.layers is not None:
            return {f"layers.{name}": path for name, path in self.layers.items()}
        given = {layer: path for layer in _PATHS if (path := getattr(self, layer)) is not None}
        if self.in_bands or self.given_by == SPLIT:
            return given
        return {
            f"{layer}.{name}": path.replace(MEMBER, name)
            for layer, path in given.items()
            for name in self.member_names or ()
        }

    @property
    def written(self) -> dict[Steps, str]:
        """Return the paths as they are written, by the keys that lead to them."""
        found: dict[Steps, str | None] = {(key,): getattr(self, key) for key in _PATHS}
        found |= {("quantiles", f"{level:g}"): path for level, path in (self.quantiles or {}).items()}
        found |= {("layers", name): path for name, path in (self.layers or {}).items()}
        return {steps: path for steps, path in found.items() if path is not None}

    def of_model(self, name: str) -> Self:
        """Return the rasters of one model, where its name stands for {model}."""
        own: dict[str, object] = {
            key: path.replace(MODEL, name) for key in _PATHS if (path := getattr(self, key)) is not None
        }
        if self.quantiles is not None:
            own["quantiles"] = {level: path.replace(MODEL, name) for level, path in self.quantiles.items()}
        if self.layers is not None:
            own["layers"] = {key: path.replace(MODEL, name) for key, path in self.layers.items()}
        return self.model_copy(update=own)

    @field_validator("member_variance")
    @classmethod
    def _of_members(cls, path: str | None, info: ValidationInfo) -> str | None:
        members = info.data.get("members")
        if path is not None and "members" in info.data:
            if members is None:
                raise ValueError("there are no members; give these too, or mean and variance")
            if (MEMBER in path) != (MEMBER in members):
                raise ValueError(f"{MEMBER} stands in one of members and member_variance alone")
        return path

    @field_validator("member_names")
    @classmethod
    def _of_files(cls, names: Names | None, info: ValidationInfo) -> Names | None:
        if names is not None and "members" in info.data and MEMBER not in (info.data["members"] or ""):
            raise ValueError(f"members has no {MEMBER} for which names stand; leave it out, or give a file a member")
        return names

    @field_validator("variance_epistemic")
    @classmethod
    def _in_two_parts(cls, epistemic: str | None, info: ValidationInfo) -> str | None:
        read = {**info.data, "variance_epistemic": epistemic}
        if any(key not in read for key in _PARTS):
            return epistemic
        missing = [key for key in _PARTS if read[key] is None]
        if 0 < len(missing) < len(_PARTS):
            raise ValueError(f"missing key '{missing[0]}': a variance in two parts needs {', '.join(_PARTS)}")
        return epistemic

    @field_validator("layers")
    @classmethod
    def _with_form(cls, layers: dict[str, str] | None, info: ValidationInfo) -> dict[str, str] | None:
        if FORM in info.data and (layers is None) != (info.data[FORM] is None):
            missing, given = (FORM, "layers") if layers is not None else ("layers", FORM)
            raise ValueError(f"missing key {missing!r}; {given} needs it")
        return layers

    @field_validator("quantiles", "probabilities", SPLIT, FORM)
    @classmethod
    def _alone(cls, given: object, info: ValidationInfo) -> object:
        """Require that the prediction is given in one form."""
        for other in ("members", "quantiles", "probabilities"):
            if given is not None and other != info.field_name and info.data.get(other) is not None:
                raise ValueError(f"give either {other} or {info.field_name}, not both")
        return given

    @field_validator("quantiles")
    @classmethod
    def _files_or_bands(cls, quantiles: dict[float, str] | None) -> dict[float, str] | None:
        if quantiles is None:
            return None
        paths = list(quantiles.values())
        if 1 < len(set(paths)) < len(paths):
            raise ValueError("two levels name one file, but not all do; give a file for each, or one for all")
        return dict(sorted(quantiles.items())) if len(set(paths)) > 1 else quantiles

    @field_validator("class_codes")
    @classmethod
    def _codes(cls, codes: Mapping[str, int] | None, info: ValidationInfo) -> Mapping[str, int] | None:
        if codes is None or "probabilities" not in info.data:
            return codes
        if info.data["probabilities"] is None:
            raise ValueError("there are no probabilities of classes; give these too, or leave it out")
        problems: list[tuple[Steps, str]] = [
            ((name,), f"{quoted(name)} has the code of another class, {code}")
            for place, (name, code) in enumerate(codes.items())
            if code in list(codes.values())[:place]
        ]
        raise_each(problems)
        if len(codes) < 2:
            raise ValueError("names fewer than two classes")
        return codes
