"""GeoTIFFs of pixels and of cells."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from affine import Affine
from forecasts import heteroscedastic
from restatement import valid
from scipy.stats import norm

from geouq.arrays.points import summarize_arrays
from geouq.config import Data, Variable, load_experiment
from geouq.core.atomic import LEFTOVER
from geouq.core.errors import DataError
from geouq.core.grid import Grid
from geouq.core.validity import REASONS
from geouq.maps.cell_metrics import Cellwise
from geouq.maps.cells import write_cell_maps
from geouq.maps.geotiff import BandLabel, cog_writer
from geouq.maps.lattice import mosaic_of
from geouq.maps.names import problems_of_maps, unknown_maps
from geouq.maps.patches import patches_of
from geouq.maps.pixel_maps import PIXEL_MAPS, has_map, map_named
from geouq.maps.pixels import missing_maps, path_of_map, write_pixel_maps
from geouq.metrics import MetricOptions, metrics_of
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import Reading
from geouq.summary import TilePlace, TileSummary, add_all
from geouq.summary.form import GAUSSIAN
from geouq.version import __version__

PLACE = Affine(10, 0, 500_000, 0, -10, 7_000_000)
COVER = Variable(name="cover", band=1, units="%")
DATA = Data(mean="{tile}_m.tif", std="{tile}_s.tif", truth="{tile}.tif")
TAGS = {"GEOUQ_KEY": "key", "GEOUQ_CONFIG_SHA256": "abc"}
ALL = (*(one.name for one in PIXEL_MAPS.values() if has_map(one, GAUSSIAN)), "covered_90", "covered_50")


def tile_at(name, column, shape=(40, 48), row=0, cell_size=16):
    part = summarize_arrays(*heteroscedastic(shape, column), (0.5, 0.9), cell_size=cell_size)
    grid = Grid(shape, PLACE @ Affine.translation(column, row), rasterio.CRS.from_epsg(32633).to_wkt())
    return TileSummary(name, grid, cell_size, {"cover": part})


def in_parts(cells):
    return np.arange(len(cells)), cells


def cell_maps(tiles, names, folder, **choices):
    cells = {tile.tile: [in_parts(tile.variables["cover"].cells)] for tile in tiles}
    whole = add_all(tile.variables["cover"].whole for tile in tiles)
    cellwise = Cellwise(COVER, cells.pop, names, MetricOptions((0.5, 0.9), (), **choices), whole)
    paths = write_cell_maps(tiles, cellwise, folder, {"GEOUQ_INPUTS": "a, b"})
    return [path for path in paths if path.suffix == ".tif"]


def tile_of(config, place=0):
    return find_tiles(load_experiment(config)).tiles[place]


def read(path):
    with rasterio.open(path) as source:
        return source.read()


def restated(mean, variance, truth):
    """Every map of pixels in plain numpy and scipy."""
    error, std = mean - truth, np.sqrt(variance)
    z = (truth - mean) / std
    spread = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
    return {
        "mean": mean,
        "std": std,
        "error": error,
        "abs_error": abs(error),
        "z": z,
        "pit": norm.cdf(z),
        "nll": -norm.logpdf(truth, mean, std),
        "crps": std * spread,
        "covered_90": abs(truth - mean) <= norm.ppf(0.95) * std,
        "covered_50": abs(truth - mean) <= norm.ppf(0.75) * std,
    }


def require_equal(folder, tile, names, expected, ok):
    for name in names:
        found = read(path_of_map(tile, name, folder))
        assert found.size == ok.size
        found = found.reshape(ok.shape)
        if found.dtype == np.uint8:
            np.testing.assert_array_equal(found, np.where(ok, expected[name], 255))
        else:
            np.testing.assert_allclose(found, np.where(ok, expected[name], np.nan), rtol=2e-7, atol=1e-7)


def test_every_map_that_a_configuration_may_name_exists():
    by_cell = [metric for metric in metrics_of(GAUSSIAN) if metric.choice not in ("group", "ordering", "threshold")]
    known = {one.name for one in by_cell if one.choice != "level" and not one.choice.startswith("calibration")}
    of_levels = {f"{one.name}_90" for one in by_cell if one.choice == "level"}
    other = {f"{one.name}_90" for one in by_cell} | {one.name for one in metrics_of(GAUSSIAN)}

    accepted = [*known, *of_levels, *ALL, "n", "cells"]
    assert [*unknown_maps(accepted), *problems_of_maps(accepted, DATA, (0.5, 0.9))] == []
    refused = sorted(other - set(accepted))
    assert [place for (place,), _ in unknown_maps(refused)] == list(range(len(refused)))
    assert all(map_named(name).long_name for name in ALL)


@pytest.mark.parametrize("reading", [None, Reading(256, 256)], ids=["by default", "small windows"])
def test_pixel_maps_hold_the_definition_where_a_pixel_counts(tile_folder, tmp_path, reading):
    tile = tile_of(tile_folder(shape=(300, 330)), 1)
    paths = write_pixel_maps(tile, ALL, tmp_path / "maps", TAGS, reading)
    mean, variance, truth = (read(raster.path).astype(np.float64) for raster in tile.rasters.values())
    ok = np.isfinite(mean + variance + truth)

    assert [path.name for path in paths] == [f"a2_{name}.tif" for name in ALL]
    require_equal(tmp_path / "maps", "a2", set(ALL) - {"status"}, restated(mean, variance, truth), ok)
    assert {path.name for path in (tmp_path / "maps").iterdir()} >= {"a2_status.tif.aux.xml"}
    for path in paths:
        with rasterio.open(path) as source:
            assert source.transform == tile.grid.transform
            assert source.crs.to_wkt() == tile.grid.crs


def test_status_tells_the_first_reason_for_which_a_pixel_does_not_count(tmp_path, write_raster):
    mean, variance, truth = (np.full((20, 30), value, np.float32) for value in (1, 2, 3))
    mask = np.ones((20, 30), np.uint8)
    truth[0, 0] = mean[0, :2] = variance[0, :3] = -9999
    truth[0, 3], mask[0, 4], variance[0, 5] = np.inf, 0, 0
    for name, layer in (("mean", mean), ("variance", variance), ("truth", truth)):
        write_raster(tmp_path / name / "t.tif", layer, nodata=-9999)
    write_raster(tmp_path / "mask" / "t.tif", mask)
    config = tmp_path / "x.yaml"
    layers = "".join(f"  {name}: {name}/{{tile}}.tif\n" for name in ("mean", "variance", "truth", "mask"))
    config.write_text(f"version: 1\nname: x\nvariables: [h]\ndata:\n{layers}")
    (path,) = write_pixel_maps(tile_of(config), ["status"], tmp_path, TAGS)

    first = ["truth_nodata", "mean_nodata", "variance_nodata", "not_finite", "masked", "variance_not_positive"]
    status = read(path)[0]
    assert [REASONS[code - 1] for code in status[0, :6]] == first
    assert not status[0, 6:].any()
    assert not status[1:].any()
    with rasterio.open(path) as source:
        assert (source.dtypes[0], source.nodatavals[0]) == ("uint8", 255)
        assert source.tags(1)["flag_meanings"].split() == ["valid", *REASONS]
        assert source.tags(1)["flag_values"].split() == [str(k) for k in range(len(REASONS) + 1)]


def test_names_of_codes_are_what_gdal_reads(tile_folder, tmp_path):
    paths = write_pixel_maps(tile_of(tile_folder()), ["status", "covered_90"], tmp_path, TAGS)

    for path, codes in zip(paths, (("valid", *REASONS), ("missed", "covered")), strict=True):
        rasterio.shutil.copy(path, tmp_path / "told.vrt", driver="VRT")
        (band, *_) = ET.parse(tmp_path / "told.vrt").getroot().iter("VRTRasterBand")  # noqa: S314  written above
        assert [one.text for one in band.iter("Category")] == list(codes)
        rows = [[cell.text for cell in row] for row in band.iter("Row")]
        assert [(int(row[0]), row[1]) for row in rows] == list(enumerate(codes))


def test_maps_of_truth_with_an_error_of_its_own_are_of_predicting_the_measured_value(tile_folder, tmp_path):
    tile = tile_of(tile_folder(text="variables: {height: {truth_variance: 4}}\n"))
    write_pixel_maps(tile, ALL, tmp_path / "maps", TAGS)
    mean, variance, truth = (read(raster.path)[:1].astype(np.float64) for raster in tile.rasters.values())
    ok = np.isfinite(mean + variance + truth)

    require_equal(tmp_path / "maps", "a1", set(ALL) - {"status"}, restated(mean, variance + 4, truth), ok)


def test_maps_of_given_intervals_judge_them_as_they_are_given(tmp_path, write_raster):
    mean, variance, truth = (layer.astype(np.float64) for layer in heteroscedastic((40, 50)))
    lower, upper = mean - 1.2 * np.sqrt(variance), mean + 2.1 * np.sqrt(variance)
    layers = {"mean": mean, "lower": lower, "upper": upper, "truth": truth}
    for name, layer in layers.items():
        write_raster(tmp_path / name / "t.tif", layer, nodata=np.nan)
    config = tmp_path / "x.yaml"
    data = "".join(f"  {name}: {name}/{{tile}}.tif\n" for name in layers)
    config.write_text(f"version: 1\nname: x\nvariables: [h]\ndata:\n  level: 0.9\n{data}")
    write_pixel_maps(tile_of(config), ALL, tmp_path / "maps", TAGS)

    ok = np.isfinite(mean + variance + truth)
    expected = restated(mean, ((upper - lower) / (2 * norm.ppf(0.95))) ** 2, truth)
    expected["covered_90"] = (lower <= truth) & (truth <= upper)
    require_equal(tmp_path / "maps", "t", set(ALL) - {"status"}, expected, ok)


@pytest.mark.parametrize("compare_on", ["common", "own"])
def test_maps_of_several_models_are_of_the_pixels_on_which_they_are_evaluated(tmp_path, write_raster, compare_on):
    _, _, truth = heteroscedastic((40, 50))
    layers = {model: heteroscedastic((40, 50), seed) for seed, model in enumerate(("a", "b"), 1)}
    write_raster(tmp_path / "truth" / "t.tif", truth, nodata=np.nan)
    for model, (mean, variance, _) in layers.items():
        write_raster(tmp_path / model / "t_mean.tif", mean, nodata=np.nan)
        write_raster(tmp_path / model / "t_variance.tif", variance, nodata=np.nan)
    config = tmp_path / "x.yaml"
    data = '  mean: "{model}/{tile}_mean.tif"\n  variance: "{model}/{tile}_variance.tif"\n  truth: truth/{tile}.tif\n'
    config.write_text(f"version: 1\nname: x\nmodels: [a, b]\ncompare_on: {compare_on}\nvariables: [h]\ndata:\n{data}")
    write_pixel_maps(tile_of(config), ALL, tmp_path / "maps", TAGS)

    truth = truth.astype(np.float64)
    own = [np.isfinite(truth + mean + variance) for mean, variance, _ in layers.values()]
    both = own[0] & own[1]
    status = read(tmp_path / "maps" / "t_status.tif")
    for band, (mean, variance, _) in enumerate(layers.values()):
        ok = both if compare_on == "common" else own[band]
        expected = restated(mean.astype(np.float64), variance.astype(np.float64), truth)
        np.testing.assert_array_equal(status[band] == 0, ok)
        np.testing.assert_array_equal(status[band] == 1 + REASONS.index("other_model"), own[band] & ~ok)
        for name in ("z", "crps", "mean"):
            found = read(path_of_map("t", name, tmp_path / "maps"))[band]
            np.testing.assert_allclose(found, np.where(ok, expected[name], np.nan), rtol=2e-7, atol=1e-7)


def test_a_map_says_what_it_is(tile_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    (path,) = write_pixel_maps(tile_of(tile_folder()), ("error",), tmp_path, TAGS)

    with rasterio.open(path) as source:
        assert source.descriptions == ("error_height", "error_cover", "error_gini")
        assert source.units == ("m", "%", "1")
        assert source.nodatavals == (pytest.approx(np.nan, nan_ok=True),) * 3
        assert source.tags()["GEOUQ_INPUTS"] == "a1_mean.tif, a1_variance.tif, a1.tif"
        assert source.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert "STATISTICS_MEAN" in source.tags(1)
        assert source.tags(1)["long_name"] == "mean - truth"
        assert source.tags()["TIFFTAG_DATETIME"] == "1970:01:02 00:00:00"
        assert source.tags()["GEOUQ_VARIABLE"] == "height, cover, gini"
        assert source.tags()["GEOUQ_CONFIG_SHA256"] == "abc"
        assert source.tags()["GEOUQ_VERSION"] == __version__
        assert source.tags()["TIFFTAG_SOFTWARE"] == f"geouq {__version__}"
        assert [color.name for color in source.colorinterp] == ["gray", "undefined", "undefined"]


def test_the_same_inputs_give_the_same_bytes(tile_folder, tmp_path):
    tile = tile_of(tile_folder())
    one, other = (write_pixel_maps(tile, ALL, tmp_path / name, TAGS) for name in ("one", "other"))

    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_a_time_that_is_none_is_refused(tile_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "noon")

    with pytest.raises(DataError, match="SOURCE_DATE_EPOCH is 'noon'"):
        write_pixel_maps(tile_of(tile_folder()), ("z",), tmp_path / "maps", TAGS)


def test_maps_that_are_there_are_not_missing(tile_folder, tmp_path):
    tile = find_tiles(load_experiment(tile_folder())).tiles[0]
    write_pixel_maps(tile, ("error",), tmp_path, TAGS)
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
        write_pixel_maps(tile, ("z", "error"), tmp_path / "maps", TAGS)
    assert not list((tmp_path / "maps").iterdir())


def test_cells_side_by_side_make_one_mosaic(tmp_path):
    """Tiles of 48 columns with cells of 16; 40 rows leave a cell of 8, so a mosaic's pixel is 8 pixels wide."""
    tiles = [tile_at("a", 0), tile_at("b", 48), tile_at("c", 0, row=40)]
    (path,) = cell_maps(tiles, ["cells"], tmp_path)

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
        assert source.descriptions == ("zms", "n")
        assert source.read(2).sum() == tiles[0].variables["cover"].whole.n


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


