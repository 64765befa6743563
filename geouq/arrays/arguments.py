"""Arguments of functions on arrays: numbers, levels, kinds of arrays, a variance or a std; errors name the argument."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geouq.core.distribution import DISTRIBUTIONS, LOWEST_DEGREES, TRANSFORMS, Distribution, distribution_of
from geouq.core.errors import ConfigError, DataError, GeouqError, wrong_type

if TYPE_CHECKING:
    import dask.array as da
    import xarray as xr

NUMBER = {
    "level": "a number between 0 and 1, such as 0.9",
    "threshold": "a number in the unit of the variable",
    "reference_mean": "a number in the unit of the variable",
}
SEVERAL = {
    "level": "numbers between 0 and 1, such as [0.5, 0.9]",
    "levels": "numbers between 0 and 1, such as [0.5, 0.9]",
    "thresholds": "numbers in the unit of the variable, such as [10, 20]",
}


def as_number(name: str, value: Any) -> float:
    """Return an argument that is a number; raise ArgumentError if it is not.

    >>> as_number("level", np.float32(0.5))
    0.5
    """
    plain = value.item() if getattr(value, "ndim", None) == 0 else value
    if isinstance(plain, bool | np.bool_) or not isinstance(plain, Real):
        raise wrong_type(name, value, f"give {NUMBER.get(name, 'a number')}")
    return float(plain)


def as_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return an argument that is one number or several; raise ArgumentError if it is neither.

    >>> as_numbers("levels", 0.9), as_numbers("levels", np.array([0.5, 0.9]))
    ((0.9,), (0.5, 0.9))
    """
    if isinstance(values, Real) or getattr(values, "ndim", None) == 0:
        return (as_number(name, values),)
    singular = name.removesuffix("s")
    return tuple(as_number(singular, value) for value in each(name, values))


def each(name: str, values: Any) -> Iterable[Any]:
    """Return an argument that is a sequence; raise ArgumentError if it is not, or is text.

    >>> list(each("names", ["forest", "shrub"]))
    ['forest', 'shrub']
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise wrong_type(name, values, f"give {SEVERAL.get(name, 'a list')}")
    return values


def as_count(name: str, value: Any, least: int = 1) -> int:
    """Return an argument that is a whole number; raise ArgumentError if it is not, ConfigError if it is too small.

    >>> as_count("groups", np.int64(10))
    10
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise wrong_type(name, value, "give a whole number")
    if value < least:
        raise ConfigError(f"{name}={value}: give {least} or more")
    return int(value)


def as_text(name: str, value: Any) -> str:
    """Return an argument that is text; raise ArgumentError if it is not."""
    if not isinstance(value, str):
        raise wrong_type(name, value, "give text")
    return value


def as_mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return an argument that maps names to arrays; raise ArgumentError if it does not."""
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "give a mapping of names to arrays")
    return value


def checked_levels(levels: float | Sequence[float], name: str = "levels") -> tuple[float, ...]:
    """Return the levels as numbers.

    Raises ArgumentError for other types, and ConfigError unless they are different numbers between 0 and 1.

    >>> checked_levels([0.5, 0.9])
    (0.5, 0.9)
    """
    found = as_numbers(name, levels)
    if not found or len(set(found)) < len(found) or not all(0 < level < 1 for level in found):
        raise ConfigError(f"{name} {list(found)}: give different numbers between 0 and 1, such as 0.9")
    return found


def as_distribution(distribution: Any, degrees: Any = None, transform: Any = None) -> Distribution:
    """Return the distribution that the arguments describe.

    Raises ArgumentError for wrong types, and ConfigError for unknown names or arguments that exclude each other.

    >>> as_distribution("lognormal").family, as_distribution("normal", transform="sqrt").family
    ('lognormal', 'squared_normal')
    """
    name = as_text("distribution", distribution)
    if name not in DISTRIBUTIONS:
        raise ConfigError(f"distribution={name!r}: give {', '.join(DISTRIBUTIONS)}")
    if (degrees is not None) != (name == "student_t"):
        raise ConfigError("degrees: distribution='student_t' needs its degrees of freedom, and no other one has them")
    if degrees is not None and not as_number("degrees", degrees) > LOWEST_DEGREES:
        raise ConfigError(f"degrees={degrees}: a variance needs more than {LOWEST_DEGREES:g} degrees of freedom")
    if transform is None:
        return distribution_of(name, None if degrees is None else float(degrees))
    if as_text("transform", transform) not in TRANSFORMS:
        raise ConfigError(f"transform={transform!r}: give {', '.join(TRANSFORMS)}")
    if name != "normal":
        raise ConfigError("a forecast with a transform is normal on that scale; leave distribution or transform out")
    return TRANSFORMS[transform]


def is_xarray(layer: Any) -> TypeGuard["xr.DataArray"]:
    """Return whether it is a DataArray; where xarray was never loaded, nothing is."""
    xr = sys.modules.get("xarray")
    return xr is not None and isinstance(layer, xr.DataArray)


def is_dask(layer: Any) -> TypeGuard["da.Array"]:
    """Return whether it is a dask array; where dask was never loaded, nothing is."""
    da = sys.modules.get("dask.array")
    return da is not None and isinstance(layer, da.Array)


def variance_of(variance: Any, std: Any) -> Any:
    """Return the variance, or the square of the std in its place; a negative std stays negative.

    Raises DataError where both are given, and for a std that holds no numbers.

    >>> variance_of(None, [0.5, -2.0]).tolist()
    [0.25, -4.0]
    """
    if std is None:
        return variance
    if variance is not None:
        raise DataError("both variance and std are given; give one of them, and truth by name: truth=")
    try:
        values = std if is_xarray(std) or is_dask(std) or isinstance(std, np.ma.MaskedArray) else np.asarray(std)
        exact = values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"std is a {type(std).__name__} that holds no numbers; give an array of them") from None
    return exact * abs(exact)


def given_variance(variance: Any, std: Any, truth: Any) -> Any:
    """Return the variance as `variance_of` does; raise DataError if it, or the truth, is missing."""
    found = variance_of(variance, std)
    if found is None or truth is None:
        raise DataError(f"{'variance or std' if found is None else 'truth'} is missing; give mean, variance, truth")
    return found


def variance_of_layers(variance: Any, std: Any) -> Any:
    """Return the variances of several layers, or the squares of their stds; a list of arrays stays one.

    Raises DataError as `variance_of` does.

    >>> variance_of_layers(None, [np.array([0.5]), np.array([2.0])])
    [array([0.25]), array([4.])]
    """
    if not isinstance(std, list | tuple):
        return variance_of(variance, std)
    return [variance_of(variance, layer) for layer in std]


def mapped(
    compute: Callable[..., NDArray[Any]], arrays: Sequence[Any], what: str, dtype: DTypeLike | None = None
) -> Any:
    """Return a function of pixels, applied to arrays that are broadcast; of the kind of what is given.

    Parameters
    ----------
    compute : function of numpy arrays
        Returns an array of the broadcast shape of its arguments.
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
