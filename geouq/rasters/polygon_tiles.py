"""Parts of a mosaic as tiles: the pixels whose centres are in polygons of a vector file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.rasters.mosaic import MosaicPart
from geouq.rasters.outlines import STRIP, Edges, Mask, box_of, holds_a_pixel, inside, outlines, window_of
from geouq.rasters.tile_names import is_of
from geouq.rasters.vector import Polygons

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Outline:
    """The polygons of a tile; a pixel counts if its centre is in one of them.

    edges : of each polygon, in pixels of the mosaic, as `inside` takes them. corner : row and column of the mosaic at
    which the tile begins.
    """

    edges: tuple[Edges, ...]
    corner: tuple[int, int] = (0, 0)

    def covers(self, window: Window) -> Mask:
        """Return which pixels of a window of the tile count."""
        row, column = self.corner
        place = Window(window.row + row, window.column + column, window.height, window.width)
        found = np.zeros((window.height, window.width), np.bool_)
        for edges in self.edges:
            found |= inside(edges, place)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Return the digest of the polygons and their place."""
        digest = sha256(repr((self.corner, [len(own) for own in self.edges])).encode())
        for edges in self.edges:
            digest.update(np.ascontiguousarray(edges).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outline) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def polygon_tiles(
    polygons: Polygons, grid: Grid, names: Sequence[str] | None = None
) -> tuple[list[MosaicPart], list[str]]:
    """Return the tiles of a mosaic, one for each name of polygons, and notes on polygons that hold no pixel.

    names : of the tiles that are evaluated, or of steps of them; None for all.

    Raises
    ------
    DataError
        If no polygon holds a pixel of the mosaic, if the polygons have no place on it, or if a pixel is in two tiles.
    """
    if grid.control:
        raise DataError("rasters that are placed by control points cannot be cut into tiles; warp them first")
    edges, owner = outlines(polygons, grid)
    numbers, starts = np.unique(owner, return_index=True)
    found: dict[str, list[Edges]] = {}
    for number, own in zip(numbers, np.split(edges, starts[1:]), strict=True) if len(numbers) else ():
        if holds_a_pixel(own, box_of(own, grid)):
            found.setdefault(polygons.names[polygons.zone[number]], []).append(own)
    if not found:
        raise DataError(f"no polygon of {polygons.path} holds the centre of a pixel of the rasters; they are on {grid}")
    empty = [name for name in polygons.names if name not in found]
    tiles = [_tile(name, found[name], grid) for name in polygons.names if name in found]
    _require_apart(polygons, [tile for tile in tiles if names is None or is_of(tile.name, names)], grid)
    return tiles, [*_note(polygons, empty)]


def _note(polygons: Polygons, empty: Sequence[str]) -> Iterator[str]:
    if empty:
        more = ", ..." if len(empty) > SHOWN else ""
        yield (
            f"{len(empty)} of {len(polygons.names)} tiles of {polygons.path} are left out, as they hold the centre of "
            f"no pixel: {', '.join(empty[:SHOWN])}{more}"
        )


def _tile(name: str, edges: Sequence[Edges], grid: Grid) -> MosaicPart:
    boxes = np.array([box_of(own, grid) for own in edges])
    window = window_of((*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0)))
    return MosaicPart(name, window, Outline(tuple(edges), (window.row, window.column)))


def _require_apart(polygons: Polygons, tiles: Sequence[MosaicPart], grid: Grid) -> None:
    """Raise DataError where a pixel lies in two tiles and would count twice."""
    by_name = {tile.name: tile.outline for tile in tiles if tile.outline}
    for one, other, shared in _overlaps(polygons, [polygons.names.index(name) for name in by_name]):
        edges, _ = outlines(replace(polygons, geometry=shared, zone=np.zeros(len(shared), np.int64)), grid)
        if not len(edges):
            continue
        box = window_of(box_of(edges, grid))
        for row in range(box.row, box.row + box.height, STRIP):
            strip = Window(row, box.column, min(STRIP, box.row + box.height - row), box.width)
            both = _in(by_name[one], strip) & _in(by_name[other], strip)
            if both.any():
                down, right = (int(place) for place in np.argwhere(both)[0])
                raise DataError(
                    f"the polygons {one} and {other} of {polygons.path} overlap, at row {row + down}, column "
                    f"{strip.column + right} of the rasters, where pixels would count twice; cut one of them, leave it "
                    "out by where or names, or write them as regions, which may overlap"
                )


def _in(outline: Outline, window: Window) -> Mask:
    """Return which pixels of a window of the mosaic are in the polygons."""
    return replace(outline, corner=(0, 0)).covers(window)


def _overlaps(polygons: Polygons, zones: Sequence[int]) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """Yield the names of tiles whose polygons share some area, and the shared polygons."""
    import shapely  # noqa: PLC0415  an optional extra

    kept = np.flatnonzero(np.isin(polygons.zone, zones))
    shapes, zone = polygons.geometry[kept], polygons.zone[kept]
    shapes = np.where(shapely.is_valid(shapes), shapes, shapely.make_valid(shapes))
    first, second = shapely.STRtree(shapes).query(shapes, predicate="intersects")
    pairs = zone[first] < zone[second]
    first, second = first[pairs], second[pairs]
    shared = shapely.intersection(shapes[first], shapes[second])
    for i in np.flatnonzero(shapely.area(shared) > 0):
        parts = shapely.get_parts(shapely.get_parts(shared[i]))
        areas = parts[shapely.area(parts) > 0]
        yield polygons.names[zone[first[i]]], polygons.names[zone[second[i]]], areas
