"""Maps with a value for every cell: one mosaic of all tiles where they make one, a file for each tile where not."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.config import EQUAL_COUNT_10, Variable
from geouq.grid import TOLERANCE, Grid, Window
from geouq.maps.geotiff import BandLabel, MapWriter, cog_writer
from geouq.metrics import METRICS, Metric, coverage, unit_of
from geouq.naming import file_name
from geouq.summary import CellSummaries, Summary, TilePlace

Floats = NDArray[np.float64]
Cells = tuple[NDArray[np.int64], CellSummaries]

LARGEST_MOSAIC = 25_000_000  # pixels; where there is no tile the file holds nothing
WINDOW = 512
ONE = Metric("n", lambda summary: summary.n.astype(np.float64), "n", "1", "large", "more pixels", "definition")


@dataclass(frozen=True)
class Mosaic:
    """The grid that all tiles share, whose pixel is the largest square that divides cells and offsets alike.

    step : side of a mosaic's pixel in pixels of the tiles; corners : row and column of each tile's corner, in the same.
    """

    grid: Grid
    step: int
    corners: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Measured:
    """A tile, a label for each band, and the values of its cells (bands, rows, columns); NaN in empty cells."""

    place: TilePlace
    bands: list[BandLabel]
    values: NDArray[np.float32]


def write_cell_maps(
    places: Sequence[TilePlace],
    cells_of: Callable[[str], Iterable[Cells]],
    variable: Variable,
    names: Sequence[str],
    folder: Path,
) -> list[Path]:
    """Write the metrics of every cell of a variable, one band a metric; `cells_of` is asked once for each tile.

    Cells come some at a time, with their numbers, in any order.

    `cells_<variable>.tif` where the tiles lie side by side on one pixel lattice, else `<tile>_cells_<variable>.tif`; of
    several models, `<variable>@<model>`. Binned metrics use ten equal-count bins of the cell's compact profile.
    """
    tiles = (_measured(place, cells_of(place.tile), variable, names) for place in places)
    mosaic = mosaic_of(places)
    if mosaic is None:
        return [_write_tile(tile, variable, folder) for tile in tiles]
    first = next(tiles)
    path = folder / f"cells_{variable.file_name}.tif"
    with cog_writer(path, mosaic.grid, first.bands, _tags(variable)) as writer:
        for tile in chain([first], tiles):
            _paint(tile, mosaic, writer)
    return [path]


def mosaic_of(tiles: Sequence[TilePlace]) -> Mosaic | None:
    """The mosaic of tiles; None where they do not make one of a sensible size."""
    first, cell_size = tiles[0].grid, tiles[0].cell_size
    corners = corners_on_lattice(tiles)
    if corners is None:
        return None
    boxes = [(*corners[tile.tile], *tile.grid.shape) for tile in tiles]
    top, left = min(box[0] for box in boxes), min(box[1] for box in boxes)
    step = math.gcd(cell_size, *(box[0] - top for box in boxes), *(box[1] - left for box in boxes))
    rows = -(-max(box[0] + box[2] - top for box in boxes) // step)
    columns = -(-max(box[1] + box[3] - left for box in boxes) // step)
    if rows * columns > LARGEST_MOSAIC:
        return None
    transform = first.transform @ Affine.translation(left, top) @ Affine.scale(step)
    moved = {name: (row - top, column - left) for name, (row, column) in corners.items()}
    return Mosaic(Grid((rows, columns), transform, first.crs), step, moved)


def corners_on_lattice(tiles: Sequence[TilePlace]) -> dict[str, tuple[int, int]] | None:
    """Row and column of each tile's corner from that of the first one, in pixels.

    None where tiles overlap, or their pixels or cells are not on one lattice.
    """
    first, cell_size = tiles[0].grid, tiles[0].cell_size
    corners = {}
    for tile in tiles:
        corner = _offset(first, tile.grid)
        if corner is None or tile.cell_size != cell_size:
            return None
        corners[tile.tile] = corner
    return None if _overlap([(*corners[tile.tile], *tile.grid.shape) for tile in tiles]) else corners


def _offset(first: Grid, other: Grid) -> tuple[int, int] | None:
    """Rows and columns from one grid's corner to another's; None where they are not on one pixel lattice."""
    if first.crs != other.crs:
        return None
    back = ~first.transform
    (column, row), (far_column, far_row) = (back @ (other.transform @ p) for p in ((0, 0), other.shape[::-1]))
    whole = (round(row), round(column))
    expected = (row, column, row + other.shape[0], column + other.shape[1])
    found = (*whole, far_row, far_column)
    if any(abs(a - b) > TOLERANCE for a, b in zip(expected, found, strict=True)):
        return None
    return whole


def _overlap(boxes: Sequence[tuple[int, int, int, int]]) -> bool:
    """Whether any two boxes (row, column, height, width) share a pixel; a sweep from top to bottom."""
    active: list[tuple[int, int, int, int]] = []
    for box in sorted(boxes):
        active = [other for other in active if other[0] + other[2] > box[0]]
        if any(other[1] < box[1] + box[3] and box[1] < other[1] + other[3] for other in active):
            return True
        active.append(box)
    return False


def _paint(tile: Measured, mosaic: Mosaic, writer: MapWriter) -> None:
    """Write each cell of a tile on its footprint, cut at the tile's border; some of the tile at a time."""
    row, column = (corner // mosaic.step for corner in mosaic.corners[tile.place.tile])
    side = tile.place.cell_size // mosaic.step
    for window in tile.place.grid.coarsened(mosaic.step).windows(WINDOW):
        down, across = (np.arange(own.start, own.stop) // side for own in window.slices)
        painted = tile.values[:, down][:, :, across]
        writer.write(painted, Window(row + window.row, column + window.column, window.height, window.width))


def _write_tile(tile: Measured, variable: Variable, folder: Path) -> Path:
    path = folder / f"{file_name(tile.place.tile)}_cells_{variable.file_name}.tif"
    grid = tile.place.cell_grid
    with cog_writer(path, grid, tile.bands, _tags(variable) | {"GEOUQ_TILE": tile.place.tile}) as writer:
        writer.write(tile.values, Window(0, 0, *grid.shape))
    return path


def _measured(place: TilePlace, parts: Iterable[Cells], variable: Variable, names: Sequence[str]) -> Measured:
    """A band for each metric that the levels allow, measured some cells at a time."""
    waiting = iter(parts)
    first_part = next(waiting)
    chosen = list(_chosen(names, first_part[1].levels))
    labels = [
        BandLabel(name, unit_of(metric, variable.units), metric.claim if name != "n" else "Number of valid pixels.")
        for name, metric, _ in chosen
    ]
    values = np.full((len(chosen), math.prod(place.cell_grid.shape)), np.nan, np.float32)
    for numbers, part in chain([first_part], waiting):
        first = 0
        for summary in part.summaries():
            found = [np.where(summary.n > 0, function(summary), np.nan) for _, _, function in chosen]
            values[:, numbers[first : first + len(summary.n)]] = found
            first += len(summary.n)
    return Measured(place, labels, values.reshape(len(chosen), *place.cell_grid.shape))


def _chosen(names: Sequence[str], levels: Sequence[float]) -> Iterator[tuple[str, Metric, Callable[[Summary], Floats]]]:
    """Each metric that the levels allow, under the name of its band, and the function of a summary that it is."""
    by_name: dict[str, Metric] = {metric.name: metric for metric in (*METRICS, ONE)}
    for name in names:
        base, _, percent = name.partition("_")
        if base == "coverage" and percent:
            level = float(percent) / 100
            if level in levels:
                yield name, by_name[base], partial(coverage, level=level)
        else:
            metric = by_name[name]
            binned = metric.choice == "bins"
            yield name, metric, partial(metric.function, bins=EQUAL_COUNT_10) if binned else metric.function


def _tags(variable: Variable) -> dict[str, str]:
    return {"GEOUQ_MAP": "cells", "GEOUQ_VARIABLE": variable.name}
