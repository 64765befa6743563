"""Files of tiles that a source names, what it says of their bands and pixels, and whether the files agree."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isclose

import numpy as np
from affine import Affine
from rasterio.crs import CRS

from geouq.core.errors import DataError
from geouq.core.grid import TOLERANCE, shift_in_pixels
from geouq.core.units import conversion
from geouq.rasters.files import Stamp
from geouq.rasters.raster import Band, Raster, stored_nodata
from geouq.rasters.tile_names import Place


@dataclass(frozen=True)
class BandSaid:
    """What a source says of a band; None or '' where it says nothing."""

    name: str = ""
    description: str = ""
    scale: float | None = None
    offset: float | None = None
    nodata: float | None = None
    units: str = ""


@dataclass(frozen=True)
class PlaceSaid:
    """What a source says of where the pixels of a file lie; None or '' where it says nothing. crs : as EPSG:32633."""

    crs: str = ""
    shape: tuple[int, int] | None = None
    transform: Affine | None = None


NOWHERE_SAID = PlaceSaid()


@dataclass(frozen=True)
class TileFile:
    """One file of a tile.

    bands : what is said of each, in order; empty if nothing is. of_all : what is said of all bands where none is alone.
    """

    path: str
    bands: tuple[BandSaid, ...] = ()
    of_all: BandSaid | None = None
    place: PlaceSaid = NOWHERE_SAID

    def number_of(self, band: int | str | None) -> int | str | None:
        """Return the number of a band that a source names or describes; another name as it is, as the file may know it.

        >>> TileFile("a.tif", (BandSaid("mean"), BandSaid("sd"))).number_of("sd")
        2
        """
        for known in ([own.name for own in self.bands], [own.description for own in self.bands]):
            if isinstance(band, str) and known.count(band) == 1:
                return known.index(band) + 1
        return band


@dataclass(frozen=True)
class TileTable:
    """The tiles of a source: files of each by asset, without those that no layer asks for.

    stamp : the file that names them. what : what an entry of a tile is called. files : by tile and time; the time is
    empty unless the source has times. assets : all that tiles have. notes : what is left out.
    """

    stamp: Stamp
    what: str
    files: Mapping[Place, Mapping[str, TileFile]]
    assets: tuple[str, ...]
    notes: tuple[str, ...] = ()


def described(raster: Raster, file: TileFile, given: Collection[str] = ()) -> Raster:
    """Return a raster with what its source says of it where the file itself says nothing.

    given : settings of the configuration, such as scale and nodata, of which the two need not agree.

    Raises
    ------
    DataError
        If the file contradicts its source.
    """
    _require_place(raster, file.place)
    said = file.bands or (() if file.of_all is None else (file.of_all,) * len(raster.bands))
    if not said:
        return raster
    if len(said) != len(raster.bands):
        raise _contradiction(raster, f"{len(said)} bands", f"{len(raster.bands)}")
    pairs = list(zip(raster.bands, said, strict=True))
    for number, (band, own) in enumerate(pairs, 1):
        for what, of_source, of_file in _contradictions(band, own):
            if what not in given:
                raise _contradiction(raster, f"{what} {of_source} of band {number}", of_file)
    bands = tuple(_with(band, own) for band, own in pairs)
    other = any(one.nodata != band.nodata for one, band in zip(bands, raster.bands, strict=True))
    return raster if bands == raster.bands else raster.changed(bands=bands, other_nodata=other)


def _with(band: Band, said: BandSaid) -> Band:
    """Return a band with what is said of it, as far as its file says nothing."""
    scale, offset = (said.scale, said.offset) if not band.scaled else (None, None)
    nodata = stored_nodata(band.dtype, said.nodata) if band.nodata is None else band.nodata
    return replace(
        band,
        scale=band.scale if scale is None else scale,
        offset=band.offset if offset is None else offset,
        nodata=nodata,
        units=band.units or said.units,
        description=band.description or said.name or said.description,
    )


def _contradictions(band: Band, said: BandSaid) -> Iterator[tuple[str, str, str]]:
    """Yield what a source says of a band, by its setting and value, and the other value in the file."""
    if band.scaled:
        for what, one, other in (("scale", said.scale, band.scale), ("offset", said.offset, band.offset)):
            if one is not None and not isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
                yield what, f"{one:g}", f"{other:g}"
    own = stored_nodata(band.dtype, said.nodata)
    if own is not None and band.nodata is not None and own != band.nodata:
        yield "nodata", f"{own:g}", f"{band.nodata:g}"
    if said.units and band.units and said.units != band.units:
        change = conversion(said.units, band.units)
        if change is not None and (change.factor, change.offset) != (1, 0):
            yield "units", said.units, band.units


def _require_place(raster: Raster, place: PlaceSaid) -> None:
    """Raise DataError where pixels do not lie where the source says."""
    grid = raster.grid
    if place.shape is not None and place.shape != grid.shape:
        raise _contradiction(
            raster, f"{place.shape[0]} x {place.shape[1]} pixels", f"{grid.shape[0]} x {grid.shape[1]}"
        )
    if place.crs and grid.crs and CRS.from_user_input(place.crs) != CRS.from_wkt(grid.crs):
        raise _contradiction(raster, f"the CRS {place.crs}", grid.crs_name)
    if place.transform is not None and not grid.control:
        shift = shift_in_pixels(grid, replace(grid, transform=place.transform))
        if not shift <= TOLERANCE:
            away = "" if np.isinf(shift) else f", {shift:.3g} pixels away"
            numbers = [", ".join(f"{x:.10g}" for x in one[:6]) for one in (place.transform, grid.transform)]
            raise _contradiction(raster, f"the transform ({numbers[0]})", f"({numbers[1]}){away}")


def _contradiction(raster: Raster, of_source: str, of_file: str) -> DataError:
    return DataError(
        f"{raster.path}: the source of tiles says {of_source}, but the file has {of_file}; one of them is out of date"
    )
