"""Classes of a raster as zones of a tile: codes that have names, on the tile's grid or in one mosaic."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import rasterio.windows
from numpy.typing import NDArray

from geouq.config import ClassRegions
from geouq.core.errors import DataError, GridError
from geouq.core.grid import TOLERANCE, Grid, Window, require_same_grid, shift_in_pixels
from geouq.core.wording import counted
from geouq.rasters.listing import is_in_folders
from geouq.rasters.raster import DRIVERS, Raster, opened, read_header
from geouq.rasters.tile_names import match_names
from geouq.zones.masks import Part, meet, shrunk

NONE = -1
LARGEST_TABLE = 1 << 16  # codes from 0 up to here are looked up in a table


@dataclass(frozen=True)
class ClassZones:
    """Zones of a tile from the codes of a band.

    codes : by increasing code, each with the number of its zone in `names`; codes may share one. row, column : where
    the raster holds the tile's first pixel; pixels beyond its border are in no class.
    """

    names: tuple[str, ...]
    raster: Raster
    band: int
    codes: tuple[tuple[int, int], ...]
    row: int = 0
    column: int = 0

    @property
    def fingerprint(self) -> str:
        """Return what identifies the file, and what its codes mean."""
        return repr((self.raster.fingerprint, self.band, self.names, self.codes, self.row, self.column))

    def extent(self, zone: int) -> Window:  # noqa: ARG002  any class may be anywhere
        """Return all of the raster."""
        return Window(-self.row, -self.column, *self.raster.grid.shape)

    @property
    def rasters(self) -> tuple[Raster, ...]:
        """Return the raster of codes."""
        return (self.raster,)

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same from the raster of that path."""
        return replace(self, raster=rasters[self.raster.path])

    def only(self, names: Collection[str]) -> Self:
        """Return those zones alone that have these names."""
        own = tuple(name for name in self.names if name in names)
        codes = ((code, self.names[zone]) for code, zone in self.codes)
        return replace(self, names=own, codes=tuple((code, own.index(name)) for code, name in codes if name in own))

    def zones_in(self, window: Window) -> Iterator[Part]:
        """Yield the zones that have pixels in a window; DataError where the file cannot be read."""
        box = meet(window, self.extent(0))
        if box is None:
            return
        numbers = self._numbers(box)
        counts = np.bincount(numbers.ravel() + 1, minlength=len(self.names) + 1)
        for zone in np.flatnonzero(counts[1:]):
            if part := shrunk(int(zone), box, numbers == zone):
                yield part

    def unnamed_in(self, window: Window) -> Mapping[int, int]:
        """Return the pixels of each code that has no name, where the raster tells one."""
        box = meet(window, self.extent(0))
        if box is None:
            return {}
        values, hidden = self._read(box)
        codes, counts = np.unique(values[~hidden], return_counts=True)
        known = {code for code, _ in self.codes}
        return {int(c): int(n) for c, n in zip(codes, counts, strict=True) if np.isfinite(c) and c not in known}

    def _numbers(self, box: Window) -> NDArray[np.intp]:
        """Return the number of the zone of each pixel, NONE for none."""
        values, hidden = self._read(box)
        if values.dtype.kind == "u" and values.dtype.itemsize <= 2:
            numbers = self._table[values]
        else:
            codes, zones = (np.array(column) for column in zip(*self.codes, strict=True))
            at = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
            numbers = np.where(codes[at] == values, zones[at], NONE)
        numbers[hidden] = NONE
        return numbers

    @cached_property
    def _table(self) -> NDArray[np.intp]:
        """Return the zone of each code of 16 bits."""
        table = np.full(LARGEST_TABLE, NONE, np.intp)
        for code, zone in self.codes:
            if 0 <= code < LARGEST_TABLE:
                table[code] = zone
        return table

    def _read(self, box: Window) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """Return the codes after scale and offset, and where the file hides them."""
        place = rasterio.windows.Window(box.column + self.column, box.row + self.row, box.width, box.height)
        band = self.raster.bands[self.band - 1]
        with opened(self.raster) as source:
            stored, hidden = source.read(self.band, window=place), source.read_masks(self.band, window=place) == 0
        return (stored * band.scale + band.offset if band.scaled else stored), hidden


def read_classes(regions: ClassRegions, tile: str, grid: Grid, drivers: Sequence[str] = DRIVERS) -> ClassZones:
    """Return the zones of a tile; its raster, or that part of the mosaic, lies on the pixels of the tile.

    DataError where there is no such raster, band or whole code; GridError where pixels do not coincide.
    """
    raster = read_header(regions.classes.replace("{tile}", tile), drivers)
    _require_codes(raster, regions)
    names = tuple(dict.fromkeys(regions.names.values()))
    codes = tuple(sorted((code, names.index(name)) for code, name in regions.names.items()))
    if "{tile}" in regions.classes:
        require_same_grid(grid, raster.grid, f"tile {tile}", raster.path)
        return ClassZones(names, raster, regions.band, codes)
    return ClassZones(names, raster, regions.band, codes, *_place_in(raster, tile, grid))


def require_classes(regions: ClassRegions, drivers: Sequence[str]) -> None:
    """Raise DataError where there is no raster of classes at all, or one for all tiles is of no use."""
    if "{tile}" not in regions.classes:
        _require_codes(read_header(regions.classes, drivers), regions)
    elif is_in_folders(regions.classes) and not match_names(regions.classes):
        raise DataError(f"no file matches {regions.classes}")


def _require_codes(raster: Raster, regions: ClassRegions) -> None:
    if regions.band > len(raster.bands):
        raise DataError(
            f"{raster.path} has {counted(len(raster.bands), 'band')}, but classes are to be in band {regions.band}"
        )
    band = raster.bands[regions.band - 1]
    if band.dtype.startswith("complex"):
        raise DataError(f"{raster.path}: band {regions.band} holds complex numbers; give codes of classes")
    nodata = None if band.nodata is None else band.nodata * band.scale + band.offset
    for code, name in regions.names.items():
        if nodata == code:
            raise DataError(f"{raster.path}: {code} is nodata there, and cannot be the class {name!r}")


def _place_in(raster: Raster, tile: str, grid: Grid) -> tuple[int, int]:
    """Return the row and column of a mosaic at which the tile begins; they may lie outside of it."""
    mosaic = raster.grid
    if not mosaic.transform.is_degenerate:
        column, row = ~mosaic.transform @ (grid.transform @ (0, 0))
        start = (round(column), round(row))
        shifted = Grid(grid.shape, mosaic.transform @ type(mosaic.transform).translation(*start), mosaic.crs)
        try:
            require_same_grid(grid, shifted, f"tile {tile}", raster.path)
        except GridError:
            raise GridError(_misplaced(raster, tile, grid, shifted)) from None
        return start[1], start[0]
    raise GridError(f"{raster.path} does not say where its pixels are; give the mosaic a transform and a CRS")


def _misplaced(raster: Raster, tile: str, grid: Grid, shifted: Grid) -> str:
    off = shift_in_pixels(grid, shifted)
    how = f"corners lie up to {off:.4g} pixels apart, more than {TOLERANCE}" if off > TOLERANCE else "their CRS differ"
    return (
        f"the pixels of {raster.path} do not coincide with those of tile {tile}: {how}\n"
        f"  {raster.path}: {raster.grid}\n  tile {tile}: {grid}\n"
        "  bring it to the grid of the tiles first, for example with gdalwarp -r near -tap -te -tr -t_srs"
    )
