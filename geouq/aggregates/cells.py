"""The cells of an area: where they are, and the sums of their pixels that errors of means follow from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray
from rasterio.warp import transform

from geouq.aggregates.shares import Share
from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window, known_crs
from geouq.rasters.areas import pixel_areas
from geouq.summary import Moments, TilePlace
from geouq.summary.exceedance import Exceedance
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.statistic import Statistic
from geouq.summary.truth_error import FIELDS as OF_TRUTH
from geouq.summary.truth_error import TruthError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EARTH = 6_371_008.8  # mean radius in metres
APART = 1e9  # metres between tiles in the same place, such as those of several dates
StatisticsOf = Callable[[int], tuple[Ints, Mapping[str, Statistic]]]
MOMENTS = "moments"
MANY_CELLS = 9.0  # in an area of so many, the distances of centres are right on average
MOST = 0.65  # least share of the cells of a smaller area that it contains; 3 x 3 cells, moved by half a cell: 0.69


@dataclass(frozen=True)
class AreaCells:
    """Sums of the cells of a variable that have valid pixels; each array has an element for each cell.

    Parameters
    ----------
    tile : int64 (C)
        Number of the tile.
    row, column : int64 (C)
        Place of the cell in its tile.
    position : float64 (C, 3)
        Centre in metres: on the map, or on a sphere where coordinates are angles. In pixels without a CRS.
    n : float64 (C)
        Number of valid pixels.
    weight : float64 (C)
        Sum of the weights a of the pixels, whose mean over all pixels is 1.
    area : float64 (C)
        Area of the valid pixels in square metres; NaN where it is not known.
    mean, error, std : float64 (C)
        Sums of a times the predicted mean, mean - truth, and predicted std.
    variance : float64 (C)
        Sum of a^2 times the predicted variance.
    weight_square : float64 (C)
        Sum of a^2.
    noise : float64 (C)
        Sum of a^2 times the variance of the truth's own error; 0 if that is not known.
    z, z_square : float64 (C)
        Sum of a x, and of a^2 x^2, of a number x from which the correlation is estimated: z of a mean; p - truth of a
        share; sqrt(h) z if the truth's error is known, with h = predicted variance / (predicted + truth's variance).
    z_weight, z_weight_square : float64 (C)
        Sum of a w, and of a^2 w^2, so that the mean of x x' of two pixels is w w' times the correlation: w is 1 of a
        mean, the std of a share, and h if the truth's error is known.
    z_noise : float64 (C)
        Sum of a^2 h (1 - h): what the truth's own error adds to `z_square`; 0 if that is not known.
    part : float64 (C)
        Share of the cell's valid pixels that are counted: below 1 where the area cuts the cell.

    Notes
    -----
    Cells keep sums weighted by a, not by a^2. Within a cell, a is taken as its mean. This is exact without weights and
    on maps; in a geographic CRS the relative error is the squared variation of the area of pixels in the cell.
    """

    tile: Ints
    row: Ints
    column: Ints
    position: Floats
    n: Floats
    weight: Floats
    area: Floats
    mean: Floats
    error: Floats
    std: Floats
    variance: Floats
    weight_square: Floats
    noise: Floats
    z: Floats
    z_square: Floats
    z_weight: Floats
    z_weight_square: Floats
    z_noise: Floats
    part: Floats

    def __len__(self) -> int:
        return len(self.n)

    def some(self, chosen: NDArray[np.bool_] | Ints) -> Self:
        """Return some of the cells."""
        return type(self)(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    def finite(self) -> Self:
        """Return the cells whose sums are all finite."""
        each = (self.weight, self.mean, self.error, self.std, self.variance, self.z**2, self.z_square, self.noise)
        return self.some(np.flatnonzero(np.isfinite(each).all(axis=0)))

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Return which cells tell how errors are correlated: those with pixels that are uncertain of a share."""
        return self.z_weight > 0

    @property
    def zms(self) -> float:
        """Return the mean of z^2, without what the truth's own error adds to it."""
        own = self.informative
        return float((self.z_square - self.z_noise)[own].sum() / self.z_weight_square[own].sum())

    @property
    def truth_share(self) -> float:
        """Return the share of z^2 that is the truth's own error; NaN if that is not known."""
        return float(self.z_noise.sum() / self.z_square.sum()) if self.noise.any() else float("nan")

    @property
    def stand_for_pixels(self) -> bool:
        """Return whether the centres of cells can be taken as the places of the pixels.

        They cannot if the area is small and contains parts of cells: these are nearer to each other than the centres.
        """
        return bool(self.part.sum() >= MANY_CELLS or (self.n * self.part).sum() >= MOST * self.n.sum())

    @property
    def times_counted(self) -> Ints:
        """Return how many cells lie in the place of each: more than one where tiles are of several dates."""
        sheet, ground = np.rint(self.position[:, 2] / APART), self.position.copy()
        if (sheet == sheet[0]).all():
            return np.ones(len(self), np.int64)
        ground[:, 2] -= APART * sheet
        _, number, count = np.unique(np.round(ground, 2), axis=0, return_inverse=True, return_counts=True)
        return np.asarray(count[number.ravel()], np.int64)

    def of_tiles(self, numbers: Ints) -> Self:
        """Return the same cells with other numbers of tiles."""
        return replace(self, tile=numbers[self.tile])

    def parts_of(self, every: Self) -> Self:
        """Return the same cells with the part that each is of the cell in `every`, which holds all pixels."""
        whole = every.n[np.searchsorted(every.key, self.key)]
        return replace(self, part=np.minimum(self.n / whole, 1.0))

    @cached_property
    def key(self) -> Ints:
        """Return a number for each cell, by tile, row and column, in whose order cells are."""
        return self.tile << 42 | self.row << 21 | self.column

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the cells of all parts."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def area_cells(places: Sequence[TilePlace], statistics_of: StatisticsOf, share: Share | None = None) -> AreaCells:
    """Return the cells with valid pixels of tiles at these places.

    Parameters
    ----------
    places : sequence of TilePlace
        Where each tile is.
    statistics_of : callable
        Returns the cells of the tile of a number: their numbers, and their statistics by name. It has the moments, what
        `share` needs, and of a mean those of the truth's own error if these are kept.
    share : Share, optional
        Then the mean is the probability p of exceeding the threshold or of the class, and the truth is 1 where it does
        and 0 elsewhere. `z` is p - truth, not divided by the std sqrt(p (1 - p)), which may be tiny.
    """
    frame, sheets = common_frame([place.grid.crs for place in places]), _sheets(places)
    parts, read = [], [statistics_of(tile) for tile in range(len(places))]
    scale = _mean_weight([cast("Moments", own[MOMENTS]) for _, own in read])
    is_known = any(_has_noise(own) for _, own in read)
    for tile, (place, (numbers, statistics)) in enumerate(zip(places, read, strict=True)):
        row, column = np.divmod(numbers, place.cell_grid.shape[1])
        position = positions(place.cell_grid, row, column, frame)
        position[:, 2] += sheets[tile] * APART
        where = np.full(len(row), tile), row, column, position
        moments, pixel_area = cast("Moments", statistics[MOMENTS]), _pixel_areas(place, row)
        if share is not None:
            sums = _sums_of_share(moments, share.sums(statistics), pixel_area, scale)
        elif is_known:
            sums = _sums_without_noise(moments, cast("TruthError", statistics[TruthError.name]), pixel_area, scale)
        else:
            sums = _sums(moments, pixel_area, scale)
        parts.append(AreaCells(*where, *(*sums, np.ones(len(row)))))
    found = AreaCells.joined(parts)
    order = np.lexsort((found.column, found.row, found.tile))
    return found.some(order[found.n[order] > 0])


