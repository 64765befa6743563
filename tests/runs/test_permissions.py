"""Files that may not be read and folders that may not be written: one message that names them, and nothing lost."""

import ctypes
import os
import sys
from contextlib import contextmanager

import pytest
from faulty.runs import tables

pytestmark = pytest.mark.skipif(
    os.name != "posix" or (os.geteuid() == 0 and sys.platform != "linux"), reason="modes of files do not bind the user"
)
VERSION, OVERRIDING = 0x20080522, 1 << 1 | 1 << 2  # of capget; CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"


@contextmanager
def bound_by_modes():
    """Root may read and write whatever modes say, and does without that for a while."""
    if os.geteuid():
        yield
        return
    libc, header, rights = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    effective, rights[0] = rights[0], rights[0] & ~OVERRIDING
    assert libc.capset(header, rights) == 0
    try:
        yield
    finally:
        rights[0] = effective
        assert libc.capset(header, rights) == 0


@pytest.fixture
def evaluated(tile_folder, geouq, tmp_path):
    """A folder with a run of two tiles."""
    tile_folder(("a1", "a2"), text=SHORT)
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0
    yield tmp_path
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755)


@pytest.mark.parametrize("layer", ["truth/a1.tif", "predictions/a1_mean.tif"])
def test_a_raster_that_may_not_be_read_fails_its_tile_alone(evaluated, geouq, layer):
    (evaluated / layer).chmod(0)
    with bound_by_modes():
        done = geouq("check", "experiment.yaml")

    assert done.exit_code == 3
    assert f"problem    tile a1: {evaluated / layer} cannot be read: " in done.output
    assert "Permission denied" in done.output
    assert "tiles      1\n" in done.output


def test_a_configuration_that_may_not_be_read_is_named(evaluated, geouq):
    (evaluated / "experiment.yaml").chmod(0)
    with bound_by_modes():
        done = geouq("check", "experiment.yaml")

    assert done.exit_code == 2
    assert "experiment.yaml" in done.output
    assert "Permission denied" in done.output


def test_a_folder_of_rasters_that_may_not_be_read_is_named(evaluated, geouq):
    (evaluated / "truth").chmod(0)
    with bound_by_modes():
        done = geouq("check", "experiment.yaml")

    assert done.exit_code == 2
    assert (
        f"data.truth: no file matches {evaluated}/truth/{{tile}}.tif; {evaluated}/truth may not be read" in done.output
    )


@pytest.mark.parametrize("out", ["closed/new", "results/small"])
def test_a_folder_that_may_not_be_written_is_named_and_stays_as_it_was(evaluated, geouq, out):
    (evaluated / "closed").mkdir()
    for path in (evaluated, *evaluated.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = tables(evaluated / "results" / "small")
    with bound_by_modes():
        done = geouq("run", "experiment.yaml", "--quiet", "--fresh", "--out", out)
    evaluated.chmod(0o755)

    assert done.exit_code == 2
    assert "Permission denied" in done.output
    assert out.split("/")[0] in done.output
    assert tables(evaluated / "results" / "small") == before


@pytest.mark.parametrize("command", ["report", "recalibrate"])
def test_other_commands_name_a_run_that_may_not_be_written(evaluated, geouq, command):
    for path in (evaluated / "results" / "small").rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (evaluated / "results" / "small").chmod(0o555)
    with bound_by_modes():
        done = geouq(command, "results/small")

    assert done.exit_code == 2
    assert "Permission denied" in done.output
    assert "results/small" in done.output


def test_a_summary_that_may_not_be_read_is_named(evaluated, geouq):
    for path in (evaluated / "results").rglob("*"):
        path.chmod(0o777)
    (summary,) = (evaluated / "results/small/summaries").glob("a1*.nc")
    summary.chmod(0)
    with bound_by_modes():
        done = geouq("report", "results/small")

    assert done.exit_code == 2
    assert str(summary.relative_to(evaluated)) in done.output
