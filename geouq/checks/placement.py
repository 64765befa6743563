"""Checks of where pixels lie: flipped axes, and tiles that overlap."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geouq.checks.finding import Finding
from geouq.checks.sample import Patch
from geouq.checks.shift import FEWEST, of_shift
from geouq.rasters.catalog import Tile

Floats = NDArray[np.float64]
SMOOTH = 0.3  # correlation of a truth with itself a quarter of the window away, from which any turn may fit by chance
FEW_WINDOWS = 4  # fewer must each show how they are turned; of more, all hardly fit another turn by chance
FLIPS: Mapping[str, Callable[[Floats], Floats]] = {
    "upside down": np.flipud,
    "left to right": np.fliplr,
    "by half a turn": lambda values: np.rot90(values, 2),
    "rows for columns": np.transpose,
}


def of_placement(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield findings about the place of one variable's prediction on its truth."""
    middle = [patch for patch in patches if patch.place == 0 and patch.n >= FEWEST]
    flips = list(_of_flips(variable, middle))
    yield from flips or of_shift(variable, [patch for patch in patches if patch.n >= FEWEST])


def of_overlaps(tiles: Sequence[Tile], patches: Sequence[Patch]) -> Iterator[Finding]:
    """Tiles of one CRS that lie on each other by more than half a pixel.

    Those on the very same pixels, such as years of one place, are meant unless they have the same truth.
    """
    truths = {(patch.tile, patch.variable): patch.truth for patch in patches if patch.place == 0}
    names = {patch.variable for patch in patches}
    found = [
        f"{one.name} and {other.name} ({pixels:.0f} pixels)"
        for one, other, pixels in _pairs(tiles)
        if one.grid != other.grid
        or any((one.name, name) in truths and _same(truths, one.name, other.name, name) for name in names)
    ]
    if found:
        yield Finding(
            "overlapping tiles",
            "tiles",
            f"{len(found)} pairs lie on each other: {', '.join(found[:3])}{', ...' if len(found) > 3 else ''}",
            "pixels there count twice in regions and the whole: cut the tiles, or give a mask to one of them",
        )


def _same(truths: Mapping[tuple[str, str], Floats], one: str, other: str, variable: str) -> bool:
    return (other, variable) in truths and np.array_equal(
        truths[one, variable], truths[other, variable], equal_nan=True
    )


def _pairs(tiles: Sequence[Tile]) -> Iterator[tuple[Tile, Tile, float]]:
    """Pairs of tiles of one CRS that lie on each other, and by how many pixels."""
    boxes = np.array([_box(tile) for tile in tiles]).reshape(-1, 4)
    for i, tile in enumerate(tiles):
        sides = np.minimum(boxes[i, 2:], boxes[i + 1 :, 2:]) - np.maximum(boxes[i, :2], boxes[i + 1 :, :2])
        pixel = abs(tile.grid.transform.determinant)
        for j in map(int, np.flatnonzero((sides > np.sqrt(pixel) / 2).all(-1))):
            other = tiles[i + 1 + j].grid
            if (other.crs, other.control) == (tile.grid.crs, tile.grid.control):
                yield tile, tiles[i + 1 + j], float(sides[j].prod() / pixel)


def _box(tile: Tile) -> tuple[float, float, float, float]:
    """Least x and y, greatest x and y."""
    rows, columns = tile.grid.shape
    corners = [tile.grid.transform @ corner for corner in product((0, columns), (0, rows))]
    x, y = zip(*corners, strict=True)
    return min(x), min(y), max(x), max(y)


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's correlation over the pixels that both have; NaN where there are few, or one is constant."""
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < FEWEST // 4:
        return float("nan")
    a, b = one[both] - one[both].mean(), other[both] - other[both].mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _of_flips(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Windows in the middle of tiles, whose prediction fits the truth when it is turned."""
    square = [patch for patch in patches if patch.truth.shape[0] == patch.truth.shape[1]]
    if len(square) < FEW_WINDOWS:
        square = [patch for patch in square if not _is_smooth(patch.truth)]
    for name, flip in FLIPS.items():
        pairs = [(correlation(p.mean, p.truth), correlation(flip(p.mean), p.truth)) for p in square]
        known = np.array([pair for pair in pairs if np.isfinite(pair).all()]).reshape(-1, 2)
        if not len(known):
            continue
        own, flipped = np.median(known, axis=0)
        if flipped > 0.5 and flipped > own + 0.3:
            yield Finding(
                "flipped axes",
                variable,
                f"in the middle of {len(known)} tiles the prediction correlates with the truth by {own:.2f}, turned "
                f"{name} by {flipped:.2f}",
                "write the prediction in the order of rows and columns of its transform",
            )
            return


def _is_smooth(truth: Floats) -> bool:
    """Return whether a window holds little more than a slope, so that it does not show how it is turned."""
    quarter = len(truth) // 4
    down, across = correlation(truth[quarter:], truth[:-quarter]), correlation(truth[:, quarter:], truth[:, :-quarter])
    return (down + across) / 2 > SMOOTH
