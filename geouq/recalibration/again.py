"""A configuration that evaluates the written rasters: that of the run, with them in place of the forecast."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from geouq.atomic import written_whole
from geouq.config import Experiment
from geouq.recalibration.fitting import nearest_level
from geouq.recalibration.rasters import bound_name, path_of_raster

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
    }
    text = "# Evaluates the recalibrated rasters beside it: geouq run FOLDER/evaluate.yaml\n"
    with written_whole(out / NAME) as part:
        part.write_text(text + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / NAME]


def _forecast(model: str, layers: Sequence[str], levels: Sequence[float]) -> dict[str, str | float | None]:
    """Return the paths of the mean, if it moved, and of the spread, in place of whatever described that before.

    The spread is the variance, or the interval of level 0.9 or the level next to it where there are bounds.
    """
    level = nearest_level(levels)
    bounds = {end: bound_name(end, level) for end in ("lower", "upper")}
    is_bounded = set(bounds.values()) <= set(layers)
    wanted = {"mean": "mean"} | (bounds if is_bounded else {"variance": "variance"})
    paths: dict[str, str | float | None] = dict.fromkeys(SPREADS)
    paths |= {key: _path(layer, model) for key, layer in wanted.items() if layer in layers}
    return paths | ({"level": level} if is_bounded else {})


def _path(layer: str, model: str) -> str:
    name = path_of_raster(Path(), "TILE", layer, model).name.replace("TILE", "{tile}", 1)
    return (Path("rasters") / name).as_posix()
