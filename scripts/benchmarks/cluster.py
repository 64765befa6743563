"""What a tile takes on a cluster of this machine, and what 10^12 pixels would take by that."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.choices import Choice
from benchmarks.costs import OfTile, costs
from benchmarks.measure import Table
from benchmarks.programs import geouq, printed_by
from benchmarks.rasters import make_tile
from benchmarks.remote import on_server
from benchmarks.slow_server import counts_of, serving, total
from benchmarks.tiles import LAYERS, path_of, write_config
from geouq.core.processes import Helpers
from geouq.pipeline import cluster
from geouq.pipeline.data import Options
from geouq.pipeline.evaluate import evaluate
from geouq.pipeline.prepare import inspect, prepare, working
from geouq.pipeline.publish import publish
from geouq.pipeline.sweep import save, sweep
from geouq.sweep.workers import workers

FEW, MORE = 2, 8  # tiles of the runs whose difference is what further tiles take
TASKS = 500  # without work
PIXELS = 1e12
VARIABLES = 5
SECONDS_A_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Seconds:
    """Processor seconds of a run: of the worker, and of the run itself during and after its sweep."""

    workers: float
    sweep: float
    numbers: float

    def __sub__(self, other: "Seconds") -> "Seconds":
        return Seconds(*(a - b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def cluster_section(choice: Choice) -> Table:
    """Measure runs of a few tiles and of some more, whose workers write and send, and reckon."""
    side = choice.side()
    name = make_tile(choice.data, side, "deflate")
    folders = {count: _linked(choice.data, name, count) for count in (FEW, MORE)}
    with _cluster() as (address, scheduler, worker), TemporaryDirectory() as out:
        measured = {}
        for how in ("shared", "shared", "sent"):  # the first of them compiles
            few, more = (_run(config, Path(out) / "run", address, worker, how) for config in folders.values())
            measured[how] = more - few
        of_task = _scheduler_seconds(address, scheduler)
        kept = sum(path.stat().st_size for path in (Path(out) / "run" / "summaries").rglob("*.nc")) / MORE
    of_one, further = measured["shared"], MORE - FEW
    tile = OfTile(
        pixels=side * side,
        worker_seconds=of_one.workers / further,
        shared_seconds=of_one.sweep / further,
        sent_seconds=measured["sent"].sweep / further,
        scheduler_seconds=of_task,
        numbers_seconds=of_one.numbers / further,
        bytes_read=sum(path_of(choice.data, name, layer).stat().st_size for layer in LAYERS),
        bytes_kept=kept,
        requests=_requests_of(choice.data, name),
    )
    return Table("A tile on a cluster, and 10^12 pixels", _note(side), ("what", "a tile", "10^12 pixels"), _rows(tile))


def _note(side: int) -> str:
    return (
        f"A tile of {side} x {side} pixels and {VARIABLES} variables in three files, deflate, blocks of 512 x 512 "
        f"pixels; the difference of runs of {MORE} and {FEW} such tiles, on a cluster of one worker with one thread. "
        "Seconds and hours are those of processors."
    )


def _rows(tile: OfTile) -> tuple[tuple[str, ...], ...]:
    """Return the rows of the table."""
    total = costs(tile, PIXELS)
    return (
        ("tiles", "1", f"{total.tiles:,.0f}"),
        ("workers", f"{tile.worker_seconds:.2f} s", f"{total.worker_hours:.0f} h"),
        ("the run, workers write", f"{tile.shared_seconds:.3f} s", f"{total.shared_hours:.2f} h"),
        ("the run, workers send", f"{tile.sent_seconds:.3f} s", f"{total.sent_hours:.2f} h"),
        ("the run after the sweep", f"{tile.numbers_seconds:.3f} s", f"{total.numbers_hours:.2f} h"),
        ("the scheduler", f"{tile.scheduler_seconds:.4f} s", f"{total.scheduler_hours:.2f} h"),
        ("read", f"{tile.bytes_read / 1e6:.0f} MB", f"{total.terabytes_read:.0f} TB"),
        ("requests to a server", f"{tile.requests:.0f}", f"{total.million_requests:.1f} million"),
        ("summaries", f"{tile.bytes_kept / 1e6:.2f} MB", f"{total.gigabytes_kept:.0f} GB"),
        ("threads of workers that keep one run busy, workers write", "", f"{total.most_workers_shared:.0f}"),
        ("threads of workers that keep one run busy, workers send", "", f"{total.most_workers_sent:.0f}"),
    )


def _linked(data: Path, name: str, count: int) -> Path:
    """Return the configuration of so many tiles that are links to one."""
    folder = data / f"{name}-{count}"
    folder.mkdir(exist_ok=True)
    names = [f"t{number}" for number in range(count)]
    for one, layer in product(names, LAYERS):
        if not path_of(folder, one, layer).exists():
            path_of(folder, one, layer).symlink_to(path_of(data, name, layer).absolute())
    return write_config(folder, "linked", tiles=f"[{', '.join(names)}]")


@contextmanager
def _cluster() -> Iterator[tuple[str, int, int]]:
    """Yield the address of a scheduler, its process and that of its worker."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "scheduler.json"
        common = ["--scheduler-file", str(place), "--no-dashboard", "--host", "127.0.0.1"]
        alone = ["--nthreads", "1", "--no-nanny", "--local-directory", folder]
        commands = (["scheduler", "--port", "0", *common], ["worker", *common, *alone])
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes = [subprocess.Popen([sys.executable, "-m", "dask", *own], **quiet) for own in commands]
        try:
            while not place.exists() or not (found := re.search(r'"address": "(.+?)"', place.read_text())):
                time.sleep(0.05)
            yield found[1], processes[0].pid, processes[1].pid
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def _run(config: Path, out: Path, address: str, worker: int, how: str) -> Seconds:
    """Return what a run of these tiles takes."""
    shutil.rmtree(out, ignore_errors=True)
    before = _seconds_of(worker)
    script = "import sys; from benchmarks.cluster import print_stages; print_stages(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = printed_by([sys.executable, "-c", script, str(config), str(out), address, how], environment)
    return Seconds(_seconds_of(worker) - before, *json.loads(said.splitlines()[-1]))


