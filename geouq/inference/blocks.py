"""The blocks of cells of an evaluation unit: how large they are, and what each adds.

No block crosses the edge of a tile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from geouq.config import Intervals, length
from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.inference.bootstrap import WEIGHT, BootstrapBasis, CellsOf, N, rows_of_cells, sums_by_block
from geouq.inference.correlogram import Correlogram, correlograms, kept_by_blocks, pairs_within_blocks
from geouq.inference.long_run import LongRun, Positions, Squares, long_run, positions_of
from geouq.rasters.areas import pixel_areas
from geouq.summary import TilePlace
from geouq.summary.moments import CENTRED, PRODUCTS, SUMS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_UNITS = 1 << 17
ENOUGH_BLOCKS = 20
ENOUGH_KEPT = 0.8  # of the variance of the mean
FIRST = 2  # column of the first of `SUMS`, which begin with what is `CENTRED`; `PRODUCTS` follow


def block_numbers(shape: tuple[int, int], side: int) -> Ints:
    """Return the number of the block of each cell of a tile of `shape` cells, in rows from the top left; int64 (cells).

    A tile is cut into as many rows and columns of blocks of `side` cells as fit, of nearly equal height and width, so
    that no block is narrower than `side` unless the tile is.

    >>> block_numbers((2, 5), 2).reshape(2, 5)
    array([[0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    """
    (down, _), (across, blocks) = (_cut(cells, side) for cells in shape)
    return (down[:, np.newaxis] * blocks + across).ravel()


def block_sides(shape: tuple[int, int], side: int) -> tuple[Ints, Ints]:
    """Return the heights of the rows and widths of the columns of blocks of a tile, in cells."""
    down, across = (np.bincount(_cut(cells, side)[0]) for cells in shape)
    return down, across


def cell_metres(grid: Grid, cell_size: int) -> float:
    """Side of a square of the area of the cell in the middle of a tile, in metres; NaN where that is not known."""
    row, column = grid.shape[0] // 2, grid.shape[1] // 2
    try:
        area = pixel_areas(grid, Window(row, column, 1, 1))[0, 0]
    except DataError:
        return np.nan
    return cell_size * float(np.sqrt(area))


def side_in_cells(block: str, cell_size: int, metres: float) -> int:
    """Return the side of the blocks that a length asks for, in cells, at least 1.

    Raises DataError where it is in metres and the size of a pixel is not known.

    >>> side_in_cells("500 px", 64, 640.0), side_in_cells("5 km", 64, 640.0)
    (8, 8)
    """
    number, unit = length(block)
    if unit == "m" and not metres > 0:
        raise DataError(f'block: {block}: how large a pixel is in metres is not known; give it in pixels, as "512 px"')
    return max(1, round(number / (metres if unit == "m" else cell_size)))


def _cut(cells: int, side: int) -> tuple[Ints, int]:
    parts = max(1, cells // side)
    return np.arange(cells) * parts // cells, parts


@dataclass(frozen=True)
class CorrelationRange:
    """How far one residual is correlated, and the long-run variance of its mean."""

    correlogram: Correlogram
    long_run: LongRun

    @property
    def effective(self) -> float:
        """Number of uncorrelated cells whose mean would be as certain."""
        return self.long_run.effective

    def widening(self, level: float) -> float:
        """Return the factor by which deviations of resamples are multiplied to hold the level."""
        return self.long_run.widening(level)


@dataclass(frozen=True)
class Blocks:
    """How the blocks of an evaluation unit are.

    count : their number. cells : number of cells with a pixel. side : of the blocks in cells, 0 where a block is a
    tile; cell_pixels and cell_metres : side of such a cell, the latter NaN where it is not known. capped : whether
    larger blocks were wanted and too few would have been left. reaches : by the name of each residual, how far it is
    correlated and what follows.
    """

    count: int
    cells: int
    side: int
    cell_pixels: int
    cell_metres: float
    capped: bool
    correlation_ranges: Mapping[str, CorrelationRange]


@dataclass(frozen=True)
class _Tile:
    """The units of a tile that hold valid pixels, which are cells or squares of them.

    shape : rows and columns of all units. numbers : int64 (units), of those that hold pixels, by rows from the top
    left. rows : their features, float64 (units, columns).
    """

    shape: tuple[int, int]
    numbers: Ints
    rows: Floats

    @property
    def present(self) -> NDArray[np.bool_]:
        """Return which of all units hold valid pixels."""
        present = np.zeros(self.shape[0] * self.shape[1], np.bool_)
        present[self.numbers] = True
        return present


@dataclass(frozen=True)
class Units:
    """The units of an evaluation unit, tile by tile, how far their residuals are correlated, and how large they are.

    residuals : float64 (units with pixels, 3). present, used : bool, which of all units hold pixels, and which count;
    positions : of all.
    """

    basis: BootstrapBasis
    tiles: Sequence[_Tile]
    residuals: Floats
    positions: Positions
    present: NDArray[np.bool_]
    used: NDArray[np.bool_]
    squares: Squares
    correlograms: Sequence[Correlogram]
    cells: int
    pixels: int
    metres: float

    @cached_property
    def rows(self) -> Floats:
        """Return the features of the units that count, float64 (units, columns)."""
        return self.of_used(np.concatenate([tile.rows for tile in self.tiles]))

    @property
    def weight(self) -> Floats:
        """Return the weight of all units, 0 of those without a pixel."""
        weight = np.zeros(len(self.present))
        weight[self.present] = np.concatenate([tile.rows[:, WEIGHT] for tile in self.tiles])
        return weight

    def of_used(self, values: Floats) -> Floats:
        """Return the values (units with pixels, columns) of the units that count, 0 of those without a pixel."""
        found = np.zeros((np.count_nonzero(self.used), values.shape[1]))
        found[self.present[self.used]] = values
        return found


def units_of(places: Sequence[TilePlace], cells_of: CellsOf, basis: BootstrapBasis) -> Units:
    """Return the cells of the tiles of an evaluation unit.

    More than 131072 cells are joined to squares, so that the memory is bounded.
    """
    places = sorted(places, key=lambda place: place.tile)
    joined = int(np.ceil(np.sqrt(sum(place.cell_grid.pixels for place in places) / MOST_UNITS))) or 1
    tiles, cells = [], 0
    for place in places:
        numbers, rows = rows_of_cells(cells_of(place.tile), basis)
        cells += len(numbers)
        tiles.append(_joined(numbers, rows, place.cell_grid.shape, joined))
    size = places[0].cell_size * joined
    metres = float(np.mean([cell_metres(place.grid, size) for place in places]))
    residuals, present = [_residuals(tile, basis) for tile in tiles], [tile.present for tile in tiles]
    found = correlograms([_on_grid(*one) for one in zip(tiles, residuals, present, strict=True)])
    used, weight = np.concatenate(present), np.concatenate([tile.rows[:, WEIGHT] for tile in tiles])
    shapes = tuple(tile.shape for tile in tiles)
    positions, squares = _positions_and_squares(tuple(places), shapes, used.tobytes(), weight.tobytes())
    return Units(basis, tiles, np.concatenate(residuals), positions, used, used, squares, found, cells, size, metres)


@lru_cache(1)
def _positions_and_squares(
    places: Sequence[TilePlace], shapes: Sequence[tuple[int, int]], used: bytes, weight: bytes
) -> tuple[Positions, Squares]:
    """Return the positions of all units and the squares of the units with pixels; variables often share both."""
    positions = positions_of(places, shapes)
    return positions, Squares.of(positions.some(np.frombuffer(used, np.bool_)), np.frombuffer(weight))


def on_common_squares(units: Sequence[Units]) -> list[Units]:
    """Return units of several forecasts on the same places, with the squares and the cells that any of them uses."""
    used = np.any([one.present for one in units], axis=0)
    weight = np.sum([one.weight for one in units], axis=0)
    squares = Squares.of(units[0].positions.some(used), weight[used])
    return [replace(one, used=used, squares=squares) for one in units]


def side_of_blocks(units: Units, settings: Intervals) -> tuple[int, bool]:
    """Return the side of the blocks in units, 0 where a block is a tile; and whether larger ones were wanted."""
    if settings.block == "auto":
        return _side_for(units.tiles, units.correlograms)
    return (0 if settings.block == "tile" else side_in_cells(settings.block, units.pixels, units.metres)), False


def cut_into_blocks(units: Units, side: int, capped: bool) -> tuple[Blocks, Floats]:  # noqa: FBT001  as it was found
    """Return the blocks of that side, and sums of the features of all of them, also of those without a pixel."""
    longest = side or max(max(tile.shape) for tile in units.tiles)
    number, blocks = _numbers(units.tiles, longest)
    number = number[units.used]
    sums = sums_by_block(units.rows, number, blocks)
    cells = units.of_used(units.residuals)
    residuals = zip(units.squares.sums(cells).T, sums_by_block(cells, number, blocks).T, cells.T, strict=True)
    correlation_ranges = {
        one.residual: CorrelationRange(one, long_run(units.squares, *sums_of))
        for one, sums_of in zip(units.correlograms, residuals, strict=True)
    }
    count = int((sums[:, N] > 0).sum())
    return Blocks(count, units.cells, side, units.pixels, units.metres, capped, correlation_ranges), sums


def _numbers(tiles: Sequence[_Tile], side: int) -> tuple[Ints, int]:
    """Return the number of the block of each unit, and how many blocks there are."""
    numbers, blocks = [], 0
    for tile in tiles:
        numbers.append(blocks + block_numbers(tile.shape, side))
        blocks = int(numbers[-1].max()) + 1
    return np.concatenate(numbers), blocks


def _joined(numbers: Ints, rows: Floats, shape: tuple[int, int], side: int) -> _Tile:
    if side == 1:
        return _Tile(shape, numbers, rows)
    shape_of_units = max(1, shape[0] // side), max(1, shape[1] // side)
    units, place = np.unique(block_numbers(shape, side)[numbers], return_inverse=True)
    return _Tile(shape_of_units, units, sums_by_block(rows, place, len(units)))


def _residuals(tile: _Tile, basis: BootstrapBasis) -> Floats:
    """Return what each unit adds to mean error, squared error and z^2, minus the average, (units, 3)."""
    weight = tile.rows[:, WEIGHT]
    residuals = [tile.rows[:, FIRST + CENTRED.index("error")]]
    for name in ("error", "z"):
        mean_square = float(basis.moments.whole.mean_square(name))
        centre, away = basis.moments.centre[CENTRED.index(name)], tile.rows[:, FIRST + CENTRED.index(name)]
        about_centre = tile.rows[:, FIRST + len(SUMS) + PRODUCTS.index((name, name))]
        residuals.append(about_centre + 2 * centre * away + weight * (centre**2 - mean_square))
    return np.stack(residuals, axis=-1)


def _on_grid(tile: _Tile, residuals: Floats, present: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return residuals (rows, columns, 3) of a tile, 0 in units without pixels, and which units have pixels."""
    grid = np.zeros((len(present), residuals.shape[1]))
    grid[tile.numbers] = residuals
    return grid.reshape(*tile.shape, -1), present.reshape(tile.shape)


def _side_for(tiles: Sequence[_Tile], ranges: Sequence[Correlogram]) -> tuple[int, bool]:
    """Side of the smallest blocks that reach as far as the correlation and keep enough; whether it had to be capped.

    It is capped where fewer than 20 blocks would be left; 0 where too few pairs of cells tell the correlation.
    """
    if not all(one.known for one in ranges):
        return 0, False
    longest = max(max(tile.shape) for tile in tiles)
    wanted = min(max(one.correlation_range for one in ranges), longest)
    while wanted < longest and _kept(tiles, ranges, wanted) < ENOUGH_KEPT:
        wanted += 1
    side = wanted
    while side > 1 and sum(_used_blocks(tile, side) for tile in tiles) < ENOUGH_BLOCKS:
        side -= 1
    return side, side < wanted


def _used_blocks(tile: _Tile, side: int) -> int:
    return len(np.unique(block_numbers(tile.shape, side)[tile.numbers]))


def _kept(tiles: Sequence[_Tile], ranges: Sequence[Correlogram], side: int) -> float:
    sides = [block_sides(tile.shape, side) for tile in tiles]
    within, cells = pairs_within_blocks(ranges[0].grid.shape[0] - 1, sides)
    return min(kept_by_blocks(one, within, cells) for one in ranges)
