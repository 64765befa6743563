"""GeoTIFFs of pixels and of cells."""

import numpy as np
import pytest
import rasterio
from affine import Affine
from forecasts import heteroscedastic
from restatement import valid

from geouq.arrays import summarize_arrays
from geouq.atomic import LEFTOVER
from geouq.catalog import find_tiles
from geouq.config import CELL_MAPS, PIXEL_MAPS, Variable, load_experiment
from geouq.errors import DataError
from geouq.grid import Grid
from geouq.maps import PIXEL_VALUES, missing_maps, path_of_map, write_cell_maps, write_pixel_maps
from geouq.maps.cells import mosaic_of
from geouq.maps.geotiff import BandLabel, cog_writer
from geouq.summary import TilePlace, TileSummary

PLACE = Affine(10, 0, 500_000, 0, -10, 7_000_000)
COVER = Variable(name="cover", band=1, units="%")


def tile_at(name, column, shape=(40, 48), row=0, cell_size=16):
    part = summarize_arrays(*heteroscedastic(shape, column), (0.5, 0.9), cell_size=cell_size)
    grid = Grid(shape, PLACE @ Affine.translation(column, row), rasterio.CRS.from_epsg(32633).to_wkt())
    return TileSummary(name, grid, cell_size, {"cover": part})


def in_parts(cells):
    return np.arange(len(cells)), cells


def cell_maps(tiles, names, folder):
    cells = {tile.tile: [in_parts(tile.variables["cover"].cells)] for tile in tiles}
    return write_cell_maps(tiles, cells.pop, COVER, names, folder)


def test_every_map_that_a_configuration_may_name_exists():
    assert set(PIXEL_MAPS) == set(PIXEL_VALUES)


def test_pixel_maps_hold_the_definition_where_a_pixel_counts(tile_folder, tmp_path):
    tile = find_tiles(load_experiment(tile_folder())).tiles[1]
    paths = write_pixel_maps(tile, ("z", "error", "abs_error", "std"), tmp_path / "maps", "key")
    layers = []
    for raster in tile.rasters.values():
        with rasterio.open(raster.path) as source:
            layers.append(source.read().astype(np.float64))
    mean, variance, truth = layers
    ok = np.isfinite(mean + variance + truth)
    expected = {
        "z": (truth - mean) / np.sqrt(variance),
        "error": mean - truth,
        "abs_error": abs(mean - truth),
        "std": np.sqrt(variance),
    }

    assert [path.name for path in paths] == [f"a2_{name}.tif" for name in expected]
    for path, values in zip(paths, expected.values(), strict=True):
        with rasterio.open(path) as source:
            np.testing.assert_array_equal(source.read(), np.where(ok, values, np.nan).astype(np.float32))
            assert source.transform == tile.grid.transform
            assert source.crs.to_wkt() == tile.grid.crs


def test_a_map_says_what_it_is(tile_folder, tmp_path):
    tile = find_tiles(load_experiment(tile_folder())).tiles[0]
    (path,) = write_pixel_maps(tile, ("error",), tmp_path, "key")

    with rasterio.open(path) as source:
        assert source.descriptions == ("error_height", "error_cover", "error_gini")
        assert source.units == ("m", "%", "1")
        assert source.nodatavals == (pytest.approx(np.nan, nan_ok=True),) * 3
        assert source.tags()["GEOUQ_INPUTS"] == "a1_mean.tif, a1_variance.tif, a1.tif"
        assert source.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert "STATISTICS_MEAN" in source.tags(1)
        assert source.tags(1)["long_name"] == "mean - truth"
        assert "TIFFTAG_DATETIME" not in source.tags()


def test_maps_that_are_there_are_not_missing(tile_folder, tmp_path):
    tile = find_tiles(load_experiment(tile_folder())).tiles[0]
    write_pixel_maps(tile, ("error",), tmp_path, "key")
    path_of_map(tile.name, "std", tmp_path).write_text("no map")

    assert missing_maps(tile.name, ("error", "z", "std"), tmp_path, "key") == ["z", "std"]
    assert missing_maps(tile.name, ("error",), tmp_path, "another key") == ["error"]


def test_large_maps_have_averaged_overviews(tmp_path):
    grid = Grid((1500, 1100), PLACE, rasterio.CRS.from_epsg(32633).to_wkt())
    values = np.arange(1500 * 1100, dtype=np.float32).reshape(1, 1500, 1100)
    with cog_writer(tmp_path / "m.tif", grid, [BandLabel("v", "m", "value")], {}) as writer:
        for window in grid.windows(512):
            writer.write(values[:, *window.slices], window)

    with rasterio.open(tmp_path / "m.tif") as source:
        assert source.overviews(1) == [2, 4]
        assert source.profile["compress"] == "zstd"
        np.testing.assert_array_equal(source.read(), values)
        small = source.read(1, out_shape=(750, 550))
    assert small[0, 0] == pytest.approx(values[0, :2, :2].mean())


