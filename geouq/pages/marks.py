"""What the interval of one number means, for the marks in tables."""

from collections.abc import Mapping
from typing import Any

from geouq.metrics import deviation, ideal_value, named

Row = Mapping[str, Any]


def without_interval(row: Row) -> str:
    """Return why a number has no interval; empty where it has one or needs none."""
    if row.get("ci_low") is not None or not row.get("ci_method"):
        return ""
    return f"no interval: {row['ci_method']}"


def interval_says(row: Row) -> str:
    """Return what an interval that excludes the ideal means, such as over-confident; empty where it holds the ideal."""
    found = named(row["metric"])
    if found is None or row.get("ci_low") is None:
        return ""
    ideal = ideal_value(*found)
    if ideal is None or row["ci_low"] <= ideal <= row["ci_high"]:
        return ""
    return deviation(found[0], is_above=row["ci_low"] > ideal)
