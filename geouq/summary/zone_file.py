"""The summaries of the zones of a tile on disk: one file for a layer of zones.

Most zones share a group with others, whose arrays are joined. A zone with many entries of cells has a group of its own,
which is what the file of a tile is. Each opens with `xarray.open_dataset(path, group="together_0")`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.core.interrupts import deferred_interrupts
from geouq.summary.netcdf import sealed_file
from geouq.summary.statistic import Statistic
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes
from geouq.summary.tile_file import TileWriter, cells_in_parts, load_place, load_wholes, opened, statistics_of_cells
from geouq.summary.zone_batch import Batch, SavedZone, saved_zone

FORMAT = "geouq zone summaries 11"
T = TypeVar("T")

WAITING = 1 << 25  # bytes of zones that are written together
TOGETHER = "together_"  # and a number: groups of many zones
OPEN = 8  # files whose names of zones are kept


class ZonesWriter:
    """The file of a layer's zones in the making: each zone as it comes, in any order.

    names : of all zones of the layer, in the order of the tables.
    """

    def __init__(self, file: h5py.File, key: str, names: Sequence[str], require_room: Callable[[], None]) -> None:
        self._file, self._key, self._names, self._require_room = file, key, names, require_room
        self._begun: dict[str, TileWriter] = {}
        self._groups: dict[str, str] = {}
        self._waiting, self._batches = Batch(), 0
        self.finished = False

    def begin(self, zone: str) -> TileWriter:
        """Return a part of the file for a zone alone; entries of cells may be written to it as they come."""
        group = self._file.create_group(str(self._names.index(zone)))
        return self._begun.setdefault(zone, TileWriter(group, self._key, self._require_room, compressed=True))

    def add(self, zone: str, summary: TileSummary) -> None:
        """Add the summary of one more zone, with its cells."""
        if own := self._begun.pop(zone, None):
            own.finish(summary)
            self._groups[zone] = str(self._names.index(zone))
            return
        if not self._waiting.takes(summary):
            self._write_waiting()
        self._waiting.add(zone, summary)
        if self._waiting.bytes >= WAITING:
            self._write_waiting()

    def finish(self, levels: tuple[float, ...], statistics: Collection[str]) -> None:
        """No more zones; levels and statistics are those that the summaries of all zones keep on request."""
        if len(self._waiting):
            self._write_waiting()
        groups = {name: self._groups[name] for name in self._names if name in self._groups}
        self._file.create_dataset("groups_of_zones", data=json.dumps(groups))
        self._file.attrs.update(format=FORMAT, key=self._key, levels=list(levels))
        self._file.attrs["statistics"] = "\n".join(sorted(statistics))
        self.finished = True

    def _write_waiting(self) -> None:
        self._require_room()
        group = f"{TOGETHER}{self._batches}"
        with deferred_interrupts():
            written = self._waiting.write(self._file.create_group(group))
        self._groups |= dict.fromkeys(written, group)
        self._waiting, self._batches = Batch(), self._batches + 1


@contextmanager
def zones_writer(path: Path, key: str, names: Sequence[str]) -> Iterator[ZonesWriter]:
    """Write the zones of a tile one by one; the file takes its name when the block ends well after `finish`."""
    with sealed_file(path, lambda file, require_room: ZonesWriter(file, key, names, require_room)) as writer:
        yield writer


def zones_of_file(path: Path) -> Collection[str]:
    """Return the names of the zones with summaries in a file; raise SummaryError if the file is damaged."""
    return _groups_of(path).keys()


def load_zone(path: Path, zone: str, variables: Collection[str] | None = None) -> TileWholes:
    """Read a zone without its cells, with all variables or with some.

    SummaryError where the file is damaged or of another kind, or lacks the zone.
    """
    return _loaded(
        path,
        zone,
        lambda path, group: load_wholes(path, group, variables),
        lambda own: own.wholes(variables),
    )


def place_of_zone(path: Path, zone: str) -> TilePlace:
    """Read where a zone is; SummaryError as `load_zone`."""
    return _loaded(path, zone, load_place, SavedZone.place)


def _loaded(path: Path, zone: str, load_alone: Callable[[Path, str], T], load: Callable[[SavedZone], T]) -> T:
    """Return what a zone has in a group of its own, or in a group of many zones."""
    group = _group_of(path, zone)
    if not group.startswith(TOGETHER):
        return load_alone(path, group)
    with saved_zone(path, group, zone) as own:
        return load(own)


def cells_of_zone(path: Path, zone: str, variable: str) -> Iterator[tuple[NDArray[np.int64], CellSummaries]]:
    """Yield the numbers of some cells of a variable and their summaries, until each cell with pixels has come once.

    SummaryError as `load_zone`, or where the zone lacks the variable.
    """
    group = _group_of(path, zone)
    if not group.startswith(TOGETHER):
        yield from cells_in_parts(path, variable, group)
        return
    with saved_zone(path, group, zone) as own:
        numbers, cells = own.cells(variable)
    yield numbers, cells


def statistics_of_zone(
    path: Path, zone: str, variable: str, names: Sequence[str]
) -> tuple[NDArray[np.int64], dict[str, Statistic]]:
    """Return the numbers of the cells of a variable that hold pixels, and some statistics of these."""
    group = _group_of(path, zone)
    if not group.startswith(TOGETHER):
        return statistics_of_cells(path, variable, names, group)
    with saved_zone(path, group, zone) as own:
        return own.cell_statistics(variable, names)


def zones_keep(path: Path, levels: Collection[float], statistics: Collection[str]) -> bool:
    """Return whether the zones of a file keep these levels and statistics."""
    try:
        with opened(path, kind=FORMAT) as file:
            kept = set(str(file.attrs["statistics"]).split("\n"))
            return set(map(float, file.attrs["levels"])) >= set(levels) and kept >= set(statistics)
    except SummaryError:
        return False


def _group_of(path: Path, zone: str) -> str:
    try:
        return _groups_of(path)[zone]
    except KeyError:
        raise SummaryError(f"{path} does not hold the zone {zone}") from None


def _groups_of(path: Path) -> dict[str, str]:
    """Return the group of each zone of a file."""
    try:
        status = path.stat()
    except OSError as error:
        raise SummaryError(f"{path} cannot be read as summaries of zones ({error}); run again with --fresh") from error
    return _saved_groups(path, status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(OPEN)
def _saved_groups(path: Path, *_signature: int) -> dict[str, str]:
    with opened(path, kind=FORMAT) as file:
        return dict(json.loads(file["groups_of_zones"].asstr()[()]))
