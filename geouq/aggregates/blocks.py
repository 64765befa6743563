"""Means of square blocks of cells, of tiles and of regions: their errors, and the variances that models predict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.aggregates.area import AreaPairs
from geouq.aggregates.cells import AreaCells, common_frame, positions
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.estimation import ErrorCorrelation
from geouq.core.grid import Grid
from geouq.summary import TilePlace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ENOUGH = 0.5  # of the pixels of a block must be valid
OF_A_TILE = 1 << 32  # numbers for the blocks of each tile
GRIDDED = ("n", "weight", "error", "std", "variance", "weight_square", "noise", "area")


@dataclass(frozen=True)
class BlockMeans:
    """Means of some areas; all arrays have a place for each.

    Parameters
    ----------
    error : float64 (B)
        Predicted less measured mean.
    independent, fitted, full : float64 (B)
        Variance of the error if the errors of pixels are independent, correlated as fitted elsewhere, or the same.
    calibrated : float64 (B)
        The fitted one times mean z^2, also from elsewhere.
    noise : float64 (B)
        What the truth's own error adds to each of these variances; it is taken as independent from pixel to pixel.
    area : float64 (B)
        Number of valid pixels times the mean area of a pixel in the area, in square metres.
    fold : int64 (B)
        Fold of the area, on which its model was not fitted.
    number : int64 (B)
        Of the area among those of its kind and size: the same for all forecasts of a map.
    """

    error: Floats
    independent: Floats
    fitted: Floats
    full: Floats
    calibrated: Floats
    noise: Floats
    area: Floats
    fold: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.error)

    def some(self, chosen: Ints) -> Self:
        """Return some of the areas."""
        return type(self)(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    @property
    def side(self) -> float:
        """Return the side of a square with the mean area in metres; NaN if areas are not known."""
        return float(np.sqrt(self.area.mean()))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the areas of all parts."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def sides_of(places: Sequence[TilePlace]) -> list[int]:
    """Return the sides of the blocks in cells: 1, 2, 4, ..., as long as a tile holds a whole block."""
    longest = max((min(place.cell_grid.shape) for place in places), default=0)
    return [1 << k for k in range(longest.bit_length())]


def block_means(
    correlation: ErrorCorrelation, places: Sequence[TilePlace], side: int, least: float = 0.0
) -> BlockMeans:
    """Return the means of square blocks of cells, from the top left of each tile.

    Parameters
    ----------
    correlation : ErrorCorrelation
        Of the cells.
    places : sequence of TilePlace
        Of the tiles.
    side : int
        Of a block in cells.
    least : float
        Sum of the predicted variance over the pixels of a block, below which it is left out.

    Returns
    -------
    BlockMeans
        Of the blocks at least half of whose pixels are valid and that lie in one fold. The model of a block is fitted
        to the other folds. Distances in a block are those of the lattice of cells around its middle.
    """
    frame = common_frame([place.grid.crs for place in places])
    parts = [
        _means(correlation, chosen, _Lattice(place, side, frame, least))
        for tile, place in enumerate(places)
        for chosen in _rows(correlation.cells, tile, side if frame is None else place.cell_grid.shape[0])
    ]
    return BlockMeans.joined([_none(), *parts])


def blocks_of_areas(
    correlation: ErrorCorrelation, areas: Sequence[tuple[AreaCells, Ints]], least: float = 0.0
) -> BlockMeans:
    """Return the means of areas of any shape, each with its cells and the folds of the map that these lie in.

    The model of an area is fitted to the folds in which it does not lie. Areas that leave fewer than three folds are
    left out, and so are those below `least`, as in `block_means`, and small ones that cut most of their cells. Areas
    within one fold share it, as their errors may be alike; any other is a fold of its own, below 0.
    """
    found = []
    for number, (cells, folds) in enumerate(areas):
        model = correlation.without(np.unique(folds).tolist())
        if len(cells) and model is not None and cells.stand_for_pixels and _is_unsure(*_totals(cells), least):
            pairs = AreaPairs.of(cells, correlation.side)
            error, noise = float(cells.error.sum()) / pairs.weight, float(cells.noise.sum()) / pairs.weight**2
            fitted = pairs.variance(model)
            variances = np.array([pairs.independent, fitted, pairs.full, model.zms * fitted]) + noise
            fold = folds[0] if (folds == folds[0]).all() else -1 - number
            found.append((error, *variances, noise, float(cells.area.sum()), fold, number))
    *values, fold_of, place = np.array(found, np.float64).reshape(-1, 9).T
    return _of_columns(values, fold_of.astype(np.int64), place.astype(np.int64))


def _totals(cells: AreaCells) -> tuple[Floats, Floats, Floats]:
    return cells.n.sum(), cells.variance.sum(), cells.weight_square.sum()


def _is_unsure(n: Floats, variance: Floats, weight_square: Floats, least: float) -> NDArray[np.bool_]:
    """Return whether the sum of the predicted variance over the pixels of areas is at least so large."""
    return np.logical_or(least == 0, n * variance >= least * weight_square)


def _none() -> BlockMeans:
    return _of_columns([np.empty(0)] * 7, np.empty(0, np.int64), np.empty(0, np.int64))


def _of_columns(values: Sequence[Floats], fold: Ints, number: Ints) -> BlockMeans:
    """Return the means whose error, variances, noise and area are given, in the order of the fields."""
    error, independent, fitted, full, calibrated, noise, area = values
    return BlockMeans(error, independent, fitted, full, calibrated, noise, area, fold, number)


@dataclass(frozen=True)
class _Lattice:
    """Blocks of `side` cells in a tile; distances are measured in `frame`; `least` as of `block_means`."""

    place: TilePlace
    side: int
    frame: str | None
    least: float


def _rows(cells: AreaCells, tile: int, height: int) -> Iterator[Ints]:
    """Yield the numbers of the cells in rows of a tile that have the same distances; on the sphere, these are few."""
    own = np.flatnonzero(cells.tile == tile)
    row = cells.row[own] // height
    for number in np.unique(row):
        yield own[row == number]


def _means(correlation: ErrorCorrelation, chosen: Ints, lattice: _Lattice) -> BlockMeans:
    """Return the means of the blocks that the chosen cells are in."""
    cells, fold, side, place = correlation.cells.some(chosen), correlation.fold[chosen], lattice.side, lattice.place
    across, top = -(-place.cell_grid.shape[1] // side), cells.row.min() // side
    block = (cells.row // side - top) * across + cells.column // side
    count = int(block.max()) + 1
    first, last = np.full(count, correlation.folds), np.full(count, -1)
    np.minimum.at(first, block, fold)
    np.maximum.at(last, block, fold)
    grids = {name: np.zeros((count, side, side)) for name in GRIDDED}
    for name, grid in grids.items():
        grid[block, cells.row % side, cells.column % side] = getattr(cells, name)
    sums = {name: grid.sum((1, 2)) for name, grid in grids.items()}
    wanted = (first == last) & (sums["n"] >= ENOUGH * (side * place.cell_size) ** 2)
    wanted &= _is_unsure(sums["n"], sums["variance"], sums["weight_square"], lattice.least)
    if not wanted.any():
        return _none()
    models = [correlation.without([own]) for own in range(correlation.folds)]
    steps = _steps(place.cell_grid, int(top) * side + side // 2, lattice.frame)
    weight, fold = sums["weight"][wanted], first[wanted]
    fitted = _variances(grids["std"][wanted], grids["variance"][wanted], fold, models, steps) / weight**2
    independent, full = sums["variance"][wanted] / weight**2, (sums["std"][wanted] / weight) ** 2
    calibrated = fitted * np.array([model.zms if model else np.nan for model in models])[fold]
    error, noise, area = sums["error"][wanted] / weight, sums["noise"][wanted] / weight**2, sums["area"][wanted]
    variances = [own + noise for own in (independent, fitted, full, calibrated)]
    number = cells.tile[0] * OF_A_TILE + top * across + np.flatnonzero(wanted)
    return _of_columns([error, *variances, noise, area], fold, number)


def _steps(grid: Grid, row: int, frame: str | None) -> tuple[Floats, Floats]:
    """Return the vectors from a cell to the one below and to the one on its right, in metres, around a row."""
    row, column = min(row, max(grid.shape[0] - 2, 0)), grid.shape[1] // 2
    corner, below, right = positions(grid, np.array([row, row + 1, row]), np.array([column, column, column + 1]), frame)
    return below - corner, right - corner


def _variances(
    std: Floats, variance: Floats, fold: Ints, models: Sequence[CorrelationModel | None], steps: tuple[Floats, Floats]
) -> Floats:
    """Return the variances of the sums of blocks (B, side, side) with S and D in each cell.

    The sum of S S' over the pairs of each lag is an autocorrelation, so that the fast Fourier transform serves all.
    """
    side = std.shape[-1]
    lag = np.arange(2 * side)
    lag = np.where(lag < side, lag, lag - 2 * side)
    distance = np.linalg.norm(lag[:, np.newaxis, np.newaxis] * steps[0] + lag[:, np.newaxis] * steps[1], axis=-1)
    spectrum = np.fft.rfft2(std, (2 * side, 2 * side))
    products = np.fft.irfft2(np.abs(spectrum) ** 2, (2 * side, 2 * side))
    products[:, 0, 0] = 0
    within, own = (std**2 - variance).sum((1, 2)), variance.sum((1, 2))
    found = np.full(len(std), np.nan)
    for number in np.unique(fold).tolist():
        model, chosen = models[number], fold == number
        if model is not None:
            between = products[chosen].reshape(chosen.sum(), -1) @ (model(distance) + model.tile).ravel()
            found[chosen] = between + model.within * within[chosen] + own[chosen]
    return found
