"""Tiles on the workers of a cluster: each is swept by one worker, and its files are written there or sent back.

A worker writes into the folder of the run if it finds there a token that this machine wrote, and may write. Otherwise
it sends its files, and this machine writes them.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from uuid import uuid4

from geouq.core.atomic import atomic_write, temporary
from geouq.core.errors import WorkersLostError
from geouq.core.failures import Failure
from geouq.core.grid import SQUARE
from geouq.pipeline.tiles import TileWork, sweep_for, sweep_into
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.reading.cutting import Pieces, Reading
from geouq.runs.plan import slots
from geouq.runs.progress import Reporter, Silent
from geouq.runs.provenance import code_target, code_target_is
from geouq.runs.store import SummariesUnderWay, forget_zones, key_of_tile, path_of_tile
from geouq.summary import TileSummary
from geouq.summary.tile_file import key_of_file
from geouq.sweep.cluster import Cluster
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, InMemory, TileSum, sweep_piece
from geouq.sweep.tiles import for_each_tile
from geouq.sweep.workers import AtOnce, Task, in_order, workers

ANY_NUMBER = sys.maxsize  # of tasks: as many as the workers have threads
LARGE = 1 << 30  # pixels of all variables of a tile that several workers sweep
BATCH = 64  # small tiles that a worker sweeps at a time
VISIBLE = 60.0  # seconds after which a shared folder shows what another machine wrote
Swept = tuple[list[Failure], set[str]]
_checking = Lock()
_under_way: dict[tuple[Path, str], Lock] = {}  # by folder and name of a tile


@dataclass(frozen=True)
class _Order:
    """What a worker is to do.

    folder : that of the run. token : a file in it, and what it holds. target : what keys of summaries name as CPU and
    compilers. together : whether summaries are sent back, as they share a file with those of other workers.
    """

    tiles: tuple[Tile, ...]
    work: TileWork
    folder: Path
    token: tuple[Path, str]
    target: tuple[str, ...]
    together: bool


@dataclass(frozen=True)
class _Done:
    """What a worker did: failures, names of tiles whose zones are saved, and what it did not write itself.

    shared : whether it wrote into the folder of the run. refused : why it could not write there.
    """

    failures: Sequence[Failure] = ()
    with_zones: frozenset[str] = frozenset()
    summaries: Sequence[TileSummary] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    shared: bool = False
    refused: OSError | None = None
    target: tuple[str, ...] = ()


def in_flight(pool: Executor, count: int) -> int:
    """Return how many tasks may be under way for so many workers; a cluster counts its own."""
    return ANY_NUMBER if isinstance(pool, Cluster) else slots(count)


def sweep_on_cluster(
    tiles: Sequence[Tile], work: TileWork, folder: Path, cluster: Cluster, reporter: Reporter
) -> Swept:
    """Do what `sweep_into` does on a cluster: a worker sweeps a tile alone, and several a large one."""
    if not tiles:
        return [], set()
    cluster.prepare(partial(warm_up, work.settings, tiles[0]))
    large = [tile for tile in tiles if _size(tile) > LARGE]
    how: dict[str, Any] = {"pool": cluster, "in_flight": ANY_NUMBER, "reporter": reporter}
    failures, with_zones = sweep_into(folder, large, work, **how) if large else ([], set())
    others = [tile for tile in tiles if _size(tile) <= LARGE]
    with SummariesUnderWay(folder, work.settings, others, reporter.advance) as files, _token(folder) as token:
        saving = _Saving(folder, files, work, reporter, failures, with_zones)
        orders = _orders(others, work, folder, token, files)
        killed: list[_Order] = []
        saving.take_all(in_order(orders, "sweep", cluster, ANY_NUMBER), lambda order, _: killed.append(order))
        alone = [_task(replace(order, tiles=(tile,))) for order in killed for tile in order.tiles]
        saving.take_all(in_order(alone, "sweep", cluster, 1), saving.fail)
    return failures, with_zones


def write_on_cluster(
    work: Sequence[tuple[Tile, Callable[[], Any]]], folder: Path, cluster: Cluster, count: int, reporter: Reporter
) -> Iterator[tuple[Tile, Any]]:
    """Yield what the work on each tile gives, which writes into a folder; this machine does what workers cannot."""
    left, own = [], {tile.name: write for tile, write in work}
    with _token(folder) as token:
        there = ((tile, partial(_if_shared, token, write)) for tile, write in work)
        for tile, outcome in for_each_tile(there, "maps", cluster, ANY_NUMBER):
            if outcome is None:
                left.append((tile, own[tile.name]))
            else:
                yield tile, outcome
    if left:
        reporter.say(f"this machine writes maps of {len(left)} tiles, as workers cannot write into {folder}")
        with workers(count) as threads:
            yield from for_each_tile(left, "maps", threads, slots(count))


def warm_up(settings: Settings, tile: Tile) -> None:
    """Compile what a sweep of tiles like this one calls, or load what is compiled: sweep some pixels of its middle."""
    pieces = Pieces(tile.grid, Reading(SQUARE, SQUARE))
    thresholds = {variable.name: variable.thresholds for variable in tile.variables}
    kinds: dict[str, Any] = {"weighted": tile.weighted, "given": tile.given, "distributions": tile.distributions}
    total = TileSum.empty(tile.name, tile.grid, thresholds, settings, InMemory(), **kinds)
    total.add(sweep_piece(settings, tile, pieces[len(pieces) // 2], pieces.reading))
    total.summary()


def _orders(
    tiles: Sequence[Tile], work: TileWork, folder: Path, token: tuple[Path, str], files: SummariesUnderWay
) -> Iterator[Task]:
    """Yield a task for each tile with a file of its own, and for some small ones at a time that share one."""

    def task(some: Sequence[Tile], *, together: bool) -> Task:
        """Return the task of some tiles."""
        return _task(_Order(tuple(some), work.of(some), folder.absolute(), token, code_target(), together))

    small: list[Tile] = []
    for tile in tiles:
        if not files.is_shared(tile.name):
            yield task([tile], together=False)
            continue
        small.append(tile)
        if len(small) == BATCH:
            yield task(small, together=True)
            small = []
    if small:
        yield task(small, together=True)


def _task(order: _Order) -> Task:
    return Task(order.tiles[0], 0, 1, partial(_carry_out, order))


def _size(tile: Tile) -> int:
    return tile.grid.pixels * len(tile.variables)


@contextmanager
def _token(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield a file in the folder that is there for this block, and its content."""
    with temporary(folder.absolute() / "shared", "token") as path:
        content = uuid4().hex
        path.write_text(content)
        yield path, content


