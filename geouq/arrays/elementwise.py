"""Functions of single pixels over arrays of whatever kind: numpy, dask (lazy) and xarray."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.arrays.array_types import is_dask, is_xarray
from geouq.errors import DataError, GeouqError


def mapped(
    compute: Callable[..., NDArray[Any]], arrays: Sequence[Any], what: str, dtype: DTypeLike | None = None
) -> Any:
    """Return a function of pixels, applied to arrays that are broadcast; of the kind of what is given.

    Parameters
    ----------
    compute : function of numpy arrays
        Returns an array of the shape to which its arguments are broadcast.
    arrays : sequence of array
        The first two decide the type of the result of dask arrays, unless `dtype` does.
    what : str
        Names of the arrays, for the message of an error.
    dtype : optional
        Type of the result of dask arrays.

    Raises
    ------
    DataError
        If shapes or coordinates do not match.
    """

    def on_block(*blocks: Any) -> NDArray[Any]:
        """Compute arrays of numpy."""
        return compute(*map(_unmasked, blocks))

    try:
        if any(map(is_xarray, arrays)):
            import xarray as xr  # noqa: PLC0415  loaded already, as there is a DataArray

            def on_data(*parts: Any) -> Any:
                """Compute the arrays of DataArrays."""
                return mapped(compute, parts, what, dtype)

            return xr.apply_ufunc(on_data, *arrays, join="exact", dask="allowed")
        if any(map(is_dask, arrays)):
            import dask.array as da  # noqa: PLC0415  loaded already

            given = [da.asarray(array) for array in arrays]
            kind = np.result_type(given[0].dtype, given[1].dtype, np.float32) if dtype is None else dtype
            return da.map_blocks(on_block, *da.broadcast_arrays(*given), dtype=kind)
        return on_block(*arrays)
    except GeouqError:
        raise
    except ValueError as error:
        raise DataError(f"{what} do not match: {error}") from None


def _unmasked(array: Any) -> NDArray[Any]:
    """Return the array; of a masked one, what is masked is NaN, or no name."""
    if not np.ma.isMaskedArray(array):
        return np.asarray(array)
    if array.dtype.kind in "UO":
        return np.ma.filled(array, "")
    return np.ma.filled(array.astype(np.result_type(array.dtype, np.float32)), np.nan)
