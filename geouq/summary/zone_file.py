"""The summaries of the zones of a tile on disk: one file for a layer of zones, in it a group for each zone.

Each group is what the file of a tile is, and opens with `xarray.open_dataset(path, group="0")`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from geouq.core.errors import SummaryError
from geouq.summary.netcdf import sealed_file
from geouq.summary.tile import TileSummary
from geouq.summary.tile_file import TileWriter, opened

FORMAT = "geouq zone summaries 7"


class ZonesWriter:
    """The file of a layer's zones in the making: each zone as it comes, in any order.

    names : of all zones of the layer, in the order of the tables.
    """

    def __init__(self, file: h5py.File, key: str, names: Sequence[str], require_room: Callable[[], None]) -> None:
        self._file, self._key, self._names, self._require_room = file, key, names, require_room
        self._begun: dict[str, TileWriter] = {}
        self._done: set[str] = set()
        self.finished = False

    def begin(self, zone: str) -> TileWriter:
        """Return the part of the file for a zone; entries of cells may be written to it as they come."""
        group = self._file.create_group(str(self._names.index(zone)))
        return self._begun.setdefault(zone, TileWriter(group, self._key, self._require_room, compressed=True))

    def add(self, zone: str, summary: TileSummary) -> None:
        """Add the summary of one more zone, with its cells."""
        (self._begun.pop(zone, None) or self.begin(zone)).finish(summary)
        self._done.add(zone)

    def finish(self, levels: tuple[float, ...], statistics: Collection[str]) -> None:
        """No more zones; levels and statistics are those that the summaries of all zones keep on request."""
        places = [place for place, name in enumerate(self._names) if name in self._done]
        names = np.array([self._names[place] for place in places], dtype=object)
        self._file.create_dataset("zone", data=names, dtype=h5py.string_dtype(), shape=names.shape)
        self._file.create_dataset("place", data=np.array(places, np.int64))
        self._file.attrs.update(format=FORMAT, key=self._key, levels=list(levels))
        self._file.attrs["statistics"] = "\n".join(sorted(statistics))
        self.finished = True


@contextmanager
def zones_writer(path: Path, key: str, names: Sequence[str]) -> Iterator[ZonesWriter]:
    """Write the zones of a tile one by one; the file takes its name when the block ends well after `finish`."""
    with sealed_file(path, lambda file, require_room: ZonesWriter(file, key, names, require_room)) as writer:
        yield writer


def zones_of_file(path: Path) -> dict[str, str]:
    """Return the zones with summaries in a file, each with its group; raise SummaryError if the file is damaged."""
    with opened(path, kind=FORMAT) as file:
        return {str(zone): str(place) for zone, place in zip(file["zone"].asstr()[()], file["place"][()], strict=True)}


def zones_keep(path: Path, levels: Collection[float], statistics: Collection[str]) -> bool:
    """Return whether the zones of a file keep these levels and statistics."""
    try:
        with opened(path, kind=FORMAT) as file:
            kept = set(str(file.attrs["statistics"]).split("\n"))
            return set(map(float, file.attrs["levels"])) >= set(levels) and kept >= set(statistics)
    except SummaryError:
        return False
