"""What tests of calibration say of a region, in a word, by a rule that the pages state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geouq.metrics import METRICS, ideal_value

Row = Mapping[str, Any]

SIGNIFICANT = 0.05
RULE = (
    "Each region is tested against a perfect forecaster, as sharply as its number of independent cells allows, and p "
    "is adjusted for the number of regions. The variance is called over-confident (under-confident) where mean z² is "
    "above (below) 1 with p below 0.05; not calibrated where that is not so, but one of the other tests (coverage, "
    "ENCE) has p below 0.05 after multiplying it by their number; and compatible otherwise. Compatible is no proof of "
    "calibration: few independent cells cannot tell much."
)
OPPOSITE = {"over-confident": "under-confident", "over-prediction": "under-prediction"}
OPPOSITE |= {below: above for above, below in OPPOSITE.items()}
_METRICS = {metric.name: metric for metric in METRICS}


@dataclass(frozen=True)
class Verdict:
    """A word: compatible, over-confident, under-confident, not calibrated, not tested or no pixels; and why."""

    word: str
    why: str = ""


def verdict_of(zms: Row, tests: Sequence[Row]) -> Verdict:
    """By `RULE`, from the row of mean z^2 and all tests of a pool; where there is no test, the reason.

    >>> zms = {"value": 1.5, "ci_low": 1.2, "ci_method": "bca"}
    >>> verdict_of(zms, [{"metric": "zms", "p_adjusted": 0.02}])
    Verdict(word='over-confident', why='p 0.02')
    >>> verdict_of(zms | {"ci_low": None, "ci_method": "fewer than 8 cells"}, []).why
    'no interval: fewer than 8 cells'
    """
    if zms["value"] is None:
        return Verdict("no pixels")
    p_values = {(row["metric"], row.get("bins", "")): row["p_adjusted"] for row in tests}
    p = p_values.pop(("zms", ""), None)
    if p is None:
        return Verdict("not tested", without_interval(zms))
    if p < SIGNIFICANT:
        return Verdict("over-confident" if zms["value"] > 1 else "under-confident", p_text(p))
    for (metric, _), other in sorted(p_values.items(), key=lambda one: one[1]):
        together = min(1.0, other * len(p_values))
        if together < SIGNIFICANT:
            return Verdict("not calibrated", f"{metric}: {p_text(together)}")
        break
    return Verdict("compatible", p_text(p))


def p_text(p: float) -> str:
    """A p-value as people read it.

    >>> p_text(0.0004), p_text(0.0312)
    ('p < 0.001', 'p 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p {p:.2g}"


def without_interval(row: Row) -> str:
    """Why a number has no interval, in words; empty where it has one, or none was asked for."""
    if row.get("ci_low") is not None or not row.get("ci_method"):
        return ""
    return f"no interval: {row['ci_method']}"


def interval_says(row: Row) -> str:
    """What an interval that excludes the ideal says: over-confident, for example; empty where it says nothing."""
    name, _, level = row["metric"].partition("_")
    metric = _METRICS.get(row["metric"]) or (_METRICS.get(name) if level.isdigit() else None)
    if metric is None or row.get("ci_low") is None or metric.above not in OPPOSITE:
        return ""
    ideal = ideal_value(metric, float(level) / 100 if level.isdigit() else None)
    if ideal is None or row["ci_low"] <= ideal <= row["ci_high"]:
        return ""
    return metric.above if row["ci_low"] > ideal else OPPOSITE[metric.above]
