"""Units of measurement, as CF and UDUNITS write them, and how numbers of one become numbers of another."""

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

POWER = re.compile(r"(?<=[A-Za-zµ°])\^?([+-]?\d+)(?![\d.]*[A-Za-z])")
ONE_WORD = re.compile(r"[A-Za-z%µ°]+")
WITH_A_ZERO = re.compile(r"\b(degC|degF)\b")
NAMES = {"1": "dimensionless", "degrees_celsius": "degC", "deg_c": "degC", "celsius": "degC"}


class Conversion(NamedTuple):
    """Number of one unit * factor + offset = number of another."""

    factor: float
    offset: float


@lru_cache(256)
def conversion(units: str, wanted: str, *, power: int = 1, differences: bool = False) -> Conversion | None:
    """Return how numbers of a unit become numbers of another; None if one of them is not known, or they do not fit.

    Parameters
    ----------
    units, wanted : str
        Units, as CF and UDUNITS write them, such as Mg ha-1.
    power : int
        Power of `wanted`: 2 for a variance.
    differences : bool
        Whether numbers are differences, as a std is, so that the zero of a scale does not count.

    Examples
    --------
    >>> conversion("cm", "m"), conversion("degC", "K", differences=True)
    (Conversion(factor=0.01, offset=0.0), Conversion(factor=1.0, offset=0.0))
    >>> conversion("kg m-2", "Mg ha-1").factor
    10.0
    >>> conversion("m", "K")
    """
    if ONE_WORD.fullmatch(wanted) and units in (f"{wanted}{power}", f"{wanted}^{power}"):
        return Conversion(1.0, 0.0)  # as of most variances; needs no pint
    registry = _registry()
    one, other = (_unit(registry, text, differences=True) for text in (units, wanted))
    if one is None or other is None or not one.is_compatible_with(other**power):
        return None
    factor = float(registry.Quantity(1.0, one).to(other**power).magnitude)
    if differences or power > 1:
        return Conversion(factor, 0.0)
    zero, ten = (_converted(registry, number, units, wanted) for number in (0.0, 10.0))
    is_linear = math.isclose(ten - zero, 10 * factor, rel_tol=1e-9)  # unlike decibels
    return Conversion(factor, zero) if is_linear else None


def _converted(registry: Any, number: float, units: str, wanted: str) -> float:
    one, other = _unit(registry, units), _unit(registry, wanted)
    return float(f"{registry.Quantity(number, one).to(other).magnitude:.14g}")  # 273.15 rounds in several ways


def is_known(units: str) -> bool:
    """Return whether a unit is known.

    >>> is_known("Mg ha-1"), is_known("trees per plot and so on")
    (True, False)
    """
    return _unit(_registry(), units) is not None


def squared_unit(units: str) -> str:
    """Return the unit of a square of a variable in `units`.

    >>> squared_unit("m"), squared_unit("Mg ha-1"), squared_unit("1")
    ('m^2', '(Mg ha-1)^2', '1')
    """
    if units in ("", "1"):
        return units
    return f"({units})^2" if " " in units or "/" in units else f"{units}^2"


def squared(units: str) -> str:
    """Return the unit of a variance for people.

    >>> squared("m"), squared("Mg ha-1"), squared("1"), squared("")
    ('m²', '(Mg ha-1)²', '1', '')
    """
    return squared_unit(units).replace("^2", "²")


@lru_cache(1)
def _registry() -> Any:
    import pint  # noqa: PLC0415  takes half a second, and few runs convert units

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _unit(registry: Any, units: str, *, differences: bool = False) -> Any:
    """Return a unit, or that of differences; None where it is not known."""
    text = units.strip()
    text = NAMES.get(text.lower(), POWER.sub(r"**\1", text.replace("%", "percent")))
    text = re.sub(r"(?<=[\w)])\s+(?=[A-Za-z(])", " * ", text)
    try:
        return registry.Unit(WITH_A_ZERO.sub(r"delta_\1", text) if differences else text)
    except Exception:  # noqa: BLE001  pint raises errors of its parser, of Python's tokens and of its own for odd texts
        return None
