"""A tile in the making: the sums of its variables, and where the entries of its cells go."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geouq.grid import Grid
from geouq.summary import TileSummary
from geouq.sweep.accumulate import PieceSum, VariableSum
from geouq.sweep.settings import Settings

NOTHING: Mapping[str, float] = MappingProxyType({})
Entries = tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.float32]]


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
        """Take entries of one variable."""
        self._parts.setdefault(variable, []).append((cell, key, sums))

    def entries(self, variable: int) -> Entries:
        """All entries of one variable."""
        if variable not in self._parts:
            return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, 4), np.float32)
        cell, key, sums = (np.concatenate(column) for column in zip(*self._parts[variable], strict=True))
        order = np.lexsort((key, cell))
        return cell[order], key[order], sums[order]


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
    ) -> Self:
        """Return a tile of which no piece has come in; `variables` gives the thresholds of each by name.

        given : level of the intervals that the forecast gives, by variable, where that is not the same for all.
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
        """All pieces, and the entries that the store hands back; the sums are spent with that."""
        variables = {
            name: self.variables.pop(name).summary(*self.store.entries(i))
            for i, name in enumerate(tuple(self.variables))
        }
        return TileSummary(self.name, self.grid, self.cell_size, variables)
