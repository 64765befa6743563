"""A configuration to begin with, written from the names of files and the descriptions of bands in two folders."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from geouq.core.errors import ConfigError
from geouq.core.naming import reads_as_missing
from geouq.core.wording import one_line
from geouq.rasters.raster import Raster, descriptions_of, read_header

RASTERS = (".tif", ".tiff", ".vrt", ".img")
OF_BANDS = ("prediction", "predictions", "predicted", "pred", "output", "stack", "bands")  # of files of several layers
HAND = "rename the files, or write the configuration by hand"
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
    """The bands of a variable: its name in the descriptions ('' for none), and the band of each of its layers."""

    name: str
    bands: Mapping[str, int]


def starter_config(predictions: Path, truth: Path) -> str:
    """Return the YAML of a configuration for the rasters in two folders (or one).

    Names of predictions end in `_mean`, and `_variance` or `_std`; or the bands of one file have such descriptions. The
    truth of a tile has its bare name, or one ending for all. Raises ConfigError that says what was looked for, where
    neither names nor descriptions say which layer is which.
    """
    predicted = _rasters(predictions)
    layers = {layer: found for layer, words in WORDS.items() if (found := _with_ending(predicted, words))}
    if not ({"variance", "std"} & layers.keys()):
        return _of_bands(predictions, truth, predicted)
    if "mean" not in layers:
        raise ConfigError(f"{predictions}: {_no_pair(predicted)}; {HAND}")
    mean_ending, tiles = layers["mean"]
    spread = "variance" if "variance" in layers else "std"
    truth_ending = _truth_ending(truth, tiles, {predictions / f"{t}{e}" for e, ts in layers.values() for t in ts})
    header = read_header(str(predictions / f"{tiles[0]}{mean_ending}"))
    patterns = {
        "mean": predictions / f"{{tile}}{mean_ending}",
        spread: predictions / f"{{tile}}{layers[spread][0]}",
        "truth": truth / f"{{tile}}{truth_ending}",
    }
    variables = {
        kept_name(name, number): {"band": number} | _units(header, number) for name, number in header.variables.items()
    }
    true = _first(truth / f"{tile}{truth_ending}" for tile in tiles)
    return _as_yaml(predictions, patterns, variables, _comment(list(variables), true))


def _of_bands(predictions: Path, truth: Path, files: Sequence[Path]) -> str:
    """Return the configuration of files whose bands are mean and spread, with a band of each layer."""
    ending, tiles = _tiles_of_bands(files, apart=predictions.resolve() != truth.resolve())
    paths = [predictions / f"{tile}{ending}" for tile in tiles]
    first, *others = [read_header(str(path)) for path in paths]
    try:
        predicted = predicted_in(first)
    except ConfigError as error:
        raise ConfigError(f"{predictions}: {_no_pair(files)}; {HAND}. {error}") from None
    truth_ending = _truth_ending(truth, tiles, set(paths))
    _require_alike(first, others)
    true = _first(truth / f"{tile}{truth_ending}" for tile in tiles)
    variables = {
        name_of(one, true, band): {**one.bands, "truth": band} | _units(first, one.bands["mean"])
        for one, band in zip(predicted, truth_bands(predicted, true), strict=True)
    }
    patterns = dict.fromkeys(predicted[0].bands, predictions / f"{{tile}}{ending}")
    patterns |= {"truth": truth / f"{{tile}}{truth_ending}"}
    return _as_yaml(predictions, patterns, variables, _comment(list(variables), true))


def _first(paths: Iterable[Path]) -> Raster:
    """Return the header of the first file that exists."""
    return read_header(str(next(path for path in paths if path.exists())))


def _comment(variables: Sequence[str], truth: Raster) -> str:
    """Return a comment if the only band of the truth may belong to another variable; empty if it does not."""
    if len(truth.bands) != 1:
        return ""
    described = one_line(truth.bands[0].description or "")
    if len(variables) > 1:
        return f"the truth has one band ({described or 'not described'}): keep its variable alone, and add truth: 1"
    if not described or variables[0].casefold() in described.casefold():
        return ""
    return f"the only band of the truth is described as {described}: check that it is the truth of {variables[0]}"


def _tiles_of_bands(files: Sequence[Path], *, apart: bool) -> tuple[str, list[str]]:
    """Return how the names of files with several layers end, and the tiles.

    apart : whether the truth lies in another folder, so that no ending is needed.
    """
    if found := _with_ending(files, OF_BANDS):
        return found
    if not apart:
        raise ConfigError(f"{files[0].parent}: {_no_pair(files)}; {HAND}")
    suffixes = Counter(path.suffix for path in files)
    suffix = max(suffixes, key=lambda own: suffixes[own])
    return suffix, [path.stem for path in files if path.suffix == suffix]


def _require_alike(first: Raster, others: Iterable[Raster]) -> None:
    """Raise ConfigError where the bands of a file have other descriptions than those of the first."""
    for other in others:
        if [band.description for band in other.bands] != [band.description for band in first.bands]:
            raise ConfigError(
                f"{other.path} has the bands {descriptions_of(other)}, but {first.path} {descriptions_of(first)}: give "
                "all files the same bands"
            )


def _no_pair(files: Sequence[Path]) -> str:
    return (
        "there is no pair such as NAME_mean.tif with NAME_variance.tif or NAME_std.tif among "
        f"{_some(path.name for path in files)}"
    )


def _units(raster: Raster, band: int) -> dict[str, object]:
    units = raster.bands[band - 1].units
    return {"units": units} if units else {}


def _rasters(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in RASTERS)
    if not found:
        raise ConfigError(f"{folder} holds no raster ({', '.join(RASTERS)})")
    return found


def _with_ending(paths: Iterable[Path], words: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the first ending that some names have, with its separator and suffix, and the names without it."""
    for word in words:
        found: dict[str, list[str]] = {}
        for path in paths:
            if match := re.fullmatch(rf"(.+)([_.-]{word}{re.escape(path.suffix)})", path.name, re.IGNORECASE):
                found.setdefault(match[2], []).append(match[1])
        if found:
            ending = max(found, key=lambda key: len(found[key]))
            return ending, found[ending]
    return None


