"""Several models of one truth: their numbers, and how their rasters are read."""

import numpy as np
import pytest
import rasterio
from landscape import NORTH_UP
from two_models import LISTED, MODELS, SHAPE, SHARED, config_of, layers_of, valid

from geouq import metrics
from geouq.config import load_experiment
from geouq.core.grid import Window
from geouq.core.validity import REASONS
from geouq.rasters.catalog import find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened
from geouq.reading import reader
from geouq.reading.reader import TileReader
from geouq.summary.tile_file import save_tile
from geouq.summary.tiles_file import load_tile

OTHER = REASONS.index("other_model")


@pytest.mark.parametrize("interleave", ["band", "pixel"])
def test_on_common_pixels_the_numbers_are_those_of_the_pixels_that_all_have(
    tmp_path, models_folder, sweep_one, interleave
):
    layers = models_folder(interleave=interleave)
    found = sweep_one(config_of(tmp_path, LISTED))["a"].variables

    assert list(found) == ["h (base)", "h (ens)", "c (base)", "c (ens)"]
    for band, variable in enumerate("hc"):
        common = valid(layers, "base", band) & valid(layers, "ens", band)
        for model in MODELS:
            own = valid(layers, model, band)
            part = found[f"{variable} ({model})"]
            mean, variance, truth = (
                layers[name][band][common].astype(np.float64)
                for name in (f"mean_{model}", f"variance_{model}", "truth")
            )
            assert part.whole.n == common.sum() < max(valid(layers, m, band).sum() for m in MODELS)
            assert part.excluded[OTHER] == own.sum() - common.sum()
            assert part.excluded.sum() == common.size - common.sum()
            assert metrics.rmse(part.whole) == pytest.approx(np.sqrt(((mean - truth) ** 2).mean()), rel=1e-12)
            assert metrics.zms(part.whole) == pytest.approx(((mean - truth) ** 2 / variance).mean(), rel=1e-9)
            inside = abs(truth - mean) <= 1.6448536269514722 * np.sqrt(variance)
            assert metrics.coverage(part.whole, 0.9) == pytest.approx(inside.mean(), abs=1e-15)


def test_a_reason_of_its_own_goes_before_that_of_another_model(tmp_path, models_folder, sweep_one):
    layers = layers_of()
    layers["variance_base"][0, 100, 100] = 0
    layers["mean_ens"][0, 100, 100] = np.inf
    models_folder(layers)
    base, ens = (sweep_one(config_of(tmp_path, LISTED))["a"].variables[f"h ({model})"] for model in MODELS)

    assert base.excluded[REASONS.index("variance_not_positive")] == 1
    assert ens.excluded[REASONS.index("not_finite")] == 1


def test_a_negative_variance_names_the_file_of_its_model(tmp_path, models_folder, sweep_one):
    layers = layers_of()
    place = tuple(np.argwhere(np.isfinite(layers["truth"][1] + layers["mean_ens"][1]))[99])
    layers["variance_ens"][1][place] = -2
    models_folder(layers)

    message = sweep_one(config_of(tmp_path, LISTED))["a"].message
    assert f"variance_ens_a.tif, c: the predicted variance is -2 at row {place[0]}, column {place[1]}" in message


def test_intervals_of_one_model_and_the_variance_of_another_are_judged_as_each_is_given(
    tmp_path, models_folder, sweep_one
):
    layers = layers_of()
    std = np.sqrt(layers["variance_ens"])
    layers |= {"lower_ens": layers["mean_ens"] - std, "upper_ens": layers["mean_ens"] + 3 * std}
    models_folder(layers)
    models = (
        "models:\n  base: {mean: 'mean_base_{tile}.tif', variance: 'variance_base_{tile}.tif'}\n"
        "  ens: {mean: 'mean_ens_{tile}.tif', level: 0.8, "
        "lower: 'lower_ens_{tile}.tif', upper: 'upper_ens_{tile}.tif'}\n"
    )
    swept = sweep_one(config_of(tmp_path, models + SHARED))["a"]
    save_tile(swept, tmp_path / "a.nc", "key")
    common = valid(layers, "base", 0) & valid(layers, "ens", 0)
    truth, low, high = (layers[name][0][common] for name in ("truth", "lower_ens", "upper_ens"))

    for part in (swept.variables, load_tile(tmp_path / "a.nc").variables):
        assert [part[f"h ({model})"].whole.given for model in MODELS] == [None, 0.8]
        covered = metrics.coverage(part["h (ens)"].whole, 0.8)
        assert covered == pytest.approx(((low <= truth) & (truth <= high)).mean(), abs=1e-15)


