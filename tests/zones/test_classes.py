"""Classes of a raster as masks of windows, on the tile's grid or from a mosaic."""

import pickle

import numpy as np
import pytest
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from landscape import NORTH_UP
from rasterio.crs import CRS
from vectors import mask_of

from geouq.config import ClassRegions
from geouq.core.errors import DataError, GridError
from geouq.core.grid import Grid, Window
from geouq.zones.classes import read_classes

UTM = CRS.from_epsg(32633).to_wkt()
TILE = Grid((40, 50), NORTH_UP, UTM)


def classes(path, names, **settings):
    return ClassRegions(classes=str(path), names=names, **settings)


def codes(shape=(40, 50), seed=0, kinds=(0, 1, 2, 3, 7)):
    return np.random.default_rng(seed).choice(kinds, shape)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "float32"])
def test_each_class_is_where_its_code_is(tmp_path, write_raster, dtype):
    values = codes().astype(dtype)
    write_raster(tmp_path / "a.tif", values)

    zones = read_classes(
        classes(tmp_path / "{tile}.tif", {1: "forest", 2: "shrub", 7: "forest", 99: "none"}), "a", TILE
    )

    for size in (7, 16, 64):
        masks = mask_of(zones, TILE.windows(size), TILE.shape)
        assert (masks["forest"] == np.isin(values, (1, 7))).all()
        assert (masks["shrub"] == (values == 2)).all()
        assert not masks["none"].any()


def test_nodata_and_masked_pixels_are_in_no_class(tmp_path, write_raster):
    values, hidden = codes().astype(np.uint8), np.zeros((40, 50), bool)
    hidden[:5] = True
    write_raster(tmp_path / "a.tif", values, mask=hidden)
    write_raster(tmp_path / "b.tif", values, nodata=7)

    masked = read_classes(classes(tmp_path / "{tile}.tif", {1: "forest"}), "a", TILE)

    assert (mask_of(masked, TILE.windows(16), TILE.shape)["forest"] == ((values == 1) & ~hidden)).all()
    with pytest.raises(DataError, match=r"b\.tif: 7 is nodata there, and cannot be the class 'water'"):
        read_classes(classes(tmp_path / "{tile}.tif", {7: "water"}), "b", TILE)


def test_codes_that_are_no_number_are_in_no_class(tmp_path, write_raster):
    values = codes().astype(np.float32)
    values[3, 3:9] = np.nan, np.inf, -np.inf, 1.5, 1, 1e30
    write_raster(tmp_path / "a.tif", values)

    zones = read_classes(classes(tmp_path / "{tile}.tif", {1: "forest"}), "a", TILE)

    assert (mask_of(zones, TILE.windows(16), TILE.shape)["forest"] == (values == 1)).all()


def test_codes_are_those_after_scale_and_offset(tmp_path, write_raster):
    stored = codes().astype(np.uint8)
    write_raster(tmp_path / "a.tif", stored, scales=[10], offsets=[2], nodata=3)

    zones = read_classes(classes(tmp_path / "{tile}.tif", {12: "forest"}), "a", TILE)

    assert (mask_of(zones, TILE.windows(16), TILE.shape)["forest"] == (stored == 1)).all()
    with pytest.raises(DataError, match="32 is nodata there"):
        read_classes(classes(tmp_path / "{tile}.tif", {32: "shrub"}), "a", TILE)


@settings(deadline=None)  # files are opened
@given(row=st.integers(-60, 60), column=st.integers(-60, 60))
def test_a_mosaic_is_read_where_the_tile_is(tmp_path_factory, row, column):
    import rasterio

    path = tmp_path_factory.getbasetemp() / "mosaic.tif"
    values = codes((55, 45), kinds=(1, 2)).astype(np.uint8)
    if not path.exists():
        with rasterio.open(
            path, "w", driver="GTiff", height=55, width=45, count=1, dtype="uint8", crs="EPSG:32633", transform=NORTH_UP
        ) as target:
            target.write(values, 1)
    tile = Grid((30, 20), NORTH_UP @ Affine.translation(column, row), UTM)
    zones = read_classes(classes(path, {1: "forest"}), "a", tile)

    around = np.zeros((200, 200), bool)
    around[70:125, 70:115] = values == 1
    expected = around[70 + row : 100 + row, 70 + column : 90 + column]
    assert (mask_of(zones, tile.windows(16), tile.shape)["forest"] == expected).all()


@pytest.mark.parametrize(
    ("transform", "crs", "reason"),
    [
        (NORTH_UP @ Affine.translation(0.5, 0), "EPSG:32633", "corners lie up to 0.5 pixels apart"),
        (NORTH_UP @ Affine.scale(3), "EPSG:32633", "corners lie up to"),
        (NORTH_UP @ Affine.scale(1, -1), "EPSG:32633", "corners lie up to"),
        (NORTH_UP, "EPSG:32634", "their CRS differ"),
    ],
)
def test_a_mosaic_on_other_pixels_is_refused(tmp_path, write_raster, transform, crs, reason):
    path = write_raster(tmp_path / "mosaic.tif", codes().astype(np.uint8), transform=transform, crs=crs)

    with pytest.raises(GridError, match=f"{reason}.*") as caught:
        read_classes(classes(path, {1: "forest"}), "a", TILE)
    assert "gdalwarp -r near" in str(caught.value)


def test_a_raster_of_the_tile_lies_on_its_pixels(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", codes((40, 49)).astype(np.uint8))

    with pytest.raises(GridError, match=r"a\.tif does not lie on the pixels of tile a"):
        read_classes(classes(tmp_path / "{tile}.tif", {1: "forest"}), "a", TILE)
    with pytest.raises(DataError, match=r"b\.tif cannot be read"):
        read_classes(classes(tmp_path / "{tile}.tif", {1: "forest"}), "b", TILE)
    with pytest.raises(DataError, match="has 1 band, but classes are to be in band 2"):
        read_classes(classes(tmp_path / "{tile}.tif", {1: "forest"}, band=2), "a", Grid((40, 49), NORTH_UP, UTM))


def test_codes_without_a_name_are_counted(tmp_path, write_raster):
    values = codes().astype(np.uint8)
    write_raster(tmp_path / "a.tif", values, nodata=0)

    zones = read_classes(classes(tmp_path / "{tile}.tif", {1: "forest", 2: "shrub"}), "a", TILE)

    assert zones.unnamed_in(Window(0, 0, 40, 50)) == {3: (values == 3).sum(), 7: (values == 7).sum()}


def test_zones_go_to_workers_and_their_fingerprint_tells_file_and_names(tmp_path, write_raster):
    path = write_raster(tmp_path / "a.tif", codes().astype(np.uint8))
    zones = read_classes(classes(path, {1: "forest", 2: "shrub"}), "a", TILE)

    assert pickle.loads(pickle.dumps(zones)).fingerprint == zones.fingerprint  # noqa: S301  our own
    assert read_classes(classes(path, {1: "wood", 2: "shrub"}), "a", TILE).fingerprint != zones.fingerprint
    assert read_classes(classes(path, {3: "forest", 2: "shrub"}), "a", TILE).fingerprint != zones.fingerprint
    assert zones.only({"shrub"}).names == ("shrub",)
    assert zones.only({"shrub"}).codes == ((2, 0),)
    write_raster(tmp_path / "a.tif", codes(seed=1).astype(np.uint8))
    assert read_classes(classes(path, {1: "forest", 2: "shrub"}), "a", TILE).fingerprint != zones.fingerprint
