"""Dates in the names of tiles: several epochs of a tile become {time}."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from geouq.config import TILE, TIME, StacTiles, TileIndex
from geouq.config.load import TODO
from geouq.config.tiles import LOCATION, SOURCES
from geouq.core.dates import DATE, date_in_name
from geouq.core.errors import DataError
from geouq.rasters.stac import NOMINAL, START, stac_table
from geouq.rasters.tile_index import index_table
from geouq.starting.guess import PATH, Entry, Guess
from geouq.starting.tile_lists import attributes_of
from geouq.starting.words import ALONE

YEARS = (1950, 2100)  # of dates; other numbers of four digits are names of tiles
SHOWN = 3


class Epochs(NamedTuple):
    """How names of tiles are made of tiles and times, such as {tile}_{time}, and the tile and the time of each."""

    template: str
    names: dict[str, tuple[str, str]]

    @property
    def times(self) -> tuple[str, ...]:
        """Return the times in order."""
        return tuple(sorted({time for _, time in self.names.values()}))


def epochs_of(tiles: Sequence[str]) -> Epochs | None:
    """Return the dates in names of tiles; None unless a tile is there at two of them.

    >>> found = epochs_of(["N10_2010", "N10_2015", "N20_2015"])
    >>> found.template, found.times
    ('{tile}_{time}', ('2010', '2015'))
    >>> epochs_of(["N10_2010", "N20_2015"]), epochs_of(["2010", "2015"]).template
    (None, '{time}')
    """
    alone = re.compile(ALONE.format(f"({DATE})"))
    found = {tile: [own for own in alone.finditer(tile) if _is_recent(own[1])] for tile in tiles}
    if any(len(own) != 1 for own in found.values()):
        return None
    parts = {tile: (tile[: own.start()], own[1], tile[own.end() :]) for tile, (own,) in found.items()}
    lengths = {len(time) for _, time, _ in parts.values()}
    before, after = ({one[side] for one in parts.values()} for side in (0, 2))
    if len(lengths) != 1 or (before != {""} and after != {""}):
        return None
    rests = {tile: one[0] or one[2] for tile, one in parts.items()}
    between = {_separator(rest, at_end=before != {""}) for rest in rests.values()}
    if len(between) != 1:
        return None
    (mark,) = between
    template = TIME if before == after == {""} else f"{TILE}{mark}{TIME}" if before != {""} else f"{TIME}{mark}{TILE}"
    names = {tile: (rest.removesuffix(mark).removeprefix(mark), parts[tile][1]) for tile, rest in rests.items()}
    several = len(names) > len({tile for tile, _ in names.values()})
    return Epochs(template, names) if several else None


def _is_recent(text: str) -> bool:
    date = date_in_name(text)
    return date is not None and YEARS[0] <= date.year <= YEARS[1]


def _separator(rest: str, *, at_end: bool) -> str:
    """Return what stands between a tile and a date."""
    found = re.search(r"[^A-Za-z0-9]*$" if at_end else r"^[^A-Za-z0-9]*", rest)
    return found[0] if found else ""


def with_times(guess: Guess) -> Guess:
    """Return the guess with {time} in its paths, if names of tiles hold dates."""
    epochs, source = epochs_of(guess.tiles), guess.others.get("tiles", Entry({}, "")).value
    if epochs is None or isinstance(source, list):
        return guess
    if any(key in source for key in SOURCES):
        if not (time := _time_of(source, epochs)):
            return guess
        guess = guess.with_other("tiles", {**source, "time": time}, f"{guess.others['tiles'].why}; their times: {time}")
    layers = {key: Entry(_dated(entry.value, epochs.template), entry.why) for key, entry in guess.layers.items()}
    tiles = tuple(dict.fromkeys(tile for tile, _ in epochs.names.values() if tile))
    first, _ = epochs.names[guess.first]
    shown = ", ".join(epochs.times[:SHOWN]) + (", ..." if len(epochs.times) > SHOWN else "")
    why = f"{TIME} stands for {shown}, the part of the names that changes between files of one place"
    note = "each time is evaluated, and all together: regions: {years: {dimension: time, by: year}} has each year"
    return replace(guess, layers=layers, tiles=tiles, first=first, times=epochs.times, notes=(*guess.notes, why, note))


def _time_of(source: Mapping[str, Any], epochs: Epochs) -> str:
    """Return what holds the times of items, or of features of an index, that the names have too; "" if nothing does."""
    if "name" in source:
        return ""
    for key in (NOMINAL, START) if "stac" in source else attributes_of(source["index"]):
        try:
            if "stac" in source:
                table = stac_table(StacTiles(**{**source, "time": key}), ())
            else:
                table = index_table(TileIndex(**{**source, "time": key}), [source.get("path", LOCATION)])
        except DataError:
            continue
        if {(place.tile, date_in_name(place.time)) for place in table.files} == {
            (tile, date_in_name(time)) for tile, time in epochs.names.values()
        }:
            return key
    return ""


def _dated(value: object, template: str) -> object:
    """Return the settings of a layer with the template in its path."""
    if value == TODO or not isinstance(value, dict) or PATH not in value:
        return value
    return {**value, PATH: str(value[PATH]).replace(TILE, template)}
