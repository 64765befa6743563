"""Two models of one truth: their layers, files and configurations."""

import numpy as np
from affine import Affine
from forecasts import heteroscedastic
from landscape import NORTH_UP, write_raster

SHAPE = (300, 280)
MODELS = ("base", "ens")
SHARED = "tiles: [a]\ndata: {truth: 'truth_{tile}.tif'}\n"
LISTED = (
    "models: [base, ens]\n"
    "data: {mean: 'mean_{model}_{tile}.tif', variance: 'variance_{model}_{tile}.tif', truth: 'truth_{tile}.tif'}\n"
)


def layers_of(seed=1):
    """Truth, and mean and variance of two models, for two variables each; models lack pixels of their own."""
    rng = np.random.default_rng(seed)
    bands = [heteroscedastic(SHAPE, seed + band) for band in range(2)]
    mean, variance, truth = (np.stack(layer) for layer in zip(*bands, strict=True))
    found = {"truth": truth, "mean_base": mean, "variance_base": variance}
    found["mean_ens"] = mean + rng.normal(0, 0.4, mean.shape).astype(np.float32)
    found["variance_ens"] = variance * np.float32(1.4)
    found["mean_base"][0, 20:60, 30:90] = np.nan
    found["variance_ens"][:, 150:170] = np.nan
    return found


def write_models(folder, layers=None, tile="a", **profile):
    """Write a tile of two models; its layers as arrays."""
    found = layers_of() if layers is None else layers
    place = {"transform": NORTH_UP @ Affine.translation("ab".index(tile) * SHAPE[1], 0)}
    for name, values in found.items():
        write_raster(folder / f"{name}_{tile}.tif", values, names=("h", "c"), nodata=np.nan, **place | profile)
    return found


def config_of(folder, text, name="x"):
    file = folder / f"{name}.yaml"
    file.write_text(f"version: 1\nname: {name}\n{text}intervals: {{resamples: 200}}\n", encoding="utf-8")
    return file


def valid(layers, model, band):
    mean, variance, truth = (layers[name][band] for name in (f"mean_{model}", f"variance_{model}", "truth"))
    return np.isfinite(mean + variance + truth) & (variance > 0)
