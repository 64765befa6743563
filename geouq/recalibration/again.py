"""A configuration that evaluates the written rasters: that of the run, with them in place of the forecast."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from geouq.atomic import written_whole
from geouq.config import Experiment
from geouq.recalibration.rasters import names_bands, path_of_raster

NAME = "evaluate.yaml"
OTHER_SPREADS = ("std", "lower", "upper", "level")


def write_evaluation(experiment: Experiment, run: Path, out: Path, layers: Mapping[str, Sequence[str]]) -> list[Path]:
    """Write the configuration of the rasters of all tiles of a run, whose folder is `run`, to the folder `out`.

    layers : those written of each model, "" for the only one.
    """
    found = {model: _forecast(model, own) for model, own in layers.items()}
    plain: dict[str, Any] = {
        "extends": Path(os.path.relpath(run / "config.yaml", out)).as_posix(),
        "name": f"{experiment.name}-recalibrated",
        "recalibration": None,
        **({"data": found[""]} if "" in found else {"models": found}),
        **_bands(experiment, layers),
    }
    text = "# Evaluates the recalibrated rasters beside it: geouq run FOLDER/evaluate.yaml\n"
    with written_whole(out / NAME) as part:
        part.write_text(text + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / NAME]


def _bands(experiment: Experiment, layers: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the variables with their bands in the written rasters, where they name bands of the forecast's layers."""
    variables = experiment.variables or ()
    if not any(map(names_bands, variables)):
        return {}
    moved = [model for model, own in layers.items() if "mean" in own]
    found: dict[str, dict[str, Any]] = {}
    for place, variable in enumerate(variables, 1):
        means = {model: place if model in moved else variable.of_model(model).mean or variable.band for model in layers}
        mean = {"mean": means.get("", means)} if moved else {}
        found[variable.name] = {**dict.fromkeys(OTHER_SPREADS[:-1]), "variance": place, **mean}
    return {"variables": found}


def _forecast(model: str, layers: Sequence[str]) -> dict[str, str | None]:
    """Paths of the mean, if it moved, and of the variance, which stands in place of whatever told the spread before."""
    paths: dict[str, str | None] = {
        layer: (
            Path("rasters") / path_of_raster(Path(), "TILE", layer, model).name.replace("TILE", "{tile}", 1)
        ).as_posix()
        for layer in layers
        if layer in ("mean", "variance")
    }
    return paths | dict.fromkeys(OTHER_SPREADS)
