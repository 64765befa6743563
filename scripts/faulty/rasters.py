"""Rasters with headers of every kind, and the numbers that they must give, in plain numpy."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import rasterio
from affine import Affine
from numpy.typing import NDArray

LAYERS = ("mean", "variance", "truth")
CONFIG = """\
version: 1
name: small
data: {mean: "./{tile}_mean.tif", variance: "./{tile}_variance.tif", truth: "./{tile}_truth.tif"}
variables: [height]
variance: {negative: exclude}
output: {maps: none, figures: none}
"""
KINDS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """A raster of one band as it is stored, and the values that it stands for, NaN where it says nothing."""

    stored: NDArray[Any]
    header: Mapping[str, Any]
    scale: float
    offset: float
    hidden: NDArray[np.bool_] | None
    values: Doubles


def layer(random: Random, shape: tuple[int, int]) -> Layer:
    """Return a random one, whose values are raw * scale + offset."""
    dtype = np.dtype(random.choice(KINDS))
    stored = pixels(random, shape, dtype)
    nodata = random.choice((None, None, 0, 7, stored.flat[0].item(), np.nan if dtype.kind == "f" else None))
    scale, offset = random.choice(((1.0, 0.0), (1.0, 0.0), (0.1, 0.0), (0.5, 3.0), (-2.0, 1.0)))
    hidden = None
    if random.random() < 0.25:
        hidden = np.random.default_rng(random.getrandbits(32)).random(shape) < random.choice((0.1, 1.0))
    raw = stored.astype(np.float64)
    values = raw * scale + offset
    if nodata is not None:
        values = np.where(np.isnan(raw) if np.isnan(nodata) else raw == nodata, np.nan, values)
    if hidden is not None:
        values = np.where(hidden, np.nan, values)
    return Layer(stored, header(random) | {"nodata": nodata}, scale, offset, hidden, values)


def pixels(random: Random, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers that the type can hold, some of them no numbers."""
    draw = np.random.default_rng(random.getrandbits(32))
    if dtype.kind == "f":
        values = draw.lognormal(0, 1, shape) * 10.0 ** random.randint(-3, 3)
        odd = random.choice((0.0, 0.0, 0.2))
        return np.where(draw.random(shape) < odd, draw.choice((np.nan, np.inf, -np.inf, 0, -1), shape), values).astype(
            dtype
        )
    return draw.integers(0, 120, shape).astype(dtype)


def header(random: Random) -> dict[str, Any]:
    """How a GeoTIFF may be laid out."""
    blocks = random.choice(
        ({}, {"blockysize": random.randint(1, 40)}, {"tiled": True, "blockxsize": 16, "blockysize": 32})
    )
    packed = random.choice(({}, {"compress": "deflate"}, {"compress": "lzw", "predictor": 2}, {"compress": "zstd"}))
    return {
        **blocks,
        **packed,
        "BIGTIFF": random.choice(("YES", "NO")),
        "ENDIANNESS": random.choice(("LITTLE", "BIG")),
    }


def write(path: Path, one: Layer, shift: float = 0) -> None:
    """Write the file of a layer, so many pixels to the east."""
    place = {"transform": Affine(10, 0, 500_000 + 10 * shift, 0, -10, 7_000_000), "crs": "EPSG:32633"}
    size = {"count": 1, "height": one.stored.shape[0], "width": one.stored.shape[1], "dtype": one.stored.dtype}
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(path, "w", driver="GTiff", **size, **place, **one.header) as target,
    ):
        target.write(one.stored, 1)
        target.scales, target.offsets = (one.scale,), (one.offset,)
        if one.hidden is not None:
            target.write_mask(np.where(one.hidden, 0, 255).astype(np.uint8))


def scene(random: Random, folder: Path) -> tuple[Doubles, Doubles, Doubles]:
    """Write a tile of three layers and its configuration; mean, variance and truth of the pixels that count."""
    shape = random.randint(1, 70), random.randint(1, 70)
    layers = {name: layer(random, shape) for name in LAYERS}
    for name, one in layers.items():
        for old in folder.glob(f"t_{name}.tif*"):
            old.unlink()
        write(folder / f"t_{name}.tif", one)
    (folder / "x.yaml").write_text(CONFIG, encoding="utf-8")
    m, v, y = (layers[name].values for name in LAYERS)
    counts = np.isfinite(m) & np.isfinite(v) & np.isfinite(y)
    counts[counts] = v[counts] > 0
    return m[counts], v[counts], y[counts]


def expected(m: Doubles, v: Doubles, y: Doubles) -> dict[str, float]:
    """Return some numbers of the pixels that count."""
    error = m - y
    return {
        "n": float(len(m)),
        "bias": float(error.mean()),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "zms": float(np.mean(error**2 / v)),
        "sharpness": float(v.mean()),
    }


def claiming(
    width: int,
    height: int,
    *,
    tile: int = 0,
    rows: int = 0,
    bits: int = 32,
    bands: int = 1,
    compression: int = 1,
    order: str = "<",
) -> bytes:
    """Return a TIFF file of some hundred bytes whose header claims so many pixels, and which holds one block."""
    sides = {322: tile, 323: tile, 324: 8, 325: 4} if tile else {273: 8, 278: rows or height, 279: 4}
    tags = {256: width, 257: height, 258: bits, 259: compression, 262: 1, 277: bands, 339: 3} | sides
    short = {258, 259, 262, 277, 339}
    entries = b"".join(
        struct.pack(f"{order}HHI", tag, 3 if tag in short else 4, 1)
        + struct.pack(f"{order}H2x" if tag in short else f"{order}I", value)
        for tag, value in sorted(tags.items())
    )
    begin = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 16) + bytes(8)
    return begin + struct.pack(f"{order}H", len(tags)) + entries + bytes(4)
