"""Tiles too large to make pixel by pixel, and such as are awkward to read."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

from benchmarks.rasters import BLOCK, CODECS, SCALES, forecasts, make_tile, profile_of
from benchmarks.repeated import repeat_blocks
from benchmarks.tiles import LAYERS, path_of

SOURCE = 4096  # pixels a side whose blocks are repeated
BANDS = 2  # of tiles that are awkward
QUICK = CODECS["zstd"] | {"zstd_level": 1}  # as their blocks are compressed one by one
ROWS = 16  # of strips that are repeated


def large_tile(folder: Path, size: int) -> str:
    """Name of a tile of five variables in blocks of 512 x 512 pixels."""
    source = make_tile(folder, max(BLOCK, min(SOURCE, size) // BLOCK * BLOCK), "deflate")
    return _repeated(folder, f"large-{size}", source, profile_of(size) | CODECS["deflate"])


def wide_strips(folder: Path, width: int, height: int) -> str:
    """Name of a tile of two variables in strips of one row."""
    name = f"strips-{width}"
    profile = _awkward({"height": height, "width": width, "tiled": False, "blockxsize": width, "blockysize": 1})
    source = _written(folder, f"{name}-source", profile | {"height": ROWS})
    return _repeated(folder, name, source, profile)


def large_block(folder: Path, side: int) -> str:
    """Name of a tile of two variables that is one block."""
    layout = {"height": side, "width": side, "blockxsize": side, "blockysize": side}
    return _written(folder, f"block-{side}", _awkward(layout))


def absent_blocks(folder: Path, size: int) -> str:
    """Name of a tile of one variable of which one block is in the files."""
    name, window = f"absent-{size}", rasterio.windows.Window(0, 0, BLOCK, BLOCK)
    for layer in LAYERS:
        profile = profile_of(size, bands=1) | CODECS["deflate"] | {"sparse_ok": True}
        with rasterio.open(path_of(folder, name, layer), "w", **profile) as file:
            file.write(np.ones((1, BLOCK, BLOCK), np.float32), window=window)
    return name


def _awkward(layout: dict[str, Any]) -> dict[str, Any]:
    return profile_of(0, BANDS) | QUICK | layout


def _written(folder: Path, name: str, profile: dict[str, Any]) -> str:
    """Name of a tile whose pixels are those of a small one, row after row, again and again."""
    variables = list(islice(forecasts(BLOCK), BANDS))
    for number, layer in enumerate(LAYERS):
        with rasterio.open(path_of(folder, name, layer), "w", **profile) as file:
            for band, layers in enumerate(variables, 1):
                file.write(np.resize(layers[number], (file.height, file.width)), band)
            file.descriptions = list(SCALES)[:BANDS]
    return name


def _repeated(folder: Path, name: str, source: str, profile: dict[str, Any]) -> str:
    for layer in LAYERS:
        repeat_blocks(path_of(folder, source, layer), path_of(folder, name, layer), profile)
    return name
