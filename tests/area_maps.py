"""Six tiles of a variable whose errors are correlated, with a configuration."""

import numpy as np
import rasterio
from landscape import NORTH_UP, write_raster

TILES = ("a1", "a2", "a3", "b1", "b2", "b3")
SHAPE = 80, 96
TEXT = (
    "variables: {height: {units: Mg/ha, thresholds: THRESHOLDS}}\ncell_size: 16\noutput: {maps: none, figures: none}\n"
)
LAYERS = ("mean", "std")
MODELS = "models: [base, worse]\nregions: {west: [a1, b1], east: [a3, b3]}\nintervals: {resamples: 100}\n"
CLASSES = "regions:\n  west: [a1, b1]\n  cover: {classes: 'classes/{tile}.tif', names: {1: forest}}\n"


def write(folder, text="", crs="EPSG:32633", transform=NORTH_UP, gaps=0.1, thresholds="[]"):
    """Write six tiles of a variable whose errors share a part in squares of 8 pixels; their configuration."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(TILES):
        std, truth = rng.uniform(1, 3, SHAPE), rng.normal(100, 10, SHAPE)
        z = 0.6 * rng.standard_normal(SHAPE) + 0.8 * np.kron(rng.standard_normal((10, 12)), np.ones((8, 8)))
        truth[rng.random(SHAPE) < gaps] = np.nan
        row, column = divmod(number, 3)
        place = transform @ transform.translation(column * SHAPE[1], row * SHAPE[0])
        layers = {"mean": truth - z * std, "std": std, "truth": truth, "classes": rng.integers(0, 3, SHAPE)}
        for layer, values in layers.items():
            dtype = np.uint8 if layer == "classes" else np.float32
            write_raster(folder / layer / f"{name}.tif", values[np.newaxis].astype(dtype), crs=crs, transform=place)
    config = folder / "experiment.yaml"
    paths = "".join(f"  {layer}: {layer}/{{tile}}.tif\n" for layer in ("mean", "std", "truth"))
    variables = TEXT.replace("THRESHOLDS", thresholds)
    config.write_text(f"version: 1\nname: small\ndata:\n{paths}{variables}{text}", encoding="utf-8")
    return config


def write_models(folder, text="", *, gap=False, same=False, thresholds="[]"):
    """Six tiles of two models, the second with errors that blocks share; their configuration."""
    config = write(folder, MODELS + text, gaps=0.0, thresholds=thresholds)
    rng = np.random.default_rng(1)
    for name in TILES:
        layers = {layer: rasterio.open(folder / layer / f"{name}.tif") for layer in LAYERS}
        place = {"crs": layers["mean"].crs, "transform": layers["mean"].transform}
        mean, std = (layers[layer].read() for layer in LAYERS)
        shared = np.kron(rng.standard_normal((5, 6)), np.ones((16, 16))).astype(np.float32)
        other = mean.copy() if same else mean + 3 * shared
        if gap and name == "a1":
            other[:, :32] = np.nan
        for model, own in (("base", mean), ("worse", other)):
            write_raster(folder / model / f"{name}_mean.tif", own, **place)
            write_raster(folder / model / f"{name}_std.tif", std, **place)
    written = config.read_text(encoding="utf-8")
    for layer in LAYERS:
        written = written.replace(f"{layer}/{{tile}}.tif", f"'{{model}}/{{tile}}_{layer}.tif'")
    config.write_text(written, encoding="utf-8")
    return config
