"""Fingerprints of what GDAL really opens: members of archives, sources of sources, chunks, files on servers."""

import csv
import html
import json
import os
import sys
import tarfile
import zipfile

import landscape
import numpy as np
import pytest
import rasterio
import rasterio.shutil
from elsewhere import S3, serving_elsewhere
from landscape import VARIABLES

from geouq.config import load_experiment
from geouq.core.errors import DataError
from geouq.rasters import remote_files
from geouq.rasters.catalog import find_tiles
from geouq.rasters.files import physical
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header

DRIVERS = ("GTiff", "VRT", "GTI", "Zarr")
VRT = """<VRTDataset rasterXSize="9" rasterYSize="8"><SRS>EPSG:32633</SRS>
<GeoTransform>500000, 10, 0, 7000000, 0, -10</GeoTransform><VRTRasterBand dataType="Float32" band="1"><SimpleSource>
<SourceFilename relativeToVRT="1">{}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>
</VRTRasterBand></VRTDataset>"""
INDEX = "<GDALTileIndexDataset><IndexDataset>{}</IndexDataset></GDALTileIndexDataset>"


TEXT = "variables: [height]\ntiles: [a1]\ndrivers: [GTiff, GTI]\noutput: {maps: none, figures: none}\n"
NAMED = tuple(enumerate(VARIABLES, 1))
SERVER = """import sys
from pathlib import Path
from faulty.servers import Handler, Server
folder = Path(sys.argv[1])

def note(self, *_):
    with (folder / "asked").open("a") as file:
        file.write(self.path + "\\n")

def send_header(self, name, value, found=Handler.send_header):
    if name not in sys.argv[2:]:
        found(self, name, value)

Handler.log_request, Handler.send_header = note, send_header
server = Server(folder, "", 0, "")
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


def write_index(folder, name, bounds=(500_000, 6_999_920, 500_090, 7_000_000), crs="EPSG:32633"):
    """A tile index of one raster."""
    raw, shapely = pytest.importorskip("pyogrio.raw"), pytest.importorskip("shapely")
    box = np.array([shapely.box(*bounds).wkb])
    fields = {"fields": np.array(["location"]), "field_data": [np.array([name], object)]}
    where = {"layer": "index", "driver": "GPKG", "geometry_type": "Polygon", "crs": str(crs)}
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
    monkeypatch.setattr(remote_files, "_headers", lambda _: date | headers)

    assert remote_files.version_of("/vsicurl/http://x/a.tif") == version


def test_a_file_that_changed_within_the_last_second_is_not_identified(monkeypatch):
    second = "Thu, 01 Jan 1970 00:00:10 GMT"
    monkeypatch.setattr(
        remote_files, "_headers", lambda _: {"last-modified": second, "date": second, "content-length": "5"}
    )

    assert remote_files.version_of("/vsicurl/http://x/a.tif") is None


@pytest.fixture
def address(tmp_path):
    """A server of the folder; it writes the paths that it was asked for to a file."""
    with serving_elsewhere(SERVER, tmp_path) as found:
        yield f"/vsicurl/{found}"


def add_five(path, seconds):
    """Change a raster in place, and its time of change, but not its size."""
    size = path.stat().st_size
    with rasterio.open(path, "r+", IGNORE_COG_LAYOUT_BREAK=True) as target:
        target.write(target.read() + 5)
    touch(path, seconds)
    assert path.stat().st_size == size


def bias(config):
    rows = csv.DictReader((config.parent / "results/small/tables/metrics.csv").read_text().splitlines())
    return next(float(row["value"]) for row in rows if row["metric"] == "bias")


def on_server(_, address):
    return f"{address}/truth/{{tile}}.tif"


def through_index(folder, _):
    with rasterio.open(folder / "truth/a1.tif") as source:
        write_index(folder, str(folder / "truth/a1.tif"), source.bounds, source.crs)
    bands = "".join(
        f'<Band band="{n}" dataType="Float32"><Description>{name}</Description></Band>' for n, name in NAMED
    )
    (folder / "truth/a1.gti").write_text(INDEX.format(folder / "index.gti.gpkg").replace("</GDAL", f"{bands}</GDAL"))
    return "truth/{tile}.gti"


def through_index_on_server(folder, address):
    """The index is here, and its raster on a server."""
    path = through_index(folder, address)
    with rasterio.open(folder / "truth/a1.tif") as source:
        write_index(folder, f"{address}/truth/a1.tif", source.bounds, source.crs)
    return path


@pytest.mark.parametrize("reached", [on_server, through_index, through_index_on_server])
def test_a_run_reads_a_raster_that_changed_in_place_again_and_says_so(tile_folder, geouq, tmp_path, address, reached):
    config = tile_folder(("a1",), text=TEXT)
    touch(tmp_path / "truth" / "a1.tif", 1)
    config.write_text(config.read_text().replace("truth/{tile}.tif", reached(tmp_path, address)))
    assert geouq("run", config, "--quiet").stderr == ""
    first = bias(config)
    same = geouq("run", config)
    assert "1 of 1 tiles are summarised already" in same.stderr
    assert "read again" not in same.stderr

    add_five(tmp_path / "truth" / "a1.tif", 2)
    again = geouq("run", config)

    assert again.exit_code == 0
    assert "1 of 1 tiles (a1) are read again: their files, the settings or the version changed" in again.stderr
    assert abs(bias(config) - first) == pytest.approx(5, abs=1e-5)


def test_a_file_without_an_identity_is_read_in_each_run_which_says_so(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=TEXT)
    with serving_elsewhere(SERVER, tmp_path, "Last-Modified") as address:
        config.write_text(config.read_text().replace("truth/{tile}.tif", on_server(tmp_path, f"/vsicurl/{address}")))
        geouq("run", config, "--quiet")
        first = bias(config)
        add_five(tmp_path / "truth" / "a1.tif", 2)
        again = geouq("run", config)

    told = "1 of 1 tiles (a1) are read again in each run: nothing shows whether"
    assert told in again.stderr
    assert abs(bias(config) - first) == pytest.approx(5, abs=1e-5)


def test_a_run_makes_two_requests_more_for_a_file_than_reading_it(tile_folder, geouq, tmp_path, address):
    config = tile_folder(("a1",), text=TEXT)
    touch(tmp_path / "truth" / "a1.tif", 1)
    with rasterio.open(f"{address}/truth/a1.tif") as source:
        source.read()
    asked = tmp_path / "asked"
    reading = asked.read_text().splitlines().count("/truth/a1.tif")
    asked.write_text("")
    remote_files.forget(f"{address}/truth/a1.tif")
    config.write_text(config.read_text().replace("truth/{tile}.tif", on_server(tmp_path, address)))

    assert geouq("run", config, "--quiet").exit_code == 0

    assert asked.read_text().splitlines().count("/truth/a1.tif") <= reading + 2


def test_a_zarr_store_on_a_server_is_not_identified(tmp_path, write_raster, address):
    """A server answers for single chunks."""
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    in_zarr(tmp_path)
    touch(tmp_path / "a.zarr", 1)

    raster = read_header(f'ZARR:"{address}/a.zarr"', ("Zarr",))

    assert raster.unidentified == (f"{address}/a.zarr",)
    assert raster.files == ()


def first_band_as_store(folder, layer):
    """Write the first band of a layer of tile a1 as a Zarr store too."""
    with rasterio.open(folder / f"{layer}/a1.tif") as source:
        band = source.read(1)[np.newaxis]
        landscape.write_raster(folder / "one.tif", band, transform=source.transform)
    with rasterio.open(folder / "one.tif") as source:
        rasterio.shutil.copy(source, folder / f"{layer}/a1.zarr", driver="Zarr")


@pytest.mark.parametrize(
    ("written", "tiles"),
    [
        ("truth/{tile}.zarr", ""),
        ('ZARR:"truth/{tile}.zarr"', ""),
        ('ZARR:"truth/{tile}.zarr":/a1', ""),
        ('ZARR:"truth/a1.zarr":/{tile}', "tiles: [a1]\n"),
    ],
)
@pytest.mark.parametrize("drivers", ["GTiff, Zarr", "GTiff, VRT, Zarr", "Zarr, GTiff"])
def test_a_store_is_found_by_gdals_name_whatever_the_order_of_drivers(tile_folder, tmp_path, written, tiles, drivers):
    config = tile_folder(("a1",), text=f"variables: [height]\ndrivers: [{drivers}]\n{tiles}")
    first_band_as_store(tmp_path, "truth")
    config.write_text(config.read_text().replace("truth: truth/{tile}.tif", f"truth: '{written}'"))

    catalog = find_tiles(load_experiment(config))

    assert catalog.failures == ()
    (tile,) = catalog.tiles
    assert (tile.name, tile.truth.driver, tile.truth.unidentified) == ("a1", "Zarr", ())
    assert [file.path for file in tile.truth.files] == [str(tmp_path / "truth/a1.zarr")]


def test_a_store_names_the_option_where_its_driver_is_missing(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    in_zarr(tmp_path)

    with pytest.raises(DataError, match=r"it is a Zarr file; write drivers: \[GTiff, Zarr\]"):
        read_header(f'ZARR:"{tmp_path}/a.zarr"')


def test_a_run_on_a_store_on_a_server_says_everywhere_that_it_reads_it_again(tile_folder, geouq, tmp_path, address):
    config = tile_folder(("a1",), text=TEXT.replace("GTI", "Zarr"))
    first_band_as_store(tmp_path, "truth")
    written = f"'ZARR:\"{address}/truth/{{tile}}.zarr\"'"
    config.write_text(config.read_text().replace("truth/{tile}.tif", written))
    geouq("run", config, "--quiet")

    again = geouq("run", config)

    note = f"1 of 1 tiles (a1) are read again in each run: nothing shows whether {address}/truth/a1.zarr changed"
    results = tmp_path / "results/small"
    assert again.exit_code == 0
    assert note in again.stderr
    assert note in json.loads((results / "results.json").read_text())["warnings"][0]
    assert note in html.unescape((results / "report/index.html").read_text())


@pytest.mark.parametrize("path", ["/vsis3/bucket/a.tif", "s3://bucket/a.tif"])
def test_an_object_of_s3_is_identified_by_its_etag(tmp_path, write_raster, monkeypatch, path):
    boto3 = pytest.importorskip("boto3")
    with serving_elsewhere(S3) as endpoint:
        names = {"S3_ENDPOINT": endpoint, "HTTPS": "NO", "VIRTUAL_HOSTING": "FALSE", "DEFAULT_REGION": "us-east-1"}
        for name, value in (names | {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}).items():
            monkeypatch.setenv(f"AWS_{name}", value)
        write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
        client = boto3.client("s3", endpoint_url=f"http://{endpoint}")
        client.create_bucket(Bucket="bucket")
        client.upload_file(str(tmp_path / "a.tif"), "bucket", "a.tif")
        before, again = read_header(path), read_header(path)
        add_five(tmp_path / "a.tif", 1)
        client.upload_file(str(tmp_path / "a.tif"), "bucket", "a.tif")
        after = read_header(path)
        with gdal_options(), opened(after) as source:
            pixels = source.read()

    assert before.fingerprint == again.fingerprint != after.fingerprint
    assert before.unidentified == ()
    assert before.files[0].version != after.files[0].version
    assert (pixels == 6).all()


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


@pytest.mark.parametrize("kind", ["broken", "loop", "folder"])
@pytest.mark.parametrize("name", ["a.tif.msk", "a.tif.aux.xml", "a.tfw"])
def test_a_sidecar_out_of_reach_is_refused_and_not_taken_for_absent(tmp_path, write_raster, name, kind):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    if kind == "folder":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).symlink_to(name if kind == "loop" else "absent")

    with pytest.raises(DataError, match=rf"{name} cannot be read: it is a (link to a file that is not there|folder);"):
        read_header(str(tmp_path / "a.tif"))
