"""Pixels of a layer on the grid of the mean, from those of its file on another grid.

Each square of the grid is warped by GDAL from the pixels of the file around it. Squares have fixed places, so that
values do not depend on the windows that are read.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from rasterio.enums import Resampling
from rasterio.warp import reproject

from geouq.core.errors import DataError
from geouq.core.grid import SQUARE, Grid, Window, known_crs
from geouq.rasters.alignment import pixels_within, source_window
from geouq.rasters.raster import Aligned, Raster
from geouq.reading.cutting import overlap

Doubles = NDArray[np.float64]
Known = Callable[[Window], tuple[Doubles, NDArray[np.bool_]]]  # of a window of the file, and where they are none

MOST_PIXELS = 1 << 20  # of the file, that a square is made of
ALIGNING = 48 * MOST_PIXELS  # bytes of a thread: its values, which of them are known, and GDAL's copies
ONE_PLANE = "EPSG:3857"  # stands for the CRS of grids that both have none
DIGITS = 9  # of a share, whose last ones are rounding


def aligned_values(raster: Raster, window: Window, known: Known) -> Doubles:
    """Return a window of an aligned raster, NaN where the file says nothing.

    Parameters
    ----------
    raster : Raster
        The raster on the grid of the mean.
    window : Window
        Pixels of that grid.
    known : callable
        Reads a window of the file.

    Raises
    ------
    DataError
        If the window crosses the line at which longitudes of the file begin again.
    """
    found = np.empty((window.height, window.width))
    aligned = raster.aligned
    if aligned is None:
        raise AssertionError(f"{raster.path} is on its own grid")
    for square in _squares(window, _side(raster, aligned.source), raster.grid.shape):
        own = _square(raster.grid.part(square), aligned, known)
        part = overlap(square, window)
        inside = Window(part.row - square.row, part.column - square.column, part.height, part.width)
        place = Window(part.row - window.row, part.column - window.column, part.height, part.width)
        found[place.slices] = own[inside.slices]
    return found


def _squares(window: Window, side: int, shape: tuple[int, int]) -> Iterator[Window]:
    """Yield the squares of a grid that a window touches."""
    for row in range(window.row // side * side, window.row + window.height, side):
        for column in range(window.column // side * side, window.column + window.width, side):
            yield Window(row, column, min(side, shape[0] - row), min(side, shape[1] - column))


def _side(raster: Raster, source: Raster) -> int:
    """Return the side of squares that are made of at most so many pixels of the file."""
    ratio, side = pixels_within(raster.grid, source.grid), SQUARE
    while side > 1 and side**2 * ratio > MOST_PIXELS:
        side //= 2
    return side


def _square(grid: Grid, aligned: Aligned, known: Known) -> Doubles:
    source = aligned.source.grid
    try:
        window = source_window(grid, source)
    except DataError as error:
        raise DataError(
            f"{aligned.source.path} cannot be aligned: {error}; bring it to one grid with gdalwarp"
        ) from None
    inside = None if window is None else overlap(window, Window(0, 0, *source.shape))
    if window is None or inside is None or min(inside.height, inside.width) <= 0:
        return np.full(grid.shape, np.nan)
    values = np.full((window.height, window.width), np.nan)
    read, nothing = known(inside)
    place = Window(inside.row - window.row, inside.column - window.column, inside.height, inside.width)
    values[place.slices] = np.where(nothing, np.nan, read)
    return _warped(values, source.part(window), grid, aligned)


def _warped(values: Doubles, source: Grid, grid: Grid, aligned: Aligned) -> Doubles:
    """Return values on another grid, NaN where they are not known, or too small a share of a pixel is."""
    if np.isnan(values).all():
        return np.full(grid.shape, np.nan)
    method = Resampling[aligned.method]
    found = _reprojected(values, source, grid, method, np.nan)
    if method is Resampling.average:
        share = _reprojected(np.isfinite(values).astype(np.float64), source, grid, method, None)
        found[~(np.round(share, DIGITS) >= aligned.valid_share)] = np.nan
    return found


def _reprojected(values: Doubles, source: Grid, grid: Grid, method: Resampling, nodata: float | None) -> Doubles:
    found = np.full(grid.shape, np.nan)
    reproject(
        values,
        found,
        src_transform=source.transform,
        dst_transform=grid.transform,
        src_crs=known_crs(source.crs) if source.crs else ONE_PLANE,
        dst_crs=known_crs(grid.crs) if grid.crs else ONE_PLANE,
        src_nodata=nodata,
        dst_nodata=np.nan,
        resampling=method,
    )
    return found
