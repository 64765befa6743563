"""Polygons as zones of a tile."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.grid import Grid, Window
from geouq.rasters.outlines import Edges, box_of, holds_a_pixel, inside, outlines, window_of
from geouq.rasters.raster import Raster
from geouq.rasters.vector import Polygons
from geouq.zones.masks import Mask, Part, meet, shrunk, within


@dataclass(frozen=True)
class PolygonZones:
    """Zones of a tile from polygons; each polygon that holds a pixel of the tile is there, and no other.

    edges : those of all polygons, one after the other, as `inside` takes them. starts : where each polygon's begin, and
    the end. zones : number in `names` of each polygon's zone, increasing. boxes : for each, first row, first column,
    last row + 1, last column + 1.
    """

    names: tuple[str, ...]
    edges: Edges
    starts: NDArray[np.int64]
    zones: NDArray[np.int64]
    boxes: NDArray[np.int64]

    @property
    def fingerprint(self) -> str:
        """Return the digest of names and outlines."""
        digest = hashlib.sha256(repr(self.names).encode())
        for array in (self.edges, self.starts, self.zones):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def extent(self, zone: int) -> Window:
        """Return the smallest window that holds the boxes of a zone's polygons."""
        own = self.boxes[self.zones == zone]
        return window_of((*own[:, :2].min(axis=0), *own[:, 2:].max(axis=0)))

    @property
    def rasters(self) -> tuple[Raster, ...]:
        """None."""
        return ()

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:  # noqa: ARG002  there are none
        """Return the same."""
        return self

    def only(self, names: Collection[str]) -> Self:
        """Return those zones alone that have these names."""
        kept = [i for i, zone in enumerate(self.zones) if self.names[zone] in names]
        own = tuple(name for name in self.names if name in names)
        return type(self)(
            own,
            np.concatenate([np.empty((0, 4)), *(self.edges[self.starts[i] : self.starts[i + 1]] for i in kept)]),
            np.cumsum([0, *np.diff(self.starts)[kept]]),
            np.array([own.index(self.names[self.zones[i]]) for i in kept], np.int64),
            self.boxes[kept],
        )

    def zones_in(self, window: Window) -> Iterator[Part]:
        """Yield the zones that have pixels in a window; polygons of a zone that overlap count once."""
        top, left, bottom, right = self.boxes.T
        rows = (top < window.row + window.height) & (bottom > window.row)
        touched = np.flatnonzero(rows & (left < window.column + window.width) & (right > window.column))
        if not touched.size:
            return
        zones, firsts = np.unique(self.zones[touched], return_index=True)
        for zone, polygons in zip(zones, np.split(touched, firsts[1:]), strict=True):
            box = _around(self.boxes[polygons], window)
            if part := shrunk(int(zone), box, self._mask(polygons, box)):
                yield part

    def _mask(self, polygons: NDArray[np.int64], box: Window) -> Mask:
        mask = np.zeros((box.height, box.width), np.bool_)
        for i in polygons:
            if own := meet(box, window_of(self.boxes[i])):
                mask[within(own, box)] |= inside(self.edges[self.starts[i] : self.starts[i + 1]], own)
        return mask


def polygon_zones(polygons: Polygons, grid: Grid) -> PolygonZones:
    """Return the zones of a tile; DataError where the polygons have no place on it."""
    edges, owner = outlines(polygons, grid)
    numbers, starts = np.unique(owner, return_index=True)
    slices = np.split(edges, starts[1:]) if len(numbers) else []
    boxes = [box_of(own, grid) for own in slices]
    kept = [i for i, box in enumerate(boxes) if holds_a_pixel(slices[i], box)]
    kept.sort(key=lambda i: polygons.zone[numbers[i]])
    zones = polygons.zone[numbers[kept]] if kept else np.empty(0, np.int64)
    present, number = np.unique(zones, return_inverse=True)
    return PolygonZones(
        tuple(polygons.names[i] for i in present),
        np.concatenate([np.empty((0, 4)), *(slices[i] for i in kept)]),
        np.cumsum([0, *(len(slices[i]) for i in kept)]),
        number,
        np.array([boxes[i] for i in kept], np.int64).reshape(-1, 4),
    )


def _around(boxes: NDArray[np.int64], window: Window) -> Window:
    """Return the smallest part of a window that holds all pixels of boxes in it."""
    top, left = np.maximum(boxes[:, :2].min(axis=0), (window.row, window.column))
    ends = (window.row + window.height, window.column + window.width)
    bottom, right = np.minimum(boxes[:, 2:].max(axis=0), ends)
    return window_of((top, left, bottom, right))
