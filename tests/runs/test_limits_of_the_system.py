"""What the system refuses: large files, quotas and open files; each ends in one message, or costs nothing."""

import errno
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from forked import run_forked

from geouq.core.atomic import atomic_write
from geouq.summary import tile_file as summary_file
from geouq.summary.tile_file import save_tile
from geouq.summary.tiles_file import load_tile

resource = pytest.importorskip("resource")

TEXT = "variables: [height]\noutput: {maps: [z, status], figures: [pit]}\nintervals: {resamples: 100}\n"
PROGRAM = """
import resource, sys
limit, most = sys.argv[1], int(sys.argv[2])
resource.setrlimit(getattr(resource, limit), (most, most))
from geouq.cli import main
sys.argv[1:] = sys.argv[3:]
main()
"""


def limited(limit, most, arguments, folder):
    """Run the program with a limit of the system."""
    command = [sys.executable, "-c", PROGRAM, limit, str(most), *map(str, arguments)]
    return run_forked(command, folder)


def summaries(folder):
    return {path.name: path.read_bytes() for path in (folder / "results/small/summaries").glob("*.nc")}


@pytest.mark.parametrize("most", [1_000, 20_000, 60_000, 150_000])
def test_a_limit_on_the_size_of_files_ends_in_a_message(most, tile_folder, tmp_path):
    config = tile_folder(("a1", "a2"), shape=(400, 400), text=TEXT)
    done = limited("RLIMIT_FSIZE", most, ["run", config, "--quiet"], tmp_path)

    assert done.returncode in {2, 3}, done.stderr
    assert os.strerror(errno.EFBIG) in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert {path.name for path in tmp_path.rglob(".*")} <= {".geouq.lock"}
    again = run_forked([sys.executable, "-m", "geouq", "run", config], tmp_path)
    assert again.returncode == 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_refused_write_of_a_summary_is_the_error_of_the_file_system(code, after, swept_tile, tmp_path, monkeypatch):
    left = [after]

    class Refusing(io.FileIO):
        def write(self, content):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(code, os.strerror(code))
            return super().write(content)

    monkeypatch.setattr("geouq.summary.netcdf.Path.open", lambda path, *_, **__: Refusing(path, "w+"))
    path = tmp_path / "out" / "a1.nc"
    with pytest.raises(OSError, match=r"a1\.nc") as found:
        save_tile(swept_tile, path, "key")

    assert found.value.errno == code
    assert list(path.parent.iterdir()) == []
    monkeypatch.undo()
    save_tile(swept_tile, path, "key")
    assert load_tile(path).tile == "a1"


def fail_with(message, path):
    with atomic_write(path) as part:
        part.write_bytes(b"half")
        raise RuntimeError(message)


@pytest.mark.parametrize("code", [errno.EDQUOT, errno.EFBIG])
def test_what_a_library_makes_of_a_refused_write_becomes_the_error_of_the_file_system(code, tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(code)) as found:
        fail_with("TIFFAppendToStrip failed", tmp_path / "a.tif")

    assert found.value.errno == code
    assert isinstance(found.value.__cause__, RuntimeError)


def refuse_part(path, *, named):
    with atomic_write(path) as part:
        part.write_bytes(b"half")
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), *([str(part)] if named else []))


@pytest.mark.parametrize("named", [True, False])
def test_a_refused_write_names_the_file_and_not_the_temporary_one(named, tmp_path):
    with pytest.raises(OSError, match=os.strerror(errno.EDQUOT)) as found:
        refuse_part(tmp_path / "a.html", named=named)

    assert (found.value.errno, found.value.filename) == (errno.EDQUOT, str(tmp_path / "a.html"))
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_is_not_of_the_file_system_stays_what_it_is(tmp_path):
    with pytest.raises(RuntimeError, match="no such colour"):
        fail_with("no such colour", tmp_path / "a.png")


def test_a_refused_write_ends_a_command_with_one_message(tile_folder, geouq, monkeypatch):
    config = tile_folder(("a1",), text=TEXT)

    def refuse(*_):
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "a1.nc")

    monkeypatch.setattr(summary_file.TileWriter, "finish", refuse)
    done = geouq("run", config, "--quiet")

    assert done.exit_code == 2
    remedy = "raise the quota or free space, and give the same command again: what is complete is kept"
    assert done.stderr == f"geouq: [Errno {errno.EDQUOT}] {os.strerror(errno.EDQUOT)}: 'a1.nc'; {remedy}\n"


@pytest.mark.parametrize("workers", [2, 8])
def test_a_run_works_with_64_open_files(workers, tile_folder, tmp_path):
    config = tile_folder([f"t{number}" for number in range(40)], text=TEXT)
    done = limited("RLIMIT_NOFILE", 64, ["run", config, "--workers", workers, "--quiet"], tmp_path)

    assert done.returncode == 0, done.stderr
    assert "40 tiles evaluated, 0 failed" in done.stdout


def test_too_few_open_files_are_named_with_the_limit(tile_folder, tmp_path):
    config = tile_folder([f"t{number}" for number in range(4)], text=TEXT)
    done = limited("RLIMIT_NOFILE", 12, ["run", config, "--workers", 4, "--quiet"], tmp_path)

    assert done.returncode in {2, 3}
    assert "the process may have 12 files open: raise this limit (ulimit -n)" in done.stderr
    assert "Traceback" not in done.stderr


FORKED = """
import os, sys
import numpy as np
import geouq
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header

raster = read_header(sys.argv[1])
rng = np.random.default_rng(0)

def evaluate(kind):
    mean, truth = rng.normal(size=(2, 64, 64)).astype(kind)
    return str(geouq.summarize(mean, np.ones_like(mean), truth))

def place():
    with gdal_options(), opened(raster) as source:
        return id(source), int(source.read().sum())

evaluate(np.float32)
handle, total = place()
process = os.fork()
if process == 0:
    own, again = place()
    summary = evaluate(np.float64)  # its code is compiled, or loaded, in the child
    print(own != handle, again == total, "Summary" in summary, flush=True)
    os._exit(0)
assert os.waitpid(process, 0)[1] == 0
assert place() == (handle, total)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_the_library_works_after_a_fork(tmp_path, write_raster):
    path = write_raster(tmp_path / "a.tif", np.arange(9, dtype=np.uint8).reshape(1, 3, 3))
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(path)], capture_output=True, text=True, check=False, timeout=600
    )

    assert (done.returncode, done.stdout) == (0, "True True True\n"), done.stderr


def test_the_command_line_names_the_limit_of_open_files(geouq, tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "a.yaml")

    monkeypatch.setattr("geouq.pipeline.check.load_experiment", refuse)
    done = geouq("check", tmp_path / "a.yaml")

    assert done.exit_code == 2
    assert "files open: raise this limit (ulimit -n), or give fewer --workers" in done.stderr
