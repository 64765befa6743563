"""The file of a tile's summaries in the making: what belongs to single cells as it comes, then all the rest."""

from collections.abc import Callable
from typing import Any

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from geouq.interrupts import deferred_interrupts
from geouq.summary.layout import ENTRY, EXPLAINED, coordinates, global_attributes, variables
from geouq.summary.netcdf import NetCDFWriter
from geouq.summary.tile import TileSummary

ENTRIES = 1 << 16  # of cells' profiles; more than these go to the file before it is complete

Array = NDArray[Any]


class TileWriter:
    """A tile's part of a file: entries of the cells' profiles as they come, then all the rest at once.

    One thread at a time may use it.
    """

    def __init__(
        self, group: h5py.Group, key: str, require_room: Callable[[], None], *, compressed: bool = False
    ) -> None:
        self._file = NetCDFWriter(group, compressed=compressed)
        self._key = key
        self._require_room = require_room
        self._waiting: list[tuple[Array, ...]] = []
        self._count = 0
        self._grown: tuple[Any, ...] = ()
        self.finished = False

    def append(self, variable: ArrayLike, cell: ArrayLike, key: ArrayLike, sums: ArrayLike) -> None:
        """Entries of the profiles of some cells, copied.

        They may come in any order, but the entries of one cell and variable come together: none of another cell of that
        variable lies between them, in this call or another, as `cells_in_parts` takes such a cell for a new one.

        variable : number of the variable that they belong to, from 0, or one for each. cell, key (entries) and sums
        (entries, 4, or 6 where pixels have weights, in the order of `FIELDS`).
        """
        keys = np.array(key, np.uint16)
        owner = np.full(len(keys), variable, np.uint16)
        self._waiting.append((owner, np.array(cell, np.uint32), keys, np.array(sums, np.float32)))
        self._count += len(keys)
        if self._count >= ENTRIES:
            with deferred_interrupts():
                self._write_waiting(self._count // ENTRIES * ENTRIES)

    def finish(self, summary: TileSummary) -> None:
        """Write the summary, with the entries that its cells still hold."""
        self._require_room()
        with deferred_interrupts():
            self._write_all(summary)
        self.finished = True

    def _write_all(self, summary: TileSummary) -> None:
        for number, part in enumerate(summary.variables.values()):
            self.append(number, part.cells.entry_cell, part.cells.entry_key, part.cells.entry_sums)
        columns = next(iter(summary.variables.values())).cells.entry_sums.shape[-1]
        self._file.attributes(global_attributes(summary, self._key))
        for coordinate in coordinates(summary, columns):
            self._file.coordinate(*coordinate)
        for variable in variables(summary):
            if variable.values.size:
                self._file.variable(*variable)
        self._write_entries()

    def _write_waiting(self, count: int) -> None:
        """Move that many of the waiting entries to the end of the file."""
        self._require_room()
        columns = self._gathered()
        if not self._grown:
            self._grown = tuple(
                self._file.growing(name, values.dtype, values.shape[1:], ENTRIES, compressed=values.ndim == 1)
                for name, values in zip(ENTRY, columns, strict=True)
            )
        for dataset, values in zip(self._grown, columns, strict=True):
            before = len(dataset)
            dataset.resize(before + count, axis=0)
            dataset[before:] = values[:count]
        self._waiting = [tuple(values[count:] for values in columns)]
        self._count -= count

    def _write_entries(self) -> None:
        """Write what is left of the entries; few of them need no room to grow."""
        if self._grown:
            self._write_waiting(self._count)
            for (name, dimensions), dataset in zip(ENTRY.items(), self._grown, strict=True):
                self._file.label_grown(dataset, dimensions, EXPLAINED[name])
        elif self._count:
            for (name, dimensions), values in zip(ENTRY.items(), self._gathered(), strict=True):
                self._file.variable(name, dimensions, values, EXPLAINED[name])

    def _gathered(self) -> tuple[Array, ...]:
        return tuple(np.concatenate(column) for column in zip(*self._waiting, strict=True))
