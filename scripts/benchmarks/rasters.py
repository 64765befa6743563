"""Rasters to measure with: forecasts of five variables that look like maps, in many kinds of files."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import rasterio.shutil
from affine import Affine
from numpy.typing import NDArray
from rasterio.windows import Window
from scipy import fft

from benchmarks.tiles import LAYERS, path_of, unfinished

Floats = NDArray[np.float32]
Rng = np.random.Generator

BLOCK = 512
SCALES = {"height": 18.0, "cover": 55.0, "biomass": 140.0, "gini": 0.3, "clay": 25.0}
MISSING, UNPREDICTED = 0.3, 0.2
CODECS: Mapping[str, Mapping[str, Any]] = {
    "deflate": {"compress": "DEFLATE", "predictor": 3, "zlevel": 6},
    "zstd": {"compress": "ZSTD", "predictor": 3, "zstd_level": 9},
    "lerc": {"compress": "LERC", "max_z_error": 0},
    "none": {},
}
GEOTIFF = {"driver": "GTiff", "tiled": True, "blockxsize": BLOCK, "blockysize": BLOCK, "bigtiff": "YES"}


def field(size: int, slope: float, rng: Rng) -> Floats:
    """Return a random field (size, size) of mean 0 and std 1 whose amplitude falls with the frequency to that power."""
    spectrum = fft.rfft2(rng.standard_normal((size, size), dtype=np.float32), workers=os.cpu_count())
    down = np.fft.fftfreq(size).astype(np.float32)[:, np.newaxis]
    along = np.fft.rfftfreq(size).astype(np.float32)
    with np.errstate(divide="ignore"):
        amplitude = np.hypot(down, along) ** np.float32(-slope)
    amplitude[0, 0] = 0
    drawn = fft.irfft2(spectrum * amplitude, s=(size, size), workers=os.cpu_count())
    return (drawn / drawn.std()).astype(np.float32)


def forecasts(size: int, seed: int = 0) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Mean, variance and truth (size, size) of one variable after the other, NaN where there is nothing.

    Truth is missing in 30 % of the pixels, prediction in most of these, both in patches. Variances span four decades
    and the errors are a little larger than they say.
    """
    rng = np.random.default_rng(seed)
    patches, land = field(size, 1.6, rng), field(size, 1.3, rng)
    without_truth, unpredicted = (patches < np.quantile(patches, share) for share in (MISSING, UNPREDICTED))
    for scale in SCALES.values():
        detail = field(size, 1.1, rng)
        truth = np.float32(scale) * np.exp(np.float32(0.4) * (land + detail))
        grain = np.float32(0.45) * (land - detail) + np.float32(0.2) * rng.standard_normal((size, size), np.float32)
        std = np.float32(0.2) * (truth + np.float32(0.2 * scale)) * np.exp(grain)
        z = np.float32(0.8) * (field(size, 0.8, rng) + rng.standard_normal((size, size), np.float32))
        mean, variance = truth + std * z, std * std
        truth[without_truth] = np.nan
        mean[unpredicted] = variance[unpredicted] = np.nan
        yield mean, variance, truth


def valid_forecast(size: int) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and truth of one variable, about size^2 pixels that are all valid, as (rows, size)."""
    layers = next(forecasts(int(size / (1 - MISSING) ** 0.5) + 1))
    there = np.isfinite(sum(layers))
    rows = min(size, int(there.sum()) // size)
    mean, variance, truth = (layer[there][: rows * size].reshape(rows, size) for layer in layers)
    return mean, variance, truth


def make_tile(folder: Path, size: int, codec: str, interleave: str = "band") -> str:
    """Name of a tile of three files `<name>_<layer>.tif` in the folder, which are made unless they are there."""
    name = f"{codec}-{interleave}-{size}"
    missing = [layer for layer in LAYERS if not path_of(folder, name, layer).exists()]
    if not missing:
        return name
    folder.mkdir(parents=True, exist_ok=True)
    if (codec, interleave) == ("none", "band"):
        _write_plain(folder, name, size)
        return name
    plain = make_tile(folder, size, "none")
    for layer in missing:
        path = path_of(folder, name, layer)
        options = GEOTIFF | CODECS[codec] | {"interleave": interleave, "num_threads": "ALL_CPUS"}
        rasterio.shutil.copy(path_of(folder, plain, layer), unfinished(path), **options)
        unfinished(path).rename(path)
    return name


def profile_of(size: int, bands: int = len(SCALES)) -> dict[str, Any]:
    """Return what a new GeoTIFF of this size is to be like, without compression."""
    where = {"crs": "EPSG:32633", "transform": Affine(10, 0, 500_000, 0, -10, 7_000_000)}
    shape = {"count": bands, "height": size, "width": size, "dtype": "float32", "nodata": np.nan}
    return GEOTIFF | where | shape | {"interleave": "band"}


def _write_plain(folder: Path, name: str, size: int) -> None:
    """Write uncompressed files, band by band."""
    paths = [path_of(folder, name, layer) for layer in LAYERS]
    files = [rasterio.open(unfinished(path), "w", **profile_of(size)) for path in paths]
    for band, (layers, variable) in enumerate(zip(forecasts(size), SCALES, strict=True), 1):
        for file, layer in zip(files, layers, strict=True):
            file.write(layer, band)
            file.set_band_description(band, variable)
    for file, path in zip(files, paths, strict=True):
        file.close()
        unfinished(path).rename(path)


def thin_truth(folder: Path, name: str, share: float, *, absent: bool) -> str:
    """Name of a truth that keeps a share of the blocks of a tile's truth.

    The others are left out of the file if `absent`, and are written as nodata if not.
    """
    layer = "thin" if absent else "blank"
    source, target = path_of(folder, name, "truth"), path_of(folder, name, layer)
    if target.exists():
        return layer
    with rasterio.open(source) as whole:
        windows = [window for _, window in whole.block_windows(1)]
        kept = np.random.default_rng(1).permutation(len(windows))[: max(1, round(share * len(windows)))]
        profile = profile_of(whole.width) | CODECS["deflate"] | {"sparse_ok": absent}
        with rasterio.open(unfinished(target), "w", **profile) as thin:
            for i, window in enumerate(windows):
                if i in kept:
                    thin.write(whole.read(window=window), window=window)
                elif not absent:
                    thin.write(np.full((whole.count, *_shape(window)), np.nan, np.float32), window=window)
            thin.descriptions = whole.descriptions
    unfinished(target).rename(target)
    return layer


def _shape(window: Window) -> tuple[int, int]:
    return int(window.height), int(window.width)
