"""Paths with {variable}: a file for each variable gives the numbers of one file with a band for each."""

import json

import numpy as np
import published
import pytest
from products import calibrated
from published import place

import geouq
from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles

TILES, NAMES = ("a1", "a2"), ("AGB", "canopy height", "height")
QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}, "variables": list(NAMES)}
DATA = {"mean": "p/{variable}/{tile}_mean.tif", "std": "p/{tile}_{variable}_sd.tif", "truth": "t/{tile}.tif"}


@pytest.fixture
def maps(tmp_path, write_raster, monkeypatch):
    """Files of each variable, and the same in one file of each layer; layers by tile and variable."""
    monkeypatch.chdir(tmp_path)
    layers = {}
    for i, tile in enumerate(TILES):
        own = [calibrated(10 * i + k) for k in range(len(NAMES))]
        for name, (mean, std, _) in zip(NAMES, own, strict=True):
            write_raster(tmp_path / f"p/{name}/{tile}_mean.tif", mean, nodata=np.nan, **place(i))
            write_raster(tmp_path / f"p/{tile}_{name}_sd.tif", std, nodata=np.nan, **place(i))
        for k, layer in enumerate(("mean", "std", "truth")):
            bands = np.stack([one[k] for one in own])
            write_raster(tmp_path / f"all/{tile}_{layer}.tif", bands, nodata=np.nan, **place(i))
            if layer == "truth":
                write_raster(tmp_path / f"t/{tile}.tif", bands, nodata=np.nan, **place(i))
        layers[tile] = dict(zip(NAMES, own, strict=True))
    return layers


def config_of(folder, name="files", **settings):
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"version": 1, "name": name, "data": DATA} | QUICK | settings), encoding="utf-8")
    return path


def numbers_of(config):
    results = geouq.run(config)
    assert not results.failures
    table = results.metrics
    return table[["level", "name", "variable", "metric", "value"]].reset_index(drop=True)


@pytest.mark.usefixtures("maps")
def test_numbers_have_the_bits_of_one_file_with_a_band_for_each_variable(tmp_path):
    together = {layer: f"all/{{tile}}_{layer}.tif" for layer in ("mean", "std", "truth")}

    found, expected = numbers_of(config_of(tmp_path)), numbers_of(config_of(tmp_path, "bands", data=together))

    assert found.equals(expected)


def test_truth_has_files_of_its_own_too_and_one_tile_needs_no_name(maps, tmp_path, write_raster):
    for name in NAMES:
        write_raster(tmp_path / f"truth_{name}.tif", maps["a1"][name][2], nodata=np.nan, **place(0))
    data = {"mean": "p/{variable}/a1_mean.tif", "std": "p/a1_{variable}_sd.tif", "truth": "truth_{variable}.tif"}

    table = numbers_of(config_of(tmp_path, data=data))

    mean, std, truth = maps["a1"]["height"]
    valid = np.isfinite(mean) & np.isfinite(truth)
    covered = (np.abs(truth - mean) <= 1.6448536269514722 * std)[valid].mean()
    (own,) = table.query("level == 'all' and variable == 'height' and metric == 'coverage_90'").value
    assert own == pytest.approx(covered, abs=1e-12)


@pytest.mark.usefixtures("maps")
def test_the_table_of_a_check_names_the_file_of_each_variable(tmp_path):
    lines = [line for line in geouq.check(config_of(tmp_path)).layers.lines if line.layer == "mean"]

    files = {line.variable: (line.path, line.band) for line in lines}
    assert files == {name: (str(tmp_path / f"p/{name}/a1_mean.tif"), 1) for name in NAMES}


def test_bands_of_files_with_several_layers_are_written_once(maps, tmp_path, write_raster):
    for tile, own in maps.items():
        for name, (mean, std, _) in own.items():
            bands = np.stack([mean, std])
            write_raster(tmp_path / f"two/{tile}_{name}.tif", bands, nodata=np.nan, **place(TILES.index(tile)))
    path = "two/{tile}_{variable}.tif"
    data = {"mean": {"path": path, "band": 1}, "std": {"path": path, "band": 2}, "truth": "t/{tile}.tif"}

    assert numbers_of(config_of(tmp_path, "two", data=data)).equals(numbers_of(config_of(tmp_path)))


