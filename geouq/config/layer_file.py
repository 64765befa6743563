"""Layers that need more than a path: which part of a file holds them, and how values are stored there.

In a configuration, a layer is a path, or a mapping of a path and of these settings. Models keep paths alone in the
fields of their layers, and the settings beside them.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePosixPath
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)

from geouq.config.alignment import Alignment, problem_of_alignment
from geouq.config.layer_bands import BAND_SCHEMA, band_written
from geouq.config.sections import Section, Text
from geouq.config.tiles import OF_SOURCE, FileTiles, file_tiles_of
from geouq.config.validation_errors import Steps, quoted, raise_each, several
from geouq.config.values import MEMBER, is_path
from geouq.core.errors import DataError

ALIASES = {  # names that products use
    "standard_error": "std",
    "cv": "relative_std",
    "truth_standard_error": "truth_std",
    "truth_cv": "truth_relative_std",
}
UNCERTAINTY = (
    *("variance", "std", "relative_std", "lower", "upper", "level"),
    *("variance_aleatoric", "variance_epistemic", "members", "quantiles", "probabilities", "form", "layers"),
)
OF_NAMES = ("quantiles", "layers", "covariates", "classes")  # keys below which layers have names
ARRAY = "ARRAY"  # begins the name of an array that xarray reads, as NETCDF begins one of GDAL's
OF_CF = "@standard_error"  # ends the name of an array to which CF relates the std that is meant
FORMATS = {
    **dict.fromkeys((".nc", ".nc4", ".cdf", ".zarr", ".icechunk"), ARRAY),
    **dict.fromkeys((".h5", ".hdf5", ".he5"), "HDF5"),
}
NAME_OF_ARRAY = re.compile(rf'{ARRAY}:"(?P<file>[^"]+)":/?(?P<array>.+)')
OF_MEMBER = re.compile(r"@(?P<dimension>[^@=]+)=(?P<label>[^@=]+)$")  # suffix of a member along a dimension


def is_array(path: str) -> bool:
    """Return whether a path is the name of an array that xarray reads."""
    return path.startswith(f"{ARRAY}:")


def array_in_name(path: str) -> tuple[str, str]:
    """Return the file and the array of such a name.

    >>> array_in_name('ARRAY:"/data/a.zarr":daily/height')
    ('/data/a.zarr', 'daily/height')
    """
    found = NAME_OF_ARRAY.fullmatch(path)
    if found is None:
        raise DataError(f"{path} is no name of an array; write {{path: ..., variable: ...}}")
    return found["file"], found["array"]


def whole_array(path: str) -> tuple[str, dict[str, str]]:
    """Return the name of an array without its member suffix, and the label of the member along its dimension.

    >>> whole_array('ARRAY:"/data/a.zarr":t2m@number=3')
    ('ARRAY:"/data/a.zarr":t2m', {'number': '3'})
    """
    found = OF_MEMBER.search(path)
    return (path[: found.start()], {found["dimension"]: found["label"]}) if found else (path, {})


def _not_zero(scale: float) -> float:
    if scale == 0:
        raise ValueError("every value times 0 is 0; give the factor of the stored values, or leave it out")
    return scale


def _as_list(written: object) -> object:
    """Return one code as a list of it."""
    return written if isinstance(written, list | tuple) else [written]


def _ends_of(bits: str) -> tuple[int, int]:
    """Return the first and the last bit; the last one before the first where the text says neither.

    >>> _ends_of("2-3"), _ends_of("4"), _ends_of("four")
    ((2, 3), (4, 4), (0, -1))
    """
    found = BITS.fullmatch(bits)
    return (int(found[1]), int(found[2] or found[1])) if found else (0, -1)


def _label(written: object) -> str:
    if isinstance(written, bool | Mapping | list | tuple) or str(written).strip() == "":
        raise ValueError("needs a label, such as 2020-01, 850 or 24h, a list of labels, or a range such as 500..850")
    text = str(written).strip()
    return text.replace(" ", "T") if isinstance(written, date) else text


def selected(written: object) -> object:
    """Accept a label, or a list of labels, of each dimension."""
    if written is None:
        return None
    if not isinstance(written, Mapping):
        raise ValueError("needs a mapping of dimensions to labels, such as {time: 2020-01, level: 850}")  # noqa: TRY004
    return {
        str(name): tuple(map(_label, own)) if isinstance(own, list | tuple) and own else _label(own)
        for name, own in written.items()
    }


Selected = str | tuple[str, ...]
Code = Annotated[int, Field(ge=0)]
H = TypeVar("H")
BITS = re.compile(r"(\d{1,2})(?:-(\d{1,2}))?")
HIGHEST_BIT = 52  # of whole numbers that float64 holds


class LayerFile(Section):
    """The raster of a layer, if more than its path is to be said."""

    path: str | None = Field(
        default=None, min_length=1, description="path of the raster, with {tile}; none if `tiles` are items or an index"
    )
    asset: Text | None = Field(
        default=None,
        description="asset of the item, or attribute of the index, with the file; default: that of the source",
    )
    tiles: Annotated[FileTiles | None, BeforeValidator(file_tiles_of, json_schema_input_type=FileTiles | None)] = Field(
        default=None, description="other items or another index with tiles of the same names, for this layer"
    )
    variable: str | None = Field(
        default=None, min_length=1, description="name of the array in a netCDF, Zarr, Icechunk or HDF5 file"
    )
    select: Annotated[dict[str, Selected] | None, BeforeValidator(selected)] = Field(
        default=None,
        description="for an array with dimensions other than those of the map: the labels of each dimension to "
        "evaluate. The key is the name of the dimension, or `time`, `lead` or `level`. The value is a label, a list of "
        "labels, or a range such as `2020-01..2020-03`. `{member}` stands for the labels of ensemble members",
    )
    band: Annotated[int | str | None, BeforeValidator(band_written), WithJsonSchema(BAND_SCHEMA)] = Field(
        default=None, description="band of the only variable, by number or description"
    )
    scale: Annotated[float, AfterValidator(_not_zero)] | None = Field(
        default=None, description="factor of the stored values; default: that of the file, or 1"
    )
    offset: float | None = Field(
        default=None,
        description="number to add after the multiplication by `scale`; default: that of the file, or 0",
        examples=[-273.15],
    )
    nodata: float | None = Field(
        default=None, description="stored value of pixels without a value; default: that of the file"
    )
    units: str | None = Field(
        default=None,
        min_length=1,
        description="unit of the layer, which is converted to that of the variable; default: that of the file",
    )
    keep: Annotated[tuple[Code, ...], BeforeValidator(_as_list)] | None = Field(
        default=None, min_length=1, description="of a mask: codes of the pixels that count, such as classes of quality"
    )
    bits: dict[str, Annotated[tuple[Code, ...], BeforeValidator(_as_list), Field(min_length=1)]] | None = Field(
        default=None,
        min_length=1,
        description="of a mask of quality flags: number of a bit, from 0, or bits such as 2-3: their values in pixels "
        "that count, such as `{0: 0, 2-3: [0, 1]}`",
    )

    align: Alignment | None = Field(
        default=None,
        description="how a layer on another grid is brought to the pixels of the mean; default: it is refused",
    )
    valid_share: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="with `align: average`: share of a pixel that valid pixels of the file must cover; default: 0.5",
        examples=[0.9],
    )

    @property
    def pattern(self) -> str:
        """Return the path as GDAL names it, or what stands for that of an asset."""
        return f"{OF_SOURCE}{self.asset or ''}" if self.path is None else self.gdal_path(self.path)

    def gdal_path(self, path: str) -> str:
        """Return GDAL's name of the array in a file, if one is named; else the path."""
        if self.variable is None:
            return path
        ending = PurePosixPath(path).suffix.lower()
        separator = "//" if FORMATS[ending] == "HDF5" else ""
        return f'{FORMATS[ending]}:"{path}":{separator}{self.variable.lstrip("/")}'

    @property
    def settings(self) -> dict[str, Any]:
        """Return what is said besides the path."""
        return self.model_dump(exclude={"path"}, exclude_none=True)

    @property
    def bit_fields(self) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        """Return the first bit, the number of bits and the values that count of each entry of `bits`."""
        ends = {_ends_of(name): values for name, values in (self.bits or {}).items()}
        return tuple((first, last - first + 1, values) for (first, last), values in ends.items())

    def with_gdal_path(self) -> Self:
        """Return the same with the GDAL name of the path; for members, a name that `whole_array` takes."""
        if self.path is None:
            return self
        along = [name for name, label in (self.select or {}).items() if label == MEMBER and is_array(self.pattern)]
        path = "".join([self.pattern, *(f"@{name}={MEMBER}" for name in along)])
        select = {name: label for name, label in (self.select or {}).items() if name not in along}
        return self.model_copy(update={"path": path, "variable": None, "select": select or None})

    @field_validator("asset", "tiles")
    @classmethod
    def _without_path(cls, given: H, info: ValidationInfo) -> H:
        if given is not None and info.data.get("path") is not None:
            raise ValueError(f"give either path or {info.field_name}, not both")
        return given

    @field_validator("valid_share")
    @classmethod
    def _of_an_average(cls, share: float | None, info: ValidationInfo) -> float | None:
        if share is not None and info.data.get("align") != "average":
            raise ValueError("is for align: average alone")
        return share

    @field_validator("bits")
    @classmethod
    def _of_bits(cls, bits: dict[str, tuple[int, ...]] | None) -> dict[str, tuple[int, ...]] | None:
        problems: list[tuple[Steps, str]] = []
        for name, values in (bits or {}).items():
            first, last = _ends_of(name)
            if not first <= last <= HIGHEST_BIT:
                problems.append(
                    ((name,), f"{quoted(name)} is no bit from 0 to {HIGHEST_BIT}, and no range such as 2-3")
                )
            elif max(values) >> (last - first + 1):
                problems.append(((name,), f"{max(values)} does not fit into {last - first + 1} bits"))
        raise_each(problems)
        return bits

    @field_validator("variable")
    @classmethod
    def _in_a_file_with_arrays(cls, variable: str | None, info: ValidationInfo) -> str | None:
        path = info.data.get("path")
        if variable is not None and path and PurePosixPath(path).suffix.lower() not in FORMATS:
            raise ValueError(
                f"names an array of a file, but {quoted(path)} ends with none of {', '.join(FORMATS)}; write GDAL's "
                "name of the array as the path"
            )
        return variable


