"""Shares and their differences in per cent, as all numbers of a page show them; files have them as fractions."""

from collections.abc import Mapping
from typing import Any

from geouq.metrics import named

Row = Mapping[str, Any]

PERCENT, POINTS = 100, "percentage points"
DIGITS = 12  # after the point; further ones are rounding of 100 times a number
NUMBERS = ("value", "ci_low", "ci_high", "difference", "in", "out", "before", "after")  # in the unit of the metric


def with_unit(heading: str, name: str, *, is_difference: bool = False) -> str:
    """Return the heading of a number with the unit in which shares are shown.

    >>> with_unit("coverage of 90 %", "coverage_90"), with_unit("coverage of 90 %", "coverage_90", is_difference=True)
    ('coverage of 90 %, in %', 'coverage of 90 %, in percentage points')
    >>> with_unit("RMSE", "rmse")
    'RMSE'
    """
    found = named(name)
    unit = found[0].percent if found else ""
    return f"{heading}, in {POINTS if is_difference else unit}" if unit else heading


def as_percent(row: Row) -> Row:
    """Return a row whose numbers are shares as 100 times these numbers.

    >>> as_percent({"metric": "coverage_90", "value": 0.57, "ci_low": None})
    {'metric': 'coverage_90', 'value': 57.0, 'ci_low': None}
    """
    numbers = {name: row[name] for name in NUMBERS if row.get(name) not in (None, "")}
    return {**row, **{name: round(PERCENT * float(number), DIGITS) for name, number in numbers.items()}}


def shown_as(row: Row, name: str) -> Row:
    """Return the row of a number as pages show it: shares in per cent.

    >>> shown_as({"value": 0.57}, "coverage_90"), shown_as({"value": 0.57}, "rmse")
    ({'value': 57.0}, {'value': 0.57})
    """
    found = named(name)
    return as_percent(row) if found and found[0].percent else row
