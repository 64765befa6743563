"""Layers on another grid than the mean: the numbers are those of files that were brought to it by hand."""

import numpy as np
import pytest
import rasterio
from affine import Affine
from rasterio.warp import transform

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.core.grid import Window
from geouq.rasters.catalog import find_tiles
from geouq.rasters.raster import opened
from geouq.reading.aligned import ALIGNING
from geouq.reading.reader import masked_layers, read_window
from geouq.runs.layer_table import look_at_layers
from geouq.runs.plan import memory_of_worker

SIDE = 40
COARSE = Affine(30, 0, 500000, 0, -30, 5000000)
FINE = Affine(10, 0, 500000, 0, -10, 5000000)
RNG = np.random.default_rng(0)
MEAN = RNG.uniform(20, 40, (SIDE, SIDE)).astype(np.float32)
STD = RNG.uniform(1, 3, (SIDE, SIDE)).astype(np.float32)
TRUTH = RNG.uniform(20, 40, (3 * SIDE, 3 * SIDE)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, write_raster, monkeypatch):
    """A folder with a tile of 30 m, and its truth of 10 m with some missing pixels; also the current folder."""
    truth = TRUTH.copy()
    truth[RNG.random(truth.shape) < 0.4] = -1
    write_raster(tmp_path / "t_m.tif", MEAN, transform=COARSE)
    write_raster(tmp_path / "t_s.tif", STD, transform=COARSE)
    write_raster(tmp_path / "t_y.tif", truth, transform=FINE, nodata=-1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def catalog(**data):
    files = {"mean": "{tile}_m.tif", "std": "{tile}_s.tif", "truth": "{tile}_y.tif"} | data
    files = {key: own for key, own in files.items() if own is not None}
    written = {"version": 1, "name": "one", "variables": ["v"], "tiles": ["t"], "data": files}
    return find_tiles(load_experiment(written))


def truth_of(window=None, **data):
    (tile,) = catalog(**data).tiles
    (found,) = read_window(tile, window or Window(0, 0, *tile.grid.shape))
    return masked_layers(found)[2]


def blocks(values, side=3):
    return values.reshape(len(values) // side, side, -1, side).swapaxes(1, 2).reshape(SIDE, SIDE, side * side)


@pytest.mark.usefixtures("folder")
def test_the_average_is_the_mean_of_the_valid_pixels_where_they_cover_enough():
    with rasterio.open("t_y.tif") as source:
        pixels = blocks(source.read(1, masked=True).astype(np.float64).filled(np.nan))
    share = np.isfinite(pixels).mean(-1)

    half, all_of_it = (
        truth_of(truth={"path": "{tile}_y.tif", "align": "average", **more}) for more in ({}, {"valid_share": 1})
    )

    expected = np.nanmean(pixels, axis=-1)
    np.testing.assert_array_equal(np.isfinite(half), share >= 0.5)
    np.testing.assert_allclose(half[share >= 0.5], expected[share >= 0.5], rtol=1e-13)
    np.testing.assert_array_equal(np.isfinite(all_of_it), share == 1)


def test_the_average_weighs_pixels_by_the_area_that_they_cover(folder, write_raster):
    write_raster(folder / "t_y.tif", TRUTH[:96, :96], transform=FINE @ Affine.scale(1.25))  # 12.5 m
    edges = np.arange(97) * 12.5
    weights = np.array(
        [np.clip(np.minimum(edges[1:], 30 * i + 30) - np.maximum(edges[:-1], 30 * i), 0, None) for i in range(SIDE)]
    )

    found = truth_of(truth={"path": "{tile}_y.tif", "align": "average"})

    np.testing.assert_allclose(found, weights @ TRUTH[:96, :96] @ weights.T / 900, rtol=1e-10)  # digits of coordinates


def test_scale_and_nodata_count_before_the_average(folder, write_raster):
    stored = np.rint(TRUTH * 10).astype(np.int16)
    stored[0, :9] = -7
    write_raster(folder / "t_y.tif", stored, transform=FINE)

    found = truth_of(truth={"path": "{tile}_y.tif", "align": "average", "scale": 0.1, "nodata": -7})

    expected = np.nanmean(blocks(np.where(stored == -7, np.nan, stored * 0.1)), axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_nearest_pixel_and_a_coarser_std_are_taken_as_they_are(folder, write_raster):
    write_raster(folder / "t_s.tif", STD[:20, :20], transform=COARSE @ Affine.scale(2))
    (tile,) = catalog(
        std={"path": "{tile}_s.tif", "align": "nearest"}, truth={"path": "{tile}_y.tif", "align": "nearest"}
    ).tiles

    (found,) = read_window(tile, Window(0, 0, SIDE, SIDE))

    np.testing.assert_array_equal(found.variance, np.repeat(np.repeat(STD[:20, :20], 2, 0), 2, 1).astype(float) ** 2)


def test_values_do_not_depend_on_the_window_that_is_read(folder, write_raster):
    place = Affine(0.0001, 0, 14.999, 0, -0.0001, 45.158)  # EPSG:4326
    write_raster(folder / "t_y.tif", RNG.normal(size=(200, 240)).astype(np.float32), transform=place, crs="EPSG:4326")
    data = {"truth": {"path": "{tile}_y.tif", "align": "average"}}

    whole, part = truth_of(**data), truth_of(Window(7, 11, 20, 25), **data)

    assert np.isfinite(whole).any()
    np.testing.assert_array_equal(part, whole[7:27, 11:36])


def test_another_crs_is_followed(folder, write_raster):
    x, y = np.meshgrid(np.arange(100) + 0.5, np.arange(75) + 0.5)
    place = Affine(0.0004, 0, 14.99, 0, -0.0004, 45.16)
    longitude, _ = place @ (x, y)
    write_raster(folder / "t_y.tif", longitude.astype(np.float64), transform=place, crs="EPSG:4326")

    found = truth_of(truth={"path": "{tile}_y.tif", "align": "bilinear"})

    rows, columns = np.nonzero(np.isfinite(found))
    expected, _ = transform("EPSG:32633", "EPSG:4326", *(COARSE @ (columns + 0.5, rows + 0.5)))
    assert len(rows) > 100
    np.testing.assert_allclose(found[rows, columns], expected, atol=0.125 * 0.0004)


@pytest.mark.usefixtures("folder")
def test_a_note_says_of_what_the_evaluation_is():
    (note,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).alignments

    assert "truth is averaged from pixels of 10 x 10 in EPSG:32633 to pixels of 30 x 30" in note


@pytest.mark.usefixtures("folder")
def test_without_align_the_message_has_the_command():
    (failure,) = catalog().failures

    assert "align: average" in failure.message
    assert "gdalwarp -t_srs EPSG:32633 -te 500000 4998800 501200 5000000 -ts 40 40 -r average" in failure.message


@pytest.mark.parametrize(
    ("layer", "align", "said"),
    [
        ("mean", "average", "predictions define the grid"),
        ("std", "average", "is not the average of the uncertainties"),
        ("mask", "bilinear", "codes cannot be interpolated; write nearest"),
    ],
)
def test_a_layer_that_cannot_be_aligned_so_is_refused(layer, align, said):
    with pytest.raises(ConfigError, match=said):
        catalog(**{layer: {"path": "{tile}.tif", "align": align}})


def test_an_average_of_larger_pixels_is_refused(folder, write_raster):
    write_raster(folder / "t_y.tif", TRUTH[:20, :20], transform=COARSE @ Affine.scale(2))

    (failure,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).failures

    assert "has larger pixels" in failure.message


def test_a_file_of_another_place_is_refused(folder, write_raster):
    write_raster(folder / "t_y.tif", TRUTH, transform=FINE @ Affine.translation(1000, 0))

    (failure,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).failures

    assert "does not overlap" in failure.message


def test_the_table_of_the_check_shows_the_values_that_are_evaluated(folder, write_raster):
    write_raster(folder / "t_y.tif", np.rint(TRUTH * 10).astype(np.int16), transform=FINE)
    found = catalog(truth={"path": "{tile}_y.tif", "align": "average", "scale": 0.1})

    table = look_at_layers(found).table

    line = next(line for line in table.lines if line.layer == "truth (average)")
    expected = blocks(np.rint(TRUTH * 10).astype(np.float64) * 0.1).mean(-1)[table.row, table.column]
    assert line.value == pytest.approx(expected, rel=1e-12)
    assert line.scale == 0.1


@pytest.mark.usefixtures("folder")
def test_pixels_of_an_aligned_file_cannot_be_read_as_if_they_were_of_the_grid():
    (tile,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).tiles

    with pytest.raises(AssertionError, match="pixels of another grid"), opened(tile.truth):
        pass


def test_memory_counts_what_aligning_takes(folder, write_raster):
    aligned = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).tiles[0]
    write_raster(folder / "t_y.tif", TRUTH[:SIDE, :SIDE], transform=COARSE)
    plain = catalog().tiles[0]

    assert memory_of_worker(aligned) >= memory_of_worker(plain) + ALIGNING


def test_an_interpolation_between_smaller_pixels_is_refused(folder, write_raster):
    """GDAL would average them, which is not what the word says, and no std of an average."""
    write_raster(folder / "t_s.tif", np.repeat(np.repeat(STD, 2, 0), 2, 1), transform=COARSE @ Affine.scale(0.5))

    (failure,) = catalog(std={"path": "{tile}_s.tif", "align": "bilinear"}, truth="{tile}_m.tif").failures

    assert "data.std.align" in failure.message
    assert "smaller pixels" in failure.message


def test_a_truth_of_codes_is_taken_from_the_nearest_pixel_alone(folder, write_raster):
    write_raster(folder / "t_p.tif", np.full((2, SIDE, SIDE), 0.5, np.float32), transform=COARSE)
    codes = {"mean": None, "std": None, "probabilities": "{tile}_p.tif", "class_codes": {"open": 1, "dense": 3}}
    truth = {"path": "{tile}_y.tif", "align": "average"}

    (averaged,), (plain,) = catalog(**codes, truth=truth).failures, catalog(**codes).failures

    assert "holds codes of classes; write nearest" in averaged.message
    assert "align: nearest" in plain.message


def globe(left, step):
    return {"transform": Affine(step, 0, left, 0, -step, 90), "crs": "EPSG:4326"}


WEST = {"transform": Affine(2, 0, -72, 0, -2, 20), "crs": "EPSG:4326"}
EAST = WEST | {"transform": Affine(2, 0, 288, 0, -2, 20)}
PLANE = {"transform": Affine(2e5, 0, -8e6, 0, -2e5, 2e6), "crs": "EPSG:3857"}


@pytest.mark.parametrize(
    ("of_mean", "left"), [(WEST, 0), (EAST, -180), (PLANE, 0)], ids=["from -180", "from 0", "in metres"]
)
def test_longitudes_from_0_and_from_180_west_are_the_same_places(folder, write_raster, of_mean, left):
    values = RNG.uniform(20, 40, (180, 360)).astype(np.float32)
    for name in "ms":
        write_raster(folder / f"t_{name}.tif", np.ones((12, 16), np.float32), **of_mean)
    write_raster(folder / "t_y.tif", values, **globe(left, 1))
    write_raster(folder / "t_z.tif", np.roll(values, 180, axis=1), **globe({0: -180, -180: 0}[left], 1))

    turned, plain = (truth_of(truth={"path": f"{{tile}}_{name}.tif", "align": "average"}) for name in "yz")

    assert np.isfinite(turned).all()
    np.testing.assert_allclose(turned, plain, rtol=1e-12)
    (refused,) = catalog().failures
    assert "align: average}, or bring the file to the grid first" in refused.message
    assert "gdalwarp" not in refused.message  # it does not know that these are the same places


def test_a_map_across_the_line_where_longitudes_begin_again_is_refused(folder, write_raster):
    for name in "ms":
        write_raster(folder / f"t_{name}.tif", np.ones((18, 36), np.float32), **globe(-180, 10))
    write_raster(folder / "t_y.tif", np.ones((36, 72), np.float32), **globe(0, 5))

    (failure,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).failures

    assert "crosses the line at which the longitudes of the file begin again; bring both to one grid" in failure.message


def test_a_share_without_an_average_is_refused():
    with pytest.raises(ConfigError, match=r"data\.truth\.valid_share: is for align: average alone"):
        catalog(truth={"path": "{tile}.tif", "valid_share": 0.9})


def test_pixels_that_are_far_too_small_are_refused(folder, write_raster):
    for name in "ms":
        write_raster(folder / f"t_{name}.tif", np.ones((2, 2), np.float32), transform=COARSE @ Affine.scale(1000))
    write_raster(folder / "t_y.tif", TRUTH, transform=COARSE @ Affine.scale(0.5))

    (failure,) = catalog(truth={"path": "{tile}_y.tif", "align": "average"}).failures

    assert "bring it to larger pixels first" in failure.message
