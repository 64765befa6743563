"""What an array is of, without loading the package that it may be of."""

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import dask.array as da
    import xarray as xr


def is_xarray(layer: Any) -> TypeGuard["xr.DataArray"]:
    """Whether it is a DataArray; where xarray was never loaded, nothing is."""
    xr = sys.modules.get("xarray")
    return xr is not None and isinstance(layer, xr.DataArray)


def is_dask(layer: Any) -> TypeGuard["da.Array"]:
    """Whether it is a dask array; where dask was never loaded, nothing is."""
    da = sys.modules.get("dask.array")
    return da is not None and isinstance(layer, da.Array)
