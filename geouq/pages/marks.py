"""What the interval of one number means, for the marks in tables."""

from collections.abc import Mapping
from typing import Any

from geouq.metrics import FORM_METRICS, METRICS, deviation, ideal_value

Row = Mapping[str, Any]

_METRICS = {metric.name: metric for metric in (*FORM_METRICS, *METRICS)}


def without_interval(row: Row) -> str:
    """Return why a number has no interval; empty where it has one or needs none."""
    if row.get("ci_low") is not None or not row.get("ci_method"):
        return ""
    return f"no interval: {row['ci_method']}"


def interval_says(row: Row) -> str:
    """Return what an interval that excludes the ideal means, such as over-confident; empty where it holds the ideal."""
    name, _, level = row["metric"].partition("_")
    metric = _METRICS.get(row["metric"]) or (_METRICS.get(name) if level.isdigit() else None)
    if metric is None or row.get("ci_low") is None:
        return ""
    ideal = ideal_value(metric, float(level) / 100 if level.isdigit() else None)
    if ideal is None or row["ci_low"] <= ideal <= row["ci_high"]:
        return ""
    return deviation(metric, is_above=row["ci_low"] > ideal)
