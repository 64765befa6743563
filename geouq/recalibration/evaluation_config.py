"""A configuration that evaluates the written rasters: that of the run, with them in place of the forecast."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from geouq.atomic import atomic_write
from geouq.config import Experiment
from geouq.recalibration.fitting import nearest_level
from geouq.recalibration.rasters import bound_name, names_bands, path_of_raster

NAME = "evaluate.yaml"
SPREADS = ("variance", "std", "lower", "upper", "level")


def write_evaluation(experiment: Experiment, run: Path, out: Path, layers: Mapping[str, Sequence[str]]) -> list[Path]:
    """Write the configuration of the rasters of all tiles of a run, whose folder is `run`, to the folder `out`.

    layers : those written of each model, "" for the only one.
    """
    found = {model: _forecast(model, own, experiment.levels) for model, own in layers.items()}
    plain: dict[str, Any] = {
        "extends": Path(os.path.relpath(run / "config.yaml", out)).as_posix(),
        "name": f"{experiment.name}-recalibrated",
        "recalibration": None,
        **({"data": found[""]} if "" in found else {"models": found}),
        **_bands(experiment, layers),
    }
    text = "# Evaluates the recalibrated rasters in this folder: geouq run FOLDER/evaluate.yaml\n"
    with atomic_write(out / NAME) as part:
        part.write_text(text + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / NAME]


def _bands(experiment: Experiment, layers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the variables with their bands in the written rasters, where they name bands of the forecast's layers."""
    variables = experiment.variables or ()
    if not any(map(names_bands, variables)):
        return {}
    moved = [model for model, own in layers.items() if "mean" in own]
    written = {layer for own in layers.values() for layer in own}
    spread = ("lower", "upper") if set(_bounds(experiment.levels).values()) <= written else ("variance",)
    found: dict[str, dict[str, Any]] = {}
    for place, variable in enumerate(variables, 1):
        means = {model: place if model in moved else variable.of_model(model).mean or variable.band for model in layers}
        mean = {"mean": means.get("", means)} if moved else {}
        found[variable.name] = {**dict.fromkeys(SPREADS[:-1]), **dict.fromkeys(spread, place), **mean}
    return {"variables": found}


def _forecast(model: str, layers: Sequence[str], levels: Sequence[float]) -> dict[str, str | float | None]:
    """Return the paths of the mean, if it moved, and of the spread, in place of whatever described that before.

    The spread is the variance, or the interval of level 0.9 or the level next to it where there are bounds.
    """
    bounds = _bounds(levels)
    is_bounded = set(bounds.values()) <= set(layers)
    wanted = {"mean": "mean"} | (bounds if is_bounded else {"variance": "variance"})
    paths: dict[str, str | float | None] = dict.fromkeys(SPREADS)
    paths |= {key: _path(layer, model) for key, layer in wanted.items() if layer in layers}
    return paths | ({"level": nearest_level(levels)} if is_bounded else {})


def _bounds(levels: Sequence[float]) -> dict[str, str]:
    """Return the names of the layers that hold the ends of the interval of level 0.9, or of the level next to it."""
    level = nearest_level(levels)
    return {end: bound_name(end, level) for end in ("lower", "upper")}


def _path(layer: str, model: str) -> str:
    name = path_of_raster(Path(), "TILE", layer, model).name.replace("TILE", "{tile}", 1)
    return (Path("rasters") / name).as_posix()
