"""Files behind a server that stalls, breaks off or fails: asked for again, and given up on in the end."""

import os
import subprocess
import sys

import numpy as np
import pytest
import rasterio
from faulty.servers import serving

from geouq.rasters.raster import GDAL_OPTIONS, HTTP

HURRY = {"GDAL_HTTP_TIMEOUT": "1", "GDAL_HTTP_RETRY_DELAY": "0.1", "GDAL_HTTP_MAX_RETRY": "2"}
READ = """import sys
from geouq.errors import DataError
from geouq.rasters.raster import read_header
for _ in range(int(sys.argv[2])):
    try:
        header = read_header(sys.argv[1])
        print(header.grid.shape, "masked" * header.bands[0].masked)
    except DataError as error:
        print(error)
"""


def told(address, times=1):
    """What reading a header so many times gives, in a process that is in a hurry."""
    command = [sys.executable, "-c", READ, f"/vsicurl/{address}/a.tif", str(times)]
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


def test_a_file_that_is_not_there_is_asked_for_once(tmp_path):
    with serving(tmp_path) as (address, asked):
        message = told(address)

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
            assert f"the server failed when asked for {address}/{name}" in line
        else:
            assert line == "(8, 9) masked"
