"""The grid of an array in a netCDF or Zarr file, from its coordinates and the CRS that CF, GDAL or rioxarray write."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from affine import Affine
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.core.errors import DataError
from geouq.core.grid import TOLERANCE, Grid
from geouq.rasters.array_layout import Axis

NAMES = {"X": ("x", "lon", "longitude", "easting", "rlon"), "Y": ("y", "lat", "latitude", "northing", "rlat")}
STANDARD_NAMES = {
    "X": ("projection_x_coordinate", "longitude", "grid_longitude"),
    "Y": ("projection_y_coordinate", "latitude", "grid_latitude"),
}
DEGREES = {
    "X": ("degrees_east", "degree_east", "degrees_E", "degreeE", "degreesE"),
    "Y": ("degrees_north", "degree_north", "degrees_N", "degreeN", "degreesN"),
}
WGS84 = "EPSG:4326"
NO_CRS = "has no CRS; its longitudes and latitudes are taken as WGS 84 (EPSG:4326)"


class Placed(NamedTuple):
    """The grid of an array, its rows and columns along the dimensions, and what the user should know."""

    grid: Grid
    rows: Axis
    columns: Axis
    notes: tuple[str, ...]


class _Line(NamedTuple):
    """Evenly spaced centres of pixels: the first one and the step to the next."""

    first: float
    step: float


def placed(dataset: xr.Dataset, variable: xr.Variable, chunks: Mapping[Any, int], path: str) -> Placed:
    """Return the grid of an array; raise DataError where it has no rows and columns, or its pixels are not even.

    Rows run from north to south and columns from west to east, whatever the order in the file.
    """
    x_name, y_name = (_dimension_of(axis, dataset, variable, path) for axis in ("X", "Y"))
    place = _grid_mapping(dataset, variable)
    transform = _transform_of(place)
    x, y = (
        _line(dataset, name, path, given)
        for name, given in ((x_name, _along(transform, 0)), (y_name, _along(transform, 1)))
    )
    width, height = variable.sizes[x_name], variable.sizes[y_name]
    crs, notes = _crs(place, dataset, (x_name, y_name), path)
    columns = Axis(x_name, width, chunks[x_name], flipped=x.step < 0)
    rows = Axis(y_name, height, chunks[y_name], flipped=y.step > 0)
    left = x.first if x.step > 0 else x.first + (width - 1) * x.step
    top = y.first if y.step < 0 else y.first + (height - 1) * y.step
    wide, high = abs(x.step), abs(y.step)
    if _is_longitude(dataset, x_name, crs):
        left, shift = _from_west_to_east(left, wide, width)
        columns = Axis(x_name, width, chunks[x_name], columns.flipped, shift)
    own = Affine(wide, 0, left - wide / 2, 0, -high, top + high / 2)
    same = (
        transform is not None
        and columns.shift == 0
        and np.allclose(own[:6], transform[:6], rtol=1e-9, atol=1e-9 * wide)
    )
    return Placed(Grid((height, width), transform if same and transform else own, crs), rows, columns, notes)


def _dimension_of(axis: str, dataset: xr.Dataset, variable: xr.Variable, path: str) -> str:
    """Return the dimension that is an axis of the map, by the attributes of its coordinate or by its name."""
    for is_it in (_by_attributes, _by_name):
        found = [str(name) for name in variable.dims if is_it(axis, str(name), dataset)]
        if len(found) == 1:
            return found[0]
    dimensions = ", ".join(map(str, variable.dims)) or "none"
    raise DataError(
        f"{path}: which dimension runs along {'rows' if axis == 'X' else 'columns'} of a map is not known; dimensions "
        f"are {dimensions}. Name it {axis.lower()}, or give its coordinate the attribute axis: {axis}; regrid arrays "
        "whose coordinates have two dimensions"
    )


def _by_attributes(axis: str, name: str, dataset: xr.Dataset) -> bool:
    attributes = dataset[name].attrs if name in dataset.variables else {}
    return (
        attributes.get("axis") == axis
        or attributes.get("standard_name") in STANDARD_NAMES[axis]
        or attributes.get("units") in DEGREES[axis]
    )


def _by_name(axis: str, name: str, _: xr.Dataset) -> bool:
    return name.lower() in NAMES[axis]


def _line(dataset: xr.Dataset, name: str, path: str, given: _Line | None) -> _Line:
    """Return the centres of pixels along a dimension, from its coordinate or from the transform."""
    if name not in dataset.variables:
        if given is None:
            raise DataError(f"{path}: the dimension {name} has no coordinate, so that its place is not known")
        return given
    values = np.asarray(dataset[name].variable.values, np.float64)
    if values.size == 1:
        if given is None:
            raise DataError(f"{path}: {name} has one value; the size of a pixel needs two")
        return given
    return _even(values, f"{path}: {name}", float(np.finfo(np.float32).eps) if dataset[name].dtype == np.float32 else 0)


def _even(values: NDArray[np.float64], what: str, rounding: float) -> _Line:
    """Return the first value and the step; DataError where steps differ by more than values are rounded."""
    step = float(values[-1] - values[0]) / (values.size - 1)
    off = np.abs(values - (values[0] + step * np.arange(values.size)))
    if not np.isfinite(step) or step == 0 or off.max() > TOLERANCE * abs(step) + rounding * np.abs(values).max():
        place = int(np.nanargmax(off)) if np.isfinite(off).any() else 0
        raise DataError(
            f"{what} is not evenly spaced, at place {place} of {values.size}: {values[place]:.10g}; regrid to pixels "
            "of one size first"
        )
    return _Line(float(values[0]), step)


def _along(transform: Affine | None, axis: int) -> _Line | None:
    """Return the centres of pixels along columns (0) or rows (1) of a transform; None of a rotated one."""
    if transform is None or transform.b or transform.d:
        return None
    start, step = (transform.c, transform.a) if axis == 0 else (transform.f, transform.e)
    return _Line(start + step / 2, step)


def _grid_mapping(dataset: xr.Dataset, variable: xr.Variable) -> Mapping[str, Any]:
    """Return the attributes that place an array: of the variable that it names, or of `spatial_ref` or `crs`."""
    named = str(variable.attrs.get("grid_mapping", variable.encoding.get("grid_mapping", ""))).split(":")[0].split()
    names = [*named[:1], "spatial_ref", "crs"]
    found = next((name for name in names if name in dataset.variables), None)
    return dataset[found].attrs if found else {}


def _transform_of(place: Mapping[str, Any]) -> Affine | None:
    """Return the transform that GDAL and rioxarray write."""
    try:
        numbers = [float(number) for number in str(place.get("GeoTransform", "")).split()]
    except ValueError:
        return None
    return Affine.from_gdal(*numbers) if len(numbers) == 6 else None


def _crs(
    place: Mapping[str, Any], dataset: xr.Dataset, names: tuple[str, str], path: str
) -> tuple[str, tuple[str, ...]]:
    """Return the CRS as WKT, '' where none is known, and a note where it is assumed."""
    written = next((str(place[key]) for key in ("crs_wkt", "spatial_ref", "epsg_code") if place.get(key)), "")
    try:
        if written:
            return CRS.from_user_input(written).to_wkt(), ()
        if place.get("grid_mapping_name", "latitude_longitude") != "latitude_longitude":
            return _from_cf(place, path), ()
    except CRSError as error:
        raise DataError(f"{path}: its CRS cannot be read: {error}") from error
    is_geographic = any(
        dataset[name].attrs.get("units") in DEGREES[axis]
        for axis, name in zip("XY", names, strict=True)
        if name in dataset.variables
    )
    if is_geographic or names[0].lower() in ("lon", "longitude"):
        return CRS.from_string(WGS84).to_wkt(), (f"{path} {NO_CRS}",)
    return "", ()


def _from_cf(place: Mapping[str, Any], path: str) -> str:
    """Return the CRS of a CF grid mapping without WKT."""
    try:
        import pyproj  # noqa: PLC0415  an optional dependency
    except ImportError:
        raise DataError(
            f"{path}: the grid mapping {place['grid_mapping_name']} has no crs_wkt; install pyproj, which makes it of "
            "its parameters"
        ) from None
    try:
        return str(CRS.from_wkt(pyproj.CRS.from_cf(dict(place)).to_wkt()).to_wkt())
    except (pyproj.exceptions.CRSError, KeyError) as error:
        raise DataError(f"{path}: its grid mapping is no CRS: {error}") from error


def _is_longitude(dataset: xr.Dataset, name: str, crs: str) -> bool:
    """Return whether a dimension is one of longitudes on the earth, not of a rotated pole."""
    attributes = dataset[name].attrs if name in dataset.variables else {}
    named = attributes.get("standard_name", "longitude") == "longitude"
    return bool(crs) and named and CRS.from_wkt(crs).is_geographic


def _from_west_to_east(left: float, wide: float, width: int) -> tuple[float, int]:
    """Return the first longitude from -180 to 180 degrees, and the column of the file that has it.

    Columns of the whole earth are turned; those of a part of it keep their order.
    """
    last = left + (width - 1) * wide
    if last <= 180:
        return left, 0
    if left >= 180:
        return left - 360, 0
    if abs(width * wide - 360) > TOLERANCE * wide:
        return left, 0
    shift = int(np.ceil((180 - left) / wide - TOLERANCE))
    return left + shift * wide - 360, shift
