"""Where pixels are: shape, affine transform and CRS of a raster, and whether two rasters lie on the same pixels."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from affine import Affine
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.core.errors import GridError

TOLERANCE = 0.01  # pixels, at any corner
POINT = 4  # numbers of a ground control point
SQUARE = 256  # pixels along the side of the squares in which sums are made
NOWHERE = -1  # place of a pixel that is in no window
COLUMN = (1 << 32) - 1  # bits of the column in the place of a pixel in its tile, row << 32 | column

UNKNOWN = "unknown"
NO_NAMES = ("", "unnamed", UNKNOWN)  # what GDAL and PROJ call a CRS that has no name
METHOD = re.compile(r'(?:PROJECTION|METHOD)\["([^"]+)"')  # of a projection, in both versions of WKT

Places = NDArray[np.int32]  # numbers of pixels in a window, row by row


@dataclass(frozen=True)
class Window:
    """A rectangle of pixels of a raster: first row and column, height and width."""

    row: int
    column: int
    height: int
    width: int

    @property
    def slices(self) -> tuple[slice, slice]:
        """Return the rows and columns as slices of a whole array."""
        return slice(self.row, self.row + self.height), slice(self.column, self.column + self.width)


@dataclass(frozen=True)
class Grid:
    """Shape (rows, columns), affine transform from (column, row) to coordinates, and CRS as WKT ('' for none).

    control : ground control points (row, column, x, y), or coefficients of a sensor model, of a raster that has no
        transform; control_crs : the CRS of these points as WKT.
    """

    shape: tuple[int, int]
    transform: Affine
    crs: str
    control: tuple[tuple[float, ...], ...] = ()
    control_crs: str = ""

    @property
    def pixels(self) -> int:
        """Number of pixels."""
        return self.shape[0] * self.shape[1]

    @property
    def crs_name(self) -> str:
        """Return the CRS as people call it, such as EPSG:32633."""
        return _crs_name(self.crs)

    def windows(self, size: int) -> Iterator[Window]:
        """Yield the squares of `size` pixels in rows from the top left; smaller at the right and lower border.

        >>> [w.width for w in Grid((2, 5), Affine.identity(), "").windows(2)]
        [2, 2, 1]
        """
        rows, columns = self.shape
        for row in range(0, rows, size):
            for column in range(0, columns, size):
                yield Window(row, column, min(size, rows - row), min(size, columns - column))

    def part(self, window: Window) -> Self:
        """Return the grid of the pixels in a window."""
        moved = self.transform @ Affine.translation(window.column, window.row)
        return type(self)((window.height, window.width), moved, self.crs)

    def coarsened(self, size: int) -> Self:
        """Return the grid of the squares of `size` pixels; those at the right and lower border reach beyond it."""
        return type(self)(self.coarsened_shape(size), self.transform @ Affine.scale(size), self.crs)

    def coarsened_shape(self, size: int) -> tuple[int, int]:
        """Return the rows and columns of squares of `size` pixels.

        >>> Grid((2, 5), Affine.identity(), "").coarsened_shape(2)
        (1, 3)
        """
        rows, columns = self.shape
        return -(-rows // size), -(-columns // size)

    def __str__(self) -> str:
        t = self.transform
        size = f"{self.shape[0]} rows x {self.shape[1]} columns, pixel {t.a:.10g} x {t.e:.10g}"
        if self.control:
            return f"{size}, {_control_name(self.control)}, {_crs_name(self.control_crs)}"
        return f"{size}, upper left corner ({t.c:.10g}, {t.f:.10g}), {_crs_name(self.crs)}"


@lru_cache(maxsize=64)
def known_crs(wkt: str) -> CRS:
    """Return the CRS of a WKT, which is made once for all tiles."""
    return CRS.from_wkt(wkt)


def same_grid(one: Grid, other: Grid) -> bool:
    """Return whether every corner of one lies within `TOLERANCE` pixels of the other's."""
    if one == other:
        return True
    alike = one.shape == other.shape and _same_crs(one.crs, other.crs) and _same_control(one, other)
    return alike and shift_in_pixels(one, other) <= TOLERANCE


