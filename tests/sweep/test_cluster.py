"""The workers of a dask scheduler: prepared once, of the same versions, a bounded number of tasks under way."""

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial

import pytest
from clusters import cluster, extensions, prepared, ready

from geouq.core.errors import ClusterError, ConfigError
from geouq.core.failures import Failure
from geouq.sweep.workers import HELD, Task, in_order, workers

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
MANY = 1000
OTHER = "import {module}\n{module}.__version__ = '0.1'\n"
WITHOUT = (
    "import sys\n"
    "class Absent:\n"
    "    def find_spec(self, name, *_):\n"
    "        if name.split('.')[0] == 'geouq':\n"
    "            raise ModuleNotFoundError(name)\n"
    "sys.meta_path.insert(0, Absent())\n"
)


@dataclass(frozen=True)
class Named:
    """All that a task asks of a tile."""

    name: str


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A cluster of two workers that survives the tests of this module."""
    with cluster(tmp_path_factory.mktemp("two") / "cluster", 2) as found:
        yield found


@pytest.fixture
def said():
    return []


def processes(outcomes):
    found = {outcome for _, outcome in outcomes}
    assert not [one for one in found if not isinstance(one, int)], found
    return found


def tasks(count, work):
    return (Task(Named(str(number)), 0, 1, work) for number in range(count))


def until_two_work(there, pool):
    there.until(lambda: pool.keep_up() or pool.threads == 2)


def test_each_worker_is_prepared_once_before_its_tasks_also_one_that_comes_later(tmp_path, said):
    work, found = partial(prepared, tmp_path), set()
    with cluster(tmp_path / "cluster", 1) as there, workers(1, str(there.place), said.append) as pool:
        pool.prepare(partial(ready, tmp_path))
        first = processes(in_order(tasks(4, work), "sweep", pool, MANY))
        there.start_workers(1)
        until_two_work(there, pool)
        there.until(lambda: found.update(processes(in_order(tasks(8, work), "sweep", pool, MANY))) or len(found) == 2)

    assert len(first) == 1
    assert set(Counter((tmp_path / "ready").read_text().split()).values()) == {1}
    assert said[0] == "workers compile what a sweep needs, once on each machine"


def test_tasks_are_sent_as_workers_have_threads(two, said):
    started, done, most = 0, 0, 0

    def watched():
        nonlocal started, most
        for task in tasks(30, os.getpid):
            started += 1
            most = max(most, started - done)
            yield task

    with workers(1, two.address, said.append) as pool:
        until_two_work(two, pool)
        for _ in in_order(watched(), "sweep", pool, MANY):
            done += 1

    assert done == 30
    assert 2 <= most <= 2 + HELD


def test_errors_of_a_task_are_failures_of_its_tile(two, said):
    with workers(1, two.address, said.append) as pool:
        ((_, failure),) = in_order(tasks(1, partial(divmod, 1, 0)), "sweep", pool, MANY)

    assert isinstance(failure, Failure)
    assert failure.error == "ZeroDivisionError"


def test_workers_load_extensions(two, said):
    with workers(1, two.address, said.append) as pool:
        ((_, loaded),) = in_order(tasks(1, extensions), "sweep", pool, MANY)

    assert loaded == 1


@pytest.mark.parametrize(
    ("preload", "found"),
    [(OTHER.format(module="numpy"), "numpy 0.1"), (OTHER.format(module="numba"), "numba 0.1"), (WITHOUT, "geouq none")],
    ids=["numpy", "numba", "geouq"],
)
def test_a_worker_with_other_versions_is_named(tmp_path, said, preload, found):
    """One that is there before the run, and one that comes later."""
    with cluster(tmp_path / "cluster") as there:
        with workers(1, there.address, said.append) as pool:
            there.start_workers(1, preload=preload)
            with pytest.raises(
                ClusterError, match=rf"the worker tcp://.* has {found}, and .* install the same versions"
            ):
                list(in_order(tasks(1, os.getpid), "sweep", pool, MANY))
        with pytest.raises(ClusterError, match=found), workers(1, there.address, said.append):
            pass


def test_a_file_that_names_no_scheduler_is_refused(tmp_path, monkeypatch, said):
    pytest.importorskip("distributed")
    monkeypatch.setattr("geouq.sweep.cluster.PATIENCE", 0.2)
    stale = tmp_path / "scheduler.json"
    stale.write_text(json.dumps({"address": "tcp://127.0.0.1:1"}))

    for place in (stale, tmp_path / "none.json"):
        with (
            pytest.raises(ConfigError, match=r"no dask scheduler answers at .*json"),
            workers(1, str(place), said.append),
        ):
            pass


def test_waiting_for_a_worker_is_said_once(tmp_path, said):
    with cluster(tmp_path / "cluster") as there, workers(1, there.address, said.append) as pool:
        pool.keep_up()
        there.start_workers(1)
        ((_, process),) = in_order(tasks(1, os.getpid), "sweep", pool, MANY)

    assert process == there.processes[1].pid
    assert said == ["the dask scheduler has no worker; waiting for one"]


def test_distributed_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(ConfigError, match=r"install geouq\[cluster\]"), workers(1, "tcp://127.0.0.1:1"):
        pass
