"""A configuration that evaluates the written rasters: that of the run, with them in place of the forecast."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from geouq.atomic import written_whole
from geouq.config import Experiment
from geouq.recalibration.rasters import path_of_raster

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
    }
    text = "# Evaluates the recalibrated rasters beside it: geouq run FOLDER/evaluate.yaml\n"
    with written_whole(out / NAME) as part:
        part.write_text(text + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return [out / NAME]


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
