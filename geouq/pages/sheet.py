"""Tables of a page; long ones are loaded from files."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from geouq.pages.marks import MARKS

DASH = "–"  # noqa: RUF001  in place of a number that is missing
FIGURE, POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"  # as wide as a digit, and as a decimal point
NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?[\d\s]+(\.\d+)?")
SHORT, SMALL = 60, 220  # rows and numbers; larger tables show one group at a time, which is loaded when it is shown
LARGEST_FILE = 1_000_000  # bytes
METRICS = "tables/metrics.csv"
LITTLE = 64_000  # bytes; groups that have no more together are in one file


class Cell(NamedTuple):
    """A cell of a table.

    under : small text below. says : finding, shown as a colour and a mark. link : address. number : all digits, as in
    the CSV tables, if the text has fewer. about : what the number of a row means. limits : both ends of the interval
    for programs, with a space between them.
    """

    text: str
    under: str = ""
    says: str = ""
    link: str = ""
    number: str = ""
    about: str = ""
    limits: str = ""


class Column(NamedTuple):
    """A heading, the kind of its cells (name of the row, text, long text or number), and what the numbers mean."""

    heading: str
    kind: str = "number"
    about: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table that can be sorted; its rows stand in groups, such as one for each variable.

    name : in identifiers and file names, of letters alone. file : the table of the run that has all numbers.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    groups: Mapping[str, Sequence[Sequence[Cell]]]
    file: str = METRICS

    @cached_property
    def shown(self) -> dict[str, list[list[Cell]]]:
        """Return the groups with decimal points below each other in all rows that are shown together."""
        if self.is_long:
            return {name: aligned(self.columns, rows) for name, rows in self.groups.items()}
        rows = iter(aligned(self.columns, [row for own in self.groups.values() for row in own]))
        return {name: [next(rows) for _ in own] for name, own in self.groups.items()}

    @property
    def rows(self) -> list[list[Cell]]:
        """Return the rows of all groups."""
        return [row for rows in self.shown.values() for row in rows]

    @property
    def is_long(self) -> bool:
        """Return whether the rows are loaded group by group."""
        rows = sum(map(len, self.groups.values()))
        return rows > SHORT or rows * sum(column.kind == "number" for column in self.columns) > SMALL

    def index(self, only: Sequence[str] = ()) -> dict[str, object]:
        """Return what a page needs to load the rows: all, or those of these names."""
        return {
            "name": self.name,
            "groups": list(self.groups),
            "files": None if self._is_one_file else list(map(len, self._texts)),
            "kinds": [column.kind for column in self.columns],
            "only": list(only),
            "marks": MARKS,
        }

    @cached_property
    def _texts(self) -> list[list[str]]:
        """Return the rows of each group as JSON, in one or more lists of at most 1 MB."""
        return [list(_pieces(_records(rows))) for rows in self.shown.values()]

    @property
    def _is_one_file(self) -> bool:
        """Return whether one file holds all groups, as they are small."""
        return sum(len(piece) for pieces in self._texts for piece in pieces) <= LITTLE

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield names and texts of the scripts that hold the rows: of each group, or the groups of a small table."""
        groups = [[f"[{','.join(piece for (piece,) in self._texts)}]"]] if self._is_one_file else self._texts
        for number, pieces in enumerate(groups):
            yield from _scripts(self.name, number, pieces)


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return rows whose numbers are padded with spaces, so that right-aligned numbers align at the decimal point."""
    texts = {k: padded([row[k].text for row in rows]) for k, column in enumerate(columns) if column.kind == "number"}
    return [
        [Cell(texts[k][number], *cell[1:]) if k in texts else cell for k, cell in enumerate(row)]
        for number, row in enumerate(rows)
    ]


def limits_of(low: float | None, high: float | None) -> str:
    """Return both ends of an interval for a cell; empty if there is none.

    >>> limits_of(0.25, 1 / 3), limits_of(None, None)
    ('0.25 0.333333', '')
    """
    return "" if low is None or high is None else f"{low:.6g} {high:.6g}"


def padded(texts: Sequence[str]) -> list[str]:
    """Return texts of a column; numbers end in spaces in place of the decimals that they do not have.

    >>> padded(["1.25", "17", "2 000.5", DASH])[1:] == ["17" + POINT + 2 * FIGURE, "2 000.5" + FIGURE, DASH]
    True
    """
    most = max(map(_decimals, texts), default=-1)
    return [text + _space(_decimals(text), most) for text in texts]


def _decimals(text: str) -> int:
    """Return the number of digits after the decimal point; -1 of what is no number, or has a power of ten."""
    return len(text.partition(".")[2]) if NUMBER.fullmatch(text) else -1


def _space(digits: int, most: int) -> str:
    return "" if digits < 0 or most <= 0 else (POINT if digits == 0 else "") + (most - digits) * FIGURE


def files_of_rows(name: str, group: int, rows: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Return names and texts of the scripts that hold rows, at least one; each file is at most 1 MB."""
    return _scripts(name, group, _pieces(rows))


def _scripts(name: str, group: int, pieces: Iterable[str]) -> Iterator[tuple[str, str]]:
    for part, text in enumerate(pieces):
        yield f"{name}_{group}_{part}.js", f'geouq.take("{name}",{group},{part},{text});\n'


def _records(rows: Iterable[Sequence[Cell]]) -> Iterator[list[str | list[str]]]:
    return ([_short(cell) for cell in row] for row in rows)


def _pieces(rows: Iterable[object]) -> Iterator[str]:
    waiting: list[str] = []
    size = 0
    for row in rows:
        line = json.dumps(row, separators=(",", ":"))
        if size + len(line) > LARGEST_FILE:
            yield f"[{','.join(waiting)}]"
            waiting, size = [], 0
        waiting.append(line)
        size += len(line) + 1
    yield f"[{','.join(waiting)}]"


def _short(cell: Cell) -> str | list[str]:
    """Return the values of a cell without empty ones at the end."""
    values = list(cell)
    while len(values) > 1 and not values[-1]:
        values.pop()
    return values[0] if len(values) == 1 else values
