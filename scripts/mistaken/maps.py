"""A small correct product of two tiles, which mistakes change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from affine import Affine
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Doubles = NDArray[np.float64]
TILES = ("t1", "t2")
SIDE = 160
PIXEL = 30.0
LAYERS = ("mean", "std", "truth", "other_mean", "other_std", "other_truth")


def smooth(rng: np.random.Generator, scale: float) -> Doubles:
    """Return a smooth field of mean 0 and variance 1."""
    found = gaussian_filter(rng.standard_normal((SIDE, SIDE)), scale, mode="wrap")
    values: Doubles = (found - found.mean()) / found.std()
    return values


def layers_of(tile: int) -> dict[str, Doubles]:
    """Return heights in m with their std and truth, and the same of a second variable, a cover in per cent."""
    rng = np.random.default_rng(tile)
    mean, std = 25 + 6 * smooth(rng, 4), 2.5 * np.exp(0.5 * smooth(rng, 3))
    other_mean, other_std = 55 + 12 * smooth(rng, 4), 8 * np.exp(0.3 * smooth(rng, 3))
    return {
        "mean": mean,
        "std": std,
        "truth": mean + std * rng.standard_normal(mean.shape),
        "other_mean": other_mean,
        "other_std": other_std,
        "other_truth": other_mean + other_std * rng.standard_normal(mean.shape),
    }


@dataclass
class Maps:
    """The files of the product in a folder, and its configuration; a mistake may change both."""

    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[str, Doubles]] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path) -> "Maps":
        """Write a file for each layer of each tile, and return the correct product."""
        maps = cls(folder, {"version": 1, "name": "heights", "data": {}, "variables": {"height": {"units": "m"}}})
        maps.config["output"] = {"directory": str(folder / "results"), "maps": "none", "figures": "none"}
        maps.config["intervals"] = {"resamples": 100}
        maps.config["data"] = {layer: f"{layer}/{{tile}}.tif" for layer in LAYERS[:3]}
        maps.values = {tile: layers_of(i) for i, tile in enumerate(TILES)}
        for layer in LAYERS:
            maps.write(layer, lambda own, layer=layer: own[layer])
        return maps

    @property
    def data(self) -> dict[str, Any]:
        """Return the key data of the configuration."""
        found: dict[str, Any] = self.config["data"]
        return found

    def write(self, name: str, of: Any, *, tiles: tuple[str, ...] = TILES, **header: Any) -> None:
        """Write a layer of tiles; of : returns its values (rows, columns) or bands from the right layers."""
        for tile in tiles:
            bands = np.asarray(of(self.values[tile]))
            bands = bands if bands.ndim == 3 else bands[np.newaxis]
            place = Affine(PIXEL, 0, 5e5 + PIXEL * SIDE * TILES.index(tile), 0, -PIXEL, 7e6)
            write_raster(self.folder / name / f"{tile}.tif", bands, **{"transform": place, **header})

    def written(self) -> Path:
        """Write the configuration and return its path."""
        path = self.folder / "heights.yaml"
        path.write_text(json.dumps(self.config, indent=1), encoding="utf-8")
        return path


def write_raster(path: Path, bands: NDArray[Any], **header: Any) -> None:
    """Write a GeoTIFF of bands (bands, rows, columns)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names, units, scales = (header.pop(key, ()) for key in ("names", "units", "scales"))
    bands = bands.astype(header.pop("dtype", "float32"))
    count, rows, columns = bands.shape
    where: Mapping[str, Any] = {"driver": "GTiff", "crs": "EPSG:32633", **header}
    shape = {"count": count, "height": rows, "width": columns, "dtype": bands.dtype}
    with rasterio.open(path, "w", **{**where, **shape}) as target:
        target.write(bands)
        for number, name in enumerate(names, 1):
            target.set_band_description(number, name)
        for number, unit in enumerate(units, 1):
            target.set_band_unit(number, unit)
        if scales:
            target.scales = scales
