"""The predicted variance, given as such or as a std."""

from typing import Any

import numpy as np

from geouq.arrays.array_types import is_dask, is_xarray
from geouq.errors import DataError


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