def common_frame(crs: Iterable[str]) -> str | None:
    """Return the CRS in which distances are measured; None for a sphere, "" for pixels without a CRS."""
    each = list(dict.fromkeys(crs))
    if len(each) > 1 or (each[0] and not known_crs(each[0]).is_projected):
        return None
    return each[0]


def positions(grid: Grid, row: Ints, column: Ints, frame: str | None) -> Floats:
    """Return the centres of pixels of a grid, float64 (pixels, 3): on a map, or on a sphere.

    Distances on the sphere are straight lines between its points. These differ from those along the surface by 0.1 %
    at 1000 km.

    A grid without a CRS has no place on the sphere; its pixels are put far away from it.

    >>> from affine import Affine
    >>> positions(Grid((2, 2), Affine(10, 0, 100, 0, -10, 50), ""), np.array([0]), np.array([1]), "")
    array([[115.,  45.,   0.]])
    """
    t = grid.transform
    down, across = row + 0.5, column + 0.5
    x, y = t.a * across + t.b * down + t.c, t.d * across + t.e * down + t.f
    if frame is not None:
        metres = known_crs(frame).units_factor[1] if frame else 1.0
        return np.stack([x * metres, y * metres, np.zeros_like(x)], axis=-1)
    if not grid.crs:
        return np.stack([x, y, np.full_like(x, APART)], axis=-1)
    longitude, latitude = _degrees(grid, x, y)
    cosine = np.cos(latitude)
    return EARTH * np.stack([cosine * np.cos(longitude), cosine * np.sin(longitude), np.sin(latitude)], axis=-1)


