"""The zones of a tile: the pixels of a piece that lie in each, and what they add up to.

A zone is some of the pixels of a tile: those in a polygon, or of a class. The windows of a piece are read once for all
zones. In each square of 256 pixels, those of a zone are brought together and added as if there were no others: squares
of a group from left to right, then the groups as those of a tile. So results have the same bits whatever the windows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from geouq.core.grid import SQUARE, Window
from geouq.core.validity import OUTSIDE, TRUTH_NODATA
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import unchanged
from geouq.reading.cutting import BAND, Piece, Reading, boxes_of
from geouq.reading.form_pixels import taken
from geouq.reading.reader import TileReader
from geouq.summary import TileSummary
from geouq.sweep.accumulate import VariablePart
from geouq.sweep.group_sums import GroupSum, Read, add_box, emptied, new_group_sum, refuse_negative
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, InMemory, TileSum, place_of_variance, visits_of
from geouq.sweep.workers import stop_if_requested
from geouq.sweep.zone_batches import part_for
from geouq.zones.masks import NOWHERE, Bits, Places, Zones, as_bits, meet, places_of, within

ZonePlace = tuple[str, int]  # a layer of zones, and the number of a zone in it
GroupPlace = tuple[int, int, ZonePlace]  # first row and band of a group, and a zone
StoreFor = Callable[[Tile, str, str], EntryStore]  # for a zone of a layer


class _Square(NamedTuple):
    """The pixels of a zone in a square, as bits."""

    place: GroupPlace
    square: Window
    bits: Bits


Squares = Mapping[Window, Sequence[_Square]]  # by window


@dataclass(frozen=True)
class ZonePart:
    """What a group gives to a zone: a part a variable, with the cells of `window`, which holds all of its pixels."""

    zone: ZonePlace
    window: Window
    parts: list[VariablePart]


def sweep_zones_of_piece(
    settings: Settings, layers: Mapping[str, Zones], tile: Tile, piece: Piece, reading: Reading
) -> list[ZonePart]:
    """Return the parts of a piece, group by group from top to bottom; only windows with a zone in them are read."""
    rasters = [*tile.rasters.values(), *(raster for zones in layers.values() for raster in zones.rasters)]
    with gdal_options(reading.cache), unchanged(rasters):
        squares = {window: _squares(layers, window) for window in piece.windows}
        spans, ending = _spans(squares)
        found: dict[GroupPlace, dict[int, VariablePart]] = {place: {} for place in sorted(spans)}
        filling = _Filling(TileReader(tile, reuse=True), settings, spans)
        for variables, windows in visits_of(tile, piece):
            for window in (window for window in windows if squares[window]):
                for i in variables:
                    stop_if_requested()
                    filling.add(i, window, squares[window])
                    for place in ending[window]:
                        found[place][i] = emptied(filling.sums.pop((place, i)))
    return [
        ZonePart(place[-1], spans[place], [part for _, part in sorted(own.items())]) for place, own in found.items()
    ]


def _squares(layers: Mapping[str, Zones], window: Window) -> list[_Square]:
    """Return the zones in a window, by squares."""
    found, squares = [], list(boxes_of(window, SQUARE, SQUARE))
    for layer, zones in layers.items():
        for zone, box, mask in zones.zones_in(window):
            for square in squares:
                if (common := meet(square, box)) is not None:
                    own = np.zeros((square.height, square.width), np.bool_)
                    own[within(common, square)] = mask[within(common, box)]
                    if own.any():
                        found.append(_Square((square.row, square.column // BAND, (layer, zone)), square, as_bits(own)))
    return found


def _spans(squares: Squares) -> tuple[dict[GroupPlace, Window], dict[Window, list[GroupPlace]]]:
    """Return the part of each group from the first square of a zone to the last one, and in which window that is."""
    spans: dict[GroupPlace, Window] = {}
    last: dict[GroupPlace, Window] = {}
    for window, own in squares.items():
        for place, square, _ in own:
            span = spans.get(place, square)
            left, right = min(span.column, square.column), max(_right(span), _right(square))
            spans[place], last[place] = replace(square, column=left, width=right - left), window
    ending: dict[Window, list[GroupPlace]] = {window: [] for window in squares}
    for place, window in last.items():
        ending[window].append(place)
    return spans, ending


def _right(window: Window) -> int:
    return window.column + window.width


@dataclass(frozen=True)
class _Filling:
    """Sums of zones by group and variable; windows are added to them."""

    reader: TileReader
    settings: Settings
    spans: Mapping[GroupPlace, Window]
    sums: dict[tuple[GroupPlace, int], GroupSum] = field(default_factory=dict)

    def add(self, i: int, window: Window, squares: Sequence[_Square]) -> None:
        """Add one variable of a window to the zones in it."""
        tile, variable = self.reader.tile, self.reader.tile.variables[i]
        found = self.reader.read(variable, window)
        read = None if found.absent else Read(window, found, found.pixels)
        for own in sorted(squares, key=lambda own: own.square.column):
            group = self._group(own.place, i)
            if read is None:
                group.totals.excluded[TRUTH_NODATA] += int(np.unpackbits(own.bits).sum())
                continue
            _add_square(read, own, group, self.settings)
            if self.settings.negative == "error":
                refuse_negative(place_of_variance(tile, variable), read, group)

    def _group(self, place: GroupPlace, i: int) -> GroupSum:
        if (place, i) not in self.sums:
            tile, span = self.reader.tile, self.spans[place]
            thresholds = tile.variables[i].thresholds
            self.sums[place, i] = new_group_sum(span, self.settings, thresholds, weighted=tile.weighted)
        return self.sums[place, i]


def _add_square(read: Read, own: _Square, group: GroupSum, settings: Settings) -> None:
    """Add the pixels of a zone in a square, row by row of cells."""
    square, size = own.square, settings.cell_size
    for row in range(0, square.height, size):
        bits = own.bits[row : row + size]
        if not bits.any():
            continue
        first = (square.row + row - read.window.row) * read.window.width + square.column - read.window.column
        places = places_of(bits, square.width, size, first, read.window.width)
        box = Window(square.row + row, square.column, *places.shape)
        add_box(_packed(read, places, box), box, group, settings)
        if group.totals.negative[0]:
            group.totals.negative[1] = places.ravel()[group.totals.negative[1]]
            return


def _packed(read: Read, places: Places, box: Window) -> Read:
    """Return the pixels at these places as a window of their own."""
    given = read.pixels.status
    status = np.where(places == NOWHERE, OUTSIDE, given[places] if given.size else 0).astype(np.uint8).ravel()
    m, v, y = (values[places.ravel()] for values in read.pixels[:3])
    weight = read.pixels.weight[places.ravel()] if read.pixels.weight.size else read.pixels.weight
    found = replace(
        read.found,
        bounds=tuple(end.ravel()[places] for end in read.found.bounds),
        groups=tuple(values.ravel()[places] for values in read.found.groups),
        layers=None if read.found.layers is None else taken(read.found.layers, places.ravel()),
    )
    row, column = np.divmod(places.astype(np.int64), read.window.width)
    own = (row + read.window.row) << 32 | (column + read.window.column)
    return Read(box, found, read.pixels._replace(mean=m, variance=v, truth=y, weight=weight, status=status), own)


@dataclass(frozen=True)
class ZoneSums:
    """The zones of a tile that are being summed, by layer; each is handed on as soon as it is complete."""

    tile: Tile
    layers: Mapping[str, Zones]
    settings: Settings
    store_for: StoreFor
    _open: dict[ZonePlace, tuple[Window, TileSum]] = field(default_factory=dict)

    def add(self, parts: Sequence[ZonePart]) -> None:
        """Add the parts of the next piece."""
        for part in parts:
            if part.zone not in self._open:
                self._open[part.zone] = self._begun(*part.zone)
            whole, total = self._open[part.zone]
            window = replace(part.window, row=part.window.row - whole.row, column=part.window.column - whole.column)
            total.add([(window, part.parts)])

    def completed(self, row: int) -> Iterator[tuple[str, str, TileSummary]]:
        """Yield the zones that are complete once pieces begin at that row: layer, name and summary."""
        for zone in [zone for zone, (whole, _) in self._open.items() if whole.row + whole.height <= row]:
            _, total = self._open.pop(zone)
            layer, number = zone
            yield layer, self.layers[layer].names[number], total.summary()

    def _begun(self, layer: str, zone: int) -> tuple[Window, TileSum]:
        window = part_for(self.layers[layer].extent(zone), self.tile.grid)
        thresholds = {variable.name: variable.thresholds for variable in self.tile.variables}
        total = TileSum.empty(
            self.tile.name,
            self.tile.grid.part(window),
            thresholds,
            self.settings,
            self.store_for(self.tile, layer, self.layers[layer].names[zone]),
            weighted=self.tile.weighted,
            given=self.tile.given,
        )
        return window, total


def in_memory(tile: Tile, layer: str, zone: str) -> EntryStore:  # noqa: ARG001  one for any
    """Return a store of its own."""
    return InMemory()
