"""Which single values a configuration may hold; each check returns its value or says what is wrong."""

import re
from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from math import isfinite
from typing import Literal, TypeVar, get_args

import rasterio

from geouq.config.validation_errors import Steps, quoted, raise_each, suggestion
from geouq.core.naming import DEVICE, reads_as_missing

H = TypeVar("H", bound=Hashable)

SPLIT = "variance_aleatoric"  # beside variance_epistemic and mean
FORM = "form"  # of a prediction whose form another package defines
FORM_KEYS = ("members", "quantiles", "probabilities", SPLIT, FORM)
CELLS = "cells"  # every metric that cells keep
CELL_SIDES = (16, 32, 64, 128, 256)
HIGHEST_LEVEL = 0.999999
CALIBRATION_LEVELS = tuple(k / 20 for k in range(1, 20))
AREA = "area"
TILE = "{tile}"
MODEL = "{model}"
MEMBER = "{member}"
VARIABLE = "{variable}"
TIME = "{time}"
LONGEST_MODEL = 30
GroupedBy = Literal["truth", "mean", "variance"]


def supported_version(version: int) -> int:
    """Accept the one version of the format that there is."""
    if version != 1:
        raise ValueError(f"version {version} is not known to this geouq; write 1, or update geouq")
    return version


def known_drivers(names: tuple[str, ...]) -> tuple[str, ...]:
    """Accept GDAL's names of formats. COG becomes GTiff, the format that reads it."""
    with rasterio.Env() as env:
        known = env.drivers()
    raise_each(
        ((i,), f"{quoted(name)} is no format that GDAL reads here{suggestion(name, known)}")
        for i, name in enumerate(names)
        if name not in known
    )
    return tuple(dict.fromkeys("GTiff" if name == "COG" else name for name in names))


def experiment_name(name: str) -> str:
    """Accept a name that can be a folder everywhere.

    >>> experiment_name("amazon-biomass 2.1")
    'amazon-biomass 2.1'
    """
    if DEVICE.match(name):
        raise ValueError(f"{quoted(name)} is the name of a device on Windows; choose another one")
    if not re.fullmatch(r"\w(?:[\w .+-]{0,98}[\w+-])?", name):
        raise ValueError(f"{quoted(name)} cannot name a folder; use up to 100 letters, digits, '-', '_', '.' or '+'")
    return name


def tile_pattern(path: str) -> str:
    """Accept a path with the placeholders {tile}, {variable} and {time}, or without them."""
    return _with_tile(path, path)


def predicted_pattern(path: str) -> str:
    """Accept a path with the placeholders {tile}, {variable}, {time} and {model}, or without them."""
    return _with_tile(path, path.replace(MODEL, ""))


def member_pattern(path: str) -> str:
    """Accept a path with the placeholders {tile}, {time}, {member} and {model}, or without them."""
    if VARIABLE in path:
        raise ValueError(
            f"{VARIABLE} cannot be used for members; evaluate one variable in each run, with its name in the path"
        )
    return _with_tile(path, path.replace(MEMBER, "").replace(MODEL, ""))


def _with_tile(path: str, pattern: str) -> str:
    """Return the path, if no other placeholder than {tile} is in its pattern."""
    rest = pattern.replace(TILE, "").replace(VARIABLE, "").replace(TIME, "")
    if "{" in rest or "}" in rest:
        raise ValueError(f"{quoted(path)}: the only placeholders are {{tile}}, {{variable}} and {{time}}")
    return path


def name_in_tables(name: str) -> str:
    """Accept a name that programs which read tables keep.

    >>> name_in_tables("NA")
    Traceback (most recent call last):
    ValueError: 'NA' is read as a missing value by pandas and other programs; choose another name
    """
    if problem := problem_of_name(name):
        raise ValueError(problem)
    return name


def problem_of_name(name: str) -> str:
    """Return what is wrong with a name that is read as a missing value, '' for any other."""
    if not reads_as_missing(name):
        return ""
    return f"{quoted(name)} is read as a missing value by pandas and other programs; choose another name"


def model_name(name: str) -> str:
    """Accept a name that can be part of file names.

    >>> model_name("ensemble-v1.2")
    'ensemble-v1.2'
    """
    if not re.fullmatch(rf"[A-Za-z0-9_-](?:[A-Za-z0-9._-]{{0,{LONGEST_MODEL - 2}}}[A-Za-z0-9_-])?", name):
        raise ValueError(
            f"{quoted(name)} cannot be part of file names; use up to {LONGEST_MODEL} letters (A to Z), digits, '-', "
            "'_' or '.'"
        )
    return name_in_tables(name)


