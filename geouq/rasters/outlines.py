"""Outlines of polygons on the pixels of a grid, and the pixels whose centres are inside.

The polygons may be in any CRS, and their edges are straight in it. Where a grid has another one, each edge is divided
until it lies within `TOLERANCE` pixels of the straight line between its ends. Longitudes count modulo 360.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from affine import Affine
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import RasterioError
from rasterio.warp import transform as projected
from rasterio.warp import transform_bounds

from geouq.core.compiled import compiled
from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.rasters.vector import Polygons

Mask = NDArray[np.bool_]
Edges = NDArray[np.float64]
TOLERANCE = 0.001  # pixels
LOOKED_AT = (0.3, 0.5)  # of an edge; two places, as a curve may cross its chord
MOST_HALVINGS = 20
SAMPLES = 21
MARGIN = 0.02  # of the tile's extent in the CRS of the polygons
TURN = 360.0

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]
STRIP = 64  # rows looked at together for a first pixel


def inside(edges: Edges, window: Window) -> Mask:
    """Return which pixels of a window have their centre inside the polygons with these edges, by the even-odd rule.

    edges : (n, 4), columns and rows of both ends in pixels of the tile, so that pixel (0, 0) has its centre at
    (0.5, 0.5); holes are edges like any. A centre on an edge belongs to the polygon below or to the right of it alone,
    so that polygons which share an edge share no pixel and leave none out. Each crossing is computed alike in whichever
    window, so that windows put together are the whole.

    >>> square = np.array([[1, 1, 3, 1], [3, 1, 3, 3], [3, 3, 1, 3], [1, 3, 1, 1]], float)
    >>> inside(square, Window(0, 0, 3, 4)).astype(int)
    array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]])
    """
    mask = np.zeros((window.height, window.width), np.bool_)
    _fill(edges, window.row, window.column, mask)
    return mask


@compiled
def _fill(edges: Edges, top: int, left: int, mask: Mask) -> None:
    """Turn each row of the mask over from where an edge crosses its middle, and then over again from the next one."""
    height, width = mask.shape
    for i in range(edges.shape[0]):
        x, y, to_x, to_y = edges[i]
        if y > to_y:  # from above to below, so that a shared edge is crossed at one place
            x, y, to_x, to_y = to_x, to_y, x, y
        if not y < to_y:
            continue
        slope = (to_x - x) / (to_y - y)
        first, last = max(np.ceil(y - 0.5), float(top)), min(np.ceil(to_y - 0.5), float(top + height))
        for row in range(int(first), int(last)):
            column = max(np.ceil(x + (row + 0.5 - y) * slope - 0.5) - left, 0.0)
            if column < width:
                mask[row - top, int(column)] ^= True
    for row in range(height):
        for column in range(1, width):
            mask[row, column] ^= mask[row, column - 1]


def outlines(polygons: Polygons, grid: Grid) -> tuple[Edges, NDArray[np.int64]]:
    """Return the edges near the tile, as `inside` takes them, and for each the number of its polygon, increasing.

    DataError where the tile has no CRS, or one that the polygons cannot be brought to.
    """
    if not grid.crs:
        raise DataError(f"the tile has no CRS, and so the polygons of {polygons.path} no place on it; give it one")
    try:
        return _Projection(polygons.crs, grid).outlines(polygons)
    except RasterioError as error:
        raise DataError(f"{polygons.path} cannot be brought to the CRS of the tile: {error}") from None


class _Projection:
    """From the CRS of polygons to columns and rows of a tile."""

    def __init__(self, crs: str, grid: Grid) -> None:
        self.source, self.target = CRS.from_wkt(crs), CRS.from_wkt(grid.crs)
        self.grid, self.back = grid, ~grid.transform
        self.same = self.source == self.target

    def outlines(self, polygons: Polygons) -> tuple[Edges, NDArray[np.int64]]:
        """Return the edges of the polygons in pixels, and the number of the polygon of each."""
        import shapely  # noqa: PLC0415  an optional extra

        edges, owners = [np.empty((0, 4))], [np.empty(0, np.int64)]
        bounds = shapely.bounds(polygons.geometry)
        for box, turn in self._boxes():
            near = np.flatnonzero(_touch(bounds, box))
            shapes = polygons.geometry[near] if self.same else _clipped(shapely, polygons.geometry[near], box)
            ends, of = _edges(shapely, shapes)
            pixels, kept = self._on_pixels(ends, turn)
            edges.append(pixels)
            owners.append(near[of][kept])
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return np.concatenate(edges)[order], owner[order]

    def _boxes(self) -> Iterator[tuple[Box, float]]:
        """Return where polygons may meet the tile, in their CRS, and the turn that moves them there."""
        left, bottom, right, top = self._box()
        wide, high = (right - left) * MARGIN, (top - bottom) * MARGIN
        for turn in (-TURN, 0.0, TURN) if self.source.is_geographic else (0.0,):
            yield (left - wide + turn, bottom - high, right + wide + turn, top + high), turn

    def _box(self) -> Box:
        """Extent of the tile in the CRS of the polygons; its right is the larger one, also across longitude 180."""
        rows, columns = self.grid.shape
        across, down = np.meshgrid(np.linspace(0, columns, SAMPLES), np.linspace(0, rows, SAMPLES))
        xy = _placed(self.grid.transform, np.stack([across.ravel(), down.ravel()], axis=1))
        if not (self.same or self.target.is_geographic):
            extent = (*xy.min(axis=0), *xy.max(axis=0))
            left, bottom, right, top = transform_bounds(self.target, self.source, *extent, SAMPLES)
            return left, bottom, right + TURN * (self.source.is_geographic and right < left), top
        at = xy if self.same else _transformed(self.target, self.source, xy)
        at = at[np.isfinite(at).all(axis=1)]
        if not at.size:
            raise DataError("the tile lies where the CRS of the polygons is not defined")
        return (*at.min(axis=0), *at.max(axis=0))

    def _on_pixels(self, ends: Edges, turn: float) -> tuple[Edges, NDArray[np.int64]]:
        """Return edges as lines that are straight on the tile, and the edge of each line."""
        # the same order of ends for both polygons that share an edge
        swapped = (ends[:, 0] > ends[:, 2]) | ((ends[:, 0] == ends[:, 2]) & (ends[:, 1] > ends[:, 3]))
        ends = np.where(swapped[:, np.newaxis], ends[:, [2, 3, 0, 1]], ends)
        one, other = ends[:, :2], ends[:, 2:]
        on_one, on_other = self._pixels(one, turn), self._pixels(other, turn)
        of, done, kept = np.arange(len(ends)), [], []
        for _ in range(0 if self.same else MOST_HALVINGS):
            bent = self._bent(one, other, on_one, on_other, turn)
            done.append(np.hstack([on_one[~bent], on_other[~bent]]))
            kept.append(of[~bent])
            one, other, on_one, on_other = (part[bent] for part in (one, other, on_one, on_other))
            of = of[bent]
            middle = (one + other) / 2
            on_middle = self._pixels(middle, turn)
            one, other = np.concatenate([one, middle]), np.concatenate([middle, other])
            on_one, on_other = np.concatenate([on_one, on_middle]), np.concatenate([on_middle, on_other])
            of = np.concatenate([of, of])
            if not of.size:
                break
        return np.concatenate([*done, np.hstack([on_one, on_other])]), np.concatenate([*kept, of])

    def _bent(self, one: Floats, other: Floats, on_one: Floats, on_other: Floats, turn: float) -> NDArray[np.bool_]:
        bent = np.zeros(len(one), np.bool_)
        for share in LOOKED_AT:
            curved = self._pixels(one + share * (other - one), turn)
            bent |= np.hypot(*(curved - (on_one + share * (on_other - on_one))).T) > TOLERANCE
        return bent

    def _pixels(self, xy: Floats, turn: float) -> Floats:
        """Return the columns and rows of points."""
        at = xy if self.same else _transformed(self.source, self.target, xy)
        if not np.isfinite(at).all():
            raise DataError("polygons near the tile have points that its CRS cannot show; repair or cut them")
        if self.target.is_geographic:
            rows, columns = self.grid.shape
            middle = (self.grid.transform @ (columns / 2, rows / 2))[0]
            near = xy[:, 0] if self.source.is_geographic else middle
            turns = np.zeros(len(at)) if self.same else np.round((near - at[:, 0]) / TURN)
            at = np.stack([at[:, 0] + (TURN * turns - turn), at[:, 1]], axis=1)
        return _placed(self.back, at)


def _placed(transform: Affine, xy: Floats) -> Floats:
    x, y = xy.T
    t = transform
    return np.stack([t.a * x + t.b * y + t.c, t.d * x + t.e * y + t.f], axis=1)


def _transformed(source: CRS, target: CRS, xy: Floats) -> Floats:
    if not len(xy):
        return xy
    return np.stack(projected(source, target, xy[:, 0], xy[:, 1])[:2], axis=1)


def _touch(bounds: Floats, box: Box) -> NDArray[np.bool_]:
    left, bottom, right, top = bounds.T
    return (left <= box[2]) & (right >= box[0]) & (bottom <= box[3]) & (top >= box[1])


def _clipped(shapely: Any, shapes: NDArray[Any], box: Box) -> NDArray[Any]:
    """Return the parts near the tile of polygons that reach beyond, as the far ones may have no place in its CRS."""
    left, bottom, right, top = shapely.bounds(shapes).T
    far = (left < box[0]) | (right > box[2]) | (bottom < box[1]) | (top > box[3])
    clipped = shapes.copy()
    clipped[far] = shapely.intersection(shapely.make_valid(shapes[far]), shapely.box(*box))
    return clipped


def _edges(shapely: Any, shapes: NDArray[Any]) -> tuple[Edges, NDArray[np.int64]]:
    """Return the edges of all rings of polygons, and the shape of each edge."""
    parts, part_of = shapely.get_parts(shapes, return_index=True)
    inner, inner_of = shapely.get_parts(parts, return_index=True)
    part_of = part_of[inner_of]
    rings, ring_of = shapely.get_rings(inner, return_index=True)  # what is no polygon has none
    xy, of = shapely.get_coordinates(rings, return_index=True)
    follows = of[1:] == of[:-1]
    return np.hstack([xy[:-1][follows], xy[1:][follows]]), part_of[ring_of[of[:-1][follows]]]


def box_of(edges: Edges, grid: Grid) -> tuple[int, int, int, int]:
    """First row, first column, last row + 1 and last column + 1 of the centres within the extent of edges."""
    x, y = edges[:, ::2], edges[:, 1::2]
    rows, columns = grid.shape
    top, bottom = (int(np.clip(np.ceil(value - 0.5), 0, rows)) for value in (y.min(), y.max()))
    left, right = (int(np.clip(np.ceil(value - 0.5), 0, columns)) for value in (x.min(), x.max()))
    return top, left, bottom, right


def window_of(box: Iterable[int]) -> Window:
    """Return the window of a box: first row, first column, last row + 1, last column + 1."""
    top, left, bottom, right = (int(side) for side in box)
    return Window(top, left, bottom - top, right - left)


def holds_a_pixel(edges: Edges, box: tuple[int, int, int, int]) -> bool:
    """Return whether the centre of a pixel of a box is inside edges."""
    whole = window_of(box)
    if whole.height <= 0 or whole.width <= 0:
        return False
    strips = range(whole.row, whole.row + whole.height, STRIP)
    bottom = whole.row + whole.height
    return any(inside(edges, Window(row, whole.column, min(STRIP, bottom - row), whole.width)).any() for row in strips)