@dataclass(frozen=True)
class _Saving:
    """Saves what workers send, and waits for what they wrote.

    told : the sentences about workers that were said.
    """

    folder: Path
    files: SummariesUnderWay
    work: TileWork
    reporter: Reporter
    failures: list[Failure]
    with_zones: set[str]
    told: set[str] = field(default_factory=set)

    def take_all(
        self, outcomes: Iterable[tuple[Task, _Done | Failure]], on_killed: Callable[[_Order, Failure], None]
    ) -> None:
        """Save what workers did; hand on the orders whose workers ended."""
        for task, outcome in outcomes:
            order: _Order = task.work.args[0]  # type: ignore[attr-defined]
            if isinstance(outcome, _Done):
                self._take(order, outcome)
            elif outcome.error == WorkersLostError.__name__:
                on_killed(order, outcome)
            else:
                self.fail(order, outcome)

    def fail(self, order: _Order, failure: Failure) -> None:
        """Report that no tile of an order could be swept."""
        for tile in order.tiles:
            self._fail(replace(failure, tile=tile.name))

    def _take(self, order: _Order, done: _Done) -> None:
        if done.refused is not None:
            raise done.refused
        self._tell(order, done)
        for name, content in done.files.items():
            with atomic_write(self.folder / name) as part:
                part.write_bytes(content)
        for summary in done.summaries:
            self.files.keep(summary)
        self.files.write_waiting()
        self.with_zones.update(done.with_zones)
        for failure in done.failures:
            self._fail(failure)
        failed = {failure.tile for failure in done.failures if failure.stage == "sweep"}
        for tile in order.tiles:
            if not (order.together or tile.name in failed):
                self._require_visible(tile)

    def _fail(self, failure: Failure) -> None:
        """Report a failure of a tile, or of its zones alone; remove its zones of an earlier run."""
        for layer in self.work.layers[failure.tile]:
            forget_zones(self.folder, failure.tile, layer)
        self.failures.append(failure)
        self.reporter.say(f"tile {failure.tile} failed: {failure.message}")
        if failure.stage == "sweep":
            self.files.abandon(failure.tile)
            self.reporter.advance(failure.tile)

    def _require_visible(self, tile: Tile) -> None:
        """Wait for the summary that a worker wrote, as a shared folder may show it late."""
        path, key = path_of_tile(self.folder, tile.name), key_of_tile(tile, self.work.settings)
        end = time.monotonic() + VISIBLE
        while not (path.exists() and key_of_file(path) == key):
            if time.monotonic() > end:
                reason = f"{path} is not visible here {VISIBLE:.0f} s after a worker wrote it"
                self._fail(Failure(tile.name, "sweep", "DataError", reason))
                return
            time.sleep(VISIBLE / 100)
        self.reporter.advance(tile.name)

    def _tell(self, order: _Order, done: _Done) -> None:
        """Say once how results come, and that a worker has another CPU."""
        if not order.together:
            how = "write results into" if done.shared else "send results back, as they cannot write into"
            self._say(f"workers {how} {self.folder}")
        if done.target != order.target:
            self._say("a worker has another CPU or compiler than this machine: the last digits of numbers may differ")

    def _say(self, line: str) -> None:
        if line not in self.told:
            self.told.add(line)
            self.reporter.say(line)


