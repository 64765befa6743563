"""Scale and offset of a band: every layer is raw * scale + offset, as rasterio reads it."""

import numpy as np
import pytest
import rasterio

from geouq import metrics
from geouq.config import load_experiment
from geouq.core.grid import Window
from geouq.rasters.catalog import find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.reading.reader import TileReader, read_window
from geouq.reading.stack import open_stack

SHAPE = (30, 40)
WHOLE = Window(0, 0, *SHAPE)
SCALE, OFFSET = 0.01, 0.5


@pytest.fixture
def packed(tmp_path, write_raster):
    """Write each layer as uint16 with scale and offset; return the experiment."""

    def make(names, text="", scale=SCALE, offset=OFFSET):
        rng = np.random.default_rng(0)
        for name in names:
            stored = rng.integers(1, 900, SHAPE).astype(np.uint16)
            write_raster(tmp_path / f"t_{name}.tif", stored, scales=[scale], offsets=[offset])
        keys = "".join(f"  {name}: '{{tile}}_{name}.tif'\n" for name in names if "_m" not in name)
        config = tmp_path / "one.yaml"
        config.write_text(f"version: 1\nname: one\nvariables: [v]\ndata:\n{keys}{text}", encoding="utf-8")
        return load_experiment(config)

    return make


def read_scaled(folder, name):
    """Read one layer as rasterio documents it: stored values times scale plus offset."""
    with rasterio.open(folder / f"t_{name}.tif") as source:
        return source.read(1) * source.scales[0] + source.offsets[0]


def read(experiment):
    (tile,) = find_tiles(experiment).tiles
    with gdal_options():
        (found,) = read_window(tile, WHOLE)
    return found


@pytest.mark.parametrize("spread", ["variance", "std"])
def test_a_spread_is_the_scaled_reading_of_rasterio(packed, tmp_path, spread):
    experiment = packed(["mean", spread, "truth"])
    expected = read_scaled(tmp_path, spread) ** (2 if spread == "std" else 1)

    found = read(experiment)
    stack = open_stack(experiment, "t").load(scheduler="synchronous")
    (tile,) = find_tiles(experiment).tiles
    with gdal_options():
        _, for_recalibration, _ = TileReader(tile, reuse=False).prediction(tile.variables[0], WHOLE)

    np.testing.assert_allclose(found.mean, read_scaled(tmp_path, "mean"), rtol=1e-15)
    np.testing.assert_allclose(found.truth, read_scaled(tmp_path, "truth"), rtol=1e-15)
    for variance in (found.variance, stack["variance"].values[0], for_recalibration):
        np.testing.assert_allclose(variance, expected, rtol=1e-15)


def test_ends_of_an_interval_are_the_scaled_reading_of_rasterio(packed, tmp_path):
    found = read(packed(["mean", "lower", "upper", "truth"], "  level: 0.9\n"))

    for end, name in zip(found.bounds, ("lower", "upper"), strict=True):
        np.testing.assert_allclose(end, read_scaled(tmp_path, name), rtol=1e-15)


def test_the_variance_of_the_truth_is_the_scaled_reading_of_rasterio(packed, tmp_path):
    found = read(packed(["mean", "variance", "truth", "truth_variance"]))

    expected = read_scaled(tmp_path, "variance") + read_scaled(tmp_path, "truth_variance")
    np.testing.assert_allclose(found.variance, expected, rtol=1e-15)


def test_variances_of_members_are_the_scaled_reading_of_rasterio(packed, tmp_path):
    names = [f"{kind}_m{k}" for kind in ("mean", "var") for k in (1, 2)]
    paths = "  members: '{tile}_mean_m{member}.tif'\n  member_variance: '{tile}_var_m{member}.tif'\n"
    found = read(packed([*names, "truth"], paths + "  member_names: ['1', '2']\n"))

    layers = {name: read_scaled(tmp_path, name) for name in names}
    np.testing.assert_allclose(found.layers.values, [layers[n].ravel() for n in names[:2]], rtol=1e-15)
    np.testing.assert_allclose(found.layers.more, [layers[n].ravel() for n in names[2:]], rtol=1e-15)


def test_parts_of_a_variance_are_the_scaled_reading_of_rasterio(packed, tmp_path):
    parts = ["variance_aleatoric", "variance_epistemic"]
    found = read(packed(["mean", *parts, "truth"]))

    expected = sum(read_scaled(tmp_path, name) for name in parts)
    np.testing.assert_allclose(found.variance, expected, rtol=1e-15)


def test_a_mask_is_0_where_its_scaled_reading_is(packed, tmp_path):
    experiment = packed(["mean", "variance", "truth", "mask"], scale=1.0, offset=-7.0)

    masked = read(experiment).status > 0

    np.testing.assert_array_equal(masked, read_scaled(tmp_path, "mask") == 0)
    assert masked.any()


@pytest.mark.parametrize("spread", ["variance", "std"])
def test_a_calibrated_forecast_in_hundredths_has_a_zms_of_1(tmp_path, write_raster, sweep_one, spread):
    rng = np.random.default_rng(1)
    std = rng.uniform(1, 3, (300, 300))
    mean = rng.uniform(20, 40, std.shape)
    layers = {"mean": mean, "variance": std**2, "std": std, "truth": mean + std * rng.standard_normal(std.shape)}
    for name, values in layers.items():
        write_raster(tmp_path / f"t_{name}.tif", (values * 100).round().astype(np.uint16), scales=[0.01])
    config = tmp_path / "one.yaml"
    data = "".join(f"  {name}: '{{tile}}_{name}.tif'\n" for name in ("mean", spread, "truth"))
    config.write_text(f"version: 1\nname: one\nvariables: [v]\ndata:\n{data}", encoding="utf-8")

    whole = sweep_one(config)["t"].variables["v"].whole

    assert metrics.zms(whole) == pytest.approx(1, abs=0.03)
