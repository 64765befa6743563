"""The few numbers that a summary shows of itself."""

from collections.abc import Mapping

from geouq.config import EQUAL_COUNT_10
from geouq.metrics.accuracy import bias, rmse
from geouq.metrics.calibration import ence, uce, zms
from geouq.metrics.coverage import coverage
from geouq.metrics.forms import metrics_of
from geouq.metrics.registry import level_name
from geouq.metrics.sharpness import sharpness_rms
from geouq.summary import Summary
from geouq.summary.display import show_with

SHOWN: Mapping[str, tuple[str, ...]] = {
    "ensemble": ("crps_ensemble", "crps_mixture", "spread_skill"),
    "split": ("epistemic_share", "joint_log_loss"),
    "quantiles": ("crps_quantiles", "crps_integral", "wis", "crossing"),
    "classes": ("brier", "log_loss", "accuracy", "ece"),
}


def brief(summary: Summary) -> dict[str, float]:
    """Numbers by name, as in the tables; coverage of level 0.9, or of the highest one kept."""
    form = summary.given_as
    own = {metric.name: metric.function for metric in metrics_of(form)}
    shown = {name: float(own[name](summary)) for name in SHOWN.get(summary.kind, ()) if name in own}
    return shown if form and form.alone else shown | _of_normal(summary)


def _of_normal(summary: Summary) -> dict[str, float]:
    level = 0.9 if 0.9 in summary.levels else max(summary.levels)
    return {
        "bias": float(bias(summary)),
        "rmse": float(rmse(summary)),
        "sharpness_rms": float(sharpness_rms(summary)),
        "zms": float(zms(summary)),
        level_name("coverage", level): float(coverage(summary, level)),
        "uce": float(uce(summary, EQUAL_COUNT_10)),
        "ence": float(ence(summary)),
    }


show_with(brief)
