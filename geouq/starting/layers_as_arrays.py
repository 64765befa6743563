"""Find a mean and its uncertainty among arrays of netCDF, Zarr and HDF5 files, by CF attributes and names."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import rasterio
from rasterio.errors import NotGeoreferencedWarning, RasterioError

from geouq.core.errors import ConfigError, DataError
from geouq.rasters.formats import ARRAY_NAME
from geouq.rasters.gdal import gdal_options
from geouq.starting.guess import Entry, Guess, layer
from geouq.starting.layers_as_files import SPREADS
from geouq.starting.named_files import NETCDF, ZARR, driver_of, is_arrays, some
from geouq.starting.tiles import as_spelled, pattern_of, tile_names
from geouq.starting.words import mark_of, tokens, truth_mark, without

STANDARD_ERROR = "standard_error"  # modifier of a standard name of CF
BY_XARRAY = (NETCDF, ZARR)  # formats that need no driver
BY_HAND = "write the arrays by hand, such as mean: {path: map.nc, variable: agb}"


@dataclass(frozen=True)
class Array:
    """An array of a file, with the attributes that GDAL gives; bands : along its other dimensions."""

    name: str
    attributes: Mapping[str, str]
    bands: int

    @property
    def label(self) -> str:
        """Return the last part of the name, without groups."""
        return self.name.rpartition("/")[2]


@contextmanager
def _unplaced_allowed() -> Iterator[None]:
    """Silence the warning on files of several arrays, which have no georeference themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        yield


