"""Tasks: results in their order, failures that end one tile alone, never more under way than allowed."""

import logging
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geouq.core.errors import ConfigError
from geouq.core.failures import Failure
from geouq.sweep.workers import Task, in_order, workers


@dataclass(frozen=True)
class Named:
    """All that a task asks of a tile."""

    name: str


class Held(Executor):
    """Keeps what it is given until told to run it, in any order."""

    def __init__(self, pick):
        self.waiting, self.most, self._pick = [], 0, pick

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, function, args, kwargs))
        self.most = max(self.most, len(self.waiting))
        return future

    def run_one(self):
        future, function, args, kwargs = self.waiting.pop(self._pick(len(self.waiting)))
        try:
            future.set_result(function(*args, **kwargs))
        except ZeroDivisionError as error:
            future.set_exception(error)


def tasks_of(counts, broken=()):
    for number, count in enumerate(counts):
        for place in range(count):
            fails = (number, place) in broken
            yield Task(Named(str(number)), place, count, partial(divmod, place, 0 if fails else 1))


def wait_by(pool):
    """Instead of waiting, one of the tasks that the executor holds is run."""

    def wait(running, **_):
        while running and not {future for future in running if future.done()}:
            pool.run_one()
        return type("Waited", (), {"done": {future for future in running if future.done()}})

    return wait


@given(
    counts=st.lists(st.integers(1, 9), max_size=6),
    broken=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=3),
    in_flight=st.integers(1, 5),
    rng=st.randoms(use_true_random=False),
)
def test_results_of_a_tile_come_in_order_until_it_fails(counts, broken, in_flight, rng):
    pool = Held(rng.randrange)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("geouq.sweep.workers.wait", wait_by(pool))
        found = list(in_order(tasks_of(counts, broken), "sweep", pool, in_flight))

    assert pool.most <= in_flight
    for number, count in enumerate(counts):
        own = [(task.place, outcome) for task, outcome in found if task.tile.name == str(number)]
        fails = any((number, place) in broken for place in range(count))
        good = [place for place, outcome in own if not isinstance(outcome, Failure)]
        assert good == list(range(len(good)))
        assert len(good) == count if not fails else isinstance(own[-1][1], Failure)


def test_a_tile_for_which_memory_does_not_suffice_says_what_to_do():
    def too_large():
        raise MemoryError("Unable to allocate 4.00 GiB")

    with ThreadPoolExecutor(1) as pool:
        ((_, failure),) = in_order([Task(Named("a"), 0, 1, too_large)], "sweep", pool, 1)

    assert failure.message.startswith("there is not enough memory for it; name with --memory")
    assert failure.message.endswith(": Unable to allocate 4.00 GiB")


def test_a_slow_task_holds_back_what_follows_but_not_without_bound(monkeypatch):
    """The first of many tasks comes last: only so many results wait for it."""
    pool = Held(lambda waiting: waiting - 1)
    monkeypatch.setattr("geouq.sweep.workers.wait", wait_by(pool))
    started = []

    def watched():
        for task in tasks_of([50]):
            started.append(task.place)
            yield task

    results = in_order(watched(), "sweep", pool, 4)
    first, _ = next(results)
    results.close()

    assert first.place == 0
    assert len(started) <= 8


def test_what_dask_logs_of_a_lost_connection_is_not_shown(monkeypatch):
    """It logs tracebacks, at the level of information also (`distributed.batched`)."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("geouq.sweep.cluster.PATIENCE", 0.2)

    with pytest.raises(ConfigError, match="no dask scheduler answers"), workers(1, "tcp://127.0.0.1:1"):
        pass

    names = ("distributed.batched", "distributed.client", "distributed.core", "tornado.application", "asyncio")
    assert not [name for name in names if logging.getLogger(name).isEnabledFor(logging.ERROR)]
