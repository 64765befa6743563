"""geouq as the program that people start."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.rasters import make_tile
from benchmarks.tiles import write_config

SMALL = 256  # pixels


def geouq(*arguments: object) -> list[str]:
    """Return the command of this interpreter's geouq."""
    return [sys.executable, "-m", "geouq", *map(str, arguments)]


def printed_by(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Return what a command prints; SystemExit with it where the command fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def warm_up(folder: Path) -> None:
    """Run a small tile, so that the kernel is compiled and kept."""
    config = write_config(folder, make_tile(folder, SMALL, "deflate"))
    with TemporaryDirectory() as out:
        printed_by(geouq("run", config, "--out", Path(out) / "run", "--quiet"))