def arrays_in(path: str) -> list[Array]:
    """Return the arrays of a file that have two dimensions or more; ConfigError where it cannot be read."""
    driver = driver_of(path)
    if driver == ZARR:
        return _in_store(path)
    try:
        with _unplaced_allowed(), gdal_options(), rasterio.open(path, driver=driver.removesuffix("Image")) as file:
            names = {text: found["name"] for text in file.subdatasets if (found := ARRAY_NAME.match(text))}
            if not names and file.count:
                names = {path: file.tags(1).get("NETCDF_VARNAME", "")}
        return [_array(text, name, driver) for text, name in names.items() if name]
    except (RasterioError, OSError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def _in_store(path: str) -> list[Array]:
    from geouq.rasters.arrays import arrays_in_file  # noqa: PLC0415  xarray is loaded where an array is read

    try:
        found = arrays_in_file(path)
    except DataError as error:
        raise ConfigError(str(error)) from None
    return [
        Array(name, {key: str(value) for key, value in own.attrs.items()}, math.prod(own.shape[:-2]))
        for name, own in found.items()
        if own.ndim >= 2
    ]


def _array(path: str, name: str, driver: str) -> Array:
    """Return an array by GDAL's name of it; in HDF5, names of attributes begin with that of the array."""
    with _unplaced_allowed(), gdal_options(), rasterio.open(path, driver=driver) as source:
        tags = {**source.tags(), **(source.tags(1) if source.count else {})}
        own = f"{name.replace('/', '_')}_"
        return Array(name, {key.removeprefix(own): value for key, value in tags.items()}, source.count)


def recognise(paths: Sequence[str]) -> Guess | None:
    """Return the layers, if a file holds an array of a mean and one of its uncertainty."""
    files = [path for path in paths if is_arrays(path) and not truth_mark(path.rpartition("/")[2])]
    if not files:
        return None
    arrays = arrays_in(files[0])
    layers = _by_attributes(arrays) or _by_names(arrays)
    if not layers:
        if len(files) < len(paths):
            return None  # the arrays may be the truth of other files
        raise ConfigError(
            f"{files[0]}: attributes and names of its arrays do not say which is a mean and which its uncertainty; "
            f"they are {some(array.name for array in arrays)}; {BY_HAND}"
        )
    return _guess(files, layers)


def _guess(files: Sequence[str], layers: Mapping[str, tuple[Array, str]]) -> Guess:
    keys = {without(path.rpartition("/")[2].rpartition(".")[0], None): path for path in files}
    names = {key: as_spelled(tile, keys[key]) for key, tile in tile_names(list(keys)).items()}
    pattern, tiles = pattern_of({names[key]: [path] for key, path in keys.items()})
    if len(files) == 1:
        pattern, tiles = files[0], ()
    found = {role: _layer(pattern, array, why) for role, (array, why) in layers.items()}
    guess = Guess("arrays of one file", tiles, tiles[0] if tiles else "", found)
    return replace(guess, variables={layers["mean"][0].label: {}}, why_variables="name of the array of the mean")


def _layer(pattern: str, array: Array, why: str) -> Entry:
    if array.bands == 1:
        return layer(pattern, why, variable=array.name)
    if driver_of(pattern) in BY_XARRAY:
        reason = f"{why}; each of its {array.bands} steps is a tile: choose some with select"
        return layer(pattern, reason, variable=array.name)
    reason = f"{why}; the first of {array.bands} steps of its other dimensions"
    return layer(pattern, reason, variable=array.name, band=1)


def _by_attributes(arrays: Sequence[Array]) -> dict[str, tuple[Array, str]]:
    """Return mean and std by the attributes of CF: ancillary_variables and the modifier standard_error."""
    by_name = {array.label: array for array in arrays}
    for array in arrays:
        for name in array.attributes.get("ancillary_variables", "").split():
            other = by_name.get(name)
            if other and (role := _spread_of(other)):
                why = f"ancillary variable of {array.label}" + _about(other)
                return _with_truth({"mean": (array, f"has the ancillary variable {name}"), role: (other, why)}, arrays)
    return {}


def _spread_of(array: Array) -> str:
    """Return the layer that an ancillary variable is, "" where it is no uncertainty."""
    if STANDARD_ERROR in array.attributes.get("standard_name", ""):
        return "std"
    mark = mark_of(array.label) or mark_of(array.attributes.get("long_name", ""))
    return mark.role if mark and mark.role in SPREADS else ""


def _about(array: Array) -> str:
    name = array.attributes.get("standard_name", "")
    return f", with the standard name '{name}'" if name else ""


def _by_names(arrays: Sequence[Array]) -> dict[str, tuple[Array, str]]:
    """Return mean and spread by words in the names of arrays, such as agb and agb_se."""
    marked = [(array, mark_of(array.label)) for array in arrays if not truth_mark(array.label)]
    for role in SPREADS:
        for array, mark in marked:
            if mark and mark.role == role:
                rest = without(array.label, mark)
                mean = next((other for other, own in marked if _is_mean_of(other, rest, own)), None)
                if mean:
                    named = f"named '{mark.text}'"
                    return _with_truth(
                        {"mean": (mean, f"the array whose {role} is {array.name}"), role: (array, named)}, arrays
                    )
    return {}


def _is_mean_of(array: Array, rest: str, mark: object) -> bool:
    """Return whether an array is the mean for a name without the word for its spread."""
    own = mark_of(array.label)
    if own is None:
        return without(array.label, None) == rest
    return own.role == "mean" and rest in (without(array.label, own), without(array.label, None)) and mark is not None


def _with_truth(found: dict[str, tuple[Array, str]], arrays: Sequence[Array]) -> dict[str, tuple[Array, str]]:
    """Return the layers with an array of the same file that is named like a truth."""
    marked = [(array, mark_of(array.label)) for array in arrays if truth_mark(array.label)]
    true = next((array for array, mark in marked if mark is None or mark.is_weak or mark.role == "mean"), None)
    return found if true is None else {**found, "truth": (true, f"named '{_word(true)}'")}


def _word(array: Array) -> str:
    mark = truth_mark(array.label)
    return mark.text if mark else ""


def truth_array(path: str) -> tuple[str, str]:
    """Return the array of a file of the truth, and why: the one that is named so, or the only one."""
    arrays = arrays_in(path)
    if not arrays:
        raise ConfigError(f"{path} holds no array of two dimensions")
    named = [array for array in arrays if truth_mark(array.label)]
    chosen = (named or arrays)[0]
    if len(arrays) == 1:
        return chosen.name, "its only array"
    return chosen.name, f"array '{chosen.label}' of {some(tokens(' '.join(a.label for a in arrays)))}"


def with_drivers(guess: Guess) -> Guess:
    """Return the guess with the drivers that its files need."""
    drivers = {key: driver_of(guess.path(key)) for key in guess.known()}
    by_gdal = [own for key, own in drivers.items() if own not in BY_XARRAY or "variable" not in guess.layers[key].value]
    wanted = list(dict.fromkeys(["GTiff", *by_gdal]))
    if len(wanted) == 1:
        return guess
    trust = "; a VRT can name any file: read it only if you trust its author" if "VRT" in wanted else ""
    return guess.with_other("drivers", wanted, f"formats of the files{trust}")
