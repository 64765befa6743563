"""Where the pixels of arrays are: a map of two dimensions, with regular coordinates or none."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from affine import Affine
from numpy.typing import NDArray
from rasterio.crs import CRS
from rasterio.errors import CRSError

from geouq.arrays.arguments import is_xarray
from geouq.arrays.validation import Dim
from geouq.core.errors import ArgumentError, ConfigError, DataError
from geouq.core.grid import TOLERANCE, Grid

HELP = "give arrays of two dimensions, or name the two of the map: dim=('y', 'x')"
ALONG_ROWS = ("x", "lon", "longitude", "easting", "column", "col")


@dataclass(frozen=True)
class Maps:
    """Layers of maps on one grid, float (kept..., rows, columns), and where the maps stand.

    dims, coords : the dimensions other than the two of the map, and their coordinates.
    """

    layers: dict[str, NDArray[Any]]
    grid: Grid
    dims: tuple[str, ...]
    coords: dict[str, Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of maps along each dimension that is kept."""
        return next(iter(self.layers.values())).shape[:-2]


def maps_of(layers: dict[str, Any], dim: Dim, crs: Any = None) -> Maps:
    """Return arrays as maps; dask arrays are computed.

    Parameters
    ----------
    layers : arrays by name
        Of one shape, or single numbers; DataArrays are matched by the names of dimensions.
    dim : two axes or names of dimensions, None for all
        Those of the map.
    crs : optional
        Coordinate reference system, as rasterio takes it; by default the one that DataArrays name.

    Raises
    ------
    DataError
        If pixels have no position: not two dimensions, or coordinates that are not regular.
    """
    arrays = _as_data_arrays(layers)
    dims = arrays[0].dims
    rows, columns = _of_map(dims, dim)
    kept = tuple(name for name in dims if name not in (rows, columns))
    values = {
        name: np.ma.filled(array.transpose(*kept, rows, columns).values, np.nan)
        for name, array in zip(layers, arrays, strict=True)
    }
    y, x = (_regular(arrays[0], name) for name in (rows, columns))
    transform = Affine(x[1], 0, x[0], 0, y[1], y[0])
    shape = (arrays[0].sizes[rows], arrays[0].sizes[columns])
    wkt = _wkt(crs) if crs is not None else _crs_of(layers.values())
    coords = {
        str(name): (tuple(map(str, coord.dims)), coord.values)
        for name, coord in arrays[0].coords.items()
        if set(coord.dims) <= set(kept)
    }
    return Maps(values, Grid(shape, transform, wkt), tuple(map(str, kept)), coords)


def _as_data_arrays(layers: dict[str, Any]) -> list[xr.DataArray]:
    """Return layers that are broadcast to each other; raise DataError if they do not match."""
    named = any(map(is_xarray, layers.values()))
    for name, layer in layers.items():
        if named and not is_xarray(layer) and np.ndim(layer):
            raise DataError(f"{name} is a {type(layer).__name__} and others are DataArrays; give it as a DataArray too")
    shapes = {np.shape(layer) for layer in layers.values() if np.ndim(layer)}
    if not named and len(shapes) > 1:
        raise DataError(f"the arrays have different shapes: {', '.join(map(str, shapes))}; give one shape")
    try:
        arrays = [layer if is_xarray(layer) else xr.DataArray(_unmasked(layer)) for layer in layers.values()]
        return list(xr.broadcast(*xr.align(*arrays, join="exact", copy=False)))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the arrays do not lie on the same coordinates ({reason}); align them first") from None


def _unmasked(layer: Any) -> Any:
    if not np.ma.isMaskedArray(layer):
        return layer
    return np.ma.filled(layer.astype(np.result_type(layer.dtype, np.float32)), np.nan)


def _of_map(dims: Sequence[Hashable], dim: Dim) -> tuple[Hashable, Hashable]:
    """Return the dimensions of rows and columns of the map; raise DataError if there are not two."""
    wanted = dims if dim is None else [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dim)
    found = []
    for one in wanted:
        by_axis = isinstance(one, int | np.integer) and -len(dims) <= one < len(dims)
        name = dims[int(one)] if by_axis and one not in dims else one  # type: ignore[call-overload]
        if name not in dims:
            raise DataError(f"dim={dim!r}: there is no dimension {one!r}; they are {', '.join(map(str, dims))}")
        found.append(name)
    if len(set(found)) != 2:
        listed = ", ".join(map(str, found)) or "none"
        raise DataError(f"pixels have no position on a map: their dimensions are {listed}; {HELP}")
    rows, columns = (name for name in dims if name in found)
    swapped = str(rows).lower() in ALONG_ROWS and str(columns).lower() not in ALONG_ROWS
    return (columns, rows) if swapped else (rows, columns)


def _regular(array: xr.DataArray, dim: Hashable) -> tuple[float, float]:
    """Return where the first pixel begins and how long pixels are; numbers of pixels if there are no coordinates."""
    if dim not in array.coords:
        return 0.0, 1.0
    centres = array[dim].values
    if centres.dtype.kind not in "iuf":
        raise DataError(f"pixels have no position on a map: the coordinate {dim!r} holds no numbers; {HELP}")
    if len(centres) < 2:
        return float(centres[0]) - 0.5, 1.0
    even = np.linspace(float(centres[0]), float(centres[-1]), len(centres))
    step = float(even[1] - even[0])
    if not (step and np.abs(centres - even).max() <= TOLERANCE * abs(step)):
        raise DataError(
            f"pixels have no position on a regular grid: the steps of the coordinate {dim!r} differ; bring the arrays "
            "to a regular grid first, or drop the coordinate if pixels are evenly spaced"
        )
    return float(even[0]) - step / 2, step


def _crs_of(layers: Iterable[Any]) -> str:
    """Return the CRS that DataArrays name as WKT, as `open_stack` and rioxarray do; '' if there is none."""
    for layer in filter(is_xarray, layers):
        places = [*(coord.attrs for coord in layer.coords.values()), layer.attrs]
        found = next((own[key] for own in places for key in ("crs_wkt", "crs") if own.get(key)), None)
        if found:
            return _wkt(found)
    return ""


def _wkt(crs: Any) -> str:
    try:
        return str(CRS.from_user_input(crs).to_wkt())
    except (CRSError, ValueError) as error:
        raise ConfigError(f"crs={crs!r} is not known: {error}") from None
    except TypeError:
        raise ArgumentError(f"crs={crs!r} is not known; give a code such as 'EPSG:32635', or WKT") from None
