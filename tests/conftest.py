"""Shared fixtures: rasters, folders of tiles, and tiles that are swept already."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import rasterio
from affine import Affine
from click.testing import CliRunner
from forecasts import heteroscedastic

from geouq.catalog import Catalog, find_tiles
from geouq.cli import main
from geouq.config import Experiment, load_experiment
from geouq.settings import Settings
from geouq.sweep import sweep_tiles

# On a server the same examples each time, so that a change is judged by what it changes
hypothesis.settings.register_profile("ci", derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")

NORTH_UP = Affine(10, 0, 500_000, 0, -10, 7_000_000)
VARIABLES = ("height", "cover", "gini")


@pytest.fixture
def write_raster():
    """Write a GeoTIFF: bands (bands, rows, columns), and whatever of the header a test is about."""

    def write(path, bands, *, mask=None, scales=None, offsets=None, names=None, units=None, **profile):
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

    return write


@pytest.fixture
def tile_folder(tmp_path, write_raster):
    """A folder with predictions and truth of some tiles side by side, three bands each, and a configuration."""

    def make(names=("a1", "a2", "b1"), shape=(40, 50), text=""):
        for index, name in enumerate(names):
            layers = [np.stack(band) for band in zip(*(heteroscedastic(shape, 10 * index + b) for b in range(3)))]  # noqa: B905
            transform = NORTH_UP @ Affine.translation(index * shape[1], 0)
            paths = (f"predictions/{name}_mean.tif", f"predictions/{name}_variance.tif", f"truth/{name}.tif")
            for path, bands in zip(paths, layers, strict=True):
                units = ["m", "%", "1"]
                write_raster(tmp_path / path, bands, names=VARIABLES, units=units, nodata=np.nan, transform=transform)
        config = tmp_path / "experiment.yaml"
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

    return make


@pytest.fixture
def geouq(tmp_path, monkeypatch):
    """Run a command in the test's folder; a traceback is never an answer."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def sweep_one():
    """Sweep the tiles of a configuration, an experiment or a catalog: summaries and failures, by tile."""

    def sweep(source, **settings):
        experiment = load_experiment(source) if isinstance(source, Path) else source
        catalog = experiment if isinstance(experiment, Catalog) else find_tiles(experiment)
        levels = experiment.levels if isinstance(experiment, Experiment) else (0.5, 0.9)
        wanted = Settings(**{"levels": levels, "cell_size": 16} | settings)
        with ThreadPoolExecutor(2) as pool:
            return {outcome.tile: outcome for outcome in sweep_tiles(catalog.tiles, wanted, pool, 4)}

    return sweep


@pytest.fixture
def swept_tile(tile_folder, sweep_one):
    """The summary of one small tile of three variables."""
    return sweep_one(tile_folder(("a1",)))["a1"]


@pytest.fixture(scope="session")
def interval_demo():
    """A regression with noise that grows from left to right: mean, std and truth of two forecasts of it."""
    np.random.seed(0)  # noqa: NPY002  the published demo draws so
    x = np.linspace(0, 1, 200)
    mean, noise = np.sin(2 * np.pi * x), 0.5 * x
    truth = mean + np.random.normal(0, noise)  # noqa: NPY002
    halves = {"constant": np.full(200, 0.9593951783666362 / 2), "adaptive": 1.645 * noise}
    return {kind: (mean, np.maximum(half / 1.6448536269514722, 1e-6), truth) for kind, half in halves.items()}
