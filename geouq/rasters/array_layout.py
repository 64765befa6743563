"""Where a raster lies in an array of a netCDF or Zarr file: along which dimensions, and at which of their labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from geouq.config.layer_file import Selected
from geouq.core.errors import DataError

SHOWN = 5  # labels in a message
DEEP = 256 << 20  # bytes that are kept of decoded chunks which hold several steps
LEAD, LEVEL, TIME = "lead", "level", "time"
CLOSE = 1e-6  # relative difference below which two numbers are one label
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}  # of a unit of leads
DURATION = re.compile(r"(-?\d+(?:\.\d+)?) ?(s|min|h|d)", re.IGNORECASE)
SEASONS = ("DJF", "MAM", "JJA", "SON")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Run(NamedTuple):
    """Pixels that lie side by side in the array too: where they begin in it and in the window, and how many."""

    start: int
    place: int
    length: int


@dataclass(frozen=True)
class Axis:
    """How rows or columns of a raster lie along a dimension of its array.

    flipped : whether the first row or column is the last of the array. shift : place in the array of the first column,
    where longitudes from 0 to 360 degrees become those from -180 to 180.
    """

    dimension: str
    length: int
    chunk: int
    flipped: bool = False
    shift: int = 0

    def runs(self, first: int, count: int) -> Iterator[Run]:
        """Yield what lies side by side in the array of the rows or columns from `first` on.

        >>> list(Axis("x", 6, 2, shift=4).runs(0, 4))
        [Run(start=4, place=0, length=2), Run(start=0, place=2, length=2)]
        >>> list(Axis("y", 6, 2, flipped=True).runs(0, 2))
        [Run(start=4, place=0, length=2)]
        """
        place = 0
        while place < count:
            start = (first + place + self.shift) % self.length
            here = min(count - place, self.length - start)
            yield Run(self.length - start - here if self.flipped else start, place, here)
            place += here


@dataclass(frozen=True)
class Label:
    """One place along a dimension: its value, its text as a configuration selects it, and its name in tiles.

    value : seconds of a lead, a date, a number or a text. The text of a date is that of ISO 8601.
    """

    value: Any
    text: str
    name: str

    def matches(self, written: str) -> bool:
        """Return whether a configuration means this label; `2020-01` is each date in that month, `DJF` of a season.

        >>> january = Label(None, "2020-01-15T06:00:00", "2020-01-15T06")
        >>> january.matches("2020-01"), january.matches("DJF"), january.matches("2019-12..2020-01")
        (True, True, True)
        """
        first, is_range, last = written.partition("..")
        if is_range:
            return (not first or self._reaches(first)) and not (last and self._exceeds(last))
        return self._equals(written) or self.group("season") == written

    def _equals(self, written: str) -> bool:
        if self._number is not None:
            return bool(np.isclose(self._number, _number(written, self.is_lead), rtol=CLOSE, atol=0))
        return self.text == written or (self.is_date and self.text.startswith(written))

    def _reaches(self, first: str) -> bool:
        if self._number is not None:
            least = _number(first, self.is_lead)
            return self._number >= least - CLOSE * abs(least)
        return self.text[: len(first)] >= first

    def _exceeds(self, last: str) -> bool:
        if self._number is not None:
            most = _number(last, self.is_lead)
            return self._number > most + CLOSE * abs(most)
        return self.text[: len(last)] > last

    @property
    def is_date(self) -> bool:
        """Return whether it is a date."""
        return len(self.text) >= 19 and self.text[4] == self.text[7] == "-" and self.text[10] == "T"

    @property
    def is_lead(self) -> bool:
        """Return whether it is a time after another one."""
        return isinstance(self.value, np.timedelta64)

    @property
    def _number(self) -> float | None:
        if self.is_lead:
            return float(self.value / np.timedelta64(1, "s"))
        return self.value if isinstance(self.value, float) else None

    def has_group(self, by: str) -> bool:
        """Return whether it is a date that tells the season, month, year or hour; a year alone tells no month.

        >>> Label(None, "2010-01-01T00:00:00", "2010").has_group("season")
        False
        """
        is_year = len(self.name) == len("2010")
        return by == "value" or (self.is_date and (by == "year" or not is_year))

    def group(self, by: str) -> str:
        """Return the season, month, year or hour of a date, its name otherwise.

        >>> Label(None, "2020-01-15T06:00:00", "2020-01-15T06").group("month")
        'Jan'
        """
        if by == "value" or not self.is_date:
            return self.name
        month = int(self.text[5:7])
        if by == "season":
            return SEASONS[month % 12 // 3]
        return {"month": MONTHS[month - 1], "year": self.text[:4], "hour": f"{self.text[11:13]}h"}[by]


def _number(text: str, is_lead: bool) -> float:  # noqa: FBT001  one of two kinds of text
    """Return a number, or the seconds of a time such as 24h; NaN, which equals nothing, for other texts."""
    if is_lead:
        found = DURATION.fullmatch(text)
        return float(found[1]) * SECONDS[found[2].lower()] if found else np.nan
    try:
        return float(text)
    except ValueError:
        return np.nan


@dataclass(frozen=True)
class Steps:
    """A dimension besides rows and columns; places : those along the array that are evaluated.

    role : `time`, `lead` or `level`, or the name of another dimension, by which dimensions of several layers are
    matched.
    """

    dimension: str
    role: str
    labels: tuple[Label, ...]
    places: tuple[int, ...]

    @cached_property
    def place_by_value(self) -> dict[Any, int]:
        """Return the place among the labels of each value."""
        return {label.value: place for place, label in enumerate(self.labels)}

    def selected(self, written: Selected, key: str) -> "Steps":
        """Return the selected labels only; raise DataError if there are none."""
        wanted = (written,) if isinstance(written, str) else written
        for one in wanted:
            if not any(label.matches(one) for label in self.labels):
                raise DataError(f"{key}: {self.dimension} has no {one}; it has {self._shown}")
        found = [i for i, label in enumerate(self.labels) if any(label.matches(one) for one in wanted)]
        return replace(self, labels=tuple(self.labels[i] for i in found), places=tuple(self.places[i] for i in found))

    @property
    def _shown(self) -> str:
        names = [label.name for label in self.labels]
        return ", ".join(names if len(names) <= SHOWN else [*names[: SHOWN - 1], "...", names[-1]])


@dataclass(frozen=True)
class ArrayLayout:
    """Where a raster lies in an array.

    dimensions : of the array, in order. chunks : their parts that are decoded together. steps : dimensions of which
    several places are to be evaluated, each as a raster. fixed : the place along each of the others.
    missing : stored values besides nodata that stand for no value. valid : the lowest and the highest valid one.
    notes : what the user should know.
    """

    dimensions: tuple[str, ...]
    chunks: tuple[int, ...]
    rows: Axis
    columns: Axis
    steps: tuple[Steps, ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()
    missing: tuple[float, ...] = ()
    valid: tuple[float, float] = (-np.inf, np.inf)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def depth(self) -> int:
        """Return how many values are decoded for each pixel."""
        on_map = (self.rows.dimension, self.columns.dimension)
        chunks = dict(zip(self.dimensions, self.chunks, strict=True))
        return int(np.prod([length for name, length in chunks.items() if name not in on_map]))

    @property
    def masked(self) -> bool:
        """Return whether some stored values besides nodata stand for no value."""
        return bool(self.missing) or bool(np.isfinite(self.valid).any())

    def has(self, dimension: str) -> bool:
        """Return whether there are steps along a dimension, called by its name or its role."""
        return any(dimension in (one.dimension, one.role) for one in self.steps)

    def selected(self, select: Mapping[str, Selected], key: str) -> Self:
        """Return the layout with what a configuration selects at a key; DataError for a dimension that there is not."""
        found = self
        for dimension, wanted in select.items():
            own = next((one for one in self.steps if dimension in (one.dimension, one.role)), None)
            if own is None:
                names = ", ".join(one.dimension for one in self.steps) or "none besides those of the map"
                raise DataError(f"{key}: there is no dimension {dimension}; there are {names}")
            steps = own.selected(wanted, key)
            is_one = isinstance(wanted, str) and len(steps.places) == 1
            found = found.at({own.role: 0}, {own.role: steps}) if is_one else found.with_steps({own.role: steps})
        return found

    def with_steps(self, changed: dict[str, Steps]) -> Self:
        """Return the layout with other steps, by their roles."""
        return replace(self, steps=tuple(changed.get(one.role, one) for one in self.steps))

    def at(self, places: dict[str, int], steps: dict[str, Steps] | None = None) -> Self:
        """Return the layout at one of the steps of each of these roles."""
        own = {one.role: one for one in self.steps} | (steps or {})
        fixed = tuple((own[role].dimension, own[role].places[place]) for role, place in places.items())
        rest = tuple(one for one in self.steps if one.role not in places)
        return replace(self, steps=rest, fixed=(*self.fixed, *fixed))
