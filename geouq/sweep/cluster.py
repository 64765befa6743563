"""The workers of a running dask scheduler, as an executor: prepared once, counted, and connected again.

Tasks are pickled before dask sees them: a worker compares versions before it unpickles one. What runs there first is
therefore pickled by value, as a worker may have no geouq at all.
"""

import json
import logging
import pickle
import platform
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from geouq.core.errors import ClusterError, ConfigError, WorkersLostError
from geouq.core.wording import counted

PATIENCE = 10.0  # seconds for a scheduler to answer
RETURN = "5 minutes"  # for a scheduler that is gone to come back, unless dask's setting says otherwise
SETTING = "geouq.scheduler-wait"
LOOKS = 1.0  # seconds between looks for a scheduler, and for workers
RECOUNTED = 5.0  # seconds after which workers are counted again
PLUGIN = "geouq"
SAME = ("geouq.version", "numpy", "numba")  # modules whose versions must be those of this machine
LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
Say = Callable[[str], None]
Versions = Mapping[str, str]


class Cluster(Executor):
    """The workers of a dask scheduler. What is under way when it goes is submitted again once it is back.

    place : address of the scheduler, or the file that it writes with --scheduler-file. say : takes lines for the user.
    """

    def __init__(self, place: str, say: Say) -> None:
        self._place, self._say = place, say
        self._lost = deque[tuple[Future[Any], bytes]]()
        self._preparation: Any = None
        self._threads, self._counted, self._missed = 0, 0.0, False
        try:
            self._connect()
        except (OSError, ValueError) as error:
            raise ConfigError(f"--scheduler: no dask scheduler answers at {place} ({error})") from None
        try:
            found = self._client.run(_found_by_value(), SAME, on_error="return")
            self._require_versions({worker: own for worker, own in found.items() if isinstance(own, dict)})
        except ClusterError:
            self.shutdown()
            raise

    @property
    def threads(self) -> int:
        """Number of threads of all workers that are there; at least 1."""
        return max(self._threads, 1)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """Let a worker call a function. Cancel the result to forget it."""
        result: Future[Any] = Future()
        self._send(result, pickle.dumps(partial(function, *arguments, **keywords)))
        return result

    def prepare(self, function: Callable[[], object]) -> None:
        """Call a function once in each worker process, also in those that come later, before they take tasks."""
        self._say("workers compile what a sweep needs, once on each machine")
        self._preparation = _plugin(pickle.dumps(function))
        self._register()

    def keep_up(self) -> None:
        """Count the workers; connect again where the scheduler has gone, and submit what it had; raise ClusterError."""
        if self._client.status != "running":
            self._reconnect()
        while self._lost:
            result, packed = self._lost.popleft()
            if not result.cancelled():
                self._send(result, packed)
        if time.monotonic() - self._counted >= (RECOUNTED if self._threads else LOOKS):
            self._count()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Leave the workers to others."""
        if self._client.status == "running":  # of a scheduler that has gone nothing comes any more
            with suppress(OSError):
                self._executor.shutdown(wait=False)
                if self._preparation is not None:
                    self._client.unregister_worker_plugin(PLUGIN)
        self._client.close()

    def _connect(self) -> None:
        from distributed import Client  # noqa: PLC0415  an optional dependency

        self._client: Any = Client(_address(self._place), timeout=PATIENCE)
        self._executor = self._client.get_executor(pure=False)
        self._counted = 0.0

    def _reconnect(self) -> None:
        """Wait for the scheduler, or for another one at its place."""
        from dask import config  # noqa: PLC0415  no run without a scheduler needs it here
        from dask.utils import parse_timedelta  # noqa: PLC0415  the same

        patience = parse_timedelta(config.get(SETTING, RETURN))
        self._say(f"the dask scheduler at {self._place} no longer answers; waiting {patience:.0f} s for it")
        end = time.monotonic() + patience
        while self._client.status == "connecting" and time.monotonic() < end:
            time.sleep(LOOKS / 10)  # the client tries by itself
        while self._client.status != "running":
            if time.monotonic() > end:
                raise ClusterError(
                    "the dask scheduler no longer answers; finished tiles are kept: start it, and run again"
                )
            with suppress(OSError, ValueError):
                self._connect()
                break
            time.sleep(LOOKS)
        self._say("the dask scheduler is back; tiles that were under way begin again")
        self._register()

    def _register(self) -> None:
        if self._preparation is not None:
            with suppress(OSError):
                self._client.register_plugin(self._preparation, name=PLUGIN)

    def _count(self) -> None:
        self._counted = time.monotonic()
        with suppress(OSError):
            self._threads = sum(self._client.nthreads().values())
        if not self._threads and not self._missed:
            self._say("the dask scheduler has no worker; waiting for one")
        self._missed = not self._threads

    def _send(self, result: Future[Any], packed: bytes) -> None:
        sent = self._executor.submit(_called_by_value(), packed, _versions(SAME))
        result.add_done_callback(lambda done: sent.cancel() if done.cancelled() else None)
        sent.add_done_callback(partial(self._take, result, packed))

    def _take(self, result: Future[Any], packed: bytes, sent: Future[Any]) -> None:
        """Hand on what a worker returned; keep what a scheduler lost for the next one."""
        if result.cancelled():
            return
        if sent.cancelled():
            self._lost.append((result, packed))
        elif result.set_running_or_notify_cancel():
            if error := sent.exception():
                result.set_exception(_of_workers(error))
                return
            value, worker, found = sent.result()
            try:
                self._require_versions({worker: found} if found else {})
            except ClusterError as differs:
                result.set_exception(differs)
            else:
                result.set_result(value)

    @staticmethod
    def _require_versions(of_workers: Mapping[str, Versions]) -> None:
        """Raise ClusterError that names the first worker with other versions than this machine."""
        own = _versions(SAME)
        for worker, found in of_workers.items():
            for name, version in own.items():
                if found[name] != version:
                    shown = name.partition(".")[0]
                    raise ClusterError(
                        f"the worker {worker} has {shown} {found[name]}, and {platform.node()} has {version}: "
                        "results could differ; install the same versions, and run again"
                    )


def require_distributed() -> None:
    """Raise ConfigError if distributed is not installed; otherwise silence what it logs of lost connections."""
    try:
        import_module("distributed")
    except ImportError:
        raise ConfigError("--scheduler needs the package distributed; install geouq[cluster]") from None
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # one message reports what matters


def _address(place: str) -> str:
    """Return the address of a scheduler, which may have written it to a file."""
    if "://" in place or not (place.endswith(".json") or Path(place).is_file()):
        return place
    return str(json.loads(Path(place).read_text(encoding="utf-8"))["address"])


def _versions(names: tuple[str, ...]) -> Versions:
    return {name: str(import_module(name).__version__) for name in names}


def _of_workers(error: BaseException) -> BaseException:
    """Return the error of a task in words for users."""
    if type(error).__name__ != "KilledWorker":
        return error
    count, last = getattr(error, "allowed_failures", 0) + 1, getattr(error, "last_worker", None)
    address = getattr(last, "address", "")
    return WorkersLostError(
        f"{counted(count, 'worker')} ended while working on it, the last one at {address} (see its log): "
        "workers may have too little memory, or a file may crash a library"
    )


def _found_by_value() -> Callable[[tuple[str, ...]], dict[str, str]]:
    """Return a function that returns versions, and is pickled by value."""

    def found(names: tuple[str, ...]) -> dict[str, str]:
        """Return the versions of modules on this worker."""
        from importlib import import_module  # noqa: PLC0415  pickled with the function

        def version(name: str) -> str:
            """Return the version of a module."""
            try:
                return str(import_module(name).__version__)
            except ImportError:
                return "none"

        return {name: version(name) for name in names}

    return found


def _called_by_value() -> Callable[[bytes, Versions], tuple[Any, str, dict[str, str]]]:
    """Return a function that calls what is packed if the versions of this worker are right, and is pickled by value."""
    found = _found_by_value()

    def call(packed: bytes, expected: Versions) -> tuple[Any, str, dict[str, str]]:
        """Return the result; where versions differ the address of this worker and its versions."""
        import pickle  # noqa: PLC0415  pickled with the function

        versions = found(tuple(expected))
        if versions != dict(expected):
            from distributed import get_worker  # noqa: PLC0415  only on a worker

            return None, get_worker().address, versions
        from geouq.core.extensions import load_extensions  # noqa: PLC0415  only where there is geouq

        load_extensions()
        return pickle.loads(packed)(), "", {}  # noqa: S301  packed by the client

    return call


def _plugin(packed: bytes) -> Any:
    """Return a plugin that calls what is packed once in each worker, in a thread, as the worker must stay in touch."""
    from distributed import WorkerPlugin  # noqa: PLC0415  an optional dependency

    class Prepared(WorkerPlugin):
        """Calls a function when a worker starts; its errors come again with tasks, where they are reported."""

        async def setup(self, worker: object) -> None:  # noqa: ARG002  distributed passes it
            """Call the function."""
            import asyncio  # noqa: PLC0415  pickled with the class
            import contextlib  # noqa: PLC0415  the same
            import pickle  # noqa: PLC0415  the same

            def called() -> None:
                """Unpack the function and call it."""
                pickle.loads(packed)()  # noqa: S301  packed by the client

            with contextlib.suppress(Exception):
                await asyncio.to_thread(called)

    return Prepared()
