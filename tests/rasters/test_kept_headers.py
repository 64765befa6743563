"""Headers that a run keeps of files on servers: no request for them, and no number of another file."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import rasterio
from affine import Affine
from faulty.servers import serving
from rasterio.control import GroundControlPoint

from geouq.core.errors import ConfigError
from geouq.rasters import kept_headers
from geouq.rasters.kept_headers import KEPT, KeptHeaders, parse_age
from geouq.rasters.raster import read_header
from geouq.rasters.remote_files import without_signature

TEXT = "variables: [height]\ntiles: [a1, a2]\noutput: {maps: none, figures: none}\nintervals: {resamples: 200}\n"
OLD = 10**9  # seconds: servers do not identify a file that has just changed
QUERY = "?id=5&X-Amz-Date=%s&X-Amz-Signature=%s"
ADDRESS = "https://host/folder/a.tif"


class Far:
    """Two tiles whose truth is on a server, and what commands ask of it."""

    def __init__(self, folder, config, address, asked):
        self.folder, self.config, self.address, self.asked = folder, config, address, asked
        self.text = config.read_text()
        self.sign("1", "hunter2")

    def sign(self, date, signature):
        """Address the truth, with a signature if there is one."""
        query = QUERY % (date, signature) if signature else ""
        self.config.write_text(
            self.text.replace("truth/{tile}.tif", f'"/vsicurl/{self.address}/truth/{{tile}}.tif{query}"')
        )

    def change(self, change, mtime):
        """Replace the truth of a tile."""
        path = self.folder / "truth/a1.tif"
        with rasterio.open(path) as source:
            profile, bands = source.profile, source.read()
        with rasterio.open(path, "w", **profile) as target:
            target.write(change(bands))
        os.utime(path, (mtime, mtime))

    def do(self, *arguments):
        """Run a command; the paths that it asks for, and what it prints."""
        del self.asked[:]
        command = [sys.executable, "-m", "geouq", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        return list(self.asked), done.stdout + done.stderr

    def run(self, *options):
        """Evaluate both tiles; the paths that it asks for, what it prints, and the numbers of all tiles."""
        asked, printed = self.do("run", self.config, "--out", self.folder / "out", *options)
        return asked, printed, (self.folder / "out/tables/metrics.csv").read_bytes()


@pytest.fixture
def far(tmp_path, tile_folder):
    config = tile_folder(("a1", "a2"), text=TEXT)
    for path in (tmp_path / "truth").iterdir():
        os.utime(path, (OLD, OLD))
    with serving(tmp_path) as (address, asked):
        yield Far(tmp_path, config, address, asked)


def test_a_second_check_and_a_second_run_ask_for_nothing(far):
    first, _ = far.do("check", far.config, "--trust-for", "1h")
    far.sign("2", "another")
    second, printed = far.do("check", far.config, "--trust-for", "1h")
    without, _ = far.do("check", far.config)
    too_old, _ = far.do("check", far.config, "--trust-for", "0s")

    assert len(first) == len(without) == len(too_old) > 0
    assert second == []
    assert "note       headers of 2 files on servers were kept, and not asked for; the oldest is of 2" in printed


def test_a_run_on_kept_headers_gives_the_numbers_of_any_other(far):
    _, _, numbers = far.run()
    far.sign("2", "another")  # the same files
    _, printed, again = far.run("--trust-for", "1h")
    assert "2 of 2 tiles are summarised already" in printed
    far.sign("3", "third")
    asked, printed, third = far.run("--trust-for", "1h")

    assert numbers == again == third
    assert asked == []
    assert "2 files on servers were kept" in printed
    written = [path for path in (far.folder / "out").rglob("*") if path.is_file()]
    assert (far.folder / "out" / KEPT) in written
    kept = kept_headers.gzip.decompress((far.folder / "out" / KEPT).read_bytes())
    assert not any(secret in kept for secret in (b"hunter2", b"another", b"third"))


def test_a_kept_header_is_compared_with_what_its_file_says(far):
    far.text = far.text.replace("truth/{tile}.tif", '{path: "truth/{tile}.tif", offset: 1.0, nodata: -5}')
    far.text = far.text.replace('"truth/{tile}.tif"', "truth/{tile}.tif")
    far.sign("", "")
    far.do("check", far.config.name, "--trust-for", "1d")

    assert "2 tiles evaluated, 0 failed" in far.do("run", far.config.name, "--trust-for", "1d")[1]


def test_a_file_that_changed_is_read_anew_before_its_pixels_are(far):
    """The header of `check` is that of the file before, and the run begins with it."""
    out = ("--trust-for", "1h")
    far.run(*out)
    shutil.rmtree(far.folder / "out/summaries")
    far.change(lambda bands: bands + 5, OLD + 100)

    asked, printed, numbers = far.run(*out)
    _, _, fresh = far.run("--fresh")

    assert numbers == fresh
    assert asked
    assert "files of tile a1 changed while they were read, and are read once more" in printed


def test_a_mask_that_came_is_found_before_pixels_are_read(far):
    far.sign("", "")
    far.run("--trust-for", "1h")
    shutil.rmtree(far.folder / "out/summaries")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(far.folder / "truth/a1.tif", "r+") as target:
        before = (far.folder / "truth/a1.tif").stat()
        target.write_mask(np.pad(np.ones((20, 50), np.uint8), ((0, 20), (0, 0))) * 255)
    os.utime(far.folder / "truth/a1.tif", (OLD, OLD))
    os.utime(far.folder / "truth/a1.tif.msk", (OLD, OLD))
    assert (far.folder / "truth/a1.tif").stat().st_size == before.st_size

    _, _, numbers = far.run("--trust-for", "1h")
    _, _, fresh = far.run("--fresh")

    assert numbers == fresh


def test_a_change_goes_unnoticed_only_where_no_pixel_is_read_and_no_longer_than_it_is_allowed_to(far):
    _, _, numbers = far.run("--trust-for", "1h")
    far.change(lambda bands: bands + 5, OLD + 100)

    _, printed, same = far.run("--trust-for", "1h")
    noted = json.loads((far.folder / "out/run.json").read_text())["notes"]
    _, told, other = far.run()

    assert same == numbers != other
    assert "2 files on servers were kept, and not asked for" in printed
    assert any("2 files on servers were kept, and not asked for" in note for note in noted)
    assert "1 of 2 tiles (a1) are read again" in told


@pytest.mark.parametrize("kind", ["plain", "scaled", "points"])
def test_a_kept_header_is_the_one_that_was_read(tmp_path, write_raster, kind):
    points = [GroundControlPoint(0, 0, 1, 2, 3), GroundControlPoint(0, 9, 4, 5, 6), GroundControlPoint(8, 9, 7, 8, 9)]
    header = {
        "plain": {"nodata": np.nan, "transform": Affine(0.1, 0, 1 / 3, 0, -0.1, 2 / 3)},
        "scaled": {"scales": [0.1], "offsets": [-1 / 3], "names": ["height"], "units": ["m"]},
        "points": {"gcps": points, "transform": None},
    }[kind]
    raster = read_header(str(write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32), **header)))
    name = f"/vsicurl/{ADDRESS}"
    stamps = (raster.files[0]._replace(path=name, version='"x"'), raster.files[0]._replace(path=f"{name}.msk"))
    raster = replace(raster, path=ADDRESS, files=stamps, identity=name)
    store = KeptHeaders(tmp_path / KEPT, 60)
    store.add(raster, ("GTiff",))
    store.save()

    loaded = KeptHeaders.load(tmp_path / KEPT, 60)
    found = loaded.find(ADDRESS, ("GTiff",))

    assert found.kept
    assert repr(replace(found, kept=False)) == repr(raster)  # NaN is not NaN
    assert found.fingerprint == raster.fingerprint
    assert loaded.find(ADDRESS, ("GTiff", "VRT")) is None
    assert loaded.find(ADDRESS + "?id=5", ("GTiff",)) is None
    assert loaded.find(ADDRESS + "?sig=5", ("GTiff",)) is None  # it has no sidecar files


@pytest.fixture
def kept(tmp_path, write_raster):
    raster = read_header(str(write_raster(tmp_path / "a.tif", np.ones((8, 9), np.float32))))
    name = f"/vsicurl/{ADDRESS}"
    raster = replace(raster, path=ADDRESS, files=(raster.files[0]._replace(path=name),), identity=name)
    store = KeptHeaders(tmp_path / KEPT, 60)
    store.add(raster, ("GTiff",))
    store.save()
    return store.file


def found(file, most=60):
    return KeptHeaders.load(file, most).find(ADDRESS, ("GTiff",))


def test_what_cannot_be_relied_upon_is_not_used(kept, monkeypatch):
    assert found(kept)
    assert KeptHeaders.load(kept.with_name("none"), 60).find(ADDRESS, ("GTiff",)) is None
    for change in ({"AWS_ENDPOINT_URL": "http://other"}, {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR"}):
        with monkeypatch.context() as context:
            for name, value in change.items():
                context.setenv(name, value)
            assert found(kept) is None
    with monkeypatch.context() as context:
        context.setenv("AWS_SECRET_ACCESS_KEY", "another")
        assert found(kept)
    with monkeypatch.context() as context:
        context.setattr(rasterio, "__gdal_version__", "9.9.9")
        assert found(kept) is None
    now = time.time()
    for later in (61, -1):  # too old, and of a clock that was ahead
        with monkeypatch.context() as context:
            context.setattr(kept_headers.time, "time", partial(float, now + later))
            assert found(kept) is None
    whole = kept.read_bytes()
    for damaged in (whole[:-9], whole[9:], b"", kept_headers.gzip.compress(b"[]"), kept_headers.gzip.compress(b"{")):
        kept.write_bytes(damaged)
        assert found(kept) is None


def test_a_local_or_composed_raster_is_not_kept(tmp_path, kept, write_raster):
    local = read_header(str(write_raster(tmp_path / "b.tif", np.ones((8, 9), np.float32))))
    far = found(kept)
    for raster in (local, replace(far, driver="VRT"), replace(far, unidentified=("x",)), replace(far, identity="x")):
        store = KeptHeaders(tmp_path / "none", 60)
        store.add(raster, ("GTiff",))
        store.save()
        assert not store.file.exists()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1.5m", 90), (" 12h ", 43_200), ("7d", 604_800)])
def test_an_age_has_a_unit(text, seconds):
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["12", "h", "-1h", "1w", "1h30m", ""])
def test_what_is_no_age_is_refused(text):
    with pytest.raises(ConfigError, match=r"--trust-for .*: write a time such as 30m, 12h or 7d"):
        parse_age(text)


@pytest.mark.parametrize(
    ("signed", "plain"),
    [
        (
            "https://h/a.tif?X-Amz-Algorithm=A&X-Amz-Credential=b/c&X-Amz-Expires=9&X-Amz-Signature=5f",
            "https://h/a.tif",
        ),
        ("/vsicurl/https://h/a.tif?sv=1&se=2&sr=c&sp=r&sig=5%2Ff", "/vsicurl/https://h/a.tif"),
        ("https://h/a.tif?versionId=3&Expires=9&Signature=x&Key-Pair-Id=k", "https://h/a.tif?versionId=3"),
        ("https://h/get?id=5&signatory=6", "https://h/get?id=5&signatory=6"),
        ("https://h/get?st=mean&policy=3", "https://h/get?st=mean&policy=3"),
        ("https://me:word@h/a@b.tif", "https://h/a@b.tif"),
        ("s3://bucket/a.tif", "s3://bucket/a.tif"),
        ("/data/a.tif?sig=5", "/data/a.tif?sig=5"),
    ],
)
def test_a_signature_is_no_part_of_the_name_of_a_file(signed, plain):
    assert without_signature(signed) == plain
