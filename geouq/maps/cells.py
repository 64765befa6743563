"""Maps with a value for every cell: one mosaic of all tiles where they make one, a file for each tile where not."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from affine import Affine
from numpy.typing import NDArray

from geouq.config import EQUAL_COUNT_10, Variable
from geouq.grid import TOLERANCE, Grid, Window
from geouq.maps.geotiff import BandLabel, cog_writer
from geouq.metrics import METRICS, Metric, coverage, unit_of
from geouq.naming import file_name
from geouq.summary import Summary, TileSummary

Floats = NDArray[np.float64]

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
class Patch:
    """The cells of one tile in a mosaic: where, in the mosaic's pixels, the side of a cell, and values (bands, ...)."""

    place: Window
    side: int
    values: NDArray[np.float32]


def write_cell_maps(tiles: Iterable[TileSummary], variable: Variable, names: Sequence[str], folder: Path) -> list[Path]:
    """Write the metrics of every cell of a variable, one band a metric; `tiles` may be read more than once.

    `cells_<variable>.tif` where the tiles lie side by side on one pixel lattice, else `<tile>_cells_<variable>.tif`.
    Binned metrics use ten equal-count bins of the cell's compact profile.
    """
    shapes = [(tile.tile, tile.grid, tile.cell_size) for tile in tiles]
    mosaic = mosaic_of(shapes)
    if mosaic is None:
        return [_write_tile(tile, variable, names, folder) for tile in tiles]
    bands: list[BandLabel] = []
    patches = []
    for tile in tiles:
        bands, values = _cell_values(tile, variable, names)
        patches.append(_patch(values, tile, mosaic))
    path = folder / f"cells_{file_name(variable.name)}.tif"
    with cog_writer(path, mosaic.grid, bands, _tags(variable)) as writer:
        for window in mosaic.grid.windows(WINDOW):
            painted = _painted(window, patches, len(bands))
            if painted is not None:
                writer.write(painted, window)
    return [path]


def mosaic_of(tiles: Sequence[tuple[str, Grid, int]]) -> Mosaic | None:
    """The mosaic of tiles (name, grid, cell size); None where they do not make one of a sensible size."""
    _, first, cell_size = tiles[0]
    if any(size != cell_size for _, _, size in tiles):
        return None
    corners = {}
    for name, grid, _ in tiles:
        corner = _offset(first, grid)
        if corner is None:
            return None
        corners[name] = corner
    boxes = [(*corners[name], *grid.shape) for name, grid, _ in tiles]
    if _overlap(boxes):
        return None
    top, left = min(box[0] for box in boxes), min(box[1] for box in boxes)
    step = math.gcd(cell_size, *(box[0] - top for box in boxes), *(box[1] - left for box in boxes))
    rows = -(-max(box[0] + box[2] - top for box in boxes) // step)
    columns = -(-max(box[1] + box[3] - left for box in boxes) // step)
    if rows * columns > LARGEST_MOSAIC:
        return None
    transform = first.transform @ Affine.translation(left, top) @ Affine.scale(step)
    moved = {name: (row - top, column - left) for name, (row, column) in corners.items()}
    return Mosaic(Grid((rows, columns), transform, first.crs), step, moved)


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


def _patch(values: Floats, tile: TileSummary, mosaic: Mosaic) -> Patch:
    """A tile's cells where the mosaic has them."""
    rows, columns = (-(-length // mosaic.step) for length in tile.grid.shape)
    row, column = (corner // mosaic.step for corner in mosaic.corners[tile.tile])
    return Patch(Window(row, column, rows, columns), tile.cell_size // mosaic.step, values.astype(np.float32))


def _painted(window: Window, patches: Sequence[Patch], bands: int) -> NDArray[np.float32] | None:
    """The mosaic within a window: each cell on its footprint, cut at its tile's border; None where no tile is."""
    values = np.full((bands, window.height, window.width), np.nan, np.float32)
    touched = False
    for patch in patches:
        rows = _common(window.row, window.height, patch.place.row, patch.place.height)
        columns = _common(window.column, window.width, patch.place.column, patch.place.width)
        if len(rows) and len(columns):
            touched = True
            down, across = (rows - patch.place.row) // patch.side, (columns - patch.place.column) // patch.side
            top, left = rows[0] - window.row, columns[0] - window.column
            values[:, top : top + len(rows), left : left + len(columns)] = patch.values[:, down][:, :, across]
    return values if touched else None


def _common(start: int, length: int, other_start: int, other_length: int) -> NDArray[np.int64]:
    """Numbers that two ranges share."""
    return np.arange(max(start, other_start), min(start + length, other_start + other_length))


def _write_tile(tile: TileSummary, variable: Variable, names: Sequence[str], folder: Path) -> Path:
    bands, values = _cell_values(tile, variable, names)
    path = folder / f"{file_name(tile.tile)}_cells_{file_name(variable.name)}.tif"
    with cog_writer(path, tile.cell_grid, bands, _tags(variable) | {"GEOUQ_TILE": tile.tile}) as writer:
        writer.write(values, Window(0, 0, *tile.cell_grid.shape))
    return path


def _cell_values(tile: TileSummary, variable: Variable, names: Sequence[str]) -> tuple[list[BandLabel], Floats]:
    """A band for each metric that the summaries allow, and its values (bands, rows, columns); NaN in empty cells."""
    summary = tile.variables[variable.name].cells.summary()
    rows = [(name, metric, values) for name, metric, values in _measured(summary, names)]
    labels = [
        BandLabel(name, unit_of(metric, variable.units), metric.claim if name != "n" else "Number of valid pixels.")
        for name, metric, _ in rows
    ]
    stacked = np.stack([np.where(summary.n > 0, values, np.nan) for _, _, values in rows])
    return labels, stacked.reshape(len(rows), *tile.cell_grid.shape)


def _measured(summary: Summary, names: Sequence[str]) -> Iterator[tuple[str, Metric, Floats]]:
    by_name: dict[str, Metric] = {metric.name: metric for metric in (*METRICS, ONE)}
    for name in names:
        base, _, percent = name.partition("_")
        if base == "coverage" and percent:
            level = float(percent) / 100
            if level in summary.levels:
                yield name, by_name[base], coverage(summary, level)
        else:
            metric = by_name[name]
            function: Callable[..., Floats] = metric.function
            yield name, metric, function(summary, EQUAL_COUNT_10) if metric.choice == "bins" else function(summary)


def _tags(variable: Variable) -> dict[str, str]:
    return {"GEOUQ_MAP": "cells", "GEOUQ_VARIABLE": variable.name}
