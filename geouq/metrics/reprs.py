"""The few numbers that a summary shows of itself."""

from geouq.config import EQUAL_COUNT_10
from geouq.metrics.evaluation import metrics_of
from geouq.metrics.record import OF_VARIANCE, USUAL_LEVEL, level_name, shown_in
from geouq.summary import Summary
from geouq.summary.display import show_with


def brief(summary: Summary) -> dict[str, float]:
    """Return numbers by name, as in the tables: those of the form first; coverage of 0.9, or of the highest level."""
    own, found = metrics_of(summary.given_as), {}
    for metric in sorted(shown_in("summary"), key=lambda one: one.forms == OF_VARIANCE):
        if metric not in own:
            continue
        if metric.choice == "level":
            level = USUAL_LEVEL if USUAL_LEVEL in summary.levels else max(summary.levels)
            found[level_name(metric.name, level)] = float(metric.function(summary, level))
        elif metric.choice == "bins":
            found[metric.name] = float(metric.function(summary, EQUAL_COUNT_10))
        elif metric.choice == "none":
            found[metric.name] = float(metric.function(summary))
    return found


show_with(brief)
