"""The few numbers that a summary shows of itself."""

from geouq.metrics.accuracy import bias, rmse
from geouq.metrics.calibration import ence, uce, zms
from geouq.metrics.coverage import coverage
from geouq.metrics.registry import level_name
from geouq.metrics.sharpness import sharpness_rms
from geouq.summary import Summary
from geouq.summary.display import show_with


def brief(summary: Summary) -> dict[str, float]:
    """Numbers by name, as in the tables; coverage of level 0.9, or of the highest one kept."""
    level = 0.9 if 0.9 in summary.levels else max(summary.levels)
    return {
        "bias": float(bias(summary)),
        "rmse": float(rmse(summary)),
        "sharpness_rms": float(sharpness_rms(summary)),
        "zms": float(zms(summary)),
        level_name("coverage", level): float(coverage(summary, level)),
        "uce": float(uce(summary)),
        "ence": float(ence(summary)),
    }


show_with(brief)
