"""Maps of logarithms and square roots: words in names, descriptions, units and tags say so, and the truth confirms."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.errors import RasterioError

from geouq.config.layer_file import is_array
from geouq.rasters.gdal import gdal_options, open_as
from geouq.rasters.raster import Raster
from geouq.starting.guess import Guess
from geouq.starting.look import FEWEST, FORMATS, band_of, header_of, values_of
from geouq.starting.named_files import is_listed

Floats = NDArray[np.float64]
LN_10 = 2.302585092994046
WORDS: Mapping[str, str] = {  # the first that is found counts
    "log1p": r"(?:log|ln)1p|(?:log|ln) ?\( ?1 ?\+|(?:log|ln) ?\([^)]*\+ ?1(?:\.0*)? ?\)",
    "log10": r"(?<![A-Za-z])(?:log[ _-]?10|lg(?![a-z]))",
    "log": r"(?<![A-Za-z])(?:log|ln|Log|Ln|LOG|LN)(?:arithm(?:ic)?)?(?![a-z])",
    "sqrt": r"(?<![A-Za-z])(?:sqrt|Sqrt|SQRT|square[ _-]root)",
}
BACK: Mapping[str, Callable[[Floats], Floats]] = {
    "log1p": np.expm1,
    "log10": lambda stored: 10.0**stored,
    "log": np.exp,
    "sqrt": np.square,
}
FUNCTION = re.compile(r"(?:log1p|log10|log|ln|sqrt) ?\( ?(?:1 ?\+)?([^()]+?)(?:\+ ?1)?\)", re.IGNORECASE)
OF_TAGS = re.compile(r"trans|scale|unit|desc|name|log", re.IGNORECASE)  # keys that may say how values are stored


class Said(NamedTuple):
    """A word for a transformation, and where it stands."""

    transform: str
    word: str
    where: str


def transform_of(guess: Guess) -> tuple[str, str]:
    """Return the transformation of the stored values and the reason; the transformation is empty if there is none."""
    if "mean" not in guess.known():
        return "", ""
    found = next(filter(None, (_word(text, where) for where, text in _texts(guess))), None)
    if found is None:
        return "", ""
    said = f"{found.where} has '{found.word}'"
    if not {"std", "variance"} & {*guess.known()}:
        return "", f"{said}: if values are transformed, give a mean and a std of them and transform: {_name(found)}"
    closer = _closer(guess, found.transform)
    if closer is None:
        return found.transform, f"{said}: please check"
    back = {"log": "exp", "log10": "10^", "log1p": "expm1", "sqrt": "square"}[found.transform]
    if closer:
        return found.transform, f"{said}, and the truth is close to {back} of the mean"
    return "", f"{said}, but the truth is close to the mean as it is stored: both are evaluated so"


def with_transform(guess: Guess, transform: str, why: str) -> Guess:
    """Return the guess with the transformation of its variables; natural logarithms follow from those to base 10."""
    if not transform:
        return guess.with_layer("mean", why) if why else guess
    if transform == "log10":
        for key in guess.known():
            if not key.startswith("truth"):
                factor = LN_10**2 if key == "variance" else LN_10
                scale = factor * guess.layers[key].value.get("scale", 1)
                guess = guess.with_layer(key, "from base 10 to natural logarithms", scale=float(f"{scale:.10g}"))
    name = "log" if transform == "log10" else transform
    variables = {
        untransformed(variable): {
            **{key: untransformed(text) if key == "units" else text for key, text in own.items()},
            "transform": name,
        }
        for variable, own in guess.variables.items()
    }
    reasons = "; ".join(filter(None, (guess.why_variables, why)))
    return replace(guess, variables=variables, why_variables=reasons)


def untransformed(text: str) -> str:
    """Return the name or the unit of a variable without its transformation.

    >>> untransformed("log(AGB)"), untransformed("ln(Mg ha-1)"), untransformed("height")
    ('AGB', 'Mg ha-1', 'height')
    """
    found = FUNCTION.fullmatch(text)
    return found[1].strip() if found else text


def _name(found: Said) -> str:
    return "log" if found.transform == "log10" else found.transform


def _word(text: str, where: str) -> Said | None:
    """Return the word for a transformation in a text.

    >>> [
    ...     said.transform
    ...     for text in ("log(AGB)", "ln_height", "logAGB", "log1p(x)", "log(x + 1)", "log10 SOC", "login", "sqrt")
    ...     if (said := _word(text, ""))
    ... ]
    ['log', 'log', 'log', 'log1p', 'log1p', 'log10', 'sqrt']
    """
    for transform, pattern in WORDS.items():
        if found := re.search(pattern, text):
            return Said(transform, found[0].strip(" _-("), where)
    return None


def _texts(guess: Guess) -> Iterator[tuple[str, str]]:
    """Yield what may say how the mean is stored: description, unit, tags, and the name of its file."""
    raster, number = header_of(guess, "mean"), band_of(guess, "mean")
    band = raster.bands[number - 1]
    yield "the description of the mean", band.description
    yield "the unit of the mean", band.units
    for key, value in _tags(raster, number).items():
        yield f"the tag {key} of the mean", f"{value}"
    path = guess.pattern("mean") if len(guess.tiles) > 1 else guess.path("mean")
    *_, name = path.split("/")
    yield "the name of the file", re.sub(r"\{\w+\}|\.\w+$", " ", name)


def _tags(raster: Raster, number: int) -> dict[str, str]:
    """Return the tags of a file on this machine, or the attributes of an array, that may say how values are stored."""
    found: dict[str, str] = {}
    if is_array(raster.path):
        from geouq.rasters.arrays import open_array  # noqa: PLC0415  xarray is loaded where an array is read

        found = {str(key): str(own) for key, own in open_array(raster.path)[1].attrs.items()}
    elif is_listed(raster.path):
        try:
            with gdal_options(), open_as(raster.path, FORMATS) as source:
                found = {**source.tags(), **source.tags(number)}
        except (RasterioError, rasterio.errors.RasterioIOError):
            return {}
    return {key: own for key, own in found.items() if OF_TAGS.search(key)}


def _closer(guess: Guess, transform: str) -> bool | None:
    """Return whether the truth is closer to the mean transformed back than to the stored one; None if unknown."""
    if "truth" not in guess.known() or header_of(guess, "mean").grid.shape != header_of(guess, "truth").grid.shape:
        return None
    mean, truth = values_of(guess, "mean"), values_of(guess, "truth")
    with np.errstate(over="ignore", invalid="ignore"):
        errors = [np.abs(truth - own) for own in (BACK[transform](mean), mean)]
    both = np.isfinite(errors[0]) & np.isfinite(errors[1])
    if both.sum() < FEWEST:
        return None
    return bool(np.median(errors[0][both]) < np.median(errors[1][both]))