def _truth_ending(folder: Path, tiles: Sequence[str], taken: set[Path]) -> str:
    """Return what follows the tile's name in the names of most truth files."""
    endings: dict[str, int] = {}
    for path in _rasters(folder):
        if path not in taken:
            for tile in tiles:
                if re.match(rf"{re.escape(tile)}(?![A-Za-z0-9])", path.name):
                    ending = path.name[len(tile) :]
                    endings[ending] = endings.get(ending, 0) + 1
    if not endings:
        raise ConfigError(
            f"{folder}: no truth file is named after a tile; the tiles are {_some(tiles)}, "
            f"the files {_some(path.name for path in _rasters(folder))}"
        )
    return max(sorted(endings, key=len), key=lambda ending: endings[ending])


def _as_yaml(
    predictions: Path, patterns: Mapping[str, Path], variables: Mapping[str, Mapping[str, object]], comment: str
) -> str:
    name = predictions.resolve().name or "experiment"
    lines = [
        "# Written by geouq init; paths are relative to this file.",
        "version: 1",
        _line("name", re.sub(r"[^\w.-]+", "-", name).strip("-.") or "experiment"),
        "data:",
        *(f"  {_line(layer, pattern.as_posix())}" for layer, pattern in patterns.items()),
        "variables:",
        *(f"  {_line(variable, dict(settings))}" for variable, settings in variables.items()),
        *([f"  # {comment}"] if comment else []),
        "tiles: all",
        "# regions:            # lists of tiles; they may overlap",
        "#   north: [tile1, tile2]",
    ]
    return "\n".join(lines) + "\n"


def _line(key: str, value: object) -> str:
    """One key with its value in flow style."""
    text = yaml.safe_dump({key: value}, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    return text.strip()[1:-1]


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")


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
    """Return the name of a variable: of the prediction, of the band of its truth, or the position of its mean."""
    if one.name and not one.name.isdecimal():
        return kept_name(one.name, one.bands["mean"])
    described: Mapping[int, str] = {number: name for name, number in truth.variables.items()}
    own = truth.bands[band - 1].description
    return kept_name(own if own and described[band] == own else "", one.bands["mean"])


def kept_name(name: str, band: int) -> str:
    """Return a name, or the name of the band if programs that read tables take the name for a missing value.

    >>> kept_name("height", 2), kept_name("NULL", 2), kept_name("", 2)
    ('height', 'band_2', 'band_2')
    """
    return f"band_{band}" if reads_as_missing(name) else name


def _unclear(raster: Raster, what: str) -> ConfigError:
    return ConfigError(f"{raster.path}: {what}; its bands are {descriptions_of(raster)}. {BY_HAND}")
