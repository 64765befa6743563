"""One tile: what its pieces add up to, window by window, and its sums in the making."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import Variable
from geouq.core.distribution import Distribution
from geouq.core.grid import Grid, Window
from geouq.core.validity import TRUTH_NODATA
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import unchanged
from geouq.reading.cutting import Piece, Reading, overlap
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow
from geouq.summary import TileSummary
from geouq.sweep.accumulate import PieceSum, VariablePart, VariableSum
from geouq.sweep.group_sums import GroupSum, Read, add_box, emptied, keep_few, new_group_sum, refuse_negative
from geouq.sweep.settings import Settings
from geouq.sweep.workers import stop_if_requested

NOTHING: Mapping[str, float] = MappingProxyType({})
NORMAL_ALONE: Mapping[str, Distribution] = MappingProxyType({})
Entries = tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.float32]]
ReadOne = Callable[[int, Window], VariableWindow]
OnWindow = Callable[[int, Window, VariableWindow], None]  # takes the number of a variable, a window and its values
Visit = tuple[Sequence[int], Sequence[Window]]  # variables, windows: all variables of a window, then the next window


class EntryStore(Protocol):
    """Takes the entries of cells' profiles as groups come in, as there may be more than memory holds."""

    def append(
        self, variable: int, cell: NDArray[np.uint32], key: NDArray[np.uint16], sums: NDArray[np.float32]
    ) -> None:
        """Keep the entries of some cells of a variable."""

    def entries(self, variable: int) -> Entries:
        """Return all entries of a variable."""


class InMemory:
    """Keeps entries in memory, ordered by cell, then key."""

    def __init__(self) -> None:
        self._parts: dict[int, list[Entries]] = {}

    def append(
        self, variable: int, cell: NDArray[np.uint32], key: NDArray[np.uint16], sums: NDArray[np.float32]
    ) -> None:
        """Take entries of a variable."""
        self._parts.setdefault(variable, []).append((cell, key, sums))

    def __contains__(self, variable: int) -> bool:
        return variable in self._parts

    def entries(self, variable: int) -> Entries:
        """Return all entries of a variable."""
        if variable not in self:
            return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, 4), np.float32)
        cell, key, sums = _joined(self._parts[variable])
        order = np.argsort(cell.astype(np.uint64) << np.uint64(16) | key, kind="stable")  # fast where it is in order
        return cell[order], key[order], sums[order]


def _joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    cell, key, sums = zip(*parts, strict=True)
    return np.concatenate(cell), np.concatenate(key), np.concatenate(sums)


@dataclass(frozen=True)
class TileSum:
    """What the pieces of a tile add up to so far."""

    name: str
    grid: Grid
    cell_size: int
    store: EntryStore
    variables: dict[str, VariableSum]

    @classmethod
    def empty(
        cls,
        name: str,
        grid: Grid,
        variables: Mapping[str, tuple[float, ...]],
        settings: Settings,
        store: EntryStore,
        *,
        weighted: bool,
        given: Mapping[str, float] = NOTHING,
        distributions: Mapping[str, Distribution] = NORMAL_ALONE,
    ) -> Self:
        """Return the sums of a tile without a piece; `variables` gives the thresholds of each by name.

        given : level of the intervals that the forecast gives, by variable, where that is not the same for all.
        distributions : of the variables, if they differ from `settings`.
        """
        sums = {
            variable: VariableSum(
                grid,
                settings,
                partial(store.append, i),
                thresholds,
                weighted=weighted,
                given=given.get(variable, settings.given),
                tile=name,
                distribution=distributions.get(variable, settings.distribution),
            )
            for i, (variable, thresholds) in enumerate(variables.items())
        }
        return cls(name, grid, settings.cell_size, store, sums)

    def add(self, parts: PieceSum) -> None:
        """Add the next piece."""
        for group, part_of_variable in parts:
            for total, part in zip(self.variables.values(), part_of_variable, strict=True):
                total.add(part, group)

    def summary(self) -> TileSummary:
        """Return all pieces, and the entries that the store hands back; the sums are spent with that."""
        variables = {
            name: self.variables.pop(name).summary(*self.store.entries(i))
            for i, name in enumerate(tuple(self.variables))
        }
        return TileSummary(self.name, self.grid, self.cell_size, variables)


