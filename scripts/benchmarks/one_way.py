"""One way from a tile's files to its numbers, measured in this process: python -m benchmarks.one_way MODULE ..."""

import json
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks.measure import peak_mib, seconds


def main(module: str, folder: str, small: str, name: str, threads: str) -> None:
    """Print time and peak memory of a module's `of_tile`, which a small tile has warmed up."""
    of_tile = import_module(f"benchmarks.{module}").of_tile
    of_tile(Path(folder), small, int(threads))
    print(json.dumps([seconds(partial(of_tile, Path(folder), name, int(threads))), peak_mib()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
