"""The zones of a tile: the parts of a piece that lie in each, and what they add up to.

A zone is some of the pixels of a tile: those in a polygon, or of a class. The windows of a piece are read once for all
zones; each square of 256 pixels gives a part to every zone that it meets, and a zone adds its parts from left to right
and from top to bottom, whatever the windows: results have the same bits as of a tile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from geouq.catalog import Tile
from geouq.cutting import BAND, Piece, Reading, boxes_of, overlap
from geouq.grid import Grid, Window
from geouq.group_sums import GroupSum, Read, add_box, emptied, new_group_sum, refuse_negative
from geouq.kernel import SQUARE, CellSums
from geouq.parts import PartSum, VariablePart
from geouq.piecework import place_of_variance, visits_of
from geouq.raster import gdal_options
from geouq.reader import TileReader
from geouq.settings import Settings
from geouq.summary import TileSummary
from geouq.tile_sum import InMemory, TileSum
from geouq.validity import OUTSIDE, TRUTH_NODATA
from geouq.workers import stop_if_asked
from geouq.zones.part import Mask, Zones, meet, within

Place = tuple[str, int]  # a layer of zones, and the number of a zone in it
Masks = list[tuple[Place, Window, NDArray[np.uint8]]]  # by squares, their pixels packed into bits


@dataclass(frozen=True)
class ZonePart:
    """What a group gives to a zone: a part a variable, and cells of its squares; the first square tells its place."""

    zone: Place
    squares: list[Window]
    parts: list[VariablePart]
    cells: list[list[CellSums | None]]


@dataclass
class _InGroup:
    """One variable of a zone in a group, to which squares are added from left to right."""

    total: PartSum | None = None
    squares: list[Window] = field(default_factory=list)
    cells: list[CellSums | None] = field(default_factory=list)

    def add(self, square: Window, part: VariablePart) -> None:
        if self.total is None:
            self.total = PartSum(part)
        else:
            self.total.add(part)
        self.squares.append(square)
        self.cells.append(part.cells)


def sweep_zones_of_piece(
    settings: Settings, layers: Mapping[str, Zones], tile: Tile, piece: Piece, reading: Reading
) -> list[ZonePart]:
    """The parts of a piece, group by group from top to bottom; only windows with a zone in them are read."""
    reader, found = TileReader(tile, reuse=True), dict[tuple[int, int, Place], list[_InGroup]]()
    with gdal_options(reading.cache):
        masks = {window: _masks(layers, window) for window in piece.windows}
        for variables, windows in visits_of(tile, piece):
            for window in (window for window in windows if masks[window]):
                for i in variables:
                    stop_if_asked()
                    for zone, square, part in _parts(reader, i, window, masks[window], settings):
                        place = square.row, square.column // BAND, zone
                        found.setdefault(place, [_InGroup() for _ in tile.variables])[i].add(square, part)
    return [_as_part(place[-1], found[place]) for place in sorted(found)]


def _as_part(zone: Place, variables: Sequence[_InGroup]) -> ZonePart:
    parts = [one.total.part() for one in variables if one.total is not None]
    return ZonePart(zone, variables[0].squares, parts, [one.cells for one in variables])


def _masks(layers: Mapping[str, Zones], window: Window) -> Masks:
    """The zones in a window, by squares."""
    found: Masks = []
    squares = list(boxes_of(window, SQUARE, SQUARE))
    for layer, zones in layers.items():
        for zone, box, mask in zones.zones_in(window):
            for square in squares:
                if (common := meet(square, box)) is not None:
                    own = np.zeros((square.height, square.width), np.bool_)
                    own[within(common, square)] = mask[within(common, box)]
                    if own.any():
                        found.append(((layer, zone), square, np.packbits(own)))
    return found


def _parts(
    reader: TileReader, i: int, window: Window, masks: Masks, settings: Settings
) -> Iterator[tuple[Place, Window, VariablePart]]:
    """What one variable gives to the zones in a window."""
    tile, variable = reader.tile, reader.tile.variables[i]
    found, read = reader.read(variable, window), None
    status = np.full((window.height, window.width), OUTSIDE, np.uint8)
    if not found.absent:
        read = Read(window, found, found.pixels._replace(status=status.ravel()))
    for zone, square, bits in masks:
        mask = np.unpackbits(bits, count=square.height * square.width).reshape(square.height, square.width) > 0
        group = new_group_sum(square, settings, variable.thresholds, weighted=tile.weighted)
        if read is None:
            group.totals.excluded[TRUTH_NODATA] += int(mask.sum())
        else:
            _add_zone(read, mask, status, group, settings)
            if settings.negative == "error":
                refuse_negative(place_of_variance(tile, variable), read, group)
        yield zone, square, emptied(group)


def _add_zone(read: Read, mask: Mask, status: NDArray[np.uint8], group: GroupSum, settings: Settings) -> None:
    """Add the pixels of a zone in a square; `status` is that of the window, of which the square is written anew."""
    square, given = group.group, read.found.status
    place = within(square, read.window)
    status[place] = np.where(mask, given[place] if given.size else 0, OUTSIDE)
    add_box(read, _box_around(mask, square, settings.cell_size), group, settings)


def _box_around(mask: Mask, square: Window, size: int) -> Window:
    """The part of a square that holds a zone, in whole cells."""
    rows, columns = (np.flatnonzero(mask.any(axis)) // size * size for axis in (1, 0))
    top, left = int(rows[0]), int(columns[0])
    bottom, right = min(int(rows[-1]) + size, square.height), min(int(columns[-1]) + size, square.width)
    return Window(square.row + top, square.column + left, bottom - top, right - left)


@dataclass(frozen=True)
class ZoneSums:
    """The zones of a tile that are being summed, by layer; each is handed on as soon as it is complete."""

    tile: Tile
    layers: Mapping[str, Zones]
    settings: Settings
    _open: dict[Place, tuple[Window, TileSum]] = field(default_factory=dict)

    def add(self, parts: Sequence[ZonePart]) -> None:
        """Add the parts of the next piece."""
        for part in parts:
            if part.zone not in self._open:
                self._open[part.zone] = self._begun(*part.zone)
            whole, total = self._open[part.zone]
            squares = [replace(s, row=s.row - whole.row, column=s.column - whole.column) for s in part.squares]
            for variable, own, of_squares in zip(total.variables.values(), part.parts, part.cells, strict=True):
                variable.add(own, squares[0])
                for square, cells in zip(squares, of_squares, strict=True):
                    if cells is not None:
                        variable.add_cells(cells, square)

    def completed(self, row: int) -> Iterator[tuple[str, str, TileSummary]]:
        """The zones of which no part will come any more, once pieces begin at that row: layer, name and summary."""
        for zone in [zone for zone, (whole, _) in self._open.items() if whole.row + whole.height <= row]:
            _, total = self._open.pop(zone)
            layer, number = zone
            yield layer, self.layers[layer].names[number], total.summary()

    def _begun(self, layer: str, zone: int) -> tuple[Window, TileSum]:
        window = part_for(self.layers[layer].extent(zone), self.tile.grid)
        thresholds = {variable.name: variable.thresholds for variable in self.tile.variables}
        own = self.tile.grid.part(window)
        total = TileSum.empty(
            self.tile.name,
            own,
            thresholds,
            self.settings,
            InMemory(),
            weighted=self.tile.weighted,
            given=self.tile.given,
        )
        return window, total


def part_for(extent: Window, grid: Grid) -> Window:
    """The part of a tile in whole squares that holds a zone; where that spans bands, it begins where one does.

    Bands are added one by one, so that their borders must not move. extent : may reach beyond the tile.
    """
    zone = overlap(extent, Window(0, 0, *grid.shape))
    last_row, last_column = zone.row + zone.height, zone.column + zone.width
    step = SQUARE if zone.column // BAND == (last_column - 1) // BAND else BAND
    row, column = zone.row // SQUARE * SQUARE, zone.column // step * step
    bottom, right = (-(-last // SQUARE) * SQUARE for last in (last_row, last_column))
    return Window(row, column, min(bottom, grid.shape[0]) - row, min(right, grid.shape[1]) - column)
