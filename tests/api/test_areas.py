"""Means and totals of areas of arrays: the numbers of a run of the same rasters."""

import numpy as np
import pytest
import xarray as xr
from correlated import forecast
from landscape import NORTH_UP, write_raster

import geouq
from geouq.core.errors import ArgumentError, ConfigError, DataError
from geouq.pipeline.data import Options

CONFIG = """\
version: 1
name: arrays
data: {mean: "mean_{tile}.tif", variance: "variance_{tile}.tif", truth: "truth_{tile}.tif"}
tiles: [a]
variables: {AGB: {units: Mg/ha, thresholds: [0.5]}}
regions:
  cover: {classes: classes.tif, names: {1: forest, 2: shrub}}
output: {maps: none, figures: none}
intervals: {resamples: 100}
"""
SIDE, CELL = 192, 16
LAYERS = tuple(layer.astype(np.float32) for layer in forecast(0, SIDE, 8.0))
LABELS = np.repeat(np.arange(4), 48)[:, np.newaxis] * (np.arange(SIDE) < 160)  # 0 is no region
NAMES = {1: "forest", 2: "shrub"}
MASKS = {name: label == LABELS for label, name in NAMES.items()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("areas")
    for name, layer in zip(("mean", "variance", "truth"), LAYERS, strict=True):
        write_raster(folder / f"{name}_a.tif", layer, nodata=np.nan)
    write_raster(folder / "classes.tif", LABELS.astype(np.uint8))
    (folder / "arrays.yaml").write_text(CONFIG, encoding="utf-8")
    return geouq.run(folder / "arrays.yaml", Options(out=folder / "out")).frames


@pytest.fixture(scope="module")
def stack():
    y, x = (NORTH_UP.f - 10 * (np.arange(SIDE) + 0.5), NORTH_UP.c + 10 * (np.arange(SIDE) + 0.5))
    layers = {name: (("y", "x"), layer) for name, layer in zip(("mean", "variance", "truth"), LAYERS, strict=True)}
    return xr.Dataset(layers, {"y": y, "x": x})


@pytest.fixture(scope="module")
def found(stack):
    return stack.geouq.evaluate_areas(
        regions={name: xr.DataArray(mask, dims=("y", "x")) for name, mask in MASKS.items()},
        thresholds=0.5,
        units="Mg/ha",
        crs="EPSG:32633",
        cell_size=CELL,
    )


def assert_alike(own, expected):
    """Tables with the same columns, numbers and texts."""
    assert list(own.columns) == list(expected.columns)
    assert len(own) == len(expected) > 0
    for column in own.columns:
        kept, theirs = own[column].to_numpy(), expected[column].to_numpy()
        if own[column].dtype == float:
            np.testing.assert_allclose(kept, theirs.astype(float), rtol=1e-12, err_msg=column)
        else:
            np.testing.assert_array_equal(kept, theirs, err_msg=column)


@pytest.mark.parametrize("name", ["areas", "aggregates", "error_correlation", "error_correlogram"])
def test_every_number_is_that_of_a_run(tables, found, name):
    assert_alike(getattr(found, name), tables[name].drop(columns=["variable", "model"], errors="ignore"))
    assert len(found.aggregate_comparison) == 0


def run_of(folder, config, layers):
    """Tables of a run of rasters."""
    for name, layer in layers.items():
        write_raster(folder / f"{name}_a.tif", layer.astype(np.float32), nodata=np.nan)
    write_raster(folder / "classes.tif", LABELS.astype(np.uint8))
    (folder / "arrays.yaml").write_text(config, encoding="utf-8")
    return geouq.run(folder / "arrays.yaml", Options(out=folder / "out")).frames


def test_several_models_give_the_numbers_of_a_run_of_them(tmp_path, stack):
    mean, variance, truth = LAYERS
    other = np.where(LABELS == 3, np.nan, (mean + truth) / 2).astype(np.float32)  # has fewer pixels
    text = CONFIG.replace(
        'data: {mean: "mean_{tile}.tif", variance: "variance_{tile}.tif", truth: "truth_{tile}.tif"}',
        'models: [old, new]\ndata: {mean: "{model}_{tile}.tif", variance: "v{model}_{tile}.tif", '
        'truth: "truth_{tile}.tif"}',
    )
    layers = {"old": mean, "new": other, "vold": variance, "vnew": variance, "truth": truth}
    tables = run_of(tmp_path, text, layers)

    means = stack[["mean"]].rename(mean="old").assign(new=(("y", "x"), other))
    masks = {name: xr.DataArray(mask, dims=("y", "x")) for name, mask in MASKS.items()}
    found = geouq.evaluate_areas(
        means, stack["variance"], stack["truth"], regions=masks, thresholds=0.5, units="Mg/ha", crs="EPSG:32633",
        cell_size=CELL,
    )  # fmt: skip

    for name in ("areas", "aggregates", "error_correlation", "error_correlogram", "aggregate_comparison"):
        assert_alike(getattr(found, name), tables[name].drop(columns=["variable"]))
    assert set(found.models) == {"mean (old)", "mean (new)", "mean (old) > 0.5", "mean (new) > 0.5"}
    (row,) = found.areas[(found.areas.name == "all") & (found.areas.model == "old") & found.areas.threshold.isna()].n
    assert row == np.count_nonzero(LABELS != 3)
    cells = found.aggregate_comparison[found.aggregate_comparison.side_cells == 1]
    for rows in (cells[cells.threshold.isna()], cells[cells.threshold == 0.5]):
        better = rows.set_index("metric").better
        assert better["aggregate_rmse"] == better["aggregate_crps_calibrated"] == "new"


def test_a_known_error_of_the_truth_gives_the_numbers_of_a_run(tmp_path, stack):
    mean, variance, truth = LAYERS
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.1, 0.8, truth.shape).astype(np.float32)
    measured = (truth + np.sqrt(noise) * rng.standard_normal(truth.shape)).astype(np.float32)
    text = CONFIG.replace('truth: "truth_{tile}.tif"', 'truth: "truth_{tile}.tif", truth_variance: "noise_{tile}.tif"')
    tables = run_of(tmp_path, text, {"mean": mean, "variance": variance, "truth": measured, "noise": noise})

    found = stack.assign(truth=(("y", "x"), measured)).geouq.evaluate_areas(
        truth_variance=xr.DataArray(noise, dims=("y", "x")),
        regions={name: xr.DataArray(mask, dims=("y", "x")) for name, mask in MASKS.items()},
        thresholds=0.5,
        units="Mg/ha",
        crs="EPSG:32633",
        cell_size=CELL,
    )

    for name in ("areas", "aggregates", "error_correlation", "error_correlogram"):
        assert_alike(getattr(found, name), tables[name].drop(columns=["variable", "model"]))
    assert found.models["mean"]["truth_error_share_removed"] > 0.1


