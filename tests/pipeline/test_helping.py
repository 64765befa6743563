"""Other processes share the work after the sweep of long runs, and change no byte."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import geouq
from geouq.core.processes import Helpers
from geouq.pipeline import prepare
from geouq.pipeline.data import Options

ROOT = Path(__file__).parents[2]
VOLATILE = {"run.json", "results.json", "checksums.json"}  # hold times, or digests of files that do


def bytes_of(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.name not in VOLATILE}


@pytest.fixture
def counts(counts_in):
    """Numbers of processes that are asked for; none is started."""
    return counts_in(prepare)


def swept(workers, memory, regions=5, variables=5, tiles=4):
    """As much of a run as the number of processes follows from."""
    job = SimpleNamespace(options=Options(workers=workers, memory=memory), plan=SimpleNamespace(workers=workers))
    experiment = SimpleNamespace(tile_lists={f"r{k}": () for k in range(regions)}, zone_layers=())
    record = SimpleNamespace(variables=range(variables), tiles=range(tiles))
    return SimpleNamespace(job=job, experiment=experiment, record=record)


@pytest.mark.renders
def test_a_run_writes_the_same_bytes_with_and_without_other_processes(tmp_path):
    for workers in (1, 2):
        geouq.run(ROOT / "configs" / "samples.yaml", Options(out=tmp_path / str(workers), workers=workers))

    alone, shared = bytes_of(tmp_path / "1"), bytes_of(tmp_path / "2")

    assert alone.keys() == shared.keys()
    assert [name for name in alone if alone[name] != shared[name]] == []


@pytest.mark.parametrize(
    ("workers", "memory", "expected"), [(1, None, 0), (4, "1TB", 3), (4, "1100MB", 1), (2, "600MB", 0)]
)
def test_there_is_a_process_for_each_worker_but_the_first_if_it_fits(counts, workers, memory, expected):
    with prepare.helping(swept(workers, memory)):
        assert counts == [expected]


def test_files_on_servers_which_have_more_workers_need_no_more_processes(counts, monkeypatch):
    monkeypatch.setattr(prepare.os, "cpu_count", lambda: 2)
    run = swept(None, "1TB")
    run.job.plan.workers = 16
    with prepare.helping(run):
        assert counts == [1]


def test_a_run_of_a_few_regions_starts_no_process(counts):
    with prepare.helping(swept(4, "1TB", regions=2, variables=5)):
        assert counts == [0]


def test_a_run_of_many_tiles_starts_processes(counts):
    with prepare.helping(swept(4, "1TB", regions=0, variables=1, tiles=400)):
        assert counts == [3]


class Ended(Helpers):
    """Processes that note that they were ended."""

    def end(self):
        self.preparations.append("ended")


@pytest.mark.parametrize(("memory", "expected"), [("2000MB", 3), ("1999MB", 0)])
def test_processes_that_began_early_end_where_the_run_needs_their_memory(memory, expected):
    job = SimpleNamespace(options=Options(memory=memory), plan=SimpleNamespace(memory=500 << 20))
    early = Ended(None, 3)

    fitting = prepare.helpers_in_memory(job, early)

    assert fitting.count == expected
    assert early.preparations == ([] if expected else ["ended"])
