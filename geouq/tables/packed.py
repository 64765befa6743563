"""Rows of tables that take little memory, as those of thousands of tiles would otherwise take most of it."""

import math
from array import array
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from itertools import chain, islice
from typing import Any, overload

from geouq.tables.columns import COLUMN

Row = dict[str, Any]  # as in `rows`, which is above
Values = tuple[Any, ...]

MISSING = -1 << 63  # of whole numbers
NUMBERS = {"number": "d", "whole": "q"}


class PackedRows(Sequence[Row]):
    """Rows as they are, then rows of which only the values are kept, column by column; each is made when it is read.

    columns : names of all columns. first : the rows that are kept as they are.
    """

    def __init__(self, columns: Sequence[str], first: Iterable[Row] = ()) -> None:
        self._first, self._names = tuple(first), tuple(columns)
        self._columns: list[MutableSequence[Any]] = [_empty(COLUMN[name].kind) for name in self._names]
        self._texts: dict[Any, Any] = {}  # each text once: those from other processes are copies

    def extend(self, rows: Iterable[Row]) -> None:
        """Pack more rows; a value that a row lacks is missing."""
        for row in rows:
            for name, column in zip(self._names, self._columns, strict=True):
                value = row.get(name)
                if not isinstance(column, array):
                    column.append(self._texts.setdefault(value, value))
                elif value is None:
                    column.append(math.nan if column.typecode == "d" else MISSING)
                else:
                    column.append(value)

    @property
    def first(self) -> Sequence[Row]:
        """Return the rows that are kept as they are."""
        return self._first

    def after(self, first: Iterable[Row]) -> "PackedRows":
        """Return the packed rows after these, which are kept as they are."""
        found = PackedRows(self._names, first)
        found._columns = self._columns
        return found

    def values(self) -> Iterator[Values]:
        """Yield the values of each row in the order of the columns."""
        kept = (tuple(row.get(name) for name in self._names) for row in self._first)
        return chain(kept, zip(*map(_unpacked, self._columns), strict=True))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # rows are dictionaries

    def __len__(self) -> int:
        return len(self._first) + len(self._columns[0])

    def __iter__(self) -> Iterator[Row]:
        packed = zip(*map(_unpacked, self._columns), strict=True)
        return chain(self._first, (dict(zip(self._names, values, strict=True)) for values in packed))

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        """Return a row, or some."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        return next(islice(iter(self), place, None))


def _empty(kind: str) -> MutableSequence[Any]:
    return array(NUMBERS[kind]) if kind in NUMBERS else []


def _unpacked(column: MutableSequence[Any]) -> Iterable[Any]:
    if not isinstance(column, array):
        return column
    if column.typecode == "d":
        return (None if math.isnan(value) else value for value in column)
    return (None if value == MISSING else value for value in column)
