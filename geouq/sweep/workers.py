"""Who does the work, and when: threads or a cluster, a bounded number of tasks at a time, results in their order."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from geouq.core.errors import ClusterError
from geouq.core.failures import Failure, failure_of
from geouq.core.overflow import overflow_is_missing
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import keep_gdal_options
from geouq.sweep.cluster import LOOKS, Cluster, Say, require_distributed

PATIENCE = 10.0  # seconds
TOO_LITTLE = "there is not enough memory for it; name with --memory how much there is, or give fewer --workers"
HELD = 2  # results that may wait for one before them while all workers have work


@dataclass(frozen=True)
class Task:
    """One of the `count` tasks of a tile, `place` in their order."""

    tile: Tile
    place: int
    count: int
    work: Callable[[], Any]


@dataclass
class _Progress:
    """How far a tile is: the place whose result is due, and results that came before their turn."""

    due: int = 0
    failed: bool = False
    early: dict[int, tuple[Task, Any]] = field(default_factory=dict)


class StoppedError(Exception):
    """The work was interrupted."""


_stopping = threading.Event()


def stop_if_requested() -> None:
    """Raise StoppedError where the work is being interrupted; tasks ask now and then."""
    if _stopping.is_set():
        raise StoppedError


class AtOnce(Executor):
    """Calls a function in the thread that submits it."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """Return the result, which is there."""
        result: Future[Any] = Future()
        try:
            result.set_result(function(*arguments, **keywords))
        except Exception as error:  # noqa: BLE001  whoever asks for the result gets it
            result.set_exception(error)
        return result


@contextmanager
def workers(count: int, scheduler: str | None = None, say: Say = print) -> Iterator[Executor]:
    """Yield the threads of this machine, or the workers of a running dask scheduler (needs the extra `cluster`).

    scheduler : its address, or the file that it writes. say : takes lines for the user about the workers.
    """
    if scheduler is None:
        with ThreadPoolExecutor(count, "geouq", initializer=keep_gdal_options) as pool:
            yield pool
        return
    require_distributed()
    with Cluster(scheduler, say) as cluster:
        yield cluster


def in_order(tasks: Iterable[Task], stage: str, pool: Executor, in_flight: int) -> Iterator[tuple[Task, Any]]:
    """Yield the results of tasks, those of a tile in their order, at most `in_flight` under way and two waiting.

    If a task fails, its tile gives a Failure and nothing else; the other tiles go on. Of a cluster, no more tasks are
    under way than its workers have threads, so that a worker that ends takes few with it.
    """
    waiting, progress = iter(tasks), dict[str, _Progress]()
    running: dict[Future[Any], Task] = {}
    try:
        while True:
            most = _allowed(pool, in_flight)
            held = sum(len(state.early) for state in progress.values())
            while len(running) < most and len(running) + held < most + HELD:
                if (task := _next_task(waiting, progress)) is None:
                    break
                running[pool.submit(_worked, task.work)] = task
            if not running:
                return
            for future in wait(running, timeout=LOOKS, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                yield from _arrived(task, future, progress, stage)
    except BaseException:
        _stop(running)
        raise


def _allowed(pool: Executor, in_flight: int) -> int:
    """Return how many tasks may be under way; raise ClusterError where the scheduler has gone for good."""
    if not isinstance(pool, Cluster):
        return in_flight
    pool.keep_up()
    return min(in_flight, pool.threads)


def _worked(work: Callable[[], Any]) -> Any:
    with overflow_is_missing():
        return work()


def _next_task(tasks: Iterator[Task], progress: dict[str, _Progress]) -> Task | None:
    """Return the next task of a tile that has not failed."""
    for task in tasks:
        if not progress.setdefault(task.tile.name, _Progress()).failed:
            return task
    return None


def _arrived(task: Task, future: Future[Any], progress: dict[str, _Progress], stage: str) -> Iterator[tuple[Task, Any]]:
    """Take in one result, and give those whose turn it is."""
    state = progress[task.tile.name]
    if state.failed:
        return
    try:
        state.early[task.place] = task, future.result()
    except ClusterError:
        raise
    except MemoryError as error:
        state.failed, state.early = True, {}
        yield task, Failure(task.tile.name, stage, "MemoryError", f"{TOO_LITTLE}: {error}")
        return
    except Exception as error:  # noqa: BLE001  whatever a tile does, the others go on, and the table of failures tells
        state.failed, state.early = True, {}
        yield task, failure_of(error, stage, tile=task.tile.name)
        return
    while state.due in state.early:
        yield state.early.pop(state.due)
        state.due += 1
    if state.due == task.count:
        del progress[task.tile.name]  # of thousands of tiles, only those under way are gone through


def _stop(running: Collection[Future[Any]]) -> None:
    """Let what waits be forgotten, and what is under way end at its next window."""
    if not running:
        return
    _stopping.set()
    wait([future for future in running if not future.cancel()], timeout=PATIENCE)
    _stopping.clear()
