"""Rasters in files, and folders of tiles."""

import numpy as np
import rasterio
from affine import Affine
from forecasts import heteroscedastic

import geouq
from geouq.pipeline.data import Options

NORTH_UP = Affine(10, 0, 500_000, 0, -10, 7_000_000)
VARIABLES = ("height", "cover", "gini")
NAMES = ("a1", "a2", "b1")
SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"
REGIONS = "regions: {west: [a1, a2]}\n"


def write_raster(path, bands, *, mask=None, scales=None, offsets=None, names=None, units=None, **profile):
    """Write a GeoTIFF: bands (bands, rows, columns), and whatever of the header a test is about."""
    bands = np.atleast_3d(bands) if np.ndim(bands) == 3 else np.asarray(bands)[np.newaxis]
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = {"count": bands.shape[0], "height": bands.shape[1], "width": bands.shape[2], "dtype": bands.dtype}
    where = {"driver": "GTiff", "crs": "EPSG:32633", "transform": NORTH_UP}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **where | shape | profile) as target:
        target.write(bands)
        for number in range(1, bands.shape[0] + 1):
            if names:
                target.set_band_description(number, names[number - 1])
            if units:
                target.set_band_unit(number, units[number - 1])
        if scales:
            target.scales = scales
        if offsets:
            target.offsets = offsets
        if mask is not None:
            target.write_mask(np.where(mask, 0, 255).astype(np.uint8))
    return path


def write_tiles(folder, names=("a1", "a2", "b1"), shape=(40, 50), text=""):
    """Write predictions and truth of some tiles side by side, three bands each; their configuration."""
    for index, name in enumerate(names):
        layers = [np.stack(band) for band in zip(*(heteroscedastic(shape, 10 * index + b) for b in range(3)))]  # noqa: B905
        transform = NORTH_UP @ Affine.translation(index * shape[1], 0)
        paths = (f"predictions/{name}_mean.tif", f"predictions/{name}_variance.tif", f"truth/{name}.tif")
        for path, bands in zip(paths, layers, strict=True):
            units = ["m", "%", "1"]
            write_raster(folder / path, bands, names=VARIABLES, units=units, nodata=np.nan, transform=transform)
    config = folder / "experiment.yaml"
    config.write_text(
        "version: 1\nname: small\n"
        "data:\n"
        "  mean: predictions/{tile}_mean.tif\n"
        "  variance: predictions/{tile}_variance.tif\n"
        "  truth: truth/{tile}.tif\n"
        f"{text}",
        encoding="utf-8",
    )
    return config


def scaled(folder, source, target, change):
    """Copies of rasters whose values a function changes."""
    for path in sorted((folder / "predictions").glob(f"*_{source}.tif")):
        (folder / target).mkdir(exist_ok=True)
        with rasterio.open(path) as old, rasterio.open(folder / target / path.name, "w", **old.profile) as new:
            new.write(change(old.read()))


def evaluate(config, out):
    geouq.run(config, Options(out=out))
    return out


def landscape_of(text, folder):
    """Make a folder of tiles, with other predictions of them in `wide`, and the run `small`."""
    config = write_tiles(folder, NAMES, (96, 96), text + "intervals: {resamples: 200}\n")
    scaled(folder, "variance", "wide", lambda bands: 1.5 * bands)
    scaled(folder, "mean", "wide", lambda bands: bands)
    evaluate(config, folder / "results/small")
    return folder