def test_weights_noise_mask_and_groups_are_shared_by_the_models(tmp_path, models_folder, sweep_one, write_raster):
    layers = models_folder()
    rng = np.random.default_rng(5)
    weight, slope = rng.uniform(0.5, 2, SHAPE).astype(np.float32), rng.uniform(0, 40, SHAPE).astype(np.float32)
    mask = (rng.random(SHAPE) < 0.9).astype(np.uint8)
    for name, values in {"weight": weight, "slope": slope, "mask": mask}.items():
        write_raster(tmp_path / f"{name}_a.tif", values)
    more = ", weights: 'weight_{tile}.tif', mask: 'mask_{tile}.tif', covariates: {slope: 'slope_{tile}.tif'}}"
    text = LISTED.replace("}\n", more + "\n") + "variables: {h: {truth_variance: 0.25}}\n"
    found = sweep_one(config_of(tmp_path, text), groups=("slope",))["a"].variables
    counts = valid(layers, "base", 0) & valid(layers, "ens", 0) & (mask > 0)

    for model in MODELS:
        whole = found[f"h ({model})"].whole
        squared = (layers[f"mean_{model}"][0] - layers["truth"][0])[counts].astype(np.float64) ** 2
        noisy = layers[f"variance_{model}"][0][counts].astype(np.float64) + 0.25
        w = weight[counts].astype(np.float64)
        assert metrics.zms(whole) == pytest.approx((w * squared / noisy).sum() / w.sum(), rel=1e-6)
        assert whole.groups["slope"].counts.sum() == pytest.approx(w.sum(), rel=1e-12)


@pytest.fixture
def decoded(monkeypatch):
    """Names of the rasters whose bands are decoded, in order."""
    found = []

    class Watched:
        def __init__(self, source, path):
            self._source, self._name = source, path.rpartition("/")[2].removesuffix("_a.tif")

        def __getattr__(self, name):
            return getattr(self._source, name)

        def read(self, numbers, **options):
            found.append(self._name)
            return self._source.read(numbers, **options)

    def watched(raster):
        class Opening:
            def __enter__(self):
                self.inner = opened(raster)
                return Watched(self.inner.__enter__(), raster.path)

            def __exit__(self, *error):
                return self.inner.__exit__(*error)

        return Opening()

    monkeypatch.setattr(reader, "opened", watched)
    return found


@pytest.mark.parametrize("compare_on", ["common", "own"])
@pytest.mark.parametrize(("interleave", "times"), [("band", 2), ("pixel", 1)])
def test_truth_and_mask_are_decoded_once_for_all_models(
    tmp_path, models_folder, sweep_one, write_raster, decoded, interleave, times, compare_on
):
    models_folder(interleave=interleave)
    write_raster(tmp_path / "mask_a.tif", np.ones(SHAPE, np.uint8))
    data = LISTED.replace("}\n", ", mask: 'mask_{tile}.tif'}\n")
    sweep_one(config_of(tmp_path, f"{data}compare_on: {compare_on}\n"))

    counts = {name: decoded.count(name) for name in decoded}
    layers = {f"{layer}_{model}": times for layer in ("mean", "variance") for model in MODELS}
    assert counts == layers | {"truth": times, "mask": 2}


def test_without_truth_no_model_is_read(tmp_path, models_folder, sweep_one, decoded):
    layers = layers_of()
    layers["truth"][:] = np.nan
    models_folder(layers, interleave="band")
    found = sweep_one(config_of(tmp_path, LISTED))["a"].variables

    assert decoded == ["truth", "truth"]
    assert all(part.excluded.sum() == part.excluded[0] == SHAPE[0] * SHAPE[1] for part in found.values())


def test_blocks_of_truth_that_are_absent_are_read_for_no_model(tmp_path, models_folder, sweep_one, decoded):
    blocks = {"tiled": True, "blockxsize": 16, "blockysize": 16, "sparse_ok": True, "interleave": "band"}
    layers = layers_of()
    layers["truth"][:] = np.nan
    models_folder(layers, **blocks, crs="EPSG:32633")
    with rasterio.open(
        tmp_path / "truth_a.tif", "w", driver="GTiff", count=2, height=SHAPE[0], width=SHAPE[1], dtype="float32",
        nodata=np.nan, SPARSE_OK=True, crs="EPSG:32633", transform=NORTH_UP,
    ):  # fmt: skip
        pass
    found = sweep_one(config_of(tmp_path, LISTED + "variables: [h, c]\n"))["a"].variables

    assert decoded == []
    assert [part.excluded[0] for part in found.values()] == [SHAPE[0] * SHAPE[1]] * 4


def test_the_order_of_reading_changes_nothing(tmp_path, models_folder):
    """Whichever model and window comes first, each window holds the same pixels."""
    models_folder()
    (tile,) = find_tiles(load_experiment(config_of(tmp_path, LISTED))).tiles
    windows = (Window(0, 0, 200, 280), Window(200, 0, 100, 280))
    with gdal_options():
        fresh = {
            (variable.name, window): TileReader(tile, reuse=False).read(variable, window)
            for variable in tile.variables
            for window in windows
        }
        one = TileReader(tile, reuse=True)
        for i in np.random.default_rng(3).integers(0, len(fresh), 40):
            name, window = list(fresh)[i]
            variable = next(variable for variable in tile.variables if variable.name == name)
            found, expected = one.read(variable, window), fresh[name, window]
            for layer in ("mean", "variance", "truth", "status"):
                np.testing.assert_array_equal(getattr(found, layer), getattr(expected, layer))
