"""Outlines of regions that are polygons, as lines on the map of cells."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geouq.pages.cells import Layout, Placed
from geouq.pages.region_names import Spot, widest
from geouq.rasters.outlines import outlines
from geouq.rasters.vector import Polygons

Floats = NDArray[np.float64]

FINEST = 2000  # steps along the longer side of the map
MOST_LINES = 20_000


@dataclass(frozen=True)
class Outlines:
    """Lines of each region in pixels of the map, as x0, y0, x1, y1 one after another.

    spots : where its name stands, x, y and the width there. note : why some are missing.
    """

    lines: Mapping[str, Sequence[float]] = field(default_factory=dict)
    spots: Mapping[str, Sequence[float]] = field(default_factory=dict)
    note: str = ""


def outlines_on(layout: Layout, polygons: Iterable[Polygons], wanted: Collection[str]) -> Outlines:
    """Return the outlines of the requested regions, cut at the borders of the tiles.

    Lines are rounded to steps of the map, which become wider until there are few enough lines.

    Raises
    ------
    DataError
        If a tile has no CRS, or the polygons cannot be transformed to it.
    """
    found: dict[str, list[Floats]] = {}
    spots: dict[str, Spot] = {}
    for own in polygons:
        if not set(own.names) & set(wanted):
            continue
        for tile in layout.tiles:
            edges, owner = outlines(own, tile.place.grid)
            zone = own.zone[owner]
            for number in np.unique(zone).tolist():
                name, edges_of_zone = own.names[number], edges[zone == number]
                if name not in wanted:
                    continue
                found.setdefault(name, []).append(_on_map(edges_of_zone, tile))
                spot = widest(edges_of_zone, *tile.place.grid.shape)
                if spot and spot.width > spots.get(name, spot._replace(width=0.0)).width:
                    spots[name] = spot._replace(x=spot.x + tile.left, y=spot.y + tile.top)
    lines = {name: np.concatenate(parts) for name, parts in found.items()}
    step = max(_side(layout) / FINEST, 0.1)
    rounded = _rounded(lines, step)
    while sum(map(len, rounded.values())) > MOST_LINES:
        step *= 2
        rounded = _rounded(lines, step)
    shown = {name: np.round(own, 1).ravel().tolist() for name, own in rounded.items() if len(own)}
    return Outlines(shown, {name: np.round(spot, 1).tolist() for name, spot in spots.items()})


def _side(layout: Layout) -> int:
    """Return the longer side of the map in pixels."""
    ends = [(tile.top + tile.place.grid.shape[0], tile.left + tile.place.grid.shape[1]) for tile in layout.tiles]
    return max(map(max, ends))


def _on_map(edges: Floats, tile: Placed) -> Floats:
    """Return lines from column and row to column and row of a tile as lines of the map, cut at its borders."""
    start, step = edges[:, :2], edges[:, 2:] - edges[:, :2]
    size = np.array(tile.place.grid.shape[::-1], float)
    with np.errstate(divide="ignore", invalid="ignore"):  # lines along an axis
        ends = np.stack([-start / step, (size - start) / step])
    enter = np.fmax(np.fmax.reduce(ends.min(axis=0), axis=1), 0.0)
    leave = np.fmin(np.fmin.reduce(ends.max(axis=0), axis=1), 1.0)
    inside = enter < leave
    start, step, enter, leave = start[inside], step[inside], enter[inside, np.newaxis], leave[inside, np.newaxis]
    return np.hstack([start + enter * step, start + leave * step]) + [tile.left, tile.top] * 2


def _rounded(lines: Mapping[str, Floats], step: float) -> dict[str, Floats]:
    """Return the lines with ends rounded to multiples of a step, without duplicates and lines of no length."""
    found = {}
    for name, own in lines.items():
        whole = np.rint(own / step)
        some = whole[(whole[:, :2] != whole[:, 2:]).any(axis=1)]
        found[name] = step * np.unique(some, axis=0)
    return found
