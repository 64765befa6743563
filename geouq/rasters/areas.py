"""How large pixels are, in square metres: on the ellipsoid where coordinates are angles, on the map elsewhere."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.core.errors import DataError
from geouq.core.grid import TOLERANCE, Grid, Window

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """What areas are measured on: the unit of the coordinates in metres, or in radians on an ellipsoid.

    semi_major : metres, None on a map. eccentricity_squared : 0 on a sphere and on a map.
    """

    unit: float
    semi_major: float | None = None
    eccentricity_squared: float = 0.0


def pixel_areas(grid: Grid, window: Window) -> Floats:
    """Return the area of each pixel of a window in square metres, shape (height, width), C-contiguous.

    Exact on the ellipsoid of a geographic CRS, to rounding at any size of pixel, where rows run along parallels; a row
    that a pole cuts has the part this side of it. Of a projected CRS, the area on the map: the same for all pixels,
    and that on the ground only as far as the projection keeps areas. Raises DataError where there is no CRS, pixels
    have no size, rows of a geographic grid do not run along parallels, or one lies beyond a pole altogether.

    >>> from affine import Affine
    >>> wgs84 = CRS.from_epsg(4326).to_wkt()
    >>> areas = pixel_areas(Grid((2, 4), Affine(90, 0, -180, 0, -90, 90), wgs84), Window(0, 0, 2, 4))
    >>> f"{areas.sum():.11e} square metres"
    '5.10065621724e+14 square metres'
    """
    _require_size(grid)
    surface = _surface_of(grid.crs)
    if surface.semi_major is None:
        return np.full((window.height, window.width), abs(grid.transform.determinant) * surface.unit**2)
    rows = _areas_of_rows(grid, window, surface.semi_major, surface)
    return np.repeat(rows[:, np.newaxis], window.width, axis=1)


def require_areas(grid: Grid, name: str) -> None:
    """Raise DataError that begins with the file's `name` unless `pixel_areas` has an area for every pixel."""
    try:
        for row in (0, grid.shape[0] - 1):  # between them, none is nearer to a pole
            pixel_areas(grid, Window(row, 0, 1, 1))
    except DataError as error:
        raise DataError(f"{name}: {error}; or give weights as rasters") from None


def _require_size(grid: Grid) -> None:
    area = abs(grid.transform.determinant)
    if not 0 < area < np.inf:
        raise DataError("pixels have no size, and so no area to be weighted by; give the file a transform")


def _areas_of_rows(grid: Grid, window: Window, semi_major: float, surface: Surface) -> Floats:
    """Return the area of a pixel of each row, between two parallels and two meridians.

    With s = sin(latitude) it is a^2 (1 - e^2) / 2 * width * [s / (1 - e^2 s^2) + artanh(e s) / e] between the two
    parallels (Snyder 1987, Map Projections, equation 3-12). The differences of both terms are written as products with
    the difference of s, and that with the height of the row: subtracting would cost a small pixel most of its digits.
    """
    middle, height = _parallels(grid, window, quarter := np.pi / 2 / surface.unit)
    south, north = (np.sin((middle + side * height / 2) * surface.unit) for side in (-1, 1))
    # near a pole, the distance from it keeps the digits that the cosine of the latitude has lost
    step = 2 * np.sin((quarter - np.abs(middle)) * surface.unit) * np.sin(height / 2 * surface.unit)
    e2 = surface.eccentricity_squared
    first = (1 + e2 * south * north) / ((1 - e2 * south**2) * (1 - e2 * north**2)) * step
    second = _artanh_over_e(step / (1 - e2 * south * north), e2)
    return semi_major**2 * (1 - e2) / 2 * abs(grid.transform.a) * surface.unit * (first + second)


def _parallels(grid: Grid, window: Window, quarter: float) -> tuple[Floats, Floats]:
    """Middle latitude and height of each row, in units of the grid; `quarter` is the latitude of the pole."""
    t = grid.transform
    if abs(t.d) * grid.shape[1] > TOLERANCE * abs(t.e):
        raise DataError("rows do not run along parallels; bring the tile to a north-up grid, for example with gdalwarp")
    middle = t.f + t.e * (np.arange(window.row, window.row + window.height) + 0.5)
    beyond_north, beyond_south = (np.maximum(abs(t.e) / 2 + side * middle - quarter, 0) for side in (1, -1))
    height = abs(t.e) - beyond_north - beyond_south
    if not (height > 0).all():
        row = int(np.argmin(height))
        raise DataError(
            f"row {window.row + row} lies beyond a pole, around latitude {middle[row]:.10g}; repair the file"
        )
    return middle - (beyond_north - beyond_south) / 2, height


def _artanh_over_e(x: Floats, e2: float) -> Floats:
    e = np.sqrt(e2)
    return np.arctanh(e * x) / e if e > 0 else x


@lru_cache(maxsize=64)
def _surface_of(wkt: str) -> Surface:
    if not wkt:
        raise DataError("no CRS gives the size of a pixel; give the file one, for example with gdal_edit")
    try:
        crs = CRS.from_wkt(wkt)
    except CRSError:
        raise DataError("the CRS cannot be read, and so the size of a pixel is not known; repair the file") from None
    unit = crs.units_factor[1]
    if crs.is_projected:
        return Surface(unit)
    if not crs.is_geographic:
        raise DataError("the CRS is neither geographic nor projected, and does not give the size of a pixel")
    document = crs.to_dict(projjson=True)
    semi_major, e2 = _shape_of(_first(document, "ellipsoid"))
    if e2 > 0 and _first(document, "conversion"):
        raise DataError(
            "the poles of the CRS are moved, and areas there known on a sphere only; "
            "bring the tile to another CRS, for example with gdalwarp"
        )
    return Surface(unit, semi_major, e2)


def _shape_of(ellipsoid: dict[str, Any]) -> tuple[float, float]:
    """Return the semi-major axis in metres and squared eccentricity of an ellipsoid in PROJJSON."""
    if "radius" in ellipsoid:
        return _in_metres(ellipsoid["radius"]), 0.0
    a = _in_metres(ellipsoid["semi_major_axis"])
    if "semi_minor_axis" in ellipsoid:
        ratio = _in_metres(ellipsoid["semi_minor_axis"]) / a
        return a, (1 - ratio) * (1 + ratio)
    flattening = 1 / ellipsoid["inverse_flattening"]
    return a, flattening * (2 - flattening)


def _in_metres(length: Any) -> float:
    if not isinstance(length, dict):
        return float(length)
    unit = length["unit"]
    return float(length["value"]) * (1.0 if unit == "metre" else float(unit["conversion_factor"]))


def _first(document: Any, key: str) -> Any:
    """Return the first value of a key at any depth; None without one."""
    if isinstance(document, dict) and key in document:
        return document[key]
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return next((found for part in parts if (found := _first(part, key)) is not None), None)
