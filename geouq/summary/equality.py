"""Whether two values are equal, whatever they are made of."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal: dataclasses by field, arrays by shape and element, where NaN equals NaN.

    >>> are_equal(np.array([1.0, np.nan]), np.array([1.0, np.nan])), are_equal(np.zeros(2), np.zeros(3))
    (True, False)
    """
    if isinstance(one, np.ndarray | np.generic) or isinstance(other, np.ndarray | np.generic):
        a, b = np.asarray(one), np.asarray(other)
        return np.array_equal(a, b, equal_nan="f" in (a.dtype.kind, b.dtype.kind))
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(are_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(are_equal(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return bool(one == other)