def _degrees(grid: Grid, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return longitudes and latitudes in radians."""
    crs = known_crs(grid.crs)
    if crs.is_geographic:
        unit = crs.units_factor[1]
        return x * unit, y * unit
    longitude, latitude = transform(crs, "EPSG:4326", x, y)[:2]
    return np.radians(longitude), np.radians(latitude)


def _sheets(places: Sequence[TilePlace]) -> list[int]:
    """Return for each tile how many tiles before it are in the same place."""
    before: dict[object, int] = {}
    found = []
    for place in places:
        here = place.grid.crs, place.grid.transform
        found.append(before.get(here, 0))
        before[here] = found[-1] + 1
    return found


def _mean_weight(moments: Sequence[Moments]) -> float:
    """Return the mean weight of a pixel; 1 if it is not known."""
    pixels, weight = sum(int(own.n.sum()) for own in moments), sum(float(own.weight.sum()) for own in moments)
    return weight / pixels if weight > 0 and np.isfinite(weight) else 1.0


def _sums(moments: Moments, pixel_area: Floats, scale: float) -> tuple[Floats, ...]:
    """Return the sums of cells in the order of the fields of `AreaCells`, from n on; weights are divided by `scale`."""
    n, weight = moments.n.astype(np.float64), moments.weight / scale
    error, truth, std, variance, z = (
        moments.sums[:, SUMS.index(name)] / scale for name in ("error", "truth", "std", "variance", "z")
    )
    a = np.divide(weight, n, out=np.ones_like(weight), where=n > 0)
    away = moments.products[:, PRODUCTS.index(("z", "z"))] / scale
    z_square = away + np.divide(z**2, weight, out=np.zeros_like(weight), where=weight > 0)
    by_square, none = _times(a, weight), np.zeros_like(weight)
    of_pixels = n, weight, n * pixel_area, truth + error, error, std, _times(a, variance), by_square, none
    return *of_pixels, z, _times(a, z_square), weight, by_square, none


def _has_noise(statistics: Mapping[str, Statistic]) -> bool:
    """Return whether the truth's own error is known, and not 0 everywhere."""
    found = cast("TruthError | None", statistics.get(TruthError.name))
    return found is not None and bool(found.sums[..., OF_TRUTH.index("truth_variance")].any())


def _sums_without_noise(moments: Moments, own: TruthError, pixel_area: Floats, scale: float) -> tuple[Floats, ...]:
    """Return the same sums for the error of the prediction alone; only `error` still has the error of the truth."""
    n, weight = moments.n.astype(np.float64), moments.weight / scale
    error, truth = (moments.sums[:, SUMS.index(name)] / scale for name in ("error", "truth"))
    share, share_square, z, z_square, std, variance, noise = np.moveaxis(own.sums / scale, -1, 0)
    a = np.divide(weight, n, out=np.ones_like(weight), where=n > 0)
    by_square = _times(a, variance), _times(a, weight), _times(a, noise)
    of_z = z, _times(a, z_square), share, _times(a, share_square), _times(a, share - share_square)
    return n, weight, n * pixel_area, truth + error, error, std, *by_square, *of_z


def _sums_of_share(moments: Moments, exceedance: Exceedance, pixel_area: Floats, scale: float) -> tuple[Floats, ...]:
    """Return the same sums for the probability p. The error is p - o; z is weighted by its std."""
    n, weight = moments.n.astype(np.float64), moments.weight / scale
    p, exceeded, std, variance, square = np.moveaxis(exceedance.sums / scale, -1, 0)
    a = np.divide(weight, n, out=np.ones_like(weight), where=n > 0)
    none = np.zeros_like(weight)
    of_pixels = n, weight, n * pixel_area, p, p - exceeded, std, a * variance, _times(a, weight), none
    return *of_pixels, p - exceeded, a * square, std, a * variance, none


def _times(a: Floats, values: Floats) -> Floats:
    """Return the products; NaN where a product underflows."""
    found = a * values
    return np.where((found == 0) & (values > 0), np.nan, found)


def cell_side(places: Sequence[TilePlace]) -> float:
    """Return the mean side of a cell in metres, by the distance of neighbours in the middle of each tile."""
    frame, sides = common_frame([place.grid.crs for place in places]), []
    for place in places:
        grid = place.cell_grid
        row, column = np.array([0, 1, 0]) + grid.shape[0] // 2, np.array([0, 0, 1]) + grid.shape[1] // 2
        corner, below, right = positions(grid, row, column, frame)
        sides.append(np.sqrt(np.linalg.norm(below - corner) * np.linalg.norm(right - corner)))
    return float(np.mean(sides))


def _pixel_areas(place: TilePlace, row: Ints) -> Floats:
    """Return the area of a pixel in the middle of each row of cells, in square metres; NaN where it is not known."""
    last = place.grid.shape[0] - 1
    middle = {own: min(own * place.cell_size + place.cell_size // 2, last) for own in np.unique(row).tolist()}
    try:
        areas = {own: pixel_areas(place.grid, Window(at, 0, 1, 1))[0, 0] for own, at in middle.items()}
    except DataError:
        return np.full(len(row), np.nan)
    return np.array([areas[own] for own in row.tolist()], np.float64)
