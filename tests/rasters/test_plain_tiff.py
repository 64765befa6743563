"""Headers that are taken from a file with the same tags are those that GDAL reads."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rasterio
from affine import Affine

from geouq.rasters import raster as own
from geouq.rasters.gdal import gdal_options
from geouq.rasters.plain_tiff import OF_TRANSFORM, common_tags, plain_tiff, transform_in
from geouq.rasters.raster import opened, read_header

PIXELS = np.arange(2 * 40 * 50, dtype=np.float32).reshape(2, 40, 50)
PLACE = Affine(10, 0, 500_000, 0, -10, 5_000_000)
KINDS = {
    "plain": {},
    "nodata": {"nodata": -9999.0},
    "tiled": {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"},
    "in-bands": {"interleave": "band"},
    "big": {"BIGTIFF": "YES"},
    "big-endian": {"ENDIANNESS": "BIG"},
    "other-crs": {"crs": "EPSG:3035"},
    "rotated": {"transform": PLACE @ Affine.rotation(20)},
    "no-crs": {"crs": None},
}


@pytest.fixture(autouse=True)
def _no_headers(monkeypatch):
    monkeypatch.setattr(own, "_headers", {})


def write(path, **profile):
    shape = {"driver": "GTiff", "width": 50, "height": 40, "count": 2, "dtype": "float32"}
    with rasterio.open(path, "w", **shape | {"crs": "EPSG:32633", "transform": PLACE} | profile) as target:
        target.write(PIXELS)
    return str(path)


def by_gdal(path):
    with gdal_options():
        return own._read_header(path, ("GTiff",))


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_like_another_is_the_one_that_gdal_reads(kind, tmp_path, monkeypatch):
    profile = KINDS[kind]
    first = write(tmp_path / "first.tif", **profile)
    moved = profile.get("transform", PLACE) @ Affine.translation(7, 3)
    second = write(tmp_path / "second.tif", **profile | {"transform": moved})
    read_header(first)
    expected = by_gdal(second)
    monkeypatch.setattr(own, "_read_header", None)  # no other header is decoded

    found = read_header(second)

    assert found == expected
    assert (found.grid.transform, found.grid.crs) == (moved, expected.grid.crs)


@pytest.mark.parametrize(
    "change",
    [
        {"nodata": 0.0},
        {"crs": "EPSG:32634"},
        {"interleave": "band"},
        {"compress": "deflate"},
        {"tiled": True, "blockxsize": 16, "blockysize": 16},
    ],
)
def test_files_with_another_header_have_other_tags(change, tmp_path):
    assert common_tags(write(tmp_path / "a.tif")) != common_tags(write(tmp_path / "b.tif", **change))


@pytest.mark.parametrize("what", ["description", "unit", "scale", "mask"])
def test_descriptions_units_scales_and_masks_in_a_file_are_among_its_tags(what, tmp_path):
    first, second = write(tmp_path / "a.tif"), write(tmp_path / "b.tif")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(second, "r+") as target:
        if what == "description":
            target.set_band_description(1, "height")
        elif what == "unit":
            target.set_band_unit(2, "m")
        elif what == "scale":
            target.scales = (0.5, 1.0)
        else:
            target.write_mask(np.zeros((40, 50), np.uint8))
    read_header(first)

    assert common_tags(first) != common_tags(second)
    assert read_header(second) == by_gdal(second) != replace(read_header(first), path=second)


@pytest.mark.parametrize("end", [".msk", ".aux.xml", ".ovr"])
def test_a_file_with_a_sidecar_is_read_by_gdal(end, tmp_path):
    first, second = write(tmp_path / "a.tif"), write(tmp_path / "b.tif")
    read_header(first)
    if end == ".aux.xml":
        (tmp_path / "b.tif.aux.xml").write_text("<PAMDataset><Metadata/></PAMDataset>")
    else:
        shutil.copyfile(first, second + end)

    assert plain_tiff(first) is not None
    assert plain_tiff(second) is None
    assert read_header(second) == by_gdal(second)


@pytest.mark.parametrize("content", [b"", b"II", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0+" + bytes(12), b"<VRT/>"])
def test_what_is_no_whole_tiff_has_no_common_tags(content, tmp_path):
    path = tmp_path / "a.tif"
    path.write_bytes(content)

    assert common_tags(str(path)) is None


def test_directories_in_a_circle_have_no_common_tags(tmp_path):
    path = write(tmp_path / "a.tif")
    with Path(path).open("r+b") as file:
        file.seek(4)
        start = int.from_bytes(file.read(4), "little")
        file.seek(start)
        entries = int.from_bytes(file.read(2), "little")
        file.seek(start + 2 + 12 * entries)
        file.write(start.to_bytes(4, "little"))

    assert common_tags(path) is None


def test_a_file_without_a_transform_is_read_by_gdal(tmp_path):
    path = write(tmp_path / "a.tif", transform=Affine.translation(1, 1))
    with Path(path).open("r+b") as file:
        content = file.read()
        for tag in OF_TRANSFORM:
            content = content.replace(tag.to_bytes(2, "little"), (65_000).to_bytes(2, "little"), 1)
        file.seek(0)
        file.write(content)

    assert plain_tiff(path) is None


def test_a_file_that_is_cut_off_is_refused_as_if_it_were_the_first(tmp_path):
    read_header(write(tmp_path / "a.tif"))
    path = write(tmp_path / "b.tif")
    with Path(path).open("r+b") as file:
        file.truncate(100)

    with pytest.raises(own.DataError, match="cannot be read"):
        read_header(path)


def test_no_more_headers_are_kept_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(own, "MOST_HEADERS", 3)
    for number in range(8):
        read_header(write(tmp_path / f"{number}.tif", nodata=float(number)))

    assert len(own._headers) <= 3


def test_pixels_are_those_of_the_file_though_its_crs_is_not_decoded(tmp_path):
    raster = read_header(write(tmp_path / "a.tif"))

    with gdal_options(), opened(raster) as source:
        assert source.crs is None
        np.testing.assert_array_equal(source.read(), PIXELS)


def test_options_are_those_of_the_outer_block_after_an_inner_one():
    with gdal_options(32 << 20):
        with gdal_options(16 << 20):
            assert rasterio.env.getenv()["GDAL_CACHEMAX"] == 16 << 20
        assert rasterio.env.getenv()["GDAL_CACHEMAX"] == 32 << 20
        assert rasterio.env.getenv()["GDAL_NUM_THREADS"] == "1"
    assert not rasterio.env.hasenv()


def test_links_to_one_file_have_the_same_identity(tmp_path):
    path = write(tmp_path / "a.tif")
    os.link(path, tmp_path / "b.tif")
    read_header(path)

    assert read_header(str(tmp_path / "b.tif")).identity == read_header(path).identity


@pytest.mark.parametrize("options", [{}, {"bigtiff": "yes"}, {"endianness": "big"}])
def test_the_transform_of_one_tie_point_is_that_of_gdal_to_the_last_bit(tmp_path, write_raster, options):
    rng = np.random.default_rng(1)
    for _ in range(20):
        width, height = rng.uniform(1e-5, 1000, 2)
        placed = Affine(width, 0, rng.normal(0, 1e6), 0, -height, rng.normal(0, 1e6))
        path = write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=placed, **options)
        with rasterio.open(path) as source:
            assert repr(transform_in(path.read_bytes())) == repr(source.transform)


def test_other_transforms_are_left_to_gdal(tmp_path, write_raster):
    whole = write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32)).read_bytes()
    rotated = Affine(30, 1, 5e5, 1, -30, 6e6)
    path = write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=rotated)
    assert transform_in(path.read_bytes()) is None
    path = write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=Affine(30, 0, 5e5, 0, 30, 6e6))
    assert transform_in(path.read_bytes()) is None
    for content in (b"", b"II", whole[:12], b"XX" + whole[2:]):
        assert transform_in(content) is None