def require_same_grid(one: Grid, other: Grid, one_name: str, other_name: str) -> None:
    """Raise GridError, which shows both grids and the shift in pixels, unless they are the same."""
    if not same_grid(one, other):
        raise GridError(
            f"{why_not_same(one, other, one_name, other_name)}\n"
            f"  bring both to one grid first, for example with gdalwarp -te -tr"
        )


def why_not_same(one: Grid, other: Grid, one_name: str, other_name: str) -> str:
    """Return how two grids differ, with both in full."""
    return (
        f"{other_name} does not lie on the pixels of {one_name}{_difference(one, other)}\n"
        f"  {one_name}: {one}\n  {other_name}: {other}"
    )


def shift_in_pixels(one: Grid, other: Grid) -> float:
    """Largest distance between corresponding corners, in pixels of `one`; infinite where its pixels have no size."""
    if one.transform.is_degenerate:
        return 0.0 if one.transform == other.transform else np.inf
    rows, columns = other.shape
    corners = ((0, 0), (columns, 0), (0, rows), (columns, rows))
    back = ~one.transform
    return max(float(np.hypot(*np.subtract(back @ (other.transform @ corner), corner))) for corner in corners)


def _difference(one: Grid, other: Grid) -> str:
    if not _same_crs(one.crs, other.crs):
        own, wanted = _crs_name(other.crs), _crs_name(one.crs)
        return f": its CRS is {own}, not {wanted}" if own != wanted else f": its CRS is another {own}"
    if one.shape != other.shape:
        shapes = [f"{grid.shape[0]} x {grid.shape[1]}" for grid in (other, one)]
        return f": it has {shapes[0]} pixels, not {shapes[1]}"
    if not _same_control(one, other):
        return ": its ground control points, or the coefficients of its sensor model, differ"
    if one.transform.is_degenerate or other.transform.is_degenerate:
        return ": the pixels of one of them have no size"
    step = ~one.transform @ other.transform
    wide, high = float(np.hypot(step.a, step.d)), float(np.hypot(step.b, step.e))
    alike = max(abs(wide - 1), abs(high - 1)) < 1e-9
    scaled = "" if alike else f", and its pixels are {wide:.6g} times as wide and {high:.6g} times as high"
    turned = "" if scaled or max(abs(step.a - 1), abs(step.e - 1)) < 1e-9 else ", and flipped or turned"
    return f": it is shifted by {step.c:+.4g} columns and {step.f:+.4g} rows{scaled}{turned}"


def _same_control(one: Grid, other: Grid) -> bool:
    lengths = [[len(numbers) for numbers in grid.control] for grid in (one, other)]
    if lengths[0] != lengths[1]:
        return False
    here, there = ([number for own in grid.control for number in own] for grid in (one, other))
    return np.allclose(here, there, rtol=1e-9, atol=1e-9) and _same_crs(one.control_crs, other.control_crs)


def _same_crs(one: str, other: str) -> bool:
    return one == other or (bool(one) and bool(other) and known_crs(one) == known_crs(other))


def _control_name(control: tuple[tuple[float, ...], ...]) -> str:
    """Return what places a raster without a transform."""
    if any(len(point) != POINT for point in control):
        return "coefficients of a sensor model"
    row, column, x, y = control[0]
    where = f"row {row:.10g}, column {column:.10g} at ({x:.10g}, {y:.10g})"
    return f"{len(control)} ground control points, the first: {where}"


def _crs_name(wkt: str) -> str:
    if not wkt:
        return "no CRS"
    try:
        crs = CRS.from_wkt(wkt)
        authority = crs.to_authority()
    except CRSError:
        return "an unreadable CRS"
    name = wkt.split(chr(34))[1]
    return ":".join(authority) if authority else f"CRS {name!r}" if name not in NO_NAMES else _described(wkt, crs)


def _described(wkt: str, crs: CRS) -> str:
    """Return the projection method and the unit of a CRS without a name.

    >>> _crs_name(CRS.from_proj4("+proj=sinu +R=6371007.181 +units=m").to_wkt())
    'Sinusoidal, metre'
    """
    method = METHOD.search(wkt)
    kind = "longitude and latitude" if crs.is_geographic else "CRS without a name"
    unit = "degree" if crs.is_geographic else crs.linear_units
    return ", ".join([method[1].replace("_", " ") if method else kind, *([unit] if unit != UNKNOWN else [])])
