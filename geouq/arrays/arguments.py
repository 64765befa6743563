"""Arguments of functions on arrays that are no arrays: numbers, levels, choices; errors name the argument."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from geouq.errors import ConfigError, wrong_type

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
