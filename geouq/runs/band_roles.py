"""What the bands of one file are by their descriptions: mean and std of some variables, and which truth they have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from geouq.errors import ConfigError
from geouq.rasters.raster import Raster, descriptions_of
from geouq.text.naming import reads_as_missing

WORDS = {
    "mean": ("mean", "mu", "pred", "prediction", "predicted"),
    "variance": ("variance", "var"),
    "std": ("std", "sigma", "sd", "stdev", "stddev", "uncertainty"),
}
WEAK = ("pred", "prediction", "predicted")  # of any layer of a prediction, if another word says which
SHORT = {"m": "mean", "v": "variance", "s": "std"}  # before a number alone, as in m1 and s1
LAYER_OF = {word: layer for layer, words in WORDS.items() for word in words}
NUMBERED = re.compile(r"([A-Za-z]+)[ _.-]?(\d+)")
BETWEEN = re.compile(r"[\s_.\-()\[\]:/]+")
BRACKETS = re.compile(r"[(\[]([^)\]]*)[)\]]")
BY_HAND = "Write the band of each layer by hand, such as variables: {height: {mean: 1, std: 2, truth: 1}}"


@dataclass(frozen=True)
class Predicted:
    """The bands of one variable: its name in the descriptions ('' for none), and the band of each of its layers."""

    name: str
    bands: Mapping[str, int]


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
    for spread in ("variance", "std"):
        if found and all({"mean", spread} <= own.keys() for own in found.values()):
            return [
                Predicted(names[key], {layer: own[layer] for layer in ("mean", spread)}) for key, own in found.items()
            ]
    raise _unclear(raster, "the descriptions of its bands do not say which are a mean and its variance or std")


def role_of(description: str) -> tuple[str, str]:
    """Return the layer that a description names, '' for none or several, and the name or number of the variable.

    >>> role_of("sd2"), role_of("AGB mean (Mg/ha)"), role_of("predicted std"), role_of("quality")
    (('std', '2'), ('mean', 'AGB'), ('std', ''), ('', 'quality'))
    """
    if numbered := NUMBERED.fullmatch(description.strip()):
        word = numbered[1].lower()
        return LAYER_OF.get(word, SHORT.get(word, "")), numbered[2]
    words = [word for word in BETWEEN.split(BRACKETS.sub(_without_units, description)) if word]
    roles = [word.lower() for word in words if word.lower() in LAYER_OF]
    strong = [word for word in roles if word not in WEAK] or roles
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


def name_of(one: Predicted, truth: Raster, band: int) -> str:
    """Return the name of a variable: that of the prediction, or of the band of its truth, or the place of its mean."""
    if one.name and not one.name.isdecimal():
        return kept_name(one.name, one.bands["mean"])
    described: Mapping[int, str] = {number: name for name, number in truth.variables.items()}
    own = truth.bands[band - 1].description
    return kept_name(own if own and described[band] == own else "", one.bands["mean"])


def kept_name(name: str, band: int) -> str:
    """Return a name, or that of the band if programs that read tables take the name for a missing value.

    >>> kept_name("height", 2), kept_name("NULL", 2), kept_name("", 2)
    ('height', 'band_2', 'band_2')
    """
    return f"band_{band}" if reads_as_missing(name) else name


def _unclear(raster: Raster, what: str) -> ConfigError:
    return ConfigError(f"{raster.path}: {what}; its bands are {descriptions_of(raster)}. {BY_HAND}")
