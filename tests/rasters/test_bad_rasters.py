"""Rasters from many hands: right numbers whatever their header, or one clear message."""

import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from faulty.evaluated import numbers_of, verdict_on
from faulty.mutation import mutated
from faulty.rasters import CONFIG, claiming, expected, layer, scene, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geouq.rasters.raster import read_header

FEW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
LAYERS = ("t_mean.tif", "t_variance.tif", "t_truth.tif")
GIB = 1 << 30


@FEW
@given(random=st.randoms(use_true_random=False))
def test_any_header_gives_the_numbers_of_plain_numpy(tmp_path, random):
    layers = scene(random, tmp_path)

    found = numbers_of(tmp_path / "x.yaml")

    assert isinstance(found, dict), found
    if len(layers[0]):
        assert found == pytest.approx(expected(*layers), rel=1e-6, abs=1e-9)
    else:
        assert found["n"] == 0


@FEW
@given(random=st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_damaged_files_are_evaluated_or_named(tmp_path, random):
    scene(random, tmp_path)
    path = tmp_path / random.choice(LAYERS)
    path.write_bytes(mutated(path.read_bytes(), random, most=30))

    found = numbers_of(tmp_path / "x.yaml")

    assert isinstance(found, dict) or str(tmp_path) in found or "not enough memory" in found


def test_a_raster_on_other_pixels_fails(tmp_path):
    random = Random(0)  # noqa: S311  no secret
    for name, shift in zip(("mean", "variance", "truth"), (0, 0, 0.5), strict=True):
        write(tmp_path / f"t_{name}.tif", layer(random, (9, 9)), shift)
    (tmp_path / "x.yaml").write_text(CONFIG, encoding="utf-8")

    assert "t_truth.tif" in numbers_of(tmp_path / "x.yaml")


CLAIMS = {
    "no pixel": claiming(0, 5),
    "three bits": claiming(5, 5, bits=3),
    "a block of 4 GiB": claiming(32768, 32768, tile=32768),
    "a packed block of 4 GiB": claiming(32768, 32768, compression=8),
    "rows of 4 MB": claiming(10**6, 10**6, rows=1),
    "10^12 pixels, big-endian": claiming(10**6, 10**6, tile=256, order=">"),
    "4294967295 rows": claiming(1, 2**32 - 1),
    "2147483647 columns": claiming(2**31 - 1, 1),
}
LIMITED = f"""import resource, sys
from pathlib import Path
import geouq.pipeline.run
from geouq.cli import main
resource.setrlimit(resource.RLIMIT_AS, ({3 * GIB}, {3 * GIB}))
try:
    main(sys.argv[1:])
finally:
    Path("peak").write_text(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.parametrize("compress", ["none", "deflate", "lzw", "zstd", "packbits", "lzma", "lerc"])
def test_a_large_block_of_one_value_is_as_small_as_it_can_be_and_is_no_damage(tmp_path, write_raster, compress):
    block = {"tiled": True, "blockxsize": 4096, "blockysize": 4096, "compress": compress}
    bits = {"nbits": 1} if compress == "none" else {}
    path = write_raster(tmp_path / "a.tif", np.ones((4096, 4096), np.uint8), **block, **bits)

    assert read_header(str(path)).block == (4096, 4096)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a program is read from /proc")
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_header_that_claims_too_much_is_refused_at_once_and_in_little_memory(tmp_path, claim):
    """The peak is of the program alone: what `getrusage` says of a child begins with the memory of its parent."""
    for name in LAYERS:
        (tmp_path / name).write_bytes(CLAIMS[claim])
    (tmp_path / "x.yaml").write_text(CONFIG, encoding="utf-8")

    command = [sys.executable, "-c", LIMITED, "run", "x.yaml", "--workers", "1", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)

    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert str(tmp_path) in done.stderr
    assert int((tmp_path / "peak").read_text()) <= 500 << 10


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_many_bands_are_read_as_fast_as_they_are_many(tmp_path, monkeypatch):
    """Each property of a raster looks at all bands, so that asking for it band by band takes minutes."""
    for name in LAYERS:
        (tmp_path / name).write_bytes(claiming(8, 8, bands=20_000))
    (tmp_path / "x.yaml").write_text(CONFIG.replace("[height]", "{height: {band: 3}}"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert verdict_on("check", "x.yaml") == ""


def test_what_gdal_says_in_bytes_that_are_no_text_is_no_traceback(tmp_path, write_raster):
    """Of metadata that are no XML."""
    for name in LAYERS:
        write_raster(tmp_path / name, np.ones((5, 5), np.float32), scales=(2.0,))
        content = (tmp_path / name).read_bytes()
        assert b'name="' in content
        (tmp_path / name).write_bytes(content.replace(b'name="', b'\xae    "'))
    (tmp_path / "x.yaml").write_text(CONFIG, encoding="utf-8")

    command = [sys.executable, "-m", "geouq", "check", "x.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)

    assert "Traceback" not in done.stderr
    assert "UnicodeDecodeError" not in done.stderr
    assert done.returncode in {0, 3}


@pytest.mark.parametrize("order", ["LITTLE", "BIG"])
def test_the_order_of_bytes_changes_no_number(tmp_path, write_raster, order):
    values = np.random.default_rng(0).lognormal(size=(3, 30, 40)).astype(np.float32)
    for name, band in zip(LAYERS, values, strict=True):
        write_raster(tmp_path / name, band, ENDIANNESS=order)
    (tmp_path / "x.yaml").write_text(CONFIG, encoding="utf-8")

    assert (tmp_path / LAYERS[0]).read_bytes()[:2] == (b"II" if order == "LITTLE" else b"MM")
    assert numbers_of(tmp_path / "x.yaml") == pytest.approx(expected(*values.astype(float).reshape(3, -1)))
