"""One tile as a lazy, masked Dataset."""

import numpy as np
import pytest
import rasterio
import yaml
from affine import Affine

from geouq.arrays.points import summarize_arrays
from geouq.config import load_experiment
from geouq.core.errors import ConfigError, DataError, GeouqError
from geouq.rasters.catalog import find_tiles
from geouq.reading import stack as stack_room
from geouq.reading.reader import read_window
from geouq.reading.stack import open_stack

NORTH_UP = Affine(10, 0, 500_000, 0, -10, 7_000_000)


def test_nothing_is_read_before_it_is_asked_for(tile_folder, tmp_path):
    stack = open_stack(load_experiment(tile_folder()), "a1")
    (tmp_path / "predictions" / "a1_mean.tif").write_bytes(b"gone")

    assert stack.sizes == {"variable": 3, "y": 40, "x": 50}
    with pytest.raises(DataError, match=r"a1_mean\.tif"):
        stack["mean"].compute(scheduler="synchronous")


def test_layers_are_masked_and_have_coordinates_crs_and_units(tile_folder, tmp_path):
    stack = open_stack(load_experiment(tile_folder()), "a2").load(scheduler="synchronous")
    read = {}
    for layer, path in {
        "mean": "predictions/a2_mean",
        "variance": "predictions/a2_variance",
        "truth": "truth/a2",
    }.items():
        with rasterio.open(tmp_path / f"{path}.tif") as source:
            read[layer] = source.read()
            bounds, crs = source.bounds, source.crs

    for layer, values in read.items():
        np.testing.assert_array_equal(stack[layer].values, values)
    valid = np.isfinite(read["mean"] + read["truth"]) & (read["variance"] > 0)
    np.testing.assert_array_equal(stack["valid"].values, valid)
    assert stack["x"].values[0] == bounds.left + 5
    assert stack["y"].values[-1] == bounds.bottom + 5
    assert rasterio.CRS.from_wkt(stack.attrs["crs"]) == crs
    assert stack["units"].values.tolist() == ["m", "%", "1"]
    assert stack["mean"].dtype == np.float32
    assert rasterio.CRS.from_wkt(stack["spatial_ref"].attrs["crs_wkt"]) == crs


@pytest.mark.parametrize("chunk", [16, 33, 512])
def test_chunks_do_not_change_the_pixels(tile_folder, chunk):
    (tile, *_) = find_tiles(load_experiment(tile_folder())).tiles

    one, other = open_stack(tile, chunk=chunk), open_stack(tile)

    assert one["mean"].chunks[1][0] == min(chunk, 40)
    assert one.load().identical(other.load())


def test_summing_a_stack_gives_the_bits_of_the_sweep(tile_folder, sweep_one):
    config = tile_folder()
    stack = open_stack(load_experiment(config), "b1").load().where(lambda stack: stack["valid"])
    swept = sweep_one(config)["b1"].variables["cover"].whole
    cover = stack.sel(variable="cover")

    layers = (cover[layer].values for layer in ("mean", "variance", "truth"))
    found = summarize_arrays(*layers, swept.levels, cell_size=16).whole

    assert found.moments.products.tobytes() == swept.moments.products.tobytes()
    assert found.variance.sums.tobytes() == swept.variance.sums.tobytes()


def test_an_unknown_tile_is_refused_with_those_there_are(tile_folder):
    with pytest.raises(ConfigError, match="no tile 'c1'; the tiles are a1, a2, b1"):
        open_stack(load_experiment(tile_folder()), "c1")


def test_a_tile_that_cannot_be_stacked_says_why(tile_folder, tmp_path):
    config = tile_folder()
    (tmp_path / "truth" / "a1.tif").write_bytes(b"")

    with pytest.raises(GeouqError, match=r"tile a1: .*a1\.tif cannot be read"):
        open_stack(load_experiment(config), "a1")


def test_opening_reads_no_pixel_and_computing_reads_each_window_once(tile_folder, monkeypatch):
    read = []
    monkeypatch.setattr(
        stack_room, "read_window", lambda tile, window: read.append(window) or read_window(tile, window)
    )

    opened = open_stack(load_experiment(tile_folder()), "a1", chunk=32)
    assert read == []
    opened.load(scheduler="synchronous")

    assert len(read) == len(set(read)) == 4


def test_what_is_no_data_is_nan_and_layers_share_their_coordinates(tmp_path, write_raster):
    """Each layer has NaN for what its own file leaves out; grids a hair apart do not crop each other."""
    values = np.arange(1, 49, dtype=np.int16).reshape(1, 6, 8)
    values[0, 0, 0] = -9999
    mask = np.zeros((6, 8), bool)
    mask[5] = True
    hair = NORTH_UP @ Affine.translation(1e-9, -1e-9)
    write_raster(tmp_path / "t_mean.tif", values, nodata=-9999, scales=[0.5], offsets=[1.0])
    write_raster(tmp_path / "t_std.tif", values, nodata=-9999, transform=hair)
    write_raster(tmp_path / "t_truth.tif", values, mask=mask)
    config = tmp_path / "one.yaml"
    config.write_text(
        "version: 1\nname: one\ndata: {mean: '{tile}_mean.tif', std: '{tile}_std.tif', truth: '{tile}_truth.tif'}"
    )

    stack = open_stack(load_experiment(config), "t").load()

    expected = values[0].astype(float)
    expected[0, 0] = np.nan
    np.testing.assert_array_equal(stack["mean"].values[0], expected * 0.5 + 1)
    np.testing.assert_array_equal(stack["variance"].values[0], expected**2)
    assert stack["truth"].values[0, 0, 0] == -9999
    assert np.isnan(stack["truth"].values[0, 5]).all()
    assert np.isfinite(stack["truth"].values[0, :5]).all()
    assert stack["valid"].values[0].sum() == 39
    assert (stack["mean"] - stack["truth"]).sizes == stack.sizes


def test_a_turned_grid_has_rows_and_columns_as_coordinates(tile_folder, tmp_path, write_raster):
    config = tile_folder(("a1",))
    turned = NORTH_UP @ Affine.rotation(30)
    for path in ("predictions/a1_mean.tif", "predictions/a1_variance.tif", "truth/a1.tif"):
        write_raster(tmp_path / path, np.ones((3, 4, 5), np.float32), transform=turned)

    stack = open_stack(load_experiment(config), "a1")

    assert stack["x"].values.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert stack["y"].values.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_a_path_a_mapping_and_an_experiment_open_the_same_stack(tile_folder, tmp_path, monkeypatch):
    config = tile_folder(("a1",))
    monkeypatch.chdir(tmp_path)
    expected = open_stack(load_experiment(config), "a1").load()

    for described in (config, str(config), yaml.safe_load(config.read_text(encoding="utf-8"))):
        assert open_stack(described).load().identical(expected)


def test_one_of_several_tiles_must_be_named(tile_folder):
    with pytest.raises(ConfigError, match=r"which tile.*the tiles are a1, a2, b1"):
        open_stack(tile_folder())
