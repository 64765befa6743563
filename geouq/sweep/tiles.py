"""Windows to summaries: the pixels of a tile, read once, are added up group by group.

Pieces of tiles (see `cutting`) are worked on in any order, but their groups are added in one, so results have the same
bits whatever the number of threads, processes or machines, and whatever the windows.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import DataError
from geouq.core.failures import Failure
from geouq.kernel import collect_keys
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import require_same_versions, unchanged
from geouq.reading.cutting import Piece, Pieces, Reading
from geouq.reading.reader import TileReader
from geouq.summary import TailPixels, TileSummary
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, InMemory, TileSum, visits_of
from geouq.sweep.workers import Task, in_order, stop_if_requested
from geouq.sweep.zone_sums import (
    Pass,
    StoreFor,
    ZonePart,
    ZoneSums,
    in_memory,
    sweep_with_zones,
    sweep_zones_of_piece,
)
from geouq.zones.masks import Zones

R = TypeVar("R")
Ints = NDArray[np.int64]
ReadingOf = Callable[[Tile], Reading]
OnPiece = Callable[[Piece, Reading], Any]
ZonesOf = Callable[[Tile], Mapping[str, Zones]]
Batched = Callable[[Tile, Mapping[str, Zones]], Sequence[Mapping[str, Zones]]]
CHECKS = 4  # tiles whose files on servers are looked at again, while others are swept
LAST_ANSWERS = 5.0  # seconds that an interrupted run waits for servers
UnderWay = Callable[[str, float], None]  # takes the name of a tile and the share of its pieces that are done


def reading_by_default(tile: Tile) -> Reading:  # noqa: ARG001  that of any tile
    """Return the windows of 512 pixels, which stay in cache."""
    return Reading()


def no_progress(tile: str, share: float) -> None:
    """Say nothing of a tile that is under way."""


def all_together(tile: Tile, layers: Mapping[str, Zones]) -> Sequence[Mapping[str, Zones]]:  # noqa: ARG001  any tile
    """Return the zones of a tile in one batch."""
    return [layers]


def without_zones(tile: Tile) -> Mapping[str, Zones]:  # noqa: ARG001  any tile
    """Return no zones."""
    return {}


@dataclass(frozen=True)
class ZoneSweep:
    """The zones that are summed together with the tiles, from the same windows.

    layers_of : returns the layers of zones of a tile. store_for : returns where the entries of the cells of a zone go.
    take : called with each zone as it is completed, before its tile, and with the failure of the zones of a tile.
    """

    layers_of: ZonesOf = without_zones
    store_for: StoreFor = in_memory
    take: "Callable[[Zone | Failure], None]" = lambda _: None


NO_ZONES = ZoneSweep()


def sweep_tiles(
    tiles: Iterable[Tile],
    settings: Settings,
    pool: Executor,
    in_flight: int,
    *,
    reading_of: ReadingOf = reading_by_default,
    store_for: Callable[[Tile], EntryStore] = lambda _: InMemory(),
    zones: ZoneSweep = NO_ZONES,
    under_way: UnderWay = no_progress,
    complete: "CompleteTiles | None" = None,
) -> Iterator[TileSummary | Failure]:
    """Yield the summaries of tiles as they are completed, or why there is none; at most `in_flight` pieces at once.

    Entries of cells go to the tile's store as they come; of a store that does not hand them back, the summary's cells
    are without profiles. If the loop over the summaries is interrupted, `complete` has those that it did not get.
    """

    def begin(tile: Tile) -> TileSum:
        """Return the empty sums of a tile."""
        thresholds = {variable.name: variable.thresholds for variable in tile.variables}
        kinds: dict[str, Any] = {"weighted": tile.weighted, "given": tile.given, "distributions": tile.distributions}
        return TileSum.empty(tile.name, tile.grid, thresholds, settings, store_for(tile), **kinds)

    def tasks() -> Iterator[Task]:
        """Yield the pieces of all tiles."""
        for tile in tiles:
            reading, layers = reading_of(tile), zones.layers_of(tile)
            pieces = Pieces(tile.grid, reading)
            passes[tile.name] = _Passes(tile, [layers], pieces)
            yield from tasks_of(tile, reading, partial(sweep_with_zones, settings, Pass(layers), tile))

    passes: dict[str, _Passes] = {}
    outcomes = _taking_zones(in_order(tasks(), "sweep", pool, in_flight), passes, settings, zones)
    yield from added_up(outcomes, begin, under_way, complete)


def _taking_zones(
    outcomes: Iterable[tuple[Task, Any]], passes: dict[str, "_Passes"], settings: Settings, zones: ZoneSweep
) -> Iterator[tuple[Task, Any]]:
    """Yield the outcomes of pieces without the parts of zones in them, which are added up."""
    coarse, failed = replace(settings, tail=0), set[str]()
    for task, outcome in outcomes:
        name = task.tile.name
        if isinstance(outcome, Failure):
            yield task, outcome
            continue
        of_tile, of_zones = outcome
        if isinstance(of_zones, Failure):
            if name not in failed:
                zones.take(of_zones)
            failed.add(name)
        if name not in failed:
            for zone in passes[name].add(task.place, of_zones, coarse, zones.store_for):
                zones.take(zone)
        if task.place == task.count - 1:
            del passes[name]
        yield task, of_tile


def added_up(
    outcomes: Iterable[tuple[Task, Any]],
    begin: Callable[[Tile], TileSum],
    under_way: UnderWay = no_progress,
    complete: "CompleteTiles | None" = None,
) -> Iterator[TileSummary | Failure]:
    """Summaries of tiles from their pieces in order, each begun with its first piece, or why there is none."""
    sums: dict[str, TileSum] = {}
    complete = complete or CompleteTiles()
    pool = ThreadPoolExecutor(CHECKS, "geouq")
    try:
        for task, outcome in outcomes:
            name = task.tile.name
            if isinstance(outcome, Failure):
                sums.pop(name, None)
                yield outcome
                continue
            if task.place == 0:
                sums[name] = begin(task.tile)
            sums[name].add(outcome)
            if task.place == task.count - 1:
                is_remote = _takes_requests(task.tile)
                check = (pool.submit if is_remote else _at_once)(_unless_changed, task.tile, "sweep")
                complete.add(sums.pop(name), check)
                yield from complete.checked(CHECKS if is_remote else 0)
            else:
                under_way(name, (task.place + 1) / task.count)
        yield from complete.checked(0)
    finally:
        pool.shutdown(wait=False)  # `complete` takes the answers that are still to come


class CompleteTiles:
    """Tiles of which all pixels are summed, while their servers are asked whether their files have changed."""

    def __init__(self) -> None:
        self._waiting = deque[tuple[TileSum, Future[Failure | None]]]()

    def add(self, total: TileSum, check: Future[Failure | None]) -> None:
        """Add a tile, and the check that returns why it has failed."""
        self._waiting.append((total, check))

    def checked(self, most: int) -> Iterator[TileSummary | Failure]:
        """Yield the summaries of the first tiles, or why they have failed, until at most so many are left."""
        while self._waiting and (len(self._waiting) > most or self._waiting[0][1].done()):
            total, check = self._waiting[0]
            failure = check.result()
            self._waiting.popleft()
            yield failure or total.summary()

    def left(self) -> Iterator[TileSummary | Failure]:
        """Yield those that are left after an interruption, if their servers answer within some seconds."""
        answered = wait([check for _, check in self._waiting], timeout=LAST_ANSWERS).done
        while self._waiting:
            total, check = self._waiting.popleft()
            if check not in answered:
                check.cancel()
            elif check.exception() is None:
                yield check.result() or total.summary()


def _at_once(function: Callable[..., R], *arguments: Any) -> Future[R]:
    """Return what a function returns, as an executor would; to wait for another thread takes longer."""
    done = Future[R]()
    done.set_result(function(*arguments))
    return done


def _takes_requests(tile: Tile) -> bool:
    return any(raster.is_remote for raster in tile.rasters.values())


def _unless_changed(tile: Tile, stage: str) -> Failure | None:
    """Return why a tile has failed where a file on a server or a folder changed while it was read."""
    try:
        require_same_versions(tile.rasters.values())
    except DataError as error:
        return Failure(tile.name, stage, type(error).__name__, str(error))
    return None


@dataclass(frozen=True)
class Zone:
    """A zone that is complete: its tile, its layer, its name, and what its pixels add up to."""

    tile: Tile
    layer: str
    name: str
    summary: TileSummary


def sweep_zones(
    work: Iterable[tuple[Tile, Mapping[str, Zones]]],
    settings: Settings,
    pool: Executor,
    in_flight: int,
    *,
    reading_of: ReadingOf = reading_by_default,
    batched: Batched = all_together,
    store_for: StoreFor = in_memory,
    under_way: UnderWay = no_progress,
) -> Iterator[Zone | Failure | Tile]:
    """Yield the zones of tiles, by layer, as they are completed; after the last of a tile that tile, or why it failed.

    Each batch of a tile's zones is a pass over the windows that they lie in. Single pixels are kept only of zones that
    have few, so that bins of larger ones have edges on the profile.
    """
    coarse, passes = replace(settings, tail=0), dict[str, _Passes]()

    def tasks() -> Iterator[Task]:
        """Yield the pieces of all tiles, for each batch of zones."""
        for tile, layers in work:
            reading = reading_of(tile)
            own = passes[tile.name] = _Passes(tile, batched(tile, layers), Pieces(tile.grid, reading))
            batches = map(Pass, own.batches)
            for place, (batch, piece) in enumerate(product(batches, range(len(own.pieces)))):
                on_piece = partial(_on_piece, partial(sweep_zones_of_piece, coarse, batch, tile), own.pieces, piece)
                yield Task(tile, place, len(own.batches) * len(own.pieces), on_piece)

    for task, outcome in in_order(tasks(), "zones", pool, in_flight):
        tile = task.tile
        if isinstance(outcome, Failure):
            del passes[tile.name]
            yield outcome
            continue
        yield from passes[tile.name].add(task.place, outcome, coarse, store_for)
        if task.place == task.count - 1:
            del passes[tile.name]
            yield _unless_changed(tile, "zones") or tile
        else:
            under_way(tile.name, (task.place + 1) / task.count)


@dataclass(frozen=True)
class _Passes:
    """The passes over a tile: the zones of each, the pieces that it is read in, and the sums of the one under way."""

    tile: Tile
    batches: Sequence[Mapping[str, Zones]]
    pieces: Pieces
    sums: list[ZoneSums] = field(default_factory=list)

    def add(self, place: int, parts: Sequence[ZonePart], settings: Settings, store_for: StoreFor) -> Iterator[Zone]:
        """Add what the next piece gives to zones, and give those that are complete."""
        batch, piece = divmod(place, len(self.pieces))
        if piece == 0:
            self.sums[:] = [ZoneSums(self.tile, self.batches[batch], settings, store_for)]
        (total,) = self.sums
        yield from (Zone(self.tile, *complete) for complete in total.completed(self.pieces[piece].windows[0].row))
        total.add(parts)
        if piece == len(self.pieces) - 1:
            yield from (Zone(self.tile, *complete) for complete in total.completed(self.tile.grid.shape[0]))


def for_each_tile(
    work: Iterable[tuple[Tile, Callable[[], Any]]], stage: str, pool: Executor, in_flight: int
) -> Iterator[tuple[Tile, Any]]:
    """Yield what the work on each tile gives, or a Failure, as they are completed."""
    tasks = (Task(tile, 0, 1, partial(_with_gdal_options, on_tile)) for tile, on_tile in work)
    for task, outcome in in_order(tasks, stage, pool, in_flight):
        yield task.tile, outcome


def collect_pixels(
    wanted: Mapping[str, Mapping[str, Ints]],
    tiles: Iterable[Tile],
    settings: Settings,
    pool: Executor,
    in_flight: int,
    *,
    reading_of: ReadingOf = reading_by_default,
    under_way: UnderWay = no_progress,
) -> Iterator[tuple[Tile, dict[str, TailPixels] | Failure]]:
    """Yield the second sweep: every pixel of the wanted keys of each tile and variable."""
    found: dict[str, list[Mapping[str, NDArray[np.float64]]]] = {}
    tasks = (
        task
        for tile in tiles
        for task in tasks_of(tile, reading_of(tile), partial(_collect_piece, wanted[tile.name], tile))
    )
    for task, outcome in in_order(tasks, "exact bins", pool, in_flight):
        name = task.tile.name
        if isinstance(outcome, Failure):
            found.pop(name, None)
            yield task.tile, outcome
            continue
        found.setdefault(name, []).append(outcome)
        if task.place == task.count - 1:
            kept = _kept(found.pop(name), wanted[name], settings)
            yield task.tile, _unless_changed(task.tile, "exact bins") or kept
        else:
            under_way(name, (task.place + 1) / task.count)


def tasks_of(tile: Tile, reading: Reading, work: OnPiece) -> Iterator[Task]:
    """Yield a task for each piece of a tile."""
    pieces = Pieces(tile.grid, reading)
    for place in range(count := len(pieces)):
        yield Task(tile, place, count, partial(_on_piece, work, pieces, place))


def _on_piece(work: OnPiece, pieces: Pieces, place: int) -> Any:
    return work(pieces[place], pieces.reading)


def _with_gdal_options(work: Callable[[], Any]) -> Any:
    stop_if_requested()
    with gdal_options():
        return work()


def _collect_piece(
    keys: Mapping[str, Ints], tile: Tile, piece: Piece, reading: Reading
) -> dict[str, NDArray[np.float64]]:
    """Return the pixels of the wanted keys of each variable in a piece."""
    reader = TileReader(tile, reuse=True)
    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in keys}
    with gdal_options(reading.cache), unchanged(tile.rasters.values()):
        for variables, windows in visits_of(tile, piece):
            wanting = [name for i in variables if len(keys.get(name := tile.variables[i].name, ()))]
            for window in windows:
                for variable in (variable for variable in tile.variables if variable.name in wanting):
                    stop_if_requested()
                    pixels = reader.read(variable, window)
                    if pixels.read:
                        found[variable.name].append(collect_keys(pixels.pixels, pixels.nodata, keys[variable.name]))
    columns = 3 if tile.weighted else 2
    return {name: np.concatenate([np.empty((0, columns)), *parts]) for name, parts in found.items()}


def _kept(
    parts: Sequence[Mapping[str, NDArray[np.float64]]], wanted: Mapping[str, Ints], settings: Settings
) -> dict[str, TailPixels]:
    return {
        name: TailPixels.ordered(settings.tail, keys, np.concatenate([part[name] for part in parts]))
        for name, keys in wanted.items()
    }
