"""Which tiles share a raster of cells: all of them, those that touch each other, or each alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from geouq.core.naming import file_name
from geouq.maps.lattice import Lattice, Mosaic, lattices_of, mosaic_of, mosaic_on
from geouq.summary import TilePlace


@dataclass(frozen=True)
class Patch:
    """Tiles whose cells share a raster, the grid of that raster, and the first part of its name."""

    tiles: tuple[TilePlace, ...]
    mosaic: Mosaic
    prefix: str


def patches_of(tiles: Sequence[TilePlace]) -> list[Patch]:
    """Return the patches of tiles, ordered by their first tile.

    One patch without a prefix where all tiles make a mosaic. Otherwise the tiles that touch each other make one, if
    they lie on one lattice without overlap and have cells of one size; every other tile is a patch of its own.
    """
    whole = mosaic_of(tiles)
    if whole is not None:
        return [Patch(tuple(tiles), whole, "")]
    order = {tile.tile: number for number, tile in enumerate(tiles)}
    found: list[Patch] = []
    for lattice in lattices_of(tiles):
        groups = _touching(lattice, tiles) if lattice else []
        found += [patch for group in groups for patch in _patches(group)]
    alone = order.keys() - {tile.tile for patch in found for tile in patch.tiles}
    found += [_alone(tile) for tile in tiles if tile.tile in alone]
    return sorted(found, key=lambda patch: order[patch.tiles[0].tile])


def _patches(tiles: Sequence[TilePlace]) -> Iterator[Patch]:
    """Yield the patch of tiles that touch; none of them where it is of no sensible size."""
    mosaic = mosaic_of(tiles)
    if len(tiles) > 1 and mosaic is not None:
        yield Patch(tuple(tiles), mosaic, f"{file_name(tiles[0].tile)}_and_{len(tiles) - 1}_more_")


def _alone(tile: TilePlace) -> Patch:
    lattice = Lattice(tile.grid, {tile.tile: (0, 0)})
    return Patch((tile,), mosaic_on(lattice, [tile]), f"{file_name(tile.tile)}_")


def _touching(lattice: Lattice, tiles: Sequence[TilePlace]) -> list[list[TilePlace]]:
    """Return the groups of tiles on a lattice that share a border or a corner, each in the order of the tiles."""
    boxes = {
        tile.tile: (*lattice.corners[tile.tile], *tile.grid.shape) for tile in tiles if tile.tile in lattice.corners
    }
    group_of = {name: {name} for name in boxes}
    active: list[str] = []
    for name in sorted(boxes, key=boxes.__getitem__):
        row, column, _, width = boxes[name]
        active = [other for other in active if boxes[other][0] + boxes[other][2] >= row]
        for other in active:
            _, left, _, other_width = boxes[other]
            if left <= column + width and column <= left + other_width and group_of[other] is not group_of[name]:
                _unite(group_of, name, other)
        active.append(name)
    of_group: dict[int, list[TilePlace]] = {}
    for tile in tiles:
        if tile.tile in boxes:
            of_group.setdefault(id(group_of[tile.tile]), []).append(tile)
    return list(of_group.values())


def _unite(group_of: dict[str, set[str]], one: str, other: str) -> None:
    """Put the groups of two tiles together; the smaller one goes into the larger one."""
    small, large = sorted((group_of[one], group_of[other]), key=len)
    large |= small
    group_of.update(dict.fromkeys(small, large))
