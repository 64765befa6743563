"""Rows of tables that take little memory, as those of thousands of tiles would otherwise take most of it."""

import math
import tempfile
import threading
import weakref
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, overload

from geouq.tables.columns import COLUMN

Row = dict[str, Any]  # as in `rows`, which is above
Values = tuple[Any, ...]

MISSING = -1 << 63  # of whole numbers
TYPES = {"number": "d", "whole": "q", "text": "L"}  # a text is the place among all different texts
TOGETHER = 1 << 12  # rows that are compressed together
FAST = 1  # level of the compression: most columns of tiles are constant, and numbers get no smaller at a higher one
IN_MEMORY = 1 << 20  # bytes of compressed columns; more of them are in a temporary file

Place = tuple[int, int]  # first byte and number of bytes


class _Store:
    """Bytes in memory, or in a temporary file if they are many."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  closed with the last reference to it
        self._turn = threading.Lock()  # the file has one position
        self.bytes = 0
        weakref.finalize(self, self._file.close)

    def put(self, data: bytes) -> Place:
        """Keep bytes; return where they are."""
        with self._turn:
            self._file.seek(self.bytes)
            try:
                self._file.write(data)
            except OSError as error:  # which does not say where
                raise OSError(error.errno, error.strerror, tempfile.gettempdir()) from error
            place = self.bytes, len(data)
            self.bytes += len(data)
        return place

    def get(self, place: Place) -> bytes:
        """Return the bytes of a place."""
        start, length = place
        with self._turn:
            self._file.seek(start)
            return self._file.read(length)

    def __reduce__(self) -> tuple[Any, ...]:
        return _stored, (self.get((0, self.bytes)),)


def _stored(data: bytes) -> _Store:
    """Return a store with these bytes; copies and pickles are made with it."""
    store = _Store()
    store.put(data)
    return store


class _Columns:
    """Columns whose values are compressed, some thousand rows at a time, and kept in a file if they are many."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._types = names, [TYPES[COLUMN[name].kind] for name in names]
        self._open = self._empty()
        self._blocks: list[list[Place]] = []
        self._store = _Store()
        self._compressed = 0  # number of the rows in the blocks
        self._texts: list[Any] = []
        self._places: dict[Any, int] = {}  # of each text among them; each once: those from other processes are copies

    def _empty(self) -> list["array[Any]"]:
        return [array(code) for code in self._types]

    def extend(self, rows: Sequence[Row]) -> None:
        """Pack more rows; a value that a row lacks is missing."""
        for name, column in zip(self._names, self._open, strict=True):
            column.extend(self._packed(column.typecode, [row.get(name) for row in rows]))
        if len(self._open[0]) >= TOGETHER:
            self._compressed += len(self._open[0])
            self._blocks.append([self._store.put(zlib.compress(column, FAST)) for column in self._open])
            self._open = self._empty()

    def values(self) -> Iterator[Values]:
        """Yield the values of each row in the order of the columns."""
        for block in self._blocks:
            parts = (zlib.decompress(self._store.get(place)) for place in block)
            columns = [array(code, part) for code, part in zip(self._types, parts, strict=True)]
            yield from zip(*map(self._unpacked, columns), strict=True)
        yield from zip(*map(self._unpacked, self._open), strict=True)

    def __len__(self) -> int:
        return self._compressed + len(self._open[0])

    @property
    def bytes(self) -> int:
        """Return how much memory the values take at most."""
        return min(self._store.bytes, IN_MEMORY) + sum(len(column) * column.itemsize for column in self._open)

    def _packed(self, code: str, values: Sequence[Any]) -> Iterable[Any]:
        if code == TYPES["text"]:
            return map(self._place_of, values)
        missing = math.nan if code == TYPES["number"] else MISSING
        return (missing if value is None else value for value in values)

    def _unpacked(self, column: "array[Any]") -> Iterable[Any]:
        if column.typecode == TYPES["text"]:
            return map(self._texts.__getitem__, column)
        if column.typecode == TYPES["number"]:
            return (None if math.isnan(value) else value for value in column)
        return (None if value == MISSING else value for value in column)

    def _place_of(self, text: Any) -> int:
        place = self._places.setdefault(text, len(self._texts))
        if place == len(self._texts):
            self._texts.append(text)
        return place


class PackedRows(Sequence[Row]):
    """Rows as they are, then rows of which only the values are kept, compressed; each is made when it is read.

    columns : names of all columns. as_they_are : how many of the rows that come first are not packed.
    """

    def __init__(self, columns: Sequence[str], as_they_are: int = 0) -> None:
        self._first: list[Row] | PackedRows = []
        self._names, self._as_they_are = tuple(columns), as_they_are
        self._columns = _Columns(self._names)

    def extend(self, rows: Iterable[Row]) -> None:
        """Add more rows; a value that a packed row lacks is missing."""
        rows = tuple(rows)
        if isinstance(self._first, list) and len(self) + len(rows) <= self._as_they_are:
            self._first.extend(rows)
        else:
            self._columns.extend(rows)

    @property
    def first(self) -> Sequence[Row]:
        """Return the rows that are kept as they are, or those after which these rows come."""
        return self._first

    def after(self, first: Iterable[Row]) -> "PackedRows":
        """Return the packed rows after these, which stay as they are or packed."""
        found = PackedRows(self._names)
        found._first = first if isinstance(first, PackedRows) else list(first)
        found._columns = self._columns
        return found

    def values(self) -> Iterator[Values]:
        """Yield the values of each row in the order of the columns."""
        return chain(self._values_of_first(), self._columns.values())

    def _values_of_first(self) -> Iterator[Values]:
        if isinstance(self._first, PackedRows):
            return self._first.values()
        return (tuple(row.get(name) for name in self._names) for row in self._first)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # rows are dictionaries

    def __len__(self) -> int:
        return len(self._first) + len(self._columns)

    def __iter__(self) -> Iterator[Row]:
        packed = self._columns.values()
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
