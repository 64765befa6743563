"""A configuration to begin with, written from what two folders of rasters hold."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from geouq.errors import ConfigError
from geouq.rasters.raster import Raster, read_header

RASTERS = (".tif", ".tiff", ".vrt", ".img")
ENDINGS = {
    "mean": ("mean", "mu", "pred", "prediction", "predicted"),
    "variance": ("variance", "var"),
    "std": ("std", "sigma", "sd", "stdev", "uncertainty"),
}


def starter_config(predictions: Path, truth: Path) -> str:
    """YAML of a configuration for the rasters in two folders (or one).

    Predictions are told by how their names end: `_mean`, and `_variance` or `_std`; the truth of a tile has its bare
    name, or one ending for all. Raises ConfigError that says what was looked for, where the names do not tell.
    """
    predicted = _rasters(predictions)
    layers = {layer: found for layer, words in ENDINGS.items() if (found := _with_ending(predicted, words))}
    if "mean" not in layers or not ({"variance", "std"} & layers.keys()):
        raise ConfigError(
            f"{predictions}: found no pair such as NAME_mean.tif with NAME_variance.tif or NAME_std.tif among "
            f"{_some(path.name for path in predicted)}; rename the files, or write the configuration by hand"
        )
    mean_ending, tiles = layers["mean"]
    spread = "variance" if "variance" in layers else "std"
    truth_ending = _truth_ending(truth, tiles, {predictions / f"{t}{e}" for e, ts in layers.values() for t in ts})
    header = read_header(str(predictions / f"{tiles[0]}{mean_ending}"))
    patterns = {
        "mean": predictions / f"{{tile}}{mean_ending}",
        spread: predictions / f"{{tile}}{layers[spread][0]}",
        "truth": truth / f"{{tile}}{truth_ending}",
    }
    return _as_yaml(predictions, patterns, header)


def _rasters(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in RASTERS)
    if not found:
        raise ConfigError(f"{folder} holds no raster ({', '.join(RASTERS)})")
    return found


def _with_ending(paths: Iterable[Path], words: Sequence[str]) -> tuple[str, list[str]] | None:
    """The first ending that some names have, with its separator and suffix, and the names without it."""
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
    """What follows the tile's name in the names of most truth files."""
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


def _as_yaml(predictions: Path, patterns: dict[str, Path], header: Raster) -> str:
    name = predictions.resolve().name or "experiment"
    variables = {
        name: {"band": number} | ({"units": units} if (units := header.bands[number - 1].units) else {})
        for name, number in header.variables.items()
    }
    lines = [
        "# Written by geouq init; paths are relative to this file.",
        "version: 1",
        _line("name", re.sub(r"[^\w.-]+", "-", name).strip("-.") or "experiment"),
        "data:",
        *(f"  {_line(layer, pattern.as_posix())}" for layer, pattern in patterns.items()),
        "variables:",
        *(f"  {_line(variable, settings)}" for variable, settings in variables.items()),
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
