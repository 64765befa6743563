"""Files behind a server that stalls, breaks off or fails: asked for again, and given up on in the end."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import rasterio
from affine import Affine
from faulty.servers import serving
from rasterio.errors import NotGeoreferencedWarning

from geouq.rasters.gdal import GDAL_OPTIONS, HTTP

HURRY = {"GDAL_HTTP_TIMEOUT": "1", "GDAL_HTTP_RETRY_DELAY": "0.1", "GDAL_HTTP_MAX_RETRY": "2"}
READ = """import sys
from geouq.core.errors import DataError
from geouq.rasters.raster import read_header
for _ in range(int(sys.argv[2])):
    try:
        header = read_header(sys.argv[1])
        print(header.grid.shape, "masked" * header.bands[0].masked)
    except DataError as error:
        print(error)
"""

PLAIN = """import sys
import rasterio
from geouq.rasters.gdal import gdal_options
with gdal_options(), rasterio.open(sys.argv[1], driver="GTiff", sharing=False) as source:
    properties = source.colorinterp, source.mask_flag_enums, source.gcps, source.rpcs, source.files, source.tags()
    print(source.shape)
"""
TWICE = """import sys, shutil
from geouq.rasters import remote_files, web_requests
{library}
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header
prints = []
with gdal_options():
    for value in (1, 6):
        shutil.copy2(f"{folder}/{{value}}.tif", "{folder}/a.tif")
        header = read_header(sys.argv[1])
        with opened(header) as source:
            print(source.read().mean(), not header.unidentified)
        prints.append(header.fingerprint)
print(prints[0] != prints[1] or bool(header.unidentified))
"""


def told(address, times=1, script=READ, name="a.tif"):
    """What reading a header so many times gives, in a process that is in a hurry."""
    command = [sys.executable, "-c", script, f"/vsicurl/{address}/{name}", str(times)]
    done = subprocess.run(command, env=os.environ | HURRY, capture_output=True, text=True, check=True, timeout=600)
    assert not done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("fault", ["stalls", "resets", "fails"])
def test_a_server_that_recovers_is_asked_again(tmp_path, write_raster, fault):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    with serving(tmp_path, fault, faulty=2) as (address, _):
        assert told(address) == "(8, 9)"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("stalls", "Operation timed out"), ("resets", "Connection reset by peer"), ("fails", "HTTP response code: 500")],
)
def test_a_server_that_does_not_is_given_up_on_after_so_many_requests(tmp_path, fault, reason):
    with serving(tmp_path, fault, faulty=1000) as (address, asked):
        message = told(address)

    assert message.startswith(f"/vsicurl/{address}/a.tif cannot be read: ")
    assert reason in message
    assert len(asked) == 1 + int(HURRY["GDAL_HTTP_MAX_RETRY"])


PIXELS = """import sys
from geouq.core.errors import DataError
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header
with gdal_options():
    try:
        header = read_header(sys.argv[1])
        with opened(header) as source:
            print(source.read().astype(float).sum(), header.bands[0].masked)
    except DataError as error:
        print(error)
