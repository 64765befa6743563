"""Files with a band for each layer: descriptions of bands say which is a mean, a std, a quantile or a class."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from geouq.config.load import TODO
from geouq.core.errors import ConfigError
from geouq.rasters.raster import Raster, descriptions_of
from geouq.starting.guess import Entry, Guess, layer
from geouq.starting.layers_as_files import Named, named
from geouq.starting.look import header, look
from geouq.starting.named_files import no_pair, rasters
from geouq.starting.tiles import as_spelled, pattern_of, tile_names
from geouq.starting.words import LEVEL, MEMBER, ROLE, WEAK_ROLE, camel_parts, mark_of, tokens, truth_mark

OF_BANDS = ("prediction", "predictions", "predicted", "pred", "output", "stack", "bands")  # of files of several layers
OF_FORMS = ("members", "quantiles", "probabilities")
SPREADS = (("variance",), ("std",), ("relative_std",), ("lower", "upper"))
LAYER_OF = {
    word: role
    for word, role in {**ROLE, **WEAK_ROLE}.items()
    if role in ("mean", *(role for roles in SPREADS for role in roles))
    and word not in ("map", "agb", "lo", "hi", "estimate")
}
LAYER_OF["median"] = "mean"  # if there are no other quantiles
SHORT = {"m": "mean", "v": "variance", "s": "std"}  # before a number alone, as in m1 and s1
NUMBERED = re.compile(r"([A-Za-z]+)[ _.-]?(\d+)")
BETWEEN = re.compile(r"[\s_.\-()\[\]:/]+")
BRACKETS = re.compile(r"[(\[]([^)\]]*)[)\]]")
BY_HAND = "Write the band of each layer by hand, such as variables: {height: {mean: 1, std: 2, truth: 1}}"
MOST_COMPARED = 100  # files whose bands are compared with those of the first
TOTALS = (1.0, 100.0, 200.0, 250.0, 255.0, 1000.0, 10_000.0)  # that probabilities of all classes may add up to


@dataclass(frozen=True)
class Predicted:
    """The bands of a variable: its name in the descriptions ('' for none), and the band of each of its layers."""

    name: str
    bands: Mapping[str, int]


@dataclass(frozen=True)
class Stack:
    """What the bands of a file are: layers by key with the reason, variables with their bands, other keys of data."""

    layers: Mapping[str, str]
    variables: Sequence[Predicted] = ()
    data: Mapping[str, Entry] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def recognise(paths: Sequence[str]) -> Guess | None:
    """Return the layers, if bands of some files are a prediction with its uncertainty.

    Raises ConfigError where files have several bands, and no descriptions that say which is which.
    """
    files = [one for one in named(rasters(paths)) if _may_be_stack(one)]
    groups: dict[tuple[str, str], list[Named]] = {}
    for one in files:
        groups.setdefault((str(PurePosixPath(one.path).parent), one.mark.text if one.mark else ""), []).append(one)
    unclear: ConfigError | None = None
    for own in groups.values():
        try:
            stack = stack_of(header(own[0].path), own[0].path)
        except ConfigError as error:
            unclear = unclear or error
            continue
        if stack:
            others = [other[0] for other in groups.values() if len(own) == 1 and _is_alike(own[0], other[0])]
            return _guess(stack, others or own)
    if unclear:
        raise ConfigError(f"{no_pair(paths)}, and {unclear}") from unclear
    return None


def _may_be_stack(one: Named) -> bool:
    return not one.role.startswith("truth") and (one.is_weak or one.role.partition(".")[0] in OF_FORMS)


def _is_alike(one: Named, other: Named) -> bool:
    """Return whether files of one name in two folders have the same bands, so that folders are tiles."""
    if PurePosixPath(one.path).name != PurePosixPath(other.path).name:
        return False
    return _descriptions(header(one.path)) == _descriptions(header(other.path))


def _descriptions(raster: Raster) -> list[str]:
    return [band.description for band in raster.bands]


def stack_of(raster: Raster, path: str) -> Stack | None:
    """Return what the bands of a file are; None of a single band.

    Raises ConfigError where the descriptions do not say.
    """
    if len(raster.variables) < 2:
        return None
    readers: tuple[Callable[[Raster, str], Stack | None], ...] = (_quantiles, _members, _probabilities, _two_bands)
    found = next(filter(None, (read(raster, path) for read in readers)), None)
    if found:
        return found
    variables = predicted_in(raster)
    bands = variables[0].bands
    shown = {
        key: f"band {number}, described as '{raster.bands[number - 1].description}'" for key, number in bands.items()
    }
    data = {"level": Entry(TODO, "level of the interval, such as 0.9")} if "lower" in bands else {}
    true = [number for name, number in raster.variables.items() if (truth_mark(name) and not role_of(name)[0])]
    if len(true) == len(variables) == 1:
        shown["truth"] = f"band {true[0]}, described as '{raster.bands[true[0] - 1].description}'"
        variables = [Predicted(variables[0].name, {**bands, "truth": true[0]})]
    return Stack(shown, variables, data)


def _quantiles(raster: Raster, _: str) -> Stack | None:
    """Return quantiles, if each band is described by a level."""
    names = [raster.bands[number - 1].description for number in raster.variables.values()]
    marks = [mark_of(name) if LEVEL.search(name) else None for name in names]
    levels = [mark.value for mark in marks if mark and mark.role == "quantiles"]
    if len(set(levels)) < len(names):
        return None
    layers = {
        f"quantiles.{level}": f"band {number}, described as '{name}'"
        for level, number, name in zip(levels, raster.variables.values(), names, strict=True)
    }
    return Stack(layers)


def _members(raster: Raster, path: str) -> Stack | None:
    """Return members, if the bands are numbered so, or the name of the file has a word for them."""
    bands = [raster.bands[number - 1].description for number in raster.variables.values()]
    numbered = [name for name in bands if MEMBER.fullmatch(name.strip()) and not name.lower().startswith("m")]
    numbered += [name for name in bands if re.search(r"(?i)\bmember", name)]
    mark = mark_of(PurePosixPath(path).stem)
    if len(numbered) == len(bands):
        return Stack({"members": f"{len(bands)} bands, described as '{bands[0]}' and so on"})
    if mark and mark.text.lower() in ("members", "ensemble"):
        return Stack({"members": f"{len(bands)} bands of a file named '{mark.text}'"})
    return None


def _probabilities(raster: Raster, _: str) -> Stack | None:
    """Return probabilities of classes, if the bands add up to 1, or to 100 or another whole."""
    bands = list(raster.variables.values())
    if any(role_of(raster.bands[number - 1].description)[0] for number in bands) or len(bands) > 50:
        return None
    pixels = [look(raster, number) for number in bands]
    sums = np.sum(pixels, axis=0)
    sums = sums[np.isfinite(sums)]
    if len(sums) < 10 or min(float(np.nanmin(own)) for own in pixels) < 0:
        return None
    total = next((whole for whole in TOTALS if np.abs(np.quantile(sums, (0.05, 0.95)) / whole - 1).max() < 0.02), None)
    if total is None or np.ptp(np.nan_to_num(pixels[0])) == 0:
        return None
    scale = {} if total == 1 else {"scale": float(f"{1 / total:.6g}")}
    whole = "1" if total == 1 else f"{total:g}, so a probability is a value / {total:g}"
    return Stack({"probabilities": f"the {len(bands)} bands add up to {whole}"}, settings=scale)


def _two_bands(raster: Raster, _: str) -> Stack | None:
    """Return mean and std, if two bands have no descriptions, and the second is positive and smaller."""
    numbers = list(raster.variables.values())
    if len(numbers) != 2 or any(raster.bands[number - 1].description for number in numbers):
        return None
    mean, std = (look(raster, number) for number in numbers)
    both = np.isfinite(mean) & np.isfinite(std)
    if both.sum() < 10 or std[both].min() < 0 or np.median(std[both]) >= np.abs(np.median(mean[both])):
        return None
    layers = {
        "mean": f"band {numbers[0]} of 2 without descriptions: please check",
        "std": f"band {numbers[1]} of 2 without descriptions; its values are positive and smaller: please check",
    }
    return Stack(layers, [Predicted("", {"mean": numbers[0], "std": numbers[1]})])


def _guess(stack: Stack, files: Sequence[Named]) -> Guess | None:
    keys = {_key(one.path): one.path for one in files}
    if len(keys) < len(files):
        keys = {f"{one.folder}_{_key(one.path)}": one.path for one in files}
    names = {key: as_spelled(tile, keys[key]) for key, tile in tile_names(list(keys)).items()}
    pattern, tiles = pattern_of({names[key]: [path] for key, path in keys.items()})
    if not tiles:
        pattern = files[0].path
    first = tiles[0] if tiles else ""
    paths = [pattern.replace("{tile}", tile) for tile in tiles] or [pattern]
    one, *others = [header(path) for path in paths[:MOST_COMPARED]]
    _require_alike(one, others)
    layers = {key: layer(pattern, why, **stack.settings) for key, why in stack.layers.items()}
    variables = {own.name or str(i): dict(own.bands) for i, own in enumerate(stack.variables)}
    return Guess("a band for each layer", tiles, first, layers, stack.data, variables)


def _key(path: str) -> str:
    """Return the name of a file without a last word such as `stack`."""
    words = tokens(PurePosixPath(path).stem)
    return "_".join(words[:-1] if len(words) > 1 and words[-1].lower() in OF_BANDS else words)


def _require_alike(first: Raster, others: Iterable[Raster]) -> None:
    """Raise ConfigError where the bands of a file have other descriptions than those of the first."""
    for other in others:
        if _descriptions(other) != _descriptions(first):
            raise ConfigError(
                f"{other.path} has the bands {descriptions_of(other)}, but {first.path} {descriptions_of(first)}: give "
                "all files the same bands"
            )


def predicted_in(raster: Raster) -> list[Predicted]:
    """Return the variables whose mean and spread are bands of a file; ConfigError where the descriptions do not say."""
    found: dict[str, dict[str, int]] = {}
    names: dict[str, str] = {}
    for number, band in enumerate(raster.bands, 1):
        layer, name = role_of(band.description)
        if layer and number != raster.alpha:
            own = found.setdefault(name.casefold(), {})
            names.setdefault(name.casefold(), name)
            if layer in own:
                raise _unclear(raster, f"bands {own[layer]} and {number} may both be the {layer}")
            own[layer] = number
    _add_plain_means(raster, found, names)
    for spread in SPREADS:
        if found and all({"mean", *spread} <= own.keys() for own in found.values()):
            return [
                Predicted(names[key], {layer: own[layer] for layer in ("mean", *spread)}) for key, own in found.items()
            ]
    raise _unclear(raster, "the descriptions of its bands do not say which are a mean and its variance or std")


def _add_plain_means(raster: Raster, found: dict[str, dict[str, int]], names: dict[str, str]) -> None:
    """Add means that no word describes: as `height` of `height_sd`, or the first band of one with an uncertainty."""
    plain = {name.casefold(): number for name, number in raster.variables.items() if not role_of(name)[0]}
    for key in [key for key, own in found.items() if "mean" not in own]:
        if key in plain:
            found[key]["mean"] = plain[key]
        elif len(found) == 1 and not key and 1 in plain.values() and raster.bands[0].description:
            found[key]["mean"] = 1
            names[key] = raster.bands[0].description


def role_of(description: str) -> tuple[str, str]:
    """Return the layer that a description names, '' for none or several, and the name or number of the variable.

    >>> role_of("sd2"), role_of("AGB mean (Mg/ha)"), role_of("predicted std"), role_of("quality")
    (('std', '2'), ('mean', 'AGB'), ('std', ''), ('', 'quality'))
    """
    if numbered := NUMBERED.fullmatch(description.strip()):
        word = numbered[1].lower()
        return LAYER_OF.get(word, SHORT.get(word, "")), numbered[2]
    separate = [word for word in BETWEEN.split(BRACKETS.sub(_without_units, description)) if word]
    words = [part for word in separate for part in ([word] if word.lower() in LAYER_OF else camel_parts(word))]
    roles = [word.lower() for word in words if word.lower() in LAYER_OF]
    strong = [word for word in roles if word not in WEAK_ROLE] or roles
    layers = {LAYER_OF[word] for word in strong}
    name = "_".join(word for word in words if word.lower() not in roles)
    return (layers.pop() if len(layers) == 1 else ""), name


def _without_units(brackets: re.Match[str]) -> str:
    """Return what brackets hold if it is a word for a layer, as in `height (std)`."""
    return f" {brackets[1]} " if brackets[1].strip().lower() in LAYER_OF else " "


def truth_bands(predicted: Sequence[Predicted], truth: Raster) -> list[int]:
    """Return the band of the truth of each variable; ConfigError where neither names nor numbers say which it is."""
    described = truth.variables
    by_name = {name.casefold(): number for name, number in described.items()}
    keys = [one.name.casefold() for one in predicted]
    if len(described) == len(predicted) == 1:
        return list(described.values())
    if all(key in by_name for key in keys):
        return [by_name[key] for key in keys]
    in_order = list(described.values())
    if len(in_order) == len(keys) and sorted(keys) == sorted(map(str, range(1, len(keys) + 1))):
        return [in_order[int(key) - 1] for key in keys]
    shown = ", ".join(one.name or "the prediction" for one in predicted)
    raise _unclear(truth, f"it is not clear which of its bands is the truth of {shown}")


def _unclear(raster: Raster, what: str) -> ConfigError:
    return ConfigError(f"{raster.path}: {what}; its bands are {descriptions_of(raster)}. {BY_HAND}")
