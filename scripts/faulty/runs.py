"""A small experiment in a folder, and the program that evaluates it, in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rasterio
from affine import Affine

TILES = tuple(f"t{number}" for number in range(8))
CONFIG = """\
version: 1
name: small
data: {mean: "in/{tile}_mean.tif", variance: "in/{tile}_variance.tif", truth: "in/{tile}_truth.tif"}
variables: [height]
intervals: {resamples: 200}
output: {maps: none, figures: none}
"""
PATIENCE = 300  # seconds after which a program hangs
PROGRAM = (sys.executable, "-m", "geouq")
KILLED = "still running"


@dataclass(frozen=True)
class Row:
    """What was tried, how often, and what happened."""

    section: str
    tried: str
    times: int
    happened: str


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or KILLED after so many seconds, and what it said."""

    code: int | str
    said: str


def experiment(folder: Path, tiles: tuple[str, ...] = TILES, side: int = 400) -> Path:
    """Write rasters of some tiles; the configuration of their evaluation."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for number, tile in enumerate(tiles):
        draw = np.random.default_rng(number)
        variance = draw.lognormal(0, 0.5, (side, side))
        truth = draw.normal(10, 3, (side, side))
        mean = truth + np.sqrt(variance) * draw.normal(size=(side, side))
        for layer, values in (("mean", mean), ("variance", variance), ("truth", truth)):
            place = {"transform": Affine(10, 0, 5e5 + 10 * side * number, 0, -10, 7e6), "crs": "EPSG:32633"}
            size = {"count": 1, "height": side, "width": side, "dtype": "float32"}
            with rasterio.open(folder / "in" / f"{tile}_{layer}.tif", "w", driver="GTiff", **size, **place) as target:
                target.write(values.astype(np.float32), 1)
    (folder / "x.yaml").write_text(CONFIG, encoding="utf-8")
    return folder / "x.yaml"


def started(config: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """Return a run of the program, in a session of its own."""
    command = [*PROGRAM, "run", str(config), "--out", str(out), "--workers", "1", "--quiet", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)


def ended(process: subprocess.Popen[str], seconds: float = PATIENCE) -> Ended:
    """Wait for the end of a program; one that is still running then is killed."""
    try:
        said = "".join(process.communicate(timeout=seconds))
    except subprocess.TimeoutExpired:
        kill(process)
        return Ended(KILLED, "".join(process.communicate()))
    return Ended(process.returncode, said)


def kill(process: subprocess.Popen[str]) -> None:
    """End a program and all that it started, as if the machine had."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def tables(out: Path) -> Mapping[str, bytes]:
    """Return the bytes of the tables of a run."""
    return {path.name: path.read_bytes() for path in sorted((out / "tables").glob("*.csv"))}


def counted(outcomes: list[str]) -> str:
    """Outcomes and how often each of them was."""
    return "; ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(sorted(outcomes)))
