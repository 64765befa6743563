"""Fingerprints of what GDAL really opens: members of archives, sources of sources, chunks, files on servers."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest
import rasterio
import rasterio.shutil

from geouq.errors import DataError
from geouq.rasters import server_files
from geouq.rasters.raster import read_header
from geouq.rasters.stamps import physical

DRIVERS = ("GTiff", "VRT", "GTI", "Zarr")
VRT = """<VRTDataset rasterXSize="9" rasterYSize="8"><SRS>EPSG:32633</SRS>
<GeoTransform>500000, 10, 0, 7000000, 0, -10</GeoTransform><VRTRasterBand dataType="Float32" band="1"><SimpleSource>
<SourceFilename relativeToVRT="1">{}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>
</VRTRasterBand></VRTDataset>"""
INDEX = "<GDALTileIndexDataset><IndexDataset>{}</IndexDataset></GDALTileIndexDataset>"


def write_index(folder, name):
    """A tile index of one raster."""
    raw, shapely = pytest.importorskip("pyogrio.raw"), pytest.importorskip("shapely")
    box = np.array([shapely.box(500_000, 6_999_920, 500_090, 7_000_000).wkb])
    fields = {"fields": np.array(["location"]), "field_data": [np.array([name], object)]}
    where = {"layer": "index", "driver": "GPKG", "geometry_type": "Polygon", "crs": "EPSG:32633"}
    raw.write(folder / "index.gti.gpkg", geometry=box, **fields, **where)


def plain(folder):
    return folder / "a.tif"


def in_zip(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(folder / "a.tif", "in/a.tif")
    return f"/vsizip/{folder}/a.zip/in/a.tif"


def in_tar(folder):
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        archive.add(folder / "a.tif", "a.tif")
    return f"/vsitar/{folder}/a.tar.gz/a.tif"


def in_vrt(folder):
    (folder / "in.vrt").write_text(VRT.format("a.tif"))
    (folder / "out.vrt").write_text(VRT.format("in.vrt"))
    return folder / "out.vrt"


def in_index(folder):
    in_vrt(folder)
    write_index(folder, "out.vrt")
    (folder / "index.gti").write_text(INDEX.format(folder / "index.gti.gpkg"))
    return folder / "index.gti"


def in_index_alone(folder):
    write_index(folder, "a.tif")
    return folder / "index.gti.gpkg"


def in_zarr(folder):
    with rasterio.open(folder / "a.tif") as source:
        rasterio.shutil.copy(source, folder / "a.zarr", driver="Zarr")
    return folder / "a.zarr"


def touch(path, seconds):
    os.utime(path, (10**9 + seconds, 10**9 + seconds))


def write_again(folder, made):
    """Change the raster that all of them come from, and the copies of it, under the same size."""
    touch(folder / "a.tif", 2)
    if made in (in_zip, in_tar):
        archive = physical(str(made(folder)))
        touch(archive, 2)
    elif made is in_zarr:
        touch(max((folder / "a.zarr").rglob("*0"), key=str), 2)


@pytest.mark.parametrize("made", [plain, in_zip, in_tar, in_vrt, in_index, in_index_alone, in_zarr])
def test_a_changed_file_changes_the_fingerprint_however_it_is_reached(tmp_path, write_raster, made):
    touch(write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32)), 1)
    path = str(made(tmp_path))
    before, again = read_header(path, DRIVERS), read_header(path, DRIVERS)

    write_again(tmp_path, made)

    assert before.fingerprint == again.fingerprint
    assert before.unidentified == ()
    assert read_header(path, DRIVERS).fingerprint != before.fingerprint


def test_an_index_that_cannot_be_read_is_not_identified(tmp_path, write_raster, monkeypatch):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    path = str(in_index_alone(tmp_path))
    monkeypatch.setitem(sys.modules, "pyogrio.raw", None)

    assert read_header(path, DRIVERS).unidentified == (path,)


def test_a_mask_beside_the_source_of_a_vrt_counts(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    path = str(in_vrt(tmp_path))
    before = read_header(path, DRIVERS).fingerprint
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        times = (tmp_path / "a.tif").stat()
        target.write_mask(np.eye(8, 9, dtype=np.uint8))
    os.utime(tmp_path / "a.tif", ns=(times.st_atime_ns, times.st_mtime_ns))

    assert read_header(path, DRIVERS).fingerprint != before


@pytest.mark.parametrize(
    ("headers", "version"),
    [
        ({"etag": '"x"', "content-length": "5"}, (5, 0, '"x"')),
        ({"last-modified": "Thu, 01 Jan 1970 00:00:10 GMT", "content-length": "5"}, (5, 10**10, "")),
        ({"last-modified": "Thu, 01 Jan 1970 00:00:10 GMT"}, None),
        ({"content-length": "5"}, None),
        ({}, None),
    ],
)
def test_a_file_on_a_server_is_identified_by_its_etag_or_by_time_and_size(monkeypatch, headers, version):
    date = {"date": "Thu, 01 Jan 1970 00:01:00 GMT"}
    monkeypatch.setattr(server_files, "_headers", lambda _: date | headers)

    assert server_files.version_of("/vsicurl/http://x/a.tif") == version


def test_a_file_that_changed_within_the_last_second_is_not_identified(monkeypatch):
    second = "Thu, 01 Jan 1970 00:00:10 GMT"
    monkeypatch.setattr(
        server_files, "_headers", lambda _: {"last-modified": second, "date": second, "content-length": "5"}
    )

    assert server_files.version_of("/vsicurl/http://x/a.tif") is None


@pytest.fixture
def address(tmp_path):
    """A server of the folder, in a process of its own."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as server:
        port = re.search(r"port (\d+)", server.stdout.readline())[1]
        yield f"/vsicurl/http://127.0.0.1:{port}"
        server.kill()


def test_a_run_reads_a_file_on_a_server_again_when_it_changed_and_not_before(tile_folder, geouq, tmp_path, address):
    text = "variables: [height]\ntiles: [a1]\noutput: {maps: none, figures: none}\n"
    config = tile_folder(("a1",), text=text)
    config.write_text(config.read_text().replace("truth: ", f"truth: {address}/"))
    truth, table = tmp_path / "truth" / "a1.tif", tmp_path / "results" / "small" / "tables" / "metrics.csv"
    os.utime(truth, (10**9, 10**9))
    geouq("run", config, "--quiet")
    first = table.read_bytes()
    assert "1 of 1 tiles are summarised already" in geouq("run", config).stderr

    with rasterio.open(truth, "r+", IGNORE_COG_LAYOUT_BREAK=True) as target:
        target.write(target.read() + 5)
    os.utime(truth, (10**9 + 1, 10**9 + 1))
    again = geouq("run", config)

    assert again.exit_code == 0
    assert "summarised already" not in again.stderr
    assert table.read_bytes() != first
    truth.touch()
    told = geouq("run", config)
    assert f"1 of 1 tiles (a1) are read again in each run: nothing shows whether {address}/truth/a1.tif" in told.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("name", ["a.tif", "a.tif.msk", "a.tif.aux.xml", "a.tfw"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, write_raster, name):
    if name != "a.tif":
        write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    os.mkfifo(tmp_path / name)

    with pytest.raises(DataError, match=rf"{name} cannot be read: it is a pipe, a device or a socket"):
        read_header(str(tmp_path / "a.tif"))


def test_a_link_to_a_device_is_refused(tmp_path):
    (tmp_path / "a.tif").symlink_to("/dev/zero")

    with pytest.raises(DataError, match="it is a pipe, a device or a socket"):
        read_header(str(tmp_path / "a.tif"))