def test_a_mosaic_that_would_be_mostly_empty_is_none():
    near, far = (Grid((512, 512), PLACE @ Affine.translation(at, at), "") for at in (512, 16 * 512))

    first = TilePlace("a", Grid((512, 512), PLACE, ""), 16)

    assert mosaic_of([first, TilePlace("b", near, 16)]) is not None
    assert mosaic_of([first, TilePlace("b", far, 16)]) is None


def test_tiles_of_unlike_cells_are_no_mosaic():
    grids = [Grid((64, 64), PLACE @ Affine.translation(column, 0), "") for column in (0, 64)]

    first, second, unlike = (
        TilePlace(name, grids[i], size) for name, i, size in (("a", 0, 16), ("b", 1, 16), ("a", 0, 32))
    )

    assert mosaic_of([unlike, second]) is None
    assert mosaic_of([first, second]) is not None


def test_tiles_that_touch_share_a_raster_where_all_would_leave_it_mostly_empty(tmp_path):
    places = {"a": (0, 0), "b": (0, 48), "far": (0, 40_000), "c": (40, 96), "d": (0, 40_048), "lone": (9000, 9000)}
    tiles = [tile_at(name, column, row=row) for name, (row, column) in places.items()]
    paths = cell_maps(tiles, ["n", "bias", "zms"], tmp_path)

    assert [path.name.partition("_cells")[0] for path in paths] == ["a_and_2_more", "far_and_1_more", "lone"]
    with rasterio.open(paths[0]) as source:
        assert source.tags()["GEOUQ_TILE"] == "a, b, c"
        assert source.transform == PLACE @ Affine.scale(8)
    with rasterio.open(tmp_path / "cells_cover.vrt") as source:
        for tile in tiles:
            row, column = (number // 8 for number in places[tile.tile])
            cells = tile.variables["cover"].cells.summary()
            found = source.read(3, window=((row, row + 5), (column, column + 6)))
            np.testing.assert_array_equal(found[::2, ::2], cells.n.reshape(3, 3))
            np.testing.assert_array_equal(found[1::2, 1::2], cells.n.reshape(3, 3)[:2])
        beyond = source.read(3, window=((5, 10), (0, 12)))
    assert np.isnan(beyond).all()


def test_tiles_that_touch_are_one_patch_however_they_are_ordered():
    grids = [Grid((16, 16), PLACE @ Affine.translation(16 * at, 16 * (at % 2)), "") for at in range(40)]
    lone = Grid((16, 16), PLACE @ Affine.translation(90_000, 90_000), "")
    tiles = [TilePlace(f"t{number}", grid, 16) for number, grid in enumerate([*grids, lone])]

    for seed in range(5):
        shuffled = [tiles[number] for number in np.random.default_rng(seed).permutation(len(tiles))]
        patches = patches_of(shuffled)
        assert sorted(len(patch.tiles) for patch in patches) == [1, 40]
        assert sorted(tile.tile for patch in patches for tile in patch.tiles) == sorted(tile.tile for tile in tiles)


def test_what_a_map_leaves_behind_when_its_process_is_killed_is_known_by_its_name(tmp_path):
    grid = Grid((40, 48), PLACE, rasterio.CRS.from_epsg(32633).to_wkt())
    with cog_writer(tmp_path / "maps" / "m.tif", grid, [BandLabel("v", "m", "value")], {}):
        under_way = [path.name for path in (tmp_path / "maps").iterdir()]

    assert under_way
    assert all(LEFTOVER.match(name) for name in under_way)
    assert [path.name for path in (tmp_path / "maps").iterdir()] == ["m.tif"]