def test_the_mean_of_a_region_is_that_of_its_pixels(found):
    forest = found.areas[(found.areas.name == "forest") & found.areas.threshold.isna()].iloc[0]
    mean, variance, truth = (layer[MASKS["forest"]].astype(np.float64) for layer in LAYERS)

    assert forest["mean"] == pytest.approx(mean.mean(), abs=1e-12)
    assert forest["mean_error"] == pytest.approx((mean - truth).mean(), rel=1e-6)
    assert forest["std_independent"] == pytest.approx(np.sqrt(variance.sum()) / len(variance), rel=1e-6)
    assert forest["std_full"] == pytest.approx(np.sqrt(variance).mean(), rel=1e-6)
    assert (forest["n"], forest["area"], forest["total_units"]) == (len(mean), pytest.approx(100 * len(mean)), "Mg")


def test_labels_give_the_numbers_of_masks():
    by_mask = geouq.evaluate_areas(
        *LAYERS, regions={str(label): label == LABELS for label in (1, 2, 3)}, cell_size=CELL
    )
    by_label = geouq.evaluate_areas(*LAYERS, regions=LABELS, cell_size=CELL)
    with_nan = geouq.evaluate_areas(*LAYERS, regions=np.where(LABELS, LABELS, np.nan), cell_size=CELL)
    of_text = geouq.evaluate_areas(*LAYERS, regions=np.array(["", "1", "2", "3"])[LABELS], cell_size=CELL)

    assert by_mask.areas.name.tolist() == ["all", "1", "2", "3"]
    for other in (by_label, with_nan, of_text):
        assert other.areas.equals(by_mask.areas)