"""
TILED = {"tiled": True, "blockxsize": 64, "blockysize": 64}
AZURE = "DefaultEndpointsProtocol=http;AccountName=account;{own};BlobEndpoint={address}/account"
STORES = [  # folder of the server, path of the file, options of GDAL
    ("bucket", "gs://bucket/a.tif", {"CPL_GS_ENDPOINT": "{address}/", "GS_NO_SIGN_REQUEST": "YES"}),
    *(
        ("account/box", "az://box/a.tif", {"AZURE_STORAGE_CONNECTION_STRING": AZURE.replace("{own}", own)})
        for own in ("AccountKey=c2VjcmV0", "SharedAccessSignature=sv=1&sig=secret")
    ),
]
FOR_HEADER = 5  # requests, also for that of a file that has just changed, which nothing identifies


@pytest.mark.parametrize(("folder", "path", "options"), STORES, ids=["google", "azure, key", "azure, signature"])
def test_pixels_in_the_store_of_a_provider_are_those_of_the_file(tmp_path, write_raster, folder, path, options):
    pixels = np.random.default_rng(1).integers(0, 1000, (1, 200, 200)).astype(np.float32)
    write_raster(tmp_path / "a.tif", pixels, **TILED)
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a.tif").rename(tmp_path / folder / "a.tif")
    with serving(tmp_path, "nothing", faulty=0) as (address, asked):
        server = {name: option.format(address=address) for name, option in options.items()}
        command = [sys.executable, "-c", PIXELS, path]
        done = subprocess.run(command, env=os.environ | server, capture_output=True, text=True, check=True, timeout=600)

    assert done.stdout == f"{pixels.sum(dtype=float)} False\n"
    assert asked[0].startswith(f"/{folder}/a.tif")


@pytest.mark.parametrize("compress", ["none", "deflate"])
@pytest.mark.parametrize("fault", ["stalls", "resets", "fails", "is busy", "breaks off", "shortens"])
def test_pixels_of_a_server_that_recovers_are_those_of_the_file(tmp_path, write_raster, fault, compress):
    pixels = np.random.default_rng(1).integers(0, 1000, (3, 200, 200)).astype(np.float32)
    write_raster(tmp_path / "a.tif", pixels, compress=compress, **TILED)
    with serving(tmp_path, fault, faulty=2, before=FOR_HEADER) as (address, asked):
        assert told(address, script=PIXELS) == f"{pixels.sum(dtype=float)} False"
    assert len(asked) > FOR_HEADER + 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("resets", "its server now answers CURL error: "),
        ("fails", "its server now answers HTTP response code: 500"),
        ("is busy", "its server now answers HTTP response code: 429"),
        ("breaks off", "or its server sends less of it than is asked for: run again"),
        ("shortens", "or its server sends less of it than is asked for: run again"),
    ],
)
def test_pixels_of_a_server_that_does_not_are_given_up_on(tmp_path, write_raster, fault, reason):
    write_raster(tmp_path / "a.tif", np.random.default_rng(1).normal(size=(3, 200, 200)), **TILED)
    with serving(tmp_path, fault, faulty=1000, before=FOR_HEADER) as (address, asked):
        message = told(address, script=PIXELS)

    assert message.startswith(f"/vsicurl/{address}/a.tif cannot be read: a.tif, band 1: ")
    assert reason in message
    assert len(asked) < 60


@pytest.mark.parametrize("fault", ["breaks off", "shortens"])
@pytest.mark.parametrize("name", ["a.tif.msk", "a.tif.aux.xml"])
def test_a_sidecar_that_is_cut_off_on_its_way_is_not_taken_for_absent(tmp_path, write_raster, fault, name):
    """GDAL would take the mask for absent, so that all pixels count, and the metadata for empty."""
    write_raster(tmp_path / "a.tif", np.ones((20, 20), np.float32))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(20, dtype=np.uint8))
    (tmp_path / "a.tif.aux.xml").write_text(
        '<PAMDataset><PAMRasterBand band="1"><Scale>2</Scale></PAMRasterBand></PAMDataset>'
    )
    with serving(tmp_path, fault, faulty=1000, at=f"/{name}") as (address, _):
        message = told(address)

    assert f"/{name} is damaged, or its server sent less of it than there is; run again" in message


@pytest.mark.parametrize("fault", ["breaks off", "shortens"])
def test_a_mask_that_was_cut_off_is_requested_again(tmp_path, write_raster, fault):
    write_raster(tmp_path / "a.tif", np.ones((20, 20), np.float32))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(20, dtype=np.uint8))
    with serving(tmp_path, fault, faulty=6, at="/a.tif.msk") as (address, asked):
        assert told(address) == "(20, 20) masked"
    assert asked.count("/a.tif.msk") > 2


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("fails", "HTTP response code: 500"),
        ("resets", "Connection reset by peer"),
        ("refuses", "its server shows the file, but does not send its content"),
    ],
)
def test_a_server_that_shows_a_file_but_sends_nothing_is_not_taken_for_another_format(
    tmp_path, write_raster, fault, reason
):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    with serving(tmp_path, fault, faulty=1000, method="GET") as (address, _):
        message = told(address)

    assert reason in message
    assert "no GTiff" not in message


@pytest.mark.parametrize("content", [b"", b"no raster"])
def test_another_format_on_a_server_is_named_as_such(tmp_path, content):
    (tmp_path / "a.tif").write_bytes(content)
    with serving(tmp_path) as (address, _):
        assert "it is no GTiff file" in told(address)


def test_a_header_takes_no_more_requests_than_gdal_makes_for_the_raster(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    os.utime(tmp_path / "a.tif", (0, 10**9))  # the time of change of a younger file does not identify it
    requests = []
    for script in (READ, PLAIN):
        with serving(tmp_path) as (address, asked):
            assert told(address, script=script) == "(8, 9)"
        requests.append(Counter(asked))

    assert requests[0] < requests[1]


HEADER = """import sys
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header
with gdal_options():
    header = read_header(sys.argv[1])
    with opened(header) as source:
        print(source.read().sum(), source.read_masks(1).any(), header.bands[0], "masked" * header.bands[0].masked)
