"""What a run survives: kill -9 at any moment, workers that are lost, folders that cannot be written."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
from clusters import cluster
from forked import Forked
from signalled import signalled

from geouq.config import load_experiment
from geouq.rasters.catalog import find_tiles
from geouq.rasters.gdal import GDAL_OPTIONS
from geouq.runs.store import SavedFiles
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import sweep_tiles
from geouq.sweep.workers import workers

TILES = [f"t{number}" for number in range(12)]
SHORT = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"
KILLS = int(os.environ.get("GEOUQ_TEST_KILLS", "3"))
KILLED = os.environ.get("GEOUQ_TEST_CONFIG")  # of the run to kill, instead of a small one
SWEPT = re.compile(r"sweep \d+/\d+: (.+)")
REUSED = re.compile(r"(\d+) of \d+ tiles are summarised already")
HEAVY = ("pandas", "xarray", "dask", "distributed", "matplotlib", "pyarrow")


class Run:
    """A run of the program in a session of its own, and what it has said so far.

    killed_at : the number of the line with which it kills itself, where it does.
    """

    numbers = count()

    def __init__(self, config, out, *options, prefix=(), killed_at=None, **settings):
        out.parent.mkdir(parents=True, exist_ok=True)
        self.out, self._log = out, out.with_suffix(f".{next(self.numbers)}.log")
        arguments = ["run", str(config), "--out", str(out), *options]
        program = [*prefix, sys.executable, "-m", "geouq", *arguments]
        command = signalled(signal.SIGKILL, arguments, times=killed_at) if killed_at else program
        if prefix:
            with self._log.open("w") as log:
                self.process = subprocess.Popen(command, stderr=log, start_new_session=True, **settings)
        else:
            self._log.touch()
            self.process = Forked(command, stdout=os.devnull, stderr=self._log, **settings)

    @property
    def said(self):
        return self._log.read_text(encoding="utf-8").splitlines()

    @property
    def summaries(self):
        """The files of summaries, by name."""
        folder = self.out / "summaries"
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.nc")}

    @property
    def metrics(self):
        return (self.out / "tables" / "metrics.csv").read_bytes()

    def until(self, count):
        """Wait until it has said so many lines."""
        while len(self.said) < count:
            assert self.process.poll() is None, self.said
            time.sleep(0.002)
        return self

    def end(self, code=0):
        assert self.process.wait(600) == code, self.said
        return self


def summaries(out, tiles=TILES):
    """The tiles with a summary, and under which key it was saved."""
    saved = SavedFiles(out)
    return {tile: key for tile in tiles if (key := saved.key(tile))}


def test_a_run_that_is_killed_goes_on_to_the_same_numbers_and_does_no_tile_twice(tile_folder, tmp_path):
    """GEOUQ_TEST_KILLS sets how many moments, spread over the run; GEOUQ_TEST_CONFIG another configuration."""
    config = Path(KILLED) if KILLED else tile_folder(TILES, shape=(100, 100), text=SHORT)
    undisturbed = Run(config, tmp_path / "undisturbed").end()
    for number in range(KILLS):
        moment = 1 + number * len(undisturbed.said) // KILLS
        first = Run(config, tmp_path / f"killed{number}", killed_at=moment).end(-signal.SIGKILL)
        tiles = SWEPT.findall("\n".join(undisturbed.said))
        saved = summaries(first.out, tiles)

        second = Run(config, first.out).end()

        assert second.metrics == undisturbed.metrics
        assert max(Counter(SWEPT.findall("\n".join(first.said + second.said))).values()) == 1
        assert sum(map(int, REUSED.findall("\n".join(second.said)))) == len(saved)
        assert saved.items() <= summaries(second.out, tiles).items()
        assert [path.name for path in second.out.rglob(".*")] == [".geouq.lock"]


def test_a_cluster_gives_the_same_files_also_where_it_loses_a_worker(tile_folder, tmp_path):
    """A scheduler and two workers, each a process of its own; then one of the two is killed."""
    config = tile_folder(TILES, shape=(400, 400), text=SHORT)
    alone = Run(config, tmp_path / "alone").end()
    with cluster(tmp_path / "cluster", 2) as there:
        together = Run(config, tmp_path / "together", "--scheduler", there.address).end()
        fewer = Run(config, tmp_path / "fewer", "--scheduler", there.place).until(4)
        there.processes[1].kill()
        there.processes[1].wait(60)
        fewer.end()

    assert together.metrics == fewer.metrics == alone.metrics
    assert together.summaries == fewer.summaries == alone.summaries
    assert f"workers write results into {together.out}" in "\n".join(together.said)
    swept = SWEPT.findall("\n".join(fewer.said))
    assert sorted(swept) == sorted(TILES)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_scheduler_that_does_not_come_back_ends_the_run_and_the_next_goes_on(tile_folder, tmp_path, how):
    config = tile_folder(TILES, shape=(400, 400), text=SHORT)
    alone = Run(config, tmp_path / "alone").end()
    with cluster(tmp_path / "cluster", 1) as there:
        left = Run(config, tmp_path / "left", "--scheduler", there.address, env=waiting("1s")).until(4)
        there.scheduler.send_signal(how)
        left.end(2)

    assert left.said[-1].startswith("geouq: the dask scheduler no longer answers; finished tiles are kept")
    assert "Traceback" not in "\n".join(left.said)
    assert summaries(left.out)
    assert Run(config, left.out).end().metrics == alone.metrics


def test_a_run_goes_on_with_a_scheduler_that_is_started_again(tile_folder, tmp_path):
    """At another port, as a new scheduler gets: its file names it. Workers without a scheduler end."""
    config = tile_folder(TILES, shape=(400, 400), text=SHORT)
    alone = Run(config, tmp_path / "alone").end()
    with cluster(tmp_path / "cluster", 1) as there:
        run = Run(config, tmp_path / "restarted", "--scheduler", there.place, env=waiting("10 minutes")).until(4)
        there.scheduler.kill()
        there.scheduler.wait(60)
        there.start_scheduler()
        there.start_workers(1)
        run.end()

    said = "\n".join(run.said)
    assert "no longer answers; waiting 600 s for it" in said
    assert "the dask scheduler is back" in said
    assert run.summaries == alone.summaries
    assert sorted(SWEPT.findall(said)) == sorted(TILES)


def test_an_interrupted_run_on_a_cluster_keeps_finished_tiles(tile_folder, tmp_path):
    config = tile_folder(TILES, shape=(400, 400), text=SHORT)
    alone = Run(config, tmp_path / "alone").end()
    with cluster(tmp_path / "cluster", 1) as there:
        stopped = Run(config, tmp_path / "stopped", "--scheduler", there.place).until(5)
        os.kill(stopped.process.pid, signal.SIGINT)
        stopped.end(130)
        swept = SWEPT.findall("\n".join(stopped.said))
        second = Run(config, stopped.out, "--scheduler", there.place).end()

    assert swept
    assert not set(swept) & set(SWEPT.findall("\n".join(second.said)))
    assert second.summaries == alone.summaries


def test_a_tile_that_ends_its_workers_fails_and_the_others_do_not(tile_folder, tmp_path):
    """Workers have two threads: a tile that shares a worker with it is swept again alone."""
    config = tile_folder(TILES[:6], shape=(400, 400), text=SHORT)
    alone = Run(config, tmp_path / "alone", "--only", "t1").end()
    crash = (
        "import os, signal\nfrom geouq.rasters import raster\n"
        "def opened(file, *others, plain=raster._open_for_pixels):\n"
        "    if 't3' in file.path:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return plain(file, *others)\nraster._open_for_pixels = opened\n"
    )
    few = {"SCHEDULER__ALLOWED_FAILURES": "0"}
    with cluster(tmp_path / "cluster", 1, few, nanny=True, threads=2, preload=crash) as there:
        run = Run(config, tmp_path / "crashing", "--scheduler", there.place).end(3)

    assert summaries(run.out).keys() == set(TILES[:6]) - {"t3"}
    assert "1 worker ended while working on it, the last one at tcp://127.0.0.1:" in run.said[-1]
    assert "1 worker ended while working on it" in (run.out / "tables" / "failures.csv").read_text()
    assert run.summaries.items() >= alone.summaries.items()


def test_no_partial_file_remains_of_a_worker_that_ends_while_it_writes(tile_folder, tmp_path):
    config = tile_folder(TILES[:3], shape=(400, 400), text=SHORT)
    crash = (
        "import os, signal\nfrom geouq.core import atomic\n"
        "def committed(part, path, plain=atomic.commit):\n"
        "    if path.name == 't2.nc':\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    plain(part, path)\natomic.commit = committed\n"
    )
    few = {"SCHEDULER__ALLOWED_FAILURES": "0"}
    with cluster(tmp_path / "cluster", 1, few, nanny=True, preload=crash) as there:
        run = Run(config, tmp_path / "crashing", "--scheduler", there.place).end(3)

    assert summaries(run.out, TILES[:3]).keys() == {"t0", "t1"}
    assert [path.name for path in run.out.rglob(".*")] == [".geouq.lock"]


def waiting(patience):
    return os.environ | {"DASK_GEOUQ__SCHEDULER_WAIT": patience}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_every_file_is_opened_on_a_worker_with_the_options_of_gdal(tile_folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    tiles = find_tiles(load_experiment(tile_folder(TILES[:4], text=SHORT))).tiles
    wanted = ["GDAL_CACHEMAX", *GDAL_OPTIONS]

    def watch():
        import rasterio
        from rasterio.env import get_gdal_config

        from geouq.rasters import raster

        plain, rasterio.seen = raster._open_for_pixels, []

        def open_and_record(*arguments):
            rasterio.seen.append({name: get_gdal_config(name, normalize=False) for name in wanted})
            return plain(*arguments)

        raster._open_for_pixels = open_and_record

    def seen():
        import rasterio

        return rasterio.seen

    with cluster(tmp_path / "cluster", 2) as there, distributed.Client(there.address) as client:
        client.wait_for_workers(2)
        client.run(watch)
        with workers(2, there.address) as pool:
            list(sweep_tiles(tiles, Settings((0.9,), 16), pool, 4))
        of_workers = list(client.run(seen).values())

    told = [options for one in of_workers for options in one]
    assert len(told) >= 3 * len(tiles)
    assert {name: {str(options[name]) for options in told} for name in GDAL_OPTIONS} == {
        name: {value} for name, value in GDAL_OPTIONS.items()
    }
    assert all(0 < int(options["GDAL_CACHEMAX"]) <= 1 << 30 for options in told)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can act for another user")
def test_nobody_can_run_it_from_a_folder_that_cannot_be_written(tile_folder, tmp_path):
    """Without a home, too: what is compiled stays in memory, and that is said once."""
    tile_folder(("a1", "a2"), text=SHORT)
    tmp_path.chmod(0o755)
    out = tmp_path / "out" / "nobody"
    out.parent.mkdir()
    os.chown(out.parent, 65534, 65534)
    may_read = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *may_read]
    if subprocess.run([*nobody, sys.executable, "-c", ""], check=False).returncode:
        pytest.skip("setpriv cannot give the right to read all files")
    without = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "NUMBA_"))}
    told = without | {"HOME": "/nonexistent", "NUMBA_OPT": "1"}

    run = Run("experiment.yaml", out, prefix=nobody, env=told, cwd=tmp_path).end()

    assert sum("compiled" in line for line in run.said) == 1
    assert len(summaries(out, ("a1", "a2"))) == 2


FOR_PIXELS = ("numba", "llvmlite", "rich", "geouq.kernel", "geouq.inference", "geouq.numbers")
CHECK = """from click.testing import CliRunner
from geouq.cli import main
assert not CliRunner().invoke(main, ["check", "experiment.yaml"]).exit_code"""


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (CHECK, (*HEAVY, *FOR_PIXELS)),
        ("import geouq.pipeline.run", HEAVY),
        ("import geouq.sweep.tiles", (*HEAVY, "jinja2", "rich")),
    ],
    ids=["check", "a run before its figures", "a worker"],
)
def test_what_is_not_needed_is_not_imported(tile_folder, tmp_path, code, absent):
    tile_folder(("a1",), text="output: {maps: [z, cells]}\n")
    told = f"{code}\nimport sys\nprint([name for name in {absent} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", told], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