def _scheduler_seconds(address: str, scheduler: int) -> float:
    """Return what a task takes the scheduler."""
    with workers(1, address) as pool:
        before = _seconds_of(scheduler)
        for future in [pool.submit(os.getpid) for _ in range(TASKS)]:
            future.result()
        return (_seconds_of(scheduler) - before) / TASKS


def print_stages(config: str, out: str, address: str, how: str) -> None:
    """Run, and print the processor seconds of the sweep and of what comes after it."""
    if how == "sent":
        cluster._token = lambda _: nullcontext((Path("/nowhere"), ""))  # noqa: SLF001  as if no worker saw the folder
    job = prepare(Path(config), Options(out=Path(out), scheduler=address), None)
    with working(job) as there:
        inspected, begun = inspect(job), time.process_time()
        swept, after = sweep(inspected, there), time.process_time()
        save(swept, there)
        publish(evaluate(swept, Helpers()), Helpers())
    print(json.dumps([after - begun, time.process_time() - after]))


def _seconds_of(process: int) -> float:
    """Return the processor seconds of a process so far."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * SECONDS_A_TICK


def _requests_of(data: Path, name: str) -> float:
    """Return how many requests one more tile takes whose files are on a server."""
    return _requests(data, name, 2) - _requests(data, name, 1)


def _requests(data: Path, name: str, count: int) -> int:
    folder, tiles = _linked(data, name, count).parent, ", ".join(f"t{number}" for number in range(count))
    with serving(folder) as address, TemporaryDirectory() as out:
        config = on_server(write_config(folder, "remote", tiles=f"[{tiles}]"), address)
        printed_by(geouq("run", config, "--out", Path(out) / "run", "--quiet"))
        return total(counts_of(address))