def test_masks_are_matched_by_the_names_of_dimensions(stack, found):
    turned = {name: xr.DataArray(mask, dims=("y", "x")).T for name, mask in MASKS.items()}
    own = stack.geouq.evaluate_areas(regions=turned, thresholds=0.5, units="Mg/ha", crs="EPSG:32633", cell_size=CELL)

    assert own.areas.equals(found.areas)


def test_maps_along_another_dimension_are_tiles_of_one_evaluation():
    dates = [forecast(seed, 96, 4.0) for seed in range(8)]
    found = geouq.evaluate_areas(
        *(np.stack(layers) for layers in zip(*dates, strict=True)), regions=LABELS[:96, :96], dim=(1, 2), cell_size=CELL
    )

    one = geouq.evaluate_areas(*dates[0], regions=LABELS[:96, :96], cell_size=CELL)
    assert found.areas.name.tolist() == one.areas.name.tolist() == ["all", "1"]
    assert (found.areas["n"] == 8 * one.areas["n"]).all()
    sides = found.aggregates.groupby("kind").n_areas.max()
    assert (sides["block"], sides["tile"]) == (8 * 36, 8)


def test_a_region_without_a_valid_pixel_has_no_row():
    truth = np.where(LABELS == 2, np.nan, LAYERS[2])

    assert geouq.evaluate_areas(*LAYERS[:2], truth, regions=LABELS, cell_size=CELL).areas.name.tolist() == [
        "all",
        "1",
        "3",
    ]


def test_without_a_crs_distances_are_in_the_unit_of_coordinates(found):
    own = geouq.evaluate_areas(*LAYERS, cell_size=CELL)

    units = own.error_correlation.set_index("parameter").units
    assert (units["range_1"], units["nugget"]) == ("coordinates", "1")
    assert own.models["mean"]["distance"] == "coordinates"
    assert own.areas.area.isna().all()
    assert found.models["mean"]["distance"] == "metres"
    assert found.error_correlation.set_index("parameter").units["range_1"].tolist() == ["m", "m"]


def test_pixels_of_degrees_without_weights_have_a_note(stack, found):
    degrees = stack.assign_coords(y=60 - 0.1 * np.arange(SIDE), x=0.1 * np.arange(SIDE))
    alike = degrees.geouq.evaluate_areas(crs="EPSG:4326", cell_size=CELL)
    weights = np.cos(np.radians(degrees.y)).broadcast_like(degrees["mean"])
    weighted = degrees.geouq.evaluate_areas(crs="EPSG:4326", cell_size=CELL, weights=weights)

    assert len(alike.notes) == 1
    assert alike.notes[0].startswith("pixels differ in area on the ground by a factor of 1.5")
    assert weighted.notes == found.notes == ()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"regions": {"west": np.ones((3, 3))}}, DataError, r"shape \(3, 3\); give \(192, 192\)"),
        ({"regions": {"all": LABELS > 0}}, DataError, "'all' cannot name a region"),
        ({"regions": np.where(LABELS > 0, "all", "")}, DataError, "'all' cannot name a region"),
        ({"regions": {3: LABELS > 0}}, DataError, "3 cannot name a region"),
        ({"level": 90}, ConfigError, "between 0 and 1"),
        ({"level": "90"}, ArgumentError, "level"),
        ({"variance": {"a": LAYERS[1]}}, DataError, "variance is of several models and mean is not"),
        ({"mean": {3: LAYERS[0]}}, DataError, "3 cannot name a model"),
        ({"mean": {"a": 0.0}, "variance": {"b": 1.0}}, DataError, "variance is of the models b, and mean of a"),
        ({"mean": {"a": 0.0, "b": 1.0}, "variance": {"a": 1.0, "b": -1.0}}, DataError, "variance"),
        ({"truth_variance": -LAYERS[1]}, DataError, "truth_variance"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        geouq.evaluate_areas(**dict(zip(("mean", "variance", "truth"), LAYERS, strict=True)) | options)


def test_a_map_without_any_error_has_no_interval_and_says_why():
    found = geouq.evaluate_areas(np.full((128, 128), 100.0), std=1.0, truth=np.full((128, 128), 100.0)).areas

    assert found["ci_method"].tolist() == ["all errors are 0"]
    assert found["ci_low"].isna().all()
