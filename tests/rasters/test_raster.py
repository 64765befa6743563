"""Headers: what they tell, and what changes with the pixels."""

from contextlib import suppress

import numpy as np
import pytest
import rasterio
from affine import Affine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rasterio._err import CPLE_BaseError
from rasterio.enums import ColorInterp

from geouq.core.errors import DataError
from geouq.rasters.raster import read_header

VRT = """<VRTDataset rasterXSize="8" rasterYSize="8"><VRTRasterBand dataType="Float32" band="1"><SimpleSource>
<SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand>
<GeoTransform>0, 1, 0, 8, 0, -1</GeoTransform></VRTDataset>"""


@pytest.fixture
def raster(tmp_path, write_raster):
    """A file of three bands of 8 x 8 pixels."""
    return write_raster(tmp_path / "a.tif", np.ones((3, 8, 8), np.float32), names=["height", "", "height"])


def test_variables_are_named_by_descriptions_of_their_own(raster):
    assert read_header(str(raster)).variables == {"band_1": 1, "band_2": 2, "band_3": 3}
    with rasterio.open(raster, "r+") as target:
        target.descriptions = ["band_3", "cover", None]
    assert read_header(str(raster)).variables == {"band_1": 1, "cover": 2, "band_3": 3}


def test_an_alpha_band_is_no_variable(raster):
    with rasterio.open(raster, "r+") as target:
        target.colorinterp = [ColorInterp.gray, ColorInterp.gray, ColorInterp.alpha]

    header = read_header(str(raster))

    assert header.alpha == 3
    assert list(header.variables.values()) == [1, 2]


def test_a_mask_beside_the_file_changes_its_fingerprint(raster):
    before = read_header(str(raster))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(raster, "r+") as target:
        target.write_mask(np.zeros((8, 8), np.uint8))
    between = read_header(str(raster))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(raster, "r+") as target:
        target.write_mask(np.eye(8, dtype=np.uint8) * 255)
    after = read_header(str(raster))

    assert len({before.fingerprint, between.fingerprint, after.fingerprint}) == 3
    assert [file.name for file in after.files] == ["a.tif", "a.tif.msk"]


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_what_lies_beside_a_file_is_found_in_a_folder_too_large_to_list(tmp_path, write_raster):
    """Its place in a world file, its nodata and name in an .aux.xml, its mask in a .msk."""
    folder = tmp_path / "many"
    path = write_raster(folder / "a.tif", np.ones((1, 8, 8), np.float32), transform=None)
    for number in range(1100):  # GDAL itself lists a thousand
        (folder / f"{number}.txt").touch()
    (folder / "a.tfw").write_text("10\n0\n0\n-10\n500005\n6999995\n")
    (folder / "a.tif.aux.xml").write_text(
        '<PAMDataset><PAMRasterBand band="1"><Description>height</Description><NoDataValue>-7</NoDataValue>'
        "</PAMRasterBand></PAMDataset>"
    )
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(path, "r+") as target:
        target.write_mask(np.zeros((8, 8), np.uint8))

    header = read_header(str(path))

    assert header.grid.transform == Affine(10, 0, 500_000, 0, -10, 7_000_000)
    assert (header.bands[0].description, header.bands[0].nodata) == ("height", -7)
    assert {file.name for file in header.files} == {"a.tif", "a.tfw", "a.tif.msk"}


@pytest.mark.usefixtures("raster")
def test_a_layout_that_nobody_knows_is_no_fault(tmp_path):
    told = '<Metadata domain="IMAGE_STRUCTURE"><MDI key="INTERLEAVE">TILE</MDI><MDI key="COMPRESSION">NEW</MDI>'
    path = tmp_path / "a.vrt"
    path.write_text(VRT.replace("<GeoTransform>", f"{told}</Metadata><GeoTransform>"))

    header = read_header(str(path), ["VRT"])

    assert (header.interleaved, header.compression) == (False, "NEW")


def test_a_source_of_a_vrt_changes_its_fingerprint(raster, tmp_path, write_raster):
    (tmp_path / "a.vrt").write_text(VRT)
    before = read_header(str(tmp_path / "a.vrt"), ["GTiff", "VRT"])
    write_raster(raster, np.zeros((1, 8, 8), np.float32))

    assert read_header(str(tmp_path / "a.vrt"), ["GTiff", "VRT"]).fingerprint != before.fingerprint


def test_statistics_and_overviews_beside_the_file_do_not(raster, write_raster):
    before = read_header(str(raster)).fingerprint
    raster.with_name("a.tif.aux.xml").write_text("<PAMDataset></PAMDataset>")
    write_raster(raster.with_name("a.tif.ovr"), np.ones((3, 4, 4), np.float32))

    with rasterio.open(raster) as source:
        assert len(source.files) == 3
    assert read_header(str(raster)).fingerprint == before


@pytest.mark.parametrize("content", ["", "no raster", "<VRTDataset rasterXSize='5' rasterYSize='5'></VRTDataset>"])
def test_what_is_no_raster_is_a_plain_error(tmp_path, content):
    (tmp_path / "a.tif").write_text(content)

    with pytest.raises(DataError, match=r"a\.tif cannot be read: \S"):
        read_header(str(tmp_path / "a.tif"))


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_what_gdal_says_of_a_property_is_a_plain_error(tmp_path, write_raster, monkeypatch):
    """Not all that rasterio raises is of its own kind of error."""
    write_raster(tmp_path / "a.tif", np.ones((8, 8), np.float32))

    def damaged(_source):
        raise CPLE_BaseError(1, 1, "tag is not read from file")

    monkeypatch.setattr("geouq.rasters.raster._bands", damaged)
    monkeypatch.setattr("geouq.rasters.raster.plain_tiff", lambda _: None)  # nor is the header that of a file before

    with pytest.raises(DataError, match=r"a\.tif cannot be read: tag is not read from file"):
        read_header(str(tmp_path / "a.tif"))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_damaged_headers_are_read_or_refused_plainly(raster, data):
    content = bytearray(raster.read_bytes())
    places = st.integers(0, 399) if len(content) >= 400 else st.integers(0, len(content) - 1)
    for place, byte in data.draw(st.dictionaries(places, st.integers(0, 255), min_size=1, max_size=6)).items():
        content[place] = byte
    damaged = raster.with_name("damaged.tif")
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])

    with suppress(DataError):  # anything else is a traceback
        assert len(read_header(str(damaged)).bands) >= 1


@pytest.mark.usefixtures("raster")
@pytest.mark.parametrize("name", ["a.vrt", "disguised.tif"])
def test_a_vrt_is_read_only_where_it_is_asked_for_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_text(VRT)

    with pytest.raises(DataError, match=r"it is a VRT file, which can make GDAL .* write drivers: \[GTiff, VRT\]"):
        read_header(str(tmp_path / name))
    assert read_header(str(tmp_path / name), ["GTiff", "VRT"]).driver == "VRT"
