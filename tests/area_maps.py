"""Six tiles of a variable whose errors are correlated, with a configuration."""

import numpy as np
from landscape import NORTH_UP, write_raster

TILES = ("a1", "a2", "a3", "b1", "b2", "b3")
SHAPE = 80, 96
TEXT = (
    "variables: {height: {units: Mg/ha, thresholds: THRESHOLDS}}\ncell_size: 16\noutput: {maps: none, figures: none}\n"
)
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
