"""Tiles and times of the entries of a table, such as STAC items: each entry is a tile at a time."""

import re
from collections.abc import Hashable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from geouq.core.dates import DATE, FORMATS, date_in_name
from geouq.core.errors import DataError
from geouq.rasters.tile_names import Place

ALONE = re.compile(
    rf"[^A-Za-z0-9]*(?<![A-Za-z0-9])({DATE})(?![A-Za-z0-9])"
)  # a date in a name, with what stands before
ISO = 10  # letters of a date to the day, as in 2010-06-05; a shorter one, such as 201006, is a name already
ENDS = {4: "-01-01T00:00:00", 7: "-01T00:00:00", 10: "T00:00:00", 13: ":00:00", 16: ":00"}  # by the length of a name


class Entry(NamedTuple):
    """An entry of a table: its own name, its time, and what tells its tile.

    tile : the name of its tile; None if the table does not give it. footprint : where it lies, if that is known.
    """

    name: str
    time: Any
    tile: str | None = None
    footprint: Hashable = None


def places_of(entries: Sequence[Entry]) -> list[Place]:
    """Return the tile and the time of each entry; the tile is empty where a name is nothing but a time.

    Without a name of its tile, an entry belongs to the tile that its own name has without the time. Where the names
    have no times, entries of one footprint are a tile, with the name of its first time.

    Raises
    ------
    DataError
        If an entry has no time, or two entries are one tile at one time.

    >>> places_of([Entry("N10_2010-v4", "2010-01-01T00:00:00Z"), Entry("N10_2015-v4", "2015-01-01T00:00:00Z")])
    [Place(tile='N10-v4', time='2010'), Place(tile='N10-v4', time='2015')]
    >>> places_of([Entry("b", 2015, None, "here"), Entry("a", 2010, None, "here")])
    [Place(tile='a', time='2015'), Place(tile='a', time='2010')]
    """
    if without := next((entry.name for entry in entries if entry.time in (None, "")), None):
        raise DataError(f"{without!r} has no time")
    times = _names_of_times([entry.time for entry in entries])
    places = [Place(tile, time) for tile, time in zip(_tiles(entries, times), times, strict=True)]
    known = dict[Place, str]()
    for entry, place in zip(entries, places, strict=True):
        other = known.get(place)
        known[place] = entry.name
        if other is not None:
            where = f" of tile {place.tile!r}" if place.tile else ""
            raise DataError(f"{other!r} and {entry.name!r} are the time {place.time}{where}; keep one of them")
    return places


def _names_of_times(times: Sequence[Any]) -> list[str]:
    """Return times as names of files write them, as short as the one that needs most letters.

    >>> _names_of_times(["2010-06-01T00:00:00Z", "2010-07-01T02:00:00+02:00"]), _names_of_times([2010, "before"])
    (['2010-06', '2010-07'], ['2010', 'before'])
    """
    moments = [_moment(time) for time in times]
    texts = [moment.isoformat() for moment in moments if moment]
    length = next((length for length, end in ENDS.items() if all(text[length:] == end for text in texts)), 19)
    return [
        moment.isoformat()[:length].replace(":", "") if moment else str(time).strip()
        for moment, time in zip(moments, times, strict=True)
    ]


def _moment(time: Any) -> datetime | None:
    """Return a date and time to the second in UTC; None of a short date, such as 201006, or another text."""
    if isinstance(time, date):
        found = time if isinstance(time, datetime) else datetime(time.year, time.month, time.day)
    else:
        text = str(time).strip()
        if len(text) < ISO:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            return None
    return (found.astimezone(UTC) if found.tzinfo else found).replace(tzinfo=None, microsecond=0)


def _tiles(entries: Sequence[Entry], times: Sequence[str]) -> list[str]:
    """Return the name of the tile of each entry."""
    own = [name_without_time(entry.name, time) for entry, time in zip(entries, times, strict=True)]
    if any(tile is None for tile in own):
        own = list(_by_footprint(entries, times))
    return [entry.tile if entry.tile is not None else tile or "" for entry, tile in zip(entries, own, strict=True)]


def _by_footprint(entries: Sequence[Entry], times: Sequence[str]) -> Iterator[str]:
    """Yield the name of the first entry in time that lies where each entry lies."""
    first = dict[Hashable, str]()
    for _, entry in sorted(zip(times, entries, strict=True), key=lambda own: own[0]):
        first.setdefault(entry.footprint, entry.name)
    yield from (entry.name if entry.footprint is None else first[entry.footprint] for entry in entries)


def name_without_time(name: str, time: str) -> str | None:
    """Return a name without the date of a time, at any precision; None if it has no such date.

    >>> name_without_time("S2_T33UXP_20220601", "2022-06-01T1030"), name_without_time("2022", "2022-06")
    ('S2_T33UXP', '')
    >>> name_without_time("h11v09", "2022")
    """
    moment = date_in_name(time)
    same = [own for own in ALONE.finditer(name) if moment and _is_of(own[1], moment)]
    for own in reversed(same):
        name = name[: own.start()] + name[own.end() :]
    return re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$", "", name) if same else None


def _is_of(text: str, moment: datetime) -> bool:
    """Return whether a date in a name is that of a moment, as far as the name tells it."""
    digits = re.sub(r"\D", "", text)
    return moment.strftime(FORMATS[len(digits)]) == digits