def test_arrays_of_one_file_are_named_by_the_variable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    published.netcdf(tmp_path, tiles=("T1",), with_truth=True)
    path = "cci/AGB-T1-2020.nc"
    data = {
        "mean": {"path": path, "variable": "{variable}"},
        "std": {"path": path, "variable": "{variable}_se"},
        "truth": {"path": path, "variable": "{variable}_obs"},
    }

    table = numbers_of(config_of(tmp_path, data=data, variables=["agb"]))

    (covered,) = table.query("level == 'all' and metric == 'coverage_90'").value
    assert covered == pytest.approx(0.9, abs=0.01)


@pytest.mark.usefixtures("maps")
def test_a_tile_without_the_file_of_a_variable_fails_with_its_name(tmp_path):
    (tmp_path / "p/AGB/a2_mean.tif").unlink()

    found = find_tiles(load_experiment(config_of(tmp_path, tiles=list(TILES))))

    assert [tile.name for tile in found.tiles] == ["a1"]
    (failure,) = found.failures
    assert failure.message == f"there is no file {tmp_path}/p/AGB/a2_mean.tif"


@pytest.mark.usefixtures("maps")
def test_a_tile_that_lacks_all_files_of_a_variable_fails_where_tiles_are_not_named(tmp_path):
    for lost in ("p/AGB/a2_mean.tif", "p/a2_AGB_sd.tif"):
        (tmp_path / lost).unlink()

    found = find_tiles(load_experiment(config_of(tmp_path)))

    assert [tile.name for tile in found.tiles] == ["a1"]
    (failure,) = found.failures
    assert failure.tile == "a2"
    assert "p/AGB/a2_mean.tif" in failure.message


def test_a_changed_file_of_one_variable_is_read_again(maps, tmp_path, write_raster):
    config = config_of(tmp_path)
    before = numbers_of(config)
    mean = maps["a2"]["AGB"][0] + 5
    write_raster(tmp_path / "p/AGB/a2_mean.tif", mean, nodata=np.nan, **place(1))

    after = numbers_of(config)

    differ = after.loc[after.value != before.value]
    assert set(differ.variable) == {"AGB"}
    assert "a1" not in set(differ.name)


WRONG = {
    "names": ({"variables": None}, "{variable} stands for the names of variables: write them"),
    "no file": ({"variables": ["AGB", "Clay"]}, "no file matches "),
    "time": ({"data": DATA | {"truth": "t/{tile}_{time}.tif"}}, "the paths of the prediction have not"),
    "other": (
        {"data": DATA | {"truth": "t/{tile}_{date}.tif"}},
        "the only placeholders are {tile}, {variable} and {time}",
    ),
    "bands of members": (
        {"data": {"members": "p/{variable}_{tile}.tif", "truth": "t/{tile}.tif"}},
        "data.members: {variable} cannot be used for members; evaluate one variable",
    ),
    "files of members": (
        {"data": {"members": "p/{variable}/m{member}_{tile}.tif", "truth": "t/{tile}.tif"}},
        "data.members: {variable} cannot be used for members",
    ),
    "arrays of members": (
        {
            "data": {
                "members": {"path": "m.nc", "variable": "{variable}", "select": {"n": "{member}"}},
                "truth": "t.tif",
            }
        },
        "{variable} cannot be used for members",
    ),
    "classes": (
        {"data": {"probabilities": "p/{variable}.tif", "class_codes": {"a": 0, "b": 1}, "truth": "t.tif"}},
        "{variable} is not for files of several quantiles or classes",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.usefixtures("maps")
def test_mistakes_are_named(tmp_path, wrong):
    settings, message = WRONG[wrong]

    with pytest.raises(ConfigError) as refused:
        find_tiles(load_experiment(config_of(tmp_path, **settings)))

    assert message in str(refused.value)


def test_files_on_two_grids_are_refused(maps, tmp_path, write_raster):
    mean = maps["a1"]["AGB"][0]
    write_raster(tmp_path / "p/AGB/a1_mean.tif", mean, nodata=np.nan, **place(3))

    found = find_tiles(load_experiment(config_of(tmp_path)))

    (failure,) = found.failures
    assert "p/AGB/a1_mean.tif" in failure.message
    assert failure.error == "GridError"
