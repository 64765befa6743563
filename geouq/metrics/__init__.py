"""Numbers from a Summary: pure functions, one file a family, listed in `METRICS`."""

from geouq.metrics.accuracy import bias, error_width_corr, mae, nbias, nmae, nrmse, r2, rmse
from geouq.metrics.bins import bin_edges, binned
from geouq.metrics.calibration import (
    ence,
    ence_excess,
    ence_normalized,
    ence_null,
    rce,
    uce,
    uce_normalized,
    z_mean,
    z_std,
    zms,
)
from geouq.metrics.coverage import coverage, coverage_above, coverage_below
from geouq.metrics.registry import (
    METRICS,
    Choices,
    Metric,
    Value,
    evaluate_metric,
    evaluate_metrics,
    level_name,
    unit_of,
)
from geouq.metrics.scores import crps, interval_score, nll
from geouq.metrics.sharpness import cv, mean_std, sharpness, sharpness_rms, width

__all__ = [
    "METRICS",
    "Choices",
    "Metric",
    "Value",
    "bias",
    "bin_edges",
    "binned",
    "coverage",
    "coverage_above",
    "coverage_below",
    "crps",
    "cv",
    "ence",
    "ence_excess",
    "ence_normalized",
    "ence_null",
    "error_width_corr",
    "evaluate_metric",
    "evaluate_metrics",
    "interval_score",
    "level_name",
    "mae",
    "mean_std",
    "nbias",
    "nll",
    "nmae",
    "nrmse",
    "r2",
    "rce",
    "rmse",
    "sharpness",
    "sharpness_rms",
    "uce",
    "uce_normalized",
    "unit_of",
    "width",
    "z_mean",
    "z_std",
    "zms",
]
