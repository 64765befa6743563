"""The zones of a tile: the pixels of a piece that lie in each, and what they add up to.

A zone is some of the pixels of a tile: the pixels in a polygon, or of a class. The windows of a piece are read once for
the tile and all zones. In each square of 256 pixels, the pixels of a zone are gathered and added as if there were no
others: the squares of a group from left to right, then the groups in the order of a tile. So the windows do not change
any bit of the results.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from rasterio.errors import RasterioError

from geouq.config import Variable
from geouq.core.errors import GeouqError
from geouq.core.failures import Failure, failure_of
from geouq.core.grid import SQUARE, Window
from geouq.core.validity import TRUTH_NODATA
from geouq.rasters.catalog import Tile
from geouq.rasters.gdal import gdal_options
from geouq.rasters.predictions import Prediction
from geouq.rasters.raster import Raster, unchanged
from geouq.reading.cutting import BAND, Piece, Reading, boxes_of
from geouq.reading.reader import TileReader
from geouq.reading.variable_window import VariableWindow
from geouq.summary import TileSummary
from geouq.summary.form import GAUSSIAN
from geouq.summary.tail_pixels import FEW
from geouq.sweep.accumulate import PieceSum, VariablePart
from geouq.sweep.group_sums import (
    GatheredSquare,
    GroupSum,
    Read,
    add_boxes,
    add_squares,
    boxes_in,
    emptied,
    gathered,
    keep_few,
    keep_squares,
    new_group_sum,
    refuse_negative,
)
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore, InMemory, TileSum, place_of_variance, sweep_piece, visits_of
from geouq.sweep.workers import stop_if_requested
from geouq.sweep.zone_batches import part_for
from geouq.zones.masks import Strips, Zones, meet, strips_of, within

ZonePlace = tuple[str, int]  # a layer of zones, and the number of a zone in it
GroupPlace = tuple[int, int, ZonePlace]  # first row and band of a group, and a zone
StoreFor = Callable[[Tile, str, str], EntryStore]  # for a zone of a layer

MANY = 1 << 16  # values of all layers that are gathered before they are summed


class _Square(NamedTuple):
    """The pixels of a zone in a square of a window; `strips` are their places in the window."""

    place: GroupPlace
    square: Window
    pixels: int
    strips: Strips


Squares = Mapping[Window, Sequence[_Square]]  # by window


@dataclass(frozen=True)
class ZonePart:
    """What a group gives to a zone: a part a variable, with the cells of `window`, which holds all of its pixels."""

    zone: ZonePlace
    window: Window
    parts: list[VariablePart]


@dataclass(frozen=True)
class Pass:
    """The layers of zones that are summed in a pass over a tile.

    counts : valid pixels of each zone and variable in the pieces so far. The pieces in this process share them: of a
    zone that has many pixels, no single one needs to be kept.
    """

    layers: Mapping[str, Zones]
    counts: dict[tuple[ZonePlace, int], int] = field(default_factory=dict)

    @property
    def rasters(self) -> list[Raster]:
        """Return the rasters that define which pixels belong to the zones."""
        return [raster for zones in self.layers.values() for raster in zones.rasters]


class ZonesOfPiece:
    """The zones of a piece. Windows are added while they are read, variable by variable.

    The pixels of a zone are gathered, and summed together where they are many or its group ends: the arrays into which
    the kernel sums are then in the cache, and few zones need some at a time.
    """

    def __init__(self, settings: Settings, zones: Pass, tile: Tile, piece: Piece) -> None:
        self._settings, self._tile, self._counts = _without_tail(settings), tile, zones.counts
        self._squares = {window: list(_squares(zones.layers, window, settings.cell_size)) for window in piece.windows}
        self._spans, self._ending = _spans(self._squares)
        self._pixels = _pixels_of(self._squares)
        self._is_plain = _is_plain(settings, tile)
        self._gathered: dict[tuple[GroupPlace, int], _Gathered] = {}
        self._found: dict[GroupPlace, dict[int, VariablePart]] = {place: {} for place in sorted(self._spans)}

    def lie_in(self, window: Window) -> bool:
        """Return whether a zone has pixels in a window."""
        return bool(self._squares[window])

    def add(self, i: int, window: Window, found: VariableWindow) -> None:
        """Add a window of variable number `i`, as it was read, to the zones in it."""
        read = None if found.absent else Read(window, found, found.pixels)
        for own in self._squares[window]:
            gathered = self._of(own.place, i)
            if read is None:
                gathered.without_truth += own.pixels
            else:
                gathered.take(read, own)
        for place in self._ending[window]:
            part, n = self._gathered.pop((place, i)).part()
            self._found[place][i] = part
            self._counts[place[-1], i] = self._counts.get((place[-1], i), 0) + n

    def parts(self) -> list[ZonePart]:
        """Return what each group gives to each zone, group by group from top to bottom."""
        return [
            ZonePart(place[-1], self._spans[place], [part for _, part in sorted(own.items())])
            for place, own in self._found.items()
        ]

    def _of(self, place: GroupPlace, i: int) -> "_Gathered":
        if (place, i) not in self._gathered:
            settings = self._settings
            is_large = self._counts.get((place[-1], i), 0) > FEW
            self._gathered[place, i] = _Gathered(
                self._spans[place],
                settings,
                self._tile,
                self._tile.variables[i],
                is_plain=self._is_plain,
                is_large=is_large,
                swept=self._is_plain and settings.keeps_few and not is_large and self._pixels[place] <= FEW,
            )
        return self._gathered[place, i]


def sweep_with_zones(
    settings: Settings, zones: Pass, tile: Tile, piece: Piece, reading: Reading
) -> tuple[PieceSum, Sequence[ZonePart] | Failure]:
    """Return what a piece adds up to, and the parts of the zones in it, or why these cannot be known.

    Each window is read once for the tile and all zones.
    """
    with gdal_options(reading.cache), unchanged(zones.rasters):
        try:
            own = ZonesOfPiece(settings, zones, tile, piece)
        except (GeouqError, OSError, RasterioError) as error:
            return sweep_piece(settings, tile, piece, reading), failure_of(error, "zones", tile=tile.name)
        return sweep_piece(settings, tile, piece, reading, own.add), own.parts()


def sweep_zones_of_piece(settings: Settings, zones: Pass, tile: Tile, piece: Piece, reading: Reading) -> list[ZonePart]:
    """Return the parts of a piece, group by group from top to bottom; only windows with a zone in them are read."""
    with gdal_options(reading.cache), unchanged([*tile.rasters.values(), *zones.rasters]):
        own, reader = ZonesOfPiece(settings, zones, tile, piece), TileReader(tile, reuse=True)
        for variables, windows in visits_of(tile, piece):
            for window in filter(own.lie_in, windows):
                for i in variables:
                    stop_if_requested()
                    own.add(i, window, reader.read(tile.variables[i], window))
        return own.parts()


def _squares(layers: Mapping[str, Zones], window: Window, size: int) -> Iterator[_Square]:
    """Yield the zones in a window, by squares; the squares of each zone from left to right."""
    squares = sorted(boxes_of(window, SQUARE, SQUARE), key=lambda square: square.column)
    for layer, zones in layers.items():
        for zone, box, mask in zones.zones_in(window):
            for square in squares:
                if (common := meet(square, box)) is not None:
                    own = np.zeros((square.height, square.width), np.bool_)
                    own[within(common, square)] = mask[within(common, box)]
                    if pixels := int(np.count_nonzero(own)):
                        place = square.row, square.column // BAND, (layer, zone)
                        first = (square.row - window.row) * window.width + square.column - window.column
                        yield _Square(place, square, pixels, strips_of(own, size, first, window.width))


def _spans(squares: Squares) -> tuple[dict[GroupPlace, Window], dict[Window, list[GroupPlace]]]:
    """Return the part of each group from the first square of a zone to the last one, and in which window that is."""
    spans: dict[GroupPlace, Window] = {}
    last: dict[GroupPlace, Window] = {}
    for window, own in squares.items():
        for place, square, *_ in own:
            span = spans.get(place, square)
            left, right = min(span.column, square.column), max(_right(span), _right(square))
            spans[place], last[place] = replace(square, column=left, width=right - left), window
    ending: dict[Window, list[GroupPlace]] = {window: [] for window in squares}
    for place, window in last.items():
        ending[window].append(place)
    return spans, ending


def _pixels_of(squares: Squares) -> dict[GroupPlace, int]:
    """Return the number of pixels of each zone in a group, valid or not; those of a piece depend on its windows."""
    found: dict[GroupPlace, int] = {}
    for own in squares.values():
        for square in own:
            found[square.place] = found.get(square.place, 0) + square.pixels
    return found


def _right(window: Window) -> int:
    return window.column + window.width


@lru_cache(maxsize=4)
def _without_tail(settings: Settings) -> Settings:
    """Return the settings of zones, the same object each time: sums of equal settings are looked for often."""
    return replace(settings, tail=0)


def _is_plain(settings: Settings, tile: Tile) -> bool:
    """Return whether pixels have a mean, a variance and a truth, and nothing else."""
    alone = settings.form == GAUSSIAN and not (settings.added or tile.weighted or tile.covariates or tile.classes)
    return alone and all(isinstance(own, Prediction) and own.lower is None for own in tile.predictions.values())


class _Gathered:
    """Pixels of a variable and a zone in a group. They are gathered, and summed when they are many.

    is_plain : whether they have a mean, a variance and a truth, and nothing else. is_large : whether the zone has too
    many pixels to keep them all. swept : whether they are kept as they are swept; only if they are plain.
    """

    def __init__(
        self,
        span: Window,
        settings: Settings,
        tile: Tile,
        variable: Variable,
        *,
        is_plain: bool,
        is_large: bool,
        swept: bool,
    ) -> None:
        self.without_truth, self._is_plain, self._is_large, self._swept = 0, is_plain, is_large, swept
        self._span, self._settings, self._tile, self._variable = span, settings, tile, variable
        self._waiting: list[tuple[Read, _Square]] = []
        self._plain: list[GatheredSquare] = []
        self._values = 0
        self._group: GroupSum | None = None

    def take(self, read: Read, own: _Square) -> None:
        """Take the pixels of the zone in a square of a window."""
        places = own.strips.places
        if self._is_plain:
            name = place_of_variance(self._tile, self._variable)
            self._plain.append(GatheredSquare.of(read, own.strips, own.square.column, self._settings.cell_size, name))
        else:
            self._waiting.append((gathered(read, places, (own.square.row, own.square.column)), own))
        self._values += places.size * self._tile.layers
        if self._values >= MANY:
            self._sum()

    def part(self) -> tuple[VariablePart, int]:
        """Return the sums of all pixels, and the number of valid ones."""
        group = self._sum()
        group.totals.excluded[TRUTH_NODATA] += self.without_truth
        if self._is_large:
            group.few.parts = None
        n = int(group.cells.n.sum())
        return emptied(group), n

    def _sum(self) -> GroupSum:
        settings, thresholds = self._settings, self._variable.thresholds
        group = self._group or new_group_sum(
            self._span,
            settings,
            thresholds,
            weighted=self._tile.weighted,
            swept=self._swept,
            distribution=self._variable.distributed,
        )
        add_squares(self._plain, group, settings)
        for read, own in self._waiting:
            add_boxes(read, boxes_in(group, own.strips.boxes, own.square.column), group, settings)
            if settings.negative == "error":
                refuse_negative(place_of_variance(self._tile, self._variable), read, group)
        if not self._is_large:
            keep_squares(self._plain, group)
            keep_few([(read, read.window) for read, _ in self._waiting], group)
        self._group, self._values = group, 0
        self._waiting.clear()
        self._plain.clear()
        return group


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
            distributions=self.tile.distributions,
        )
        return window, total


def in_memory(tile: Tile, layer: str, zone: str) -> EntryStore:  # noqa: ARG001  one for any
    """Return a store of its own."""
    return InMemory()
