"""Share work among processes. A result has the same bits, whichever process computes it.

Python runs one thread at a time. Threads therefore do not help where no pixel is read.
"""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pickle import PicklingError
from typing import Any, Generic, TypeVar

from geouq.core.failures import Failure, are_collected, collecting, record_again
from geouq.core.overflow import overflow_is_missing
from geouq.core.usage import ONE_THREAD, collect_rarely, end_quickly

T = TypeVar("T")
R = TypeVar("R")
BACKLOG = 64  # items and results that may wait for the first of them
LOOKS = 1.0  # seconds between looks for the first process
# loky would end a process that takes 300 MB more than at its first work; the next one would import everything again
ENVIRONMENT = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e18", **ONE_THREAD}
AHEAD = 2  # items that wait or are under way, for each process


@dataclass(frozen=True)
class Helpers:
    """Processes that help this one. Without a pool, this process computes everything."""

    pool: Executor | None = None
    count: int = 0
    preparations: list[Future[Any]] = field(default_factory=list)

    @cached_property
    def _queue(self) -> "_Queue | None":
        return None if self.pool is None else _Queue(self.pool, self.count)

    def prepare(self, function: Callable[[], None]) -> None:
        """Call a function in each process before other work; ignore its errors, as later work raises them again."""
        if self._queue is not None:
            self.preparations.extend(self._queue.occupy(function) for _ in range(self.count))

    def begin(self, function: Callable[[T], R], items: Iterable[T]) -> Sequence["Work[T, R]"]:
        """Submit items to the processes, and return without waiting for the results."""
        return [self._work(function, item) for item in items]

    def begin_next(self, function: Callable[[T], R], item: T) -> "Work[T, R]":
        """Submit an item before those that wait, and return without waiting for the result."""
        work = Work(function, item)
        if self._queue is not None:
            self._queue.add_first(work)
        return work

    def share(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield function(item) for each item, in order; compute it in this process if no other one is free."""
        waiting = deque[Work[T, R]]()
        for item in items:
            is_idle = sum(not one.is_done for one in waiting) < AHEAD * self.count
            work = self._work(function, item) if is_idle else Work(function, item)
            if not is_idle:
                work.take_back()
            waiting.append(work)
            while waiting and (waiting[0].is_done or len(waiting) > BACKLOG):
                yield waiting.popleft().result()
        yield from results(waiting)

    def leave(self, few: int) -> None:
        """Leave what waits to the other processes if it is so few for each: this one would import code for it first."""
        if self._queue is not None:
            self._queue.leave(few * self.count)

    def release(self) -> None:
        """Let the processes end when their work is done; do not wait for them."""
        if self.pool is not None:
            self.pool.shutdown(wait=False)

    def end(self) -> None:
        """End the processes at once, whatever they do."""
        if self.pool is not None:
            from loky import ProcessPoolExecutor  # noqa: PLC0415  small runs need no processes

            if isinstance(self.pool, ProcessPoolExecutor):
                self.pool.shutdown(wait=True, kill_workers=True)

    def _work(self, function: Callable[[T], R], item: T) -> "Work[T, R]":
        work = Work(function, item)
        if self._queue is not None:
            self._queue.add(work)
        return work


class _Queue:
    """Work that no process has begun. It is sent to the pool when a process is free, as the pool gives nothing back."""

    def __init__(self, pool: Executor, count: int) -> None:
        self._pool, self._free = pool, count
        self._waiting = deque[Work[Any, Any]]()
        self._lock = threading.RLock()

    def occupy(self, function: Callable[[], None]) -> Future[Any]:
        """Let a process call a function at once."""
        with self._lock:
            future = self._pool.submit(function)
            self._occupied(future)
        return future

    def add(self, work: "Work[Any, Any]") -> None:
        """Queue work for the next process that is free."""
        with self._lock:
            self._waiting.append(work)
            self._send()

    def add_first(self, work: "Work[Any, Any]") -> None:
        """Queue work before all that waits."""
        with self._lock:
            self._waiting.appendleft(work)
            self._send()

    def leave(self, most: int) -> None:
        """Send all work at once, though no process is free, if it is not more than that."""
        with self._lock:
            if sum(not work.is_begun for work in self._waiting) <= most:
                while self._waiting:
                    self._send_first()

    def _send(self) -> None:
        while self._free > 0 and self._waiting:
            self._send_first()

    def _send_first(self) -> None:
        if (future := self._waiting.popleft().sent_to(self._pool)) is not None:
            self._occupied(future)

    def _occupied(self, future: Future[Any]) -> None:
        self._free -= 1
        future.add_done_callback(self._freed)

    def _freed(self, _: Future[Any]) -> None:
        with self._lock:
            self._free += 1
            self._send()


class Work(Generic[T, R]):
    """A function and an item. This process or another one computes the result, whichever begins first."""

    def __init__(self, function: Callable[[T], R], item: T) -> None:
        self._function, self._are_collected = function, are_collected()
        self._item: Any = item
        self._future: Future[tuple[R, Sequence[Failure]]] | None = None
        self._found: list[R] = []
        self.is_begun, self._lock = False, threading.Lock()

    @property
    def is_done(self) -> bool:
        """Return whether there is a result already."""
        return bool(self._found) or (self._future is not None and self._future.done())

    def sent_to(self, pool: Executor) -> Future[tuple[R, Sequence[Failure]]] | None:
        """Send the work to a process and return the future; None if it has begun, or if there is no process."""
        with self._lock:
            if not self.is_begun:
                try:
                    self._future = pool.submit(_apart, self._function, self._item, self._are_collected)
                except RuntimeError:  # a process ended, for example because memory ran out, or all are to end
                    return None
                self.is_begun = True
                return self._future
        return None

    def take_back(self) -> bool:
        """Compute the result in this process and return True; return False if the work has begun."""
        with self._lock:
            if self.is_begun:
                return False
            self.is_begun = True
        self.compute()
        return True

    def compute(self) -> None:
        """Compute the result here."""
        self._keep(self._function(self._item))

    def result(self) -> R:
        """Return the result, and record the failures of its items."""
        if not self.take_back() and self._future is not None:
            try:
                found, failures = self._future.result()
            except (BrokenExecutor, PicklingError):  # the process ended, or the work could not be sent
                self.compute()
            else:
                self._keep(found)
                record_again(failures)
        return self._found[0]

    def _keep(self, found: R) -> None:
        self._found, self._future, self._item = [found], None, None  # an item may be large


def results(work: Iterable[Work[T, R]]) -> Iterator[R]:
    """Yield the results in order. While the next one is not there, compute others in this process, the last first."""
    waiting = deque(work)
    while waiting:
        while not waiting[0].is_done and any(one.take_back() for one in reversed(waiting)):
            pass
        yield waiting.popleft().result()


@contextmanager
def helpers(count: int) -> Iterator[Helpers]:
    """Provide `count` processes, which start at their first work and end with the block."""
    if count < 1:
        yield Helpers()
        return
    from loky import ProcessPoolExecutor  # noqa: PLC0415  small runs need no processes

    # processes of concurrent.futures import the main module again, and so run a user's script that has no main guard;
    # those of loky do not
    pool = ProcessPoolExecutor(count, initializer=_begin, initargs=(os.getpid(),), env=ENVIRONMENT)
    shared = Helpers(pool, count)
    try:
        yield shared
    except BaseException:
        pool.shutdown(wait=True, kill_workers=True)
        raise
    # all results are here, so a process that still prepares is not needed
    pool.shutdown(wait=True, kill_workers=not all(one.done() for one in shared.preparations))


def _begin(parent: int) -> None:
    """Ignore Ctrl-C, which the first process handles, and end when that process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_rarely()
    end_quickly()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOKS)
    os._exit(1)


def _apart(function: Callable[[Any], R], item: Any, are_failures_collected: bool) -> tuple[R, Sequence[Failure]]:  # noqa: FBT001  a pool calls it
    """Return function(item) and the failures of its items, in another process."""
    with overflow_is_missing():
        if not are_failures_collected:
            return function(item), ()
        with collecting() as failures:
            return function(item), failures
