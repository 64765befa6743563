"""The part of a tile that a zone needs, the bytes that its sums take, and batches of zones that fit into the memory."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from geouq.core.grid import SQUARE, Grid, Window
from geouq.rasters.catalog import Tile
from geouq.reading.cutting import BAND, Pieces, Reading, overlap
from geouq.summary.tail_pixels import FEW
from geouq.sweep.settings import LARGEST_CELL
from geouq.sweep.workers import HELD
from geouq.zones.masks import Zones

Layers = Mapping[str, Zones]

MIB = 1 << 20
# as measured, of a variable
FILLED = 1.5 * MIB  # arrays that a zone fills in a group
PROFILE = MIB / 4  # what a zone adds up to by keys of the variance, and by each grouping
KEPT = 32  # a single pixel that is kept, in bytes
CELL = 600  # sums of a cell, in bytes
ENTRIES = 5000  # profile of a cell, in bytes, until it is written
GATHERED = 8  # bytes of a pixel of a zone in the pieces under way: its place, and its values until they are summed
UNDER_WAY = 2  # pieces for each worker


def part_for(extent: Window, grid: Grid) -> Window:
    """Return the part of a tile in whole squares that holds a zone; where that spans bands, it begins where one does.

    Bands are added one by one, so that their borders must not move. extent : may reach beyond the tile.
    """
    zone = overlap(extent, Window(0, 0, *grid.shape))
    last_row, last_column = zone.row + zone.height, zone.column + zone.width
    step = SQUARE if zone.column // BAND == (last_column - 1) // BAND else BAND
    row, column = zone.row // SQUARE * SQUARE, zone.column // step * step
    bottom, right = (-(-last // SQUARE) * SQUARE for last in (last_row, last_column))
    return Window(row, column, min(bottom, grid.shape[0]) - row, min(right, grid.shape[1]) - column)


class _Place(NamedTuple):
    """Where a zone is: rows of pieces from the first to the last, and its first column; and the bytes that it takes."""

    first: int
    last: int
    column: int
    layer: str
    zone: str
    bytes: int


def batches_of(layers: Layers, tile: Tile, reading: Reading, workers: int, room: int) -> list[dict[str, Zones]]:
    """Return the layers in parts of no more than `room` bytes each; a zone that needs more is a part of its own.

    Zones that lie near each other come together, so that few windows are read for several parts.
    """
    loads: list[dict[int, int]] = []
    chosen: list[dict[str, set[str]]] = []
    for place in sorted(_places(layers, tile, reading, workers)):
        rows = range(place.first, place.last + 1)
        fits = (i for i, load in enumerate(loads) if all(load.get(row, 0) + place.bytes <= room for row in rows))
        if (batch := next(fits, None)) is None:
            batch = len(loads)
            loads.append({})
            chosen.append({})
        loads[batch] |= {row: loads[batch].get(row, 0) + place.bytes for row in rows}
        chosen[batch].setdefault(place.layer, set()).add(place.zone)
    if len(chosen) == 1:
        return [dict(layers)]
    return [{layer: layers[layer].only(zones) for layer, zones in own.items()} for own in chosen]


class BytesOfZones(NamedTuple):
    """What the zones of a tile take when they are summed in one pass, and what the largest one takes."""

    together: int
    largest: int


def bytes_of_zones(layers: Layers, tile: Tile, reading: Reading, workers: int) -> BytesOfZones:
    """Return what the zones of a tile take at most."""
    rows: dict[int, int] = {}
    largest = 0
    for place in _places(layers, tile, reading, workers):
        largest = max(largest, place.bytes)
        for row in range(place.first, place.last + 1):
            rows[row] = rows.get(row, 0) + place.bytes
    return BytesOfZones(max(rows.values(), default=0), largest)


def _places(layers: Layers, tile: Tile, reading: Reading, workers: int) -> Iterator[_Place]:
    for layer, zones in layers.items():
        for zone, name in enumerate(zones.names):
            extent = zones.extent(zone)
            window = part_for(extent, tile.grid)
            first, last = window.row // reading.height, (window.row + window.height - 1) // reading.height
            yield _Place(first, last, window.column, layer, name, _bytes_of(extent, tile, reading, workers))


def _bytes_of(extent: Window, tile: Tile, reading: Reading, workers: int) -> int:
    """Return what a zone takes at most: its sums, those of pieces that wait for their turn, and what workers fill."""
    zone, window = overlap(extent, Window(0, 0, *tile.grid.shape)), part_for(extent, tile.grid)
    groups, bands = -(-window.height // SQUARE), -(-window.width // BAND)
    at_once = min(groups, reading.height // SQUARE)
    pieces, under_way = len(Pieces(tile.grid, reading)), UNDER_WAY * workers + HELD
    waiting = min(groups, under_way * at_once) * -(-under_way // pieces)  # also of the tiles that follow
    profile = PROFILE * (3 + len(tile.covariates) + len(tile.classes)) * bands
    part = profile + _cells(min(window.width, BAND) * SQUARE) * (CELL + ENTRIES)
    sums = profile + _cells(window.width * window.height) * CELL + KEPT * min(zone.width * zone.height, FEW)
    gathered = GATHERED * min(at_once * SQUARE, zone.height) * zone.width
    return int(len(tile.variables) * (sums + waiting * part) + workers * (gathered + FILLED * bands))


def _cells(pixels: int) -> int:
    """Return the number of cells of a large zone; those of smaller ones are as small as to be few."""
    return max(pixels // LARGEST_CELL**2, 1)