def grouping_name(name: str) -> str:
    """Accept a name that pixels are not grouped by already."""
    if name in get_args(GroupedBy):
        raise ValueError(f"{quoted(name)} names the groups by the {name} itself; choose another name")
    return name_in_tables(name)


def is_path(layer: str, text: str) -> bool:
    """Return whether what is written for a layer is a path; weights may be a word.

    >>> is_path("weights", "area"), is_path("weights", "w/{tile}.tif"), is_path("mean", "height")
    (False, True, True)
    """
    return text != "" and (layer != "weights" or bool(re.search(r"[{}./]", text)))


def weights_pattern(text: str) -> str:
    """Accept the word area, or the path of a raster with {tile}.

    >>> weights_pattern("areas")
    Traceback (most recent call last):
    ValueError: 'areas' is not known; did you mean 'area'?
    """
    if text == AREA:
        return text
    if is_path("weights", text):
        return tile_pattern(text)
    raise ValueError(f"{quoted(text)} is not known{suggestion(text, [AREA, 'a path'])}")


def directory_pattern(path: str) -> str:
    """Accept a path in which {name} may stand for the experiment's name."""
    if re.search(r"[{}]", path.replace("{name}", "")):
        raise ValueError(f"{quoted(path)}: the only placeholder is {{name}}")
    return path


def level(value: float) -> float:
    """Accept a nominal level between 0 and 1, far enough from 1 to have a half-width.

    >>> level(90)
    Traceback (most recent call last):
    ValueError: 90 is not between 0 and 1; write 0.9?
    """
    if between_0_and_1(value) > HIGHEST_LEVEL:
        raise ValueError(f"{value!r} is too near to 1; the highest level is {HIGHEST_LEVEL}")
    return value


def calibration_level(value: float) -> float:
    """Accept a probability whose quantile and central interval the counts of z tell exactly.

    >>> calibration_level(0.3)
    0.3
    >>> calibration_level(0.125)
    Traceback (most recent call last):
    ValueError: 0.125 is not a whole multiple of 0.01
    """
    hundredth = round(between_0_and_1(value), 2)
    # as the counts tell edges apart; 0.1 + 0.2 is 0.3
    if round(value, 12) != hundredth or not 0 < hundredth < 1:
        raise ValueError(f"{value!r} is not a whole multiple of 0.01")
    return hundredth


def between_0_and_1(value: float) -> float:
    """Accept a probability that is neither 0 nor 1."""
    if not 0 < value < 1:
        percent = f"; write {value / 100:g}?" if 1 < value < 100 else ""
        raise ValueError(f"{value:g} is not between 0 and 1{percent}")
    return value


def increasing(edges: tuple[float, ...]) -> tuple[float, ...]:
    """Accept edges of bins of a variance: from 0 on, each above the one before."""
    if edges[0] < 0:
        raise ValueError(f"a variance is never below 0; the first edge is {edges[0]:g}")
    raise_each(
        ((i + 1,), f"{high:g} is not above the edge before it, {low:g}")
        for i, (low, high) in enumerate(pairwise(edges))
        if high <= low
    )
    return edges


def metric_name(name: str) -> str:
    """Accept text that has the form of a metric's name."""
    if not re.fullmatch(r"[a-z_]+[0-9.]*", name):
        raise ValueError(f"{quoted(name)} is not the name of a metric, such as uce or coverage_90")
    return name


def cell_side(pixels: int) -> int:
    """Accept a side that whole cells share with the blocks of a raster."""
    if pixels not in CELL_SIDES:
        raise ValueError(f"{pixels} is not one of {', '.join(map(str, CELL_SIDES))}")
    return pixels


def finite(values: tuple[float, ...]) -> tuple[float, ...]:
    """Accept numbers, all of them finite."""
    raise_each(
        ((i,), f"{value} is no threshold; give a number") for i, value in enumerate(values) if not isfinite(value)
    )
    return values


def unique(values: tuple[H, ...]) -> tuple[H, ...]:
    """Accept values without repetition."""
    raise_each(repeated(values, quoted))
    return values


def repeated(values: Iterable[Hashable], shown: Callable[[Hashable], str]) -> Iterable[tuple[Steps, str]]:
    """Yield a fault for each value that stood before."""
    seen = set[Hashable]()
    for i, value in enumerate(values):
        if value in seen:
            yield (i,), f"{shown(value)} is given twice; remove one"
        seen.add(value)