def ignore(i: int, window: Window, found: VariableWindow) -> None:
    """Do nothing with a window."""


def sweep_piece(
    settings: Settings, tile: Tile, piece: Piece, reading: Reading, on_window: OnWindow = ignore
) -> PieceSum:
    """Return what a piece of a tile adds up to; DataError names the first negative variance.

    on_window : called with each window that is read; its arrays are used again for the next one.
    """
    reader = TileReader(tile, reuse=True)
    names = [place_of_variance(tile, variable) for variable in tile.variables]

    def read(i: int, window: Window) -> VariableWindow:
        """Read a variable of a window."""
        found = reader.read(tile.variables[i], window)
        on_window(i, window, found)
        return found

    with gdal_options(reading.cache), unchanged(tile.rasters.values()):
        thresholds = [variable.thresholds for variable in tile.variables]
        distributions = [tile.distributions[variable.name] for variable in tile.variables]
        return sweep_windows(
            read,
            piece,
            visits_of(tile, piece),
            settings,
            names,
            thresholds=thresholds,
            weighted=tile.weighted,
            distributions=distributions,
        )


def visits_of(tile: Tile, piece: Piece) -> list[Visit]:
    """Order of reading: all windows of a variable, then the next; but all of a window where bands are interleaved.

    The models of a variable take turns within a window.
    """
    if any(raster.interleaved for raster in tile.rasters.values()):
        return [(range(len(tile.variables)), piece.windows)]
    models: dict[str, list[int]] = {}
    for i, variable in enumerate(tile.variables):
        models.setdefault(variable.variable, []).append(i)
    return [(together, piece.windows) for together in models.values()]


def place_of_variance(tile: Tile, variable: Variable) -> str:
    """Return where the predicted variance of a variable stands."""
    return f"{tile.predictions[variable.model].variance.path}, {variable.variable}"


def sweep_windows(
    read: ReadOne,
    piece: Piece,
    visits: Iterable[Visit],
    settings: Settings,
    names: Sequence[str],
    *,
    thresholds: Sequence[tuple[float, ...]],
    weighted: bool,
    distributions: Sequence[Distribution] = (),
) -> PieceSum:
    """Read windows in the order of `visits`, and add them up by group, with one part for each variable.

    distributions : of the variables, if they differ from `settings`.
    """
    parts: dict[int, list[VariablePart]] = {}
    own = distributions or [settings.distribution] * len(names)
    for variables, windows in visits:
        sums = {
            i: [
                new_group_sum(group, settings, thresholds[i], weighted=weighted, distribution=own[i])
                for group in piece.groups
            ]
            for i in variables
        }
        for window in windows:
            for i in variables:
                stop_if_requested()
                _add_window(read(i, window), window, sums[i], settings, names[i])
        parts |= {i: [emptied(group) for group in groups] for i, groups in sums.items()}
    return [(group, [parts[i][g] for i in range(len(names))]) for g, group in enumerate(piece.groups)]


def _add_window(
    found: VariableWindow, window: Window, groups: Sequence[GroupSum], settings: Settings, name: str
) -> None:
    """Add the boxes of a window to the groups in which they lie."""
    read = None if found.absent else Read(window, found, found.pixels)
    for group in groups:
        box = overlap(window, group.group)
        if box.height <= 0 or box.width <= 0:
            continue
        if read is None:
            group.totals.excluded[TRUTH_NODATA] += box.height * box.width
            continue
        add_box(read, box, group, settings)
        keep_few([(read, box)], group)
        if settings.negative == "error":
            refuse_negative(name, read, group)