"""
WHOLE = """import sys
from dataclasses import replace
from geouq.rasters.raster import read_header
for _ in range(int(sys.argv[2])):
    far, near = read_header(sys.argv[1]), read_header("{copy}")
    same = {{name: getattr(near, name) for name in ("path", "files", "identity", "has_no_sidecars")}}
    print(repr(replace(far, **same)) == repr(near))
"""
OLD = 10**9  # seconds: servers do not identify a file that has just changed
PLACE = Affine(30, 0, 5e5, 0, -30, 6e6)


@pytest.mark.parametrize("name", ["a.tif", "a", "a.tif?signature=x%2Fy", "A.TIFF"])
def test_a_raster_alone_on_a_server_takes_one_request_and_one_for_each_sidecar(tmp_path, write_raster, name):
    file, _, query = name.partition("?")
    write_raster(tmp_path / "made.tif", np.ones((8, 9), np.float32), transform=PLACE)
    (tmp_path / "made.tif").rename(tmp_path / file)
    os.utime(tmp_path / file, (OLD, OLD))
    sidecars = [] if query else [f"/{file}.msk", f"/{file}.aux.xml"]
    for script, begins, of_pixels in ((READ, "(8, 9)", 0), (HEADER, "72.0 True", 2)):
        with serving(tmp_path) as (address, asked):
            found = told(address, script=script, name=name)

        assert found.startswith(begins)
        assert sorted(asked) == sorted([f"/{name}"] * (1 + of_pixels) + sidecars)


IN_FOLDER = READ.replace(
    "for _", "from geouq.rasters.sidecars import folders_listed_once\nwith folders_listed_once(9):\n for _"
)
PAGE = "<html><head><title>{title}</title></head><body><a href='../'>../</a>{links}</body></html>"


@pytest.mark.parametrize(
    ("title", "names", "requests"),
    [
        ("Index of /", ["a.tif"], ["/", "/a.tif"]),
        ("Directory listing for /", ["b.tif", "a.tif"], ["/", "/a.tif"]),
        ("Index of /", ["b.tif"], ["/", "/a.tif", "/a.tif.aux.xml", "/a.tif.msk"]),
        ("Downloads", ["a.tif"], ["/", "/a.tif", "/a.tif.aux.xml", "/a.tif.msk"]),
    ],
)
def test_a_folder_that_is_listed_takes_no_request_for_sidecars(tmp_path, write_raster, title, names, requests):
    """A page that does not name the file, or is no list that a server makes, says nothing of its sidecars."""
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    page = PAGE.format(title=title, links="".join(f'<a href="{name}">{name}</a>' for name in names))
    with serving(tmp_path, page=page) as (address, asked):
        assert told(address, script=IN_FOLDER, times=1) == "(8, 9)"

    assert sorted(asked) == requests


def test_a_list_that_is_cut_off_says_nothing_of_sidecars(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    page = PAGE.format(title="Index of /", links='<a href="a.tif">a.tif</a>').removesuffix("</html>")
    with serving(tmp_path, page=page) as (address, asked):
        assert told(address, script=IN_FOLDER) == "(8, 9)"

    assert len(asked) == 4


def test_a_mask_in_the_list_of_a_folder_is_read(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(8, 9, dtype=np.uint8))
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    page = PAGE.format(title="Index of /", links='<a href="a.tif">a</a><A class="x" HREF="./a%2Etif.msk">a</A>')
    with serving(tmp_path, page=page) as (address, _):
        assert told(address, script=IN_FOLDER) == "(8, 9) masked"


KINDS = {
    "plain": {},
    "pixel by pixel": {"interleave": "pixel", "compress": "deflate", "predictor": 3, **TILED},
    "big": {"bigtiff": "yes", "endianness": "big", "nodata": -1.0},
    "scaled": {"scales": [2.0] * 3, "offsets": [0.5] * 3, "names": ["a", "b", "c"], "units": ["m"] * 3},
    "lerc": {"compress": "lerc_zstd", "sparse_ok": True, **TILED},
    "jpeg": {"compress": "jpeg", "photometric": "ycbcr", "dtype": "uint8", "interleave": "pixel", **TILED},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("overviews", [False, True])
def test_a_header_from_the_first_bytes_is_that_of_the_whole_file(tmp_path, write_raster, kind, overviews):
    """Also of a file that is longer than these, with overviews and masks at its end, or tags there."""
    options = dict(KINDS[kind])
    pixels = np.random.default_rng(1).integers(0, 200, (3, 200, 200)).astype(options.pop("dtype", "float32"))
    write_raster(tmp_path / "a.tif", pixels, transform=PLACE, **options)
    if overviews:
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(tmp_path / "a.tif", "r+") as target:
            target.write_mask(np.eye(200, dtype=np.uint8) * 255)
            target.build_overviews([2, 4])
            target.update_tags(1, long_name="x" * 300)
    (tmp_path / "a.tif.aux.xml").unlink(missing_ok=True)
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    script = WHOLE.format(copy=tmp_path / "a.tif")
    with serving(tmp_path) as (address, _):
        assert told(address, script=script, times=2) == "True\nTrue"


@pytest.mark.parametrize("point", [False, True])
def test_a_raster_with_the_tags_of_another_has_its_own_place(tmp_path, write_raster, point):
    """Also where the tie point is the centre of a pixel."""
    for number, name in enumerate(("a", "b", "c")):
        placed = Affine(0.1 + number, 0, 1 / 3 + number, 0, -0.1, 2 / 3)
        write_raster(tmp_path / f"{name}.tif", np.ones((8, 9), np.float32), transform=placed)
        if point:
            with rasterio.open(tmp_path / f"{name}.tif", "r+") as target:
                target.update_tags(AREA_OR_POINT="Point")
                target.transform = placed
        os.utime(tmp_path / f"{name}.tif", (OLD, OLD))
    script = WHOLE.replace("for _ in range(int(sys.argv[2])):", "for name in ('a', 'b', 'c'):")
    script = script.replace("sys.argv[1]", "sys.argv[1].replace('a.tif', f'{{name}}.tif')").replace(
        '"{copy}"', "f'{copy}'"
    )
    with serving(tmp_path) as (address, _):
        assert told(address, script=script.format(copy=tmp_path / "{name}.tif")) == "True\nTrue\nTrue"


def test_headers_of_http_that_the_environment_gives_are_sent(tmp_path, write_raster, monkeypatch):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    monkeypatch.setenv("GDAL_HTTP_HEADERS", "X-Key: hunter2")
    with serving(tmp_path, key="hunter2") as (address, asked):
        assert told(address) == "(8, 9)"

    assert asked == ["/a.tif", "/a.tif.msk", "/a.tif.aux.xml"]


@pytest.mark.parametrize("fault", ["sends all", "redirects"])
def test_a_server_without_parts_of_files_or_with_files_elsewhere_is_left_to_gdal(tmp_path, write_raster, fault):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    os.utime(tmp_path / "a.tif", (OLD, OLD))
    requests = []
    for times in (1, 2):
        with serving(tmp_path, fault, faulty=1000, method="GET" if fault == "sends all" else "") as (address, asked):
            assert told(address, times=times).count("(8, 9)") == times
        requests.append(len(asked))

    assert requests[1] < 2 * requests[0]


def test_a_raster_with_a_mask_and_metadata_takes_no_request_for_other_names(tmp_path, write_raster):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(8, 9, dtype=np.uint8))
    (tmp_path / "a.tif.aux.xml").write_text("<PAMDataset></PAMDataset>")
    with serving(tmp_path) as (address, asked):
        assert told(address) == "(8, 9) masked"

    assert set(asked) == {"/a.tif", "/a.tif.msk", "/a.tif.aux.xml"}
    assert len(asked) <= 9


@pytest.mark.parametrize("internal", [True, False])
def test_a_mask_and_metadata_on_a_server_are_those_of_the_file_on_this_machine(tmp_path, write_raster, internal):
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=PLACE)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=internal), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(8, 9, dtype=np.uint8))
    pam = '<PAMDataset><PAMRasterBand band="1"><Scale>2</Scale><Offset>1</Offset></PAMRasterBand></PAMDataset>'
    (tmp_path / "a.tif.aux.xml").write_text(pam)
    command = [sys.executable, "-c", HEADER, str(tmp_path / "a.tif")]
    local = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with serving(tmp_path) as (address, _):
        far = told(address, script=HEADER)

    assert far == local
    assert "scale=2.0" in far
    assert far.endswith("masked")


def test_a_raster_without_a_place_of_its_own_has_that_of_its_world_file(tmp_path, write_raster):
    with pytest.warns(NotGeoreferencedWarning):
        write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), transform=None)
    (tmp_path / "a.tfw").write_text("30\n0\n0\n-30\n500015\n5999985\n")
    script = HEADER.replace("header.bands[0],", "header.grid.transform.a,")
    with serving(tmp_path) as (address, _):
        assert told(address, script=script).startswith("72.0 True 30.0")


@pytest.mark.parametrize(
    ("library", "identified"),
    [("", "True"), ("remote_files.gdal_library = web_requests.gdal_library = lambda: None", "False")],
)
def test_a_raster_that_changed_is_read_anew_also_without_functions_of_gdal(tmp_path, write_raster, library, identified):
    """Where the system does not find them the file is not identified, so that each run reads it."""
    for value in (1, 6):
        write_raster(tmp_path / f"{value}.tif", np.full((8, 9), value, np.float32))
        os.utime(tmp_path / f"{value}.tif", (10**9 + value, 10**9 + value))
    script = TWICE.format(library=library, folder=tmp_path)
    with serving(tmp_path) as (address, _):
        assert told(address, script=script) == f"1.0 {identified}\n6.0 {identified}\nTrue"


ADVICE = "the server refuses access: the file is private, or a password, a token or a signature is missing, wrong or"
SIGNED = """variables: [height]
tiles: [a1]
output: {maps: none, figures: none}
"""


def run_refused(folder, tile_folder, **faults):
    """Run on a truth with a signature that a server refuses; return the process and the requests for the truth."""
    config = tile_folder(("a1",), shape=(400, 400), text=SIGNED)
    with serving(folder, "refuses", 1000, **faults) as (address, asked):
        signed = f"/vsicurl/{address}/truth/{{tile}}.tif?X-Amz-Signature=hunter2"
        config.write_text(config.read_text().replace("truth/{tile}.tif", signed))
        command = [sys.executable, "-m", "geouq", "run", config, "--out", folder / "out"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    return done, asked


@pytest.mark.parametrize(
    ("before", "first"), [(0, "HTTP response code: 403"), (6, "its server now answers HTTP response code: 403")]
)
def test_a_refused_raster_is_one_message_without_a_secret(tmp_path, tile_folder, before, first):
    """A private object, and a signature that expires after some requests."""
    done, asked = run_refused(tmp_path, tile_folder, before=before)

    (failed,) = [line for line in done.stderr.splitlines() if line.startswith("failed: ")]
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert done.returncode == 3
    assert f"{first}; {ADVICE} expired" in failed
    assert len(asked) > before
    assert "Traceback" not in done.stdout + done.stderr
    assert not any(b"hunter2" in text for text in (done.stdout.encode(), done.stderr.encode(), *written))


def test_a_server_that_refuses_head_requests_alone_is_no_obstacle(tmp_path, tile_folder):
    done, _ = run_refused(tmp_path, tile_folder, method="HEAD")

    assert done.returncode == 0
    assert "1 tile evaluated, 0 failed" in done.stdout


@pytest.mark.parametrize("drivers", [("GTiff",), ("GTiff", "VRT", "Zarr")])
def test_a_file_that_is_not_there_is_asked_for_once(tmp_path, drivers):
    with serving(tmp_path) as (address, asked):
        message = told(address, script=READ.replace("argv[1])", f"argv[1], {drivers})"))

    assert "cannot be read" in message
    assert asked == ["/a.tif"]


def test_every_wait_has_an_end_unless_the_environment_says_otherwise():
    assert {name: GDAL_OPTIONS[name] for name in HTTP} == {name: os.environ.get(name, HTTP[name]) for name in HTTP}
    assert all(0 < float(value) <= 1000 for value in HTTP.values())


@pytest.mark.parametrize(("name", "matters"), [("a.tif.msk", True), ("a.tif.aux.xml", True), ("a.tif.ovr", False)])
def test_a_server_that_fails_for_what_lies_beside_a_file_does_not_hide_it(tmp_path, write_raster, name, matters):
    """GDAL takes it for absent, and asks once: without the mask, all pixels would count."""
    write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as target:
        target.write_mask(np.eye(8, 9, dtype=np.uint8))
    with serving(tmp_path, "fails", faulty=1000, at=f"/{name}") as (address, _):
        lines = told(address, times=2).splitlines()

    assert (tmp_path / "a.tif.msk").exists()
    assert len(lines) == 2
    for line in lines:
        if matters:
            assert f"the server failed for {address}/{name}" in line
        else:
            assert line == "(8, 9) masked"