class Layers(Section):
    """Keys that hold layers, each of which is a path or a mapping."""

    _settings: dict[str, LayerFile] = PrivateAttr(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, LayerFile]:
        """Return the settings of the layers that have some, by their key, such as mean or quantiles.0.05."""
        return self._settings

    def settings_of(self, layer: str) -> LayerFile | None:
        """Return the settings of a layer that may be one of several members, or hold all quantiles; None for none."""
        if layer in self._settings:
            return self._settings[layer]
        base = layer.partition(".")[0]
        return self._settings.get(base) or next(
            (own for key, own in self._settings.items() if layer == base and key.startswith(f"{base}.")), None
        )

    @model_validator(mode="wrap")
    @classmethod
    def _with_settings(cls, data: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Take the settings out of the layers, whose paths are left."""
        if not isinstance(data, Mapping):
            return handler(data)
        files: dict[Steps, LayerFile] = {}
        data, problems = _with_usual_names(data, cls)
        for steps, written in _mappings(data):
            try:
                files[steps] = LayerFile.model_validate(written).with_gdal_path()
                problems += [((*steps, key), "is for masks alone") for key in _of_masks(files[steps], steps)]
                if message := problem_of_alignment(files[steps].align, str(steps[0])):
                    problems.append(((*steps, "align"), message))
            except ValidationError as error:
                problems += [((*steps, *problem["loc"]), problem["msg"]) for problem in error.errors()]
        if problems:
            raise several(problems)
        if (mean := files.get(("mean",))) and is_array(mean.pattern) and not any(data.get(key) for key in UNCERTAINTY):
            files[("std",)] = LayerFile(path=f"{mean.pattern}{OF_CF}", select=mean.select)
            data = {**data, "std": files[("std",)].path}
        found = handler(_with_paths(data, {steps: own.pattern for steps, own in files.items()}))
        own_settings = {_key(steps): own for steps, own in files.items() if own.settings or own.path is None}
        found._settings.update(own_settings)  # noqa: SLF001  of the model that is made here
        return found

    @model_serializer(mode="wrap")
    def _as_written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = handler(self)
        for key, own in self._settings.items():
            first, _, name = key.partition(".")
            place, last = (found[first], _same_name(found[first], name)) if name else (found, first)
            place[last] = own.settings if own.path is None else {"path": place[last], **own.settings}
        return found


def _with_usual_names(
    data: Mapping[str, Any], section: type[BaseModel]
) -> tuple[Mapping[str, Any], list[tuple[Steps, str]]]:
    """Return layers under the names that their fields have, and what is given under both names."""
    known = {key: name for key, name in ALIASES.items() if name in section.model_fields and data.get(key) is not None}
    problems: list[tuple[Steps, str]] = [
        ((key,), f"is another name of {name}, which is given too; leave one out")
        for key, name in known.items()
        if data.get(name) is not None
    ]
    return {known.get(key, key): own for key, own in data.items()}, problems


def _of_masks(file: LayerFile, steps: Steps) -> list[str]:
    """Return the keys that a layer which is no mask must not have."""
    return [] if steps == ("mask",) else [key for key in ("keep", "bits") if getattr(file, key) is not None]


def _mappings(data: Mapping[str, Any]) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield each layer that is written as a mapping, with the keys that lead to it."""
    for key, value in data.items():
        if not isinstance(value, Mapping):
            continue
        if key not in OF_NAMES:
            if key in LAYER_KEYS:
                yield (key,), value
            continue
        yield from (((key, str(name)), own) for name, own in value.items() if isinstance(own, Mapping))


def paths_written(data: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the path of each layer, with the keys that lead to it; also of layers that are faulty."""
    for key, value in data.items():
        name = ALIASES.get(key, key)
        layers = value if name in OF_NAMES and isinstance(value, Mapping) else {"": value} if name in LAYER_KEYS else {}
        for last, own in layers.items():
            path = own.get("path") if isinstance(own, Mapping) else own
            if isinstance(path, str) and is_path(key, path):
                yield (key, str(last)) if last else (key,), path


def _with_paths(data: Mapping[str, Any], paths: Mapping[Steps, str]) -> dict[str, Any]:
    found = dict(data)
    for steps, path in paths.items():
        if len(steps) == 1:
            found[str(steps[0])] = path
        else:
            found[str(steps[0])] = {
                name: path if str(name) == steps[1] else own for name, own in found[str(steps[0])].items()
            }
    return found


def _key(steps: Steps) -> str:
    """Return the key of a layer, with a level as paths of quantiles have it.

    >>> _key(("quantiles", "0.050")), _key(("mean",))
    ('quantiles.0.05', 'mean')
    """
    if steps[0] == "quantiles":
        return f"quantiles.{float(steps[1]):g}"
    return ".".join(map(str, steps))


def _same_name(named: Mapping[Any, Any], name: str) -> Any:
    """Return the key of a name, which may be a number."""
    return next(key for key in named if (f"{key:g}" if isinstance(key, float) else str(key)) == name)


LAYER_KEYS = (
    *("mean", "variance", "std", "relative_std", "lower", "upper", "truth"),
    *("truth_variance", "truth_std", "truth_relative_std", "mask", "weights"),
    *("members", "member_variance", "probabilities", "variance_aleatoric", "variance_epistemic"),
)


def add_mappings(properties: dict[str, Any]) -> None:
    """Let a JSON Schema of layers accept a mapping wherever it accepts a path, and the other names of layers."""
    mapping = {"$ref": "#/$defs/LayerFile"}
    for key in filter(properties.__contains__, LAYER_KEYS):
        own = properties[key]
        text = [{word: own.pop(word) for word in ("type", "minLength") if word in own}]
        own["anyOf"] = [*own.get("anyOf", text), mapping]
    for key in filter(properties.__contains__, OF_NAMES):
        named = next(
            one for one in (properties[key], *properties[key].get("anyOf", ())) if "additionalProperties" in one
        )
        named["additionalProperties"] = {"anyOf": [named["additionalProperties"], mapping]}
    properties |= {alias: properties[name] for alias, name in ALIASES.items() if name in properties}
