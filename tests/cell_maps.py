"""Cells of simulated maps, and dense sums over all pairs of their pixels."""

from dataclasses import replace

import numpy as np
from affine import Affine
from rasterio.crs import CRS
from simulated.fields import gaussian_field

from geouq.aggregates.cells import AreaCells
from geouq.core.grid import Grid
from geouq.summary import TilePlace

SIDE, PIXELS = 100.0, 4  # metres of a cell, pixels along it
UTM = CRS.from_epsg(32633).to_wkt()
TILES, CELLS = (2, 3), 16


def cells_of(z, std, weight=None, tiles=(1, 1)):
    """Cells of a map of z, std and weights, cut into tiles; pixels with NaN do not count."""
    rows, columns = (length // PIXELS for length in z.shape)
    a = np.where(np.isfinite(z), 1.0 if weight is None else weight, 0.0)
    z, std = np.where(a > 0, z, 0.0), np.broadcast_to(std, z.shape)

    def sums(values):
        return values.reshape(rows, PIXELS, columns, PIXELS).sum((1, 3)).ravel()

    row, column = np.mgrid[:rows, :columns].reshape(2, -1)
    high, wide = rows // tiles[0], columns // tiles[1]
    position = np.column_stack([column * SIDE, -row * SIDE, 0.0 * row])
    n = sums(1.0 * (a > 0))
    cells = AreaCells(
        row // high * tiles[1] + column // wide,
        row % high,
        column % wide,
        position,
        n,
        sums(a),
        n * (SIDE / PIXELS) ** 2,
        sums(10 * a),
        sums(-a * z * std),
        sums(a * std),
        sums(a**2 * std**2),
        sums(a**2),
        np.zeros_like(n),
        sums(a * z),
        sums(a**2 * z**2),
        sums(a),
        sums(a**2),
        np.zeros_like(n),
        np.ones_like(n),
    )
    chosen = cells.n > 0
    order = np.lexsort((cells.column, cells.row, cells.tile))
    return cells.some(order[chosen[order]])


def measured(rng, z, std, noise, tiles=(1, 1), stated=None):
    """Cells of a map whose truth has an error with the std `noise`, which is known, and the pixels' errors as seen.

    stated : another std that is given for the error of the truth.
    """
    own, more = (np.broadcast_to(one, z.shape) ** 2 for one in (std, noise if stated is None else stated))
    error = noise * rng.standard_normal(z.shape) - z * std
    share, seen = own / (own + more), -error * np.sqrt(own) / (own + more)
    names = {"error": error, "noise": more, "z": seen, "z_square": seen**2}
    names |= {"z_weight": share, "z_weight_square": share**2, "z_noise": share * (1 - share)}
    # of a map with std 1, the sum of errors of a cell is that of -z
    each = {name: -cells_of(values, 1.0, tiles=tiles).error for name, values in names.items()}
    return replace(cells_of(z, std, tiles=tiles), **each), error


def mixed(rng, shape, *parts):
    """Errors of which a share of the variance has a range in cells, for each part; the rest is independent."""
    own = 1 - sum(share for share, _ in parts)
    fields = [np.sqrt(share) * gaussian_field(rng, shape, reach * PIXELS, "exp") for share, reach in parts]
    return np.sqrt(own) * rng.standard_normal(shape) + sum(fields)


def places():
    """Places of the tiles that `cells_of` cuts a map into."""
    side = SIDE / PIXELS
    grids = [
        Grid((CELLS * PIXELS,) * 2, Affine(side, 0, column * CELLS * SIDE, 0, -side, -row * CELLS * SIDE), UTM)
        for row in range(TILES[0])
        for column in range(TILES[1])
    ]
    return [TilePlace(f"{number}", grid, PIXELS) for number, grid in enumerate(grids)]