def test_a_map_that_fails_leaves_nothing_behind(tile_folder, tmp_path):
    tile = find_tiles(load_experiment(tile_folder())).tiles[0]
    (tmp_path / "truth" / "a1.tif").write_bytes(b"gone")

    with pytest.raises(DataError):
        write_pixel_maps(tile, ("z", "error"), tmp_path / "maps", "key")
    assert not list((tmp_path / "maps").iterdir())


def test_cells_side_by_side_make_one_mosaic(tmp_path):
    """Tiles of 48 columns with cells of 16; 40 rows leave a cell of 8, so a mosaic's pixel is 8 pixels wide."""
    tiles = [tile_at("a", 0), tile_at("b", 48), tile_at("c", 0, row=40)]
    (path,) = cell_maps(tiles, CELL_MAPS, tmp_path)

    assert path.name == "cells_cover.tif"
    with rasterio.open(path) as source:
        values = dict(zip(source.descriptions, source.read(), strict=True))
        assert source.units[source.descriptions.index("bias")] == "%"
        assert source.units[source.descriptions.index("uce")] == "%^2"
        assert source.transform == PLACE @ Affine.scale(8)
    assert values["n"].shape == (10, 12)
    cells = tiles[0].variables["cover"].cells.summary()
    assert values["n"][0, 0] == values["n"][1, 1] == cells.n[0]
    assert values["n"][4, 0] == cells.n[6]
    assert values["n"][5, 0] == tiles[2].variables["cover"].cells.summary().n[0]
    assert np.isnan(values["n"][7, 8])
    arrays = [a[:16, :16] for a in heteroscedastic((40, 48), 0)]
    mean, variance, truth = valid(*arrays)
    assert values["bias"][0, 0] == pytest.approx((mean - truth).mean(), rel=1e-5)
    assert values["zms"][0, 0] == pytest.approx(np.mean((mean - truth) ** 2 / variance), rel=1e-5)
    assert values["coverage_90"][0, 0] == pytest.approx(np.mean(abs(mean - truth) <= 1.6448536 * np.sqrt(variance)))


def test_tiles_on_the_same_pixels_get_a_file_each(tmp_path):
    tiles = [tile_at("jan", 0), tile_at("feb", 0)]

    paths = cell_maps(tiles, ("n", "zms"), tmp_path)

    assert [path.name for path in paths] == ["jan_cells_cover.tif", "feb_cells_cover.tif"]
    with rasterio.open(paths[0]) as source:
        assert source.shape == (3, 3)
        assert source.transform == PLACE @ Affine.scale(16)
        assert source.read(1).sum() == tiles[0].variables["cover"].whole.n


@pytest.mark.parametrize(
    "second",
    [
        Grid((40, 48), PLACE @ Affine.translation(48.5, 0), ""),
        Grid((40, 48), PLACE @ Affine.translation(48, 0) @ Affine.scale(2), ""),
        Grid((40, 48), PLACE @ Affine.translation(48, 0), "another"),
        Grid((40, 48), PLACE @ Affine.translation(47, 0), ""),
        Grid((40, 48), PLACE @ Affine.translation(10_000_001, 10_000_001), ""),
    ],
    ids=["half a pixel off", "other pixels", "other CRS", "overlap", "too far apart"],
)
def test_what_is_no_mosaic(second):
    assert mosaic_of([TilePlace("a", Grid((40, 48), PLACE, ""), 16), TilePlace("b", second, 16)]) is None


def test_tiles_of_unlike_cells_are_no_mosaic():
    grids = [Grid((64, 64), PLACE @ Affine.translation(column, 0), "") for column in (0, 64)]

    first, second, unlike = (
        TilePlace(name, grids[i], size) for name, i, size in (("a", 0, 16), ("b", 1, 16), ("a", 0, 32))
    )

    assert mosaic_of([unlike, second]) is None
    assert mosaic_of([first, second]) is not None


def test_what_a_map_leaves_behind_when_its_process_is_killed_is_known_by_its_name(tmp_path):
    grid = Grid((40, 48), PLACE, rasterio.CRS.from_epsg(32633).to_wkt())
    with cog_writer(tmp_path / "maps" / "m.tif", grid, [BandLabel("v", "m", "value")], {}):
        under_way = [path.name for path in (tmp_path / "maps").iterdir()]

    assert under_way
    assert all(LEFTOVER.match(name) for name in under_way)
    assert [path.name for path in (tmp_path / "maps").iterdir()] == ["m.tif"]
