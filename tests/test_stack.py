"""One tile as a lazy, masked Dataset."""

import numpy as np
import pytest
import rasterio

from geouq.catalog import find_tiles
from geouq.config import load_experiment
from geouq.errors import ConfigError, DataError, GeouqError
from geouq.stack import open_stack
from geouq.sweep import summarize_arrays


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
