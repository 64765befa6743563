"""Servers that get no more requests at the same time than the environment allows."""

import os
import subprocess
import sys

import pytest
from benchmarks.slow_server import ANY, counts_of, serving, total

from geouq.core.errors import ConfigError
from geouq.rasters.host_limit import REQUESTS_PER_HOST, in_turn, requests_per_host

TILES = [f"t{number}" for number in range(12)]
TEXT = f"variables: [height]\ntiles: {TILES}\noutput: {{maps: none, figures: none}}\n".replace("'", "")


@pytest.fixture
def far(tmp_path, tile_folder):
    """A configuration of tiles on a server, with the files of one tile for all of them, and its address."""
    config = tile_folder((ANY,), shape=(300, 300), text=TEXT)
    folder = tmp_path / "far"
    folder.mkdir()
    text = config.read_text()
    for layer, pattern in (("mean", "predictions/{tile}_mean.tif"), ("truth", "truth/{tile}.tif")):
        (tmp_path / pattern.format(tile=ANY)).rename(folder / f"{ANY}_{layer}.tif")
    (tmp_path / f"predictions/{ANY}_variance.tif").rename(folder / f"{ANY}_variance.tif")
    with serving(folder) as address:
        for name in ("predictions/{tile}_mean", "predictions/{tile}_variance"):
            text = text.replace(name, f"{address}/{name.removeprefix('predictions/')}")
        config.write_text(text.replace("truth/{tile}", f"{address}/{{tile}}_truth"))
        yield config, address


def run(config, out, **environment):
    command = [sys.executable, "-m", "geouq", "run", config, "--out", out, "--quiet"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, out / "tables" / "metrics.csv"


@pytest.mark.parametrize("limit", [3])
def test_a_server_never_has_more_requests_at_once_than_allowed(far, tmp_path, limit):
    config, address = far
    code, error, table = run(config, tmp_path / "limited", **{REQUESTS_PER_HOST: str(limit)})
    limited = counts_of(address)
    assert code == 0, error
    _, _, other = run(config, tmp_path / "free")
    free = counts_of(address)

    assert limited["most"] == limit
    assert free["most"] > 2 * limit
    assert limited["GET"] == free["GET"]  # GDAL saves some HEAD, where another thread has just opened the file
    assert min(total(limited), total(free)) > 9 * len(TILES)
    assert table.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_limit_that_is_no_number_is_one_message(tile_folder, tmp_path, text):
    code, error, _ = run(tile_folder(("a1",)), tmp_path / "out", **{REQUESTS_PER_HOST: text})

    assert code == 2
    assert f"{REQUESTS_PER_HOST}={text}: write a whole number of at least 1, or leave it out for no limit" in error
    assert "Traceback" not in error


def test_a_thread_that_has_its_turn_needs_no_other_one(monkeypatch):
    monkeypatch.setenv(REQUESTS_PER_HOST, " 1 ")
    assert requests_per_host() == 1
    for _ in range(2):
        with in_turn("/vsicurl/http://one/a.tif"), in_turn("/vsicurl/http://one/b.tif"), in_turn("/vsis3/b/c.tif"):
            pass


def test_without_the_variable_there_is_no_limit(monkeypatch):
    monkeypatch.setenv(REQUESTS_PER_HOST, "")
    assert requests_per_host() is None
    monkeypatch.setenv(REQUESTS_PER_HOST, "no")
    with pytest.raises(ConfigError, match="whole number"):
        requests_per_host()
