"""How large pixels are on the ground, and what follows for means and totals of areas if they differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError, RasterioError
from rasterio.warp import transform

from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window, known_crs
from geouq.rasters.areas import pixel_areas

Floats = NDArray[np.float64]
SEMI_MAJOR, E2 = 6_378_137.0, 0.00669437999014  # metres, squared eccentricity: of WGS 84
PLACES = 3  # along each side of a grid
CLEAR = 1.05  # ratio of the largest to the smallest pixel, from which it is named
TRUE_AREA = 0.98, 1.02  # of the area on the map relative to that on the ground


def ground_areas(grids: Sequence[Grid]) -> Floats:
    """Return the area on the ground of nine pixels of each grid in square metres, float64 (grids, 9).

    From the derivatives of longitude and latitude along rows and columns, on the ellipsoid of WGS 84. NaN where it is
    not known, such as without a CRS.
    """
    found = np.full((len(grids), PLACES**2), np.nan)
    for crs in {grid.crs for grid in grids if grid.crs}:
        chosen = [number for number, grid in enumerate(grids) if grid.crs == crs]
        corners = np.stack([_around_pixels(grids[number]) for number in chosen])
        found[chosen] = _areas(crs, corners)
    return found


def notes_of_pixel_sizes(grids: Sequence[Grid], *, weighted: bool) -> list[str]:
    """Return what to know of means and totals where pixels differ in size; weighted : whether pixels have weights."""
    areas = ground_areas(grids)
    on_map = np.array([_area_on_map(grid) for grid in grids])[:, np.newaxis] / areas
    if not np.isfinite(areas).any():
        return []
    notes, ratio = [], np.nanmax(areas) / np.nanmin(areas)
    if ratio > CLEAR and not weighted:
        remedy = (
            "bring the rasters to an equal-area CRS"
            if np.isfinite(on_map).any()
            else "weight each by its area (`weights: area` in data)"
        )
        notes.append(
            f"pixels differ in area on the ground by a factor of {ratio:.3g} and count alike, also in means and totals "
            f"of areas; {remedy}"
        )
    if np.isfinite(on_map).any():
        low, high = np.nanmin(on_map), np.nanmax(on_map)
        if low < TRUE_AREA[0] or high > TRUE_AREA[1]:
            notes.append(
                f"areas on the map are {low:.3g} to {high:.3g} times those on the ground, and so are area and total in "
                "areas.csv; bring the rasters to an equal-area CRS"
            )
    return notes


def _around_pixels(grid: Grid) -> Floats:
    """Return x and y of the middles of the edges of nine pixels: left, right, top, bottom; float64 (2, 4, 9)."""
    row, column = (np.linspace(0, length - 1, PLACES) + 0.5 for length in grid.shape)
    down, across = (own.ravel() for own in np.meshgrid(row, column, indexing="ij"))
    rows, columns = (
        np.stack([down, down, down - 0.5, down + 0.5]),
        np.stack([across - 0.5, across + 0.5, across, across]),
    )
    t = grid.transform
    return np.stack([t.a * columns + t.b * rows + t.c, t.d * columns + t.e * rows + t.f])


def _areas(crs: str, corners: Floats) -> Floats:
    """Return the areas of pixels from the middles of their edges, float64 (grids, 2, 4, 9)."""
    x, y = corners[:, 0], corners[:, 1]
    try:
        longitude, latitude = transform(known_crs(crs), CRS.from_epsg(4326), x.ravel(), y.ravel())[:2]
    except (CRSError, RasterioError):
        return np.full((len(corners), corners.shape[-1]), np.nan)
    longitude, latitude = np.radians([longitude, latitude]).reshape(2, *x.shape)
    across, down = (_steps(longitude, k) for k in (0, 2)), (latitude[:, k + 1] - latitude[:, k] for k in (0, 2))
    (lon_across, lon_down), (lat_across, lat_down) = across, down
    sine = np.sin(latitude.mean(axis=1))
    flat = 1 - E2 * sine**2
    on_ellipsoid = SEMI_MAJOR**2 * (1 - E2) / flat**2 * np.sqrt(1 - sine**2)
    areas = on_ellipsoid * np.abs(lon_across * lat_down - lon_down * lat_across)
    return np.where(np.isfinite(areas) & (areas > 0), areas, np.nan)


def _steps(longitude: Floats, first: int) -> Floats:
    """Return the difference of two longitudes, the short way round."""
    return (longitude[:, first + 1] - longitude[:, first] + np.pi) % (2 * np.pi) - np.pi


def _area_on_map(grid: Grid) -> Any:
    """Return the area of a pixel of a projected CRS on the map; NaN for other grids."""
    try:
        return pixel_areas(grid, Window(0, 0, 1, 1))[0, 0] if grid.crs and known_crs(grid.crs).is_projected else np.nan
    except DataError:
        return np.nan