class _Sent:
    """Keeps summaries of small tiles, which share files, until they are sent."""

    def __init__(self) -> None:
        self.summaries: list[TileSummary] = []

    def begin(self, tile: Tile) -> EntryStore:  # noqa: ARG002  of any tile
        """Keep entries in memory."""
        return InMemory()

    def keep(self, summary: TileSummary) -> None:
        """Keep a summary."""
        self.summaries.append(summary)

    def abandon(self, name: str) -> None:
        """Do nothing."""


def _carry_out(order: _Order) -> _Done:
    """Sweep the tiles of an order on a worker.

    What a run that is gone has left under way in another thread of this process ends first, as both write one file.
    """
    shared, own = _shares(order.token), code_target()
    alone = _under_way.setdefault((order.folder, order.tiles[0].name), Lock())
    with (
        alone,
        TemporaryDirectory(prefix="geouq-") as temporary_folder,
        code_target_is(order.target),
        gdal_options(),
    ):
        folder = order.folder if shared else Path(temporary_folder)
        sent = _Sent()
        how: dict[str, Any] = {"pool": AtOnce(), "in_flight": 1, "reporter": Silent()}
        try:
            if order.together:
                failures, with_zones = sweep_for(sent, folder, order.tiles, order.work, **how)
            else:
                failures, with_zones = sweep_into(folder, order.tiles, order.work, **how)
        except OSError as error:
            return _Done(refused=error)
        files = {} if shared else {path.relative_to(folder).as_posix(): path.read_bytes() for path in _files(folder)}
        return _Done(failures, frozenset(with_zones), sent.summaries, files, shared, None, own)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _shares(token: tuple[Path, str]) -> bool:
    """Return whether this worker can write into the folder of a token; one thread at a time finds out."""
    with _checking:
        return _is_shared(*token)


@cache
def _is_shared(token: Path, content: str) -> bool:
    """Return whether this worker finds the token of the run in its folder, and what it writes there."""
    try:
        if token.read_text() != content:
            return False
        with temporary(token.with_name(f"{content}.answer")) as answer:
            answer.write_text(content)
            return answer.read_text() == content
    except OSError:
        return False


def _if_shared(token: tuple[Path, str], write: Callable[[], Any]) -> Any:
    """Return what a worker that shares the folder of the run wrote into it; None on others."""
    return write() if _shares(token) else None
