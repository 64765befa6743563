"""The list of all metrics: what each is called, measured in, ideally worth, and where it comes from.

A new metric is a function of a Summary and a row here; tables, maps, documentation and tests follow from the row.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS, GROUPS, BinScheme, CalibrationWeights, Groups
from geouq.failures import isolated
from geouq.metrics.accuracy import bias, error_width_corr, mae, nbias, nmae, nrmse, r2, rmse
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
from geouq.metrics.curve import (
    calibration_error,
    calibration_error_interval,
    mace,
    mace_interval,
    miscalibration_area,
    miscalibration_area_interval,
    rmsce,
    rmsce_interval,
)
from geouq.metrics.groups import lowest_group_coverage, rmscd, rmscd_under
from geouq.metrics.order_resolution import ause_resolution, spearman_resolution
from geouq.metrics.ordering import ause, spearman
from geouq.metrics.pit import pit_mean, pit_std
from geouq.metrics.scores import crps, interval_score, nll
from geouq.metrics.sharpness import cv, mean_std, sharpness, sharpness_rms, width
from geouq.metrics.thresholds import (
    threshold_brier,
    threshold_reliability,
    threshold_resolution,
    threshold_uncertainty,
    threshold_within,
)
from geouq.summary import Summary
from geouq.summary.form import Form, Quantiles

Floats = NDArray[np.float64]
Unit = Literal["1", "unit", "unit^2"]
Choice = Literal[
    "none",
    "bins",
    "level",
    "group",
    "ordering",
    "threshold",
    "calibration",
    "calibration_weights",
    "reference_mean",
    "quantile",
    "pair",
]


@dataclass(frozen=True)
class Metric:
    """A number and what one must know to read it.

    name : as in the tables; a metric of a level ends in that level, as coverage_90.
    unit : 1, or the variable's unit, or its square.
    above : what a value above the ideal (or a large value) means.
    choice : what it takes beside the summary: calibration is the levels of the curve, calibration_weights these too.
    on_effective : whether it also takes the number of independent pixels that each bin is worth.
    resolution : gives its largest expected error of a summary without leading dimensions; None where it is exact.
    """

    name: str
    function: Callable[..., Floats]
    symbol: str
    unit: Unit
    ideal: str
    above: str
    source: str
    choice: Choice = "none"
    on_effective: bool = False
    resolution: Callable[[Summary], Floats] | None = None

    @property
    def claim(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").split("\n", 1)[0]


LAVES = "Laves et al. 2021, arXiv 2104.12376"
LEVI = "Levi et al. 2019, arXiv 1905.11659"
GNEITING = "Gneiting and Raftery 2007"
PERNOT_2023 = "Pernot 2023, arXiv 2305.11905"
PERNOT = "Pernot 2024, arXiv 2402.10043"
KULESHOV = "Kuleshov et al. 2018, arXiv 1807.00263"
CHUNG = "Chung et al. 2021, arXiv 2109.10254"
TRAN = "Tran et al. 2020, arXiv 1912.10066"
DAWID = "Dawid 1984; Gneiting et al. 2007"
UQREGRESSORS = "UQRegressors"
ILG = "Ilg et al. 2018, arXiv 1802.07095"
BRIER = "Brier 1950"
MURPHY = "Murphy 1973"
STEPHENSON = "Stephenson et al. 2008"
NOTEBOOK = "customary with UCE and ENCE"

METRICS = (
    Metric("uce", uce, "UCE", "unit^2", "0", "variance and error disagree", LAVES, "bins"),
    Metric("ence", ence, "ENCE", "1", "small", "std and error disagree", LEVI, "bins"),
    Metric("uce_normalized", uce_normalized, "UCE/max", "1", "0", "gaps are alike in all bins", NOTEBOOK, "bins"),
    Metric("ence_normalized", ence_normalized, "ENCE/max", "1", "0", "gaps are alike in all bins", NOTEBOOK, "bins"),
    Metric(
        "ence_null", ence_null, "ENCE_0", "1", "none", "bins hold few pixels", PERNOT_2023, "bins", on_effective=True
    ),
    Metric(
        "ence_excess",
        ence_excess,
        "ENCE - ENCE_0",
        "1",
        "0",
        "std and error disagree",
        PERNOT_2023,
        "bins",
        on_effective=True,
    ),
    Metric("zms", zms, "ZMS", "1", "1", "errors larger than predicted", PERNOT),
    Metric("z_mean", z_mean, "mean z", "1", "0", "under-prediction", PERNOT),
    Metric("z_std", z_std, "std z", "1", "1", "over-confident", PERNOT),
    Metric("rce", rce, "RCE", "1", "0", "errors smaller than predicted", PERNOT),
    Metric("cv", cv, "C_v", "1", "large", "the std tells pixels apart", LEVI),
    Metric("sharpness", sharpness, "MV", "unit^2", "small", "wide", KULESHOV),
    Metric("sharpness_rms", sharpness_rms, "RMV", "unit", "small", "wide", KULESHOV),
    Metric("mean_std", mean_std, "mean s", "unit", "small", "wide", "definition"),
    Metric("width", width, "width", "unit", "small", "wide", "definition", "level"),
    Metric("bias", bias, "bias", "unit", "0", "over-prediction", "definition"),
    Metric("mae", mae, "MAE", "unit", "0", "inaccurate", "definition"),
    Metric("rmse", rmse, "RMSE", "unit", "0", "inaccurate", "definition"),
    Metric("nbias", nbias, "bias/ref", "1", "0", "over-prediction", "definition", "reference_mean"),
    Metric("nmae", nmae, "MAE/ref", "1", "0", "inaccurate", "definition", "reference_mean"),
    Metric("nrmse", nrmse, "RMSE/ref", "1", "0", "inaccurate", "definition", "reference_mean"),
    Metric("r2", r2, "R2", "1", "1", "never", "definition"),
    Metric("error_width_corr", error_width_corr, "corr(|e|, s)", "1", "large", "std follows error", "definition"),
    Metric("coverage", coverage, "coverage", "1", "level", "covers too much", "definition", "level"),
    Metric(
        "coverage_above", coverage_above, "above", "1", "(1-level)/2", "truth escapes upwards", "definition", "level"
    ),
    Metric(
        "coverage_below", coverage_below, "below", "1", "(1-level)/2", "truth escapes downwards", "definition", "level"
    ),
    Metric(
        "calibration_error",
        calibration_error,
        "CAL",
        "1",
        "0",
        "quantiles miss their levels",
        KULESHOV,
        "calibration_weights",
    ),
    Metric(
        "calibration_error_interval",
        calibration_error_interval,
        "CAL_I",
        "1",
        "0",
        "coverage misses its levels",
        KULESHOV,
        "calibration_weights",
    ),
    Metric("mace", mace, "MACE", "1", "0", "quantiles miss their levels", CHUNG, "calibration"),
    Metric("mace_interval", mace_interval, "MACE_I", "1", "0", "coverage misses its levels", CHUNG, "calibration"),
    Metric("rmsce", rmsce, "RMSCE", "1", "0", "quantiles miss their levels", CHUNG, "calibration"),
    Metric("rmsce_interval", rmsce_interval, "RMSCE_I", "1", "0", "coverage misses its levels", CHUNG, "calibration"),
    Metric(
        "miscalibration_area", miscalibration_area, "MA", "1", "0", "quantiles miss their levels", TRAN, "calibration"
    ),
    Metric(
        "miscalibration_area_interval",
        miscalibration_area_interval,
        "MA_I",
        "1",
        "0",
        "coverage misses its levels",
        TRAN,
        "calibration",
    ),
    Metric("pit_mean", pit_mean, "mean PIT", "1", "1/2", "under-prediction", DAWID),
    Metric("pit_std", pit_std, "std PIT", "1", "1/sqrt(12)", "truth too often in the tails", DAWID),
    Metric("rmscd", rmscd, "RMSCD", "1", "0", "coverage differs between groups", UQREGRESSORS, "group"),
    Metric("rmscd_under", rmscd_under, "RMSCD_u", "1", "0", "some groups are covered less", UQREGRESSORS, "group"),
    Metric(
        "lowest_group_coverage",
        lowest_group_coverage,
        "min coverage",
        "1",
        "level",
        "covers too much in every group",
        UQREGRESSORS,
        "group",
    ),
    Metric(
        "ause",
        ause,
        "AUSE",
        "1",
        "0",
        "std is large where errors are not",
        ILG,
        "ordering",
        resolution=ause_resolution,
    ),
    Metric(
        "spearman",
        spearman,
        "rho(|e|, s)",
        "1",
        "large",
        "std follows error",
        "Spearman 1904",
        "ordering",
        resolution=spearman_resolution,
    ),
    Metric("threshold_brier", threshold_brier, "BS", "1", "small", "worse", BRIER, "threshold"),
    Metric("threshold_reliability", threshold_reliability, "REL", "1", "0", "they mislead", MURPHY, "threshold"),
    Metric("threshold_resolution", threshold_resolution, "RES", "1", "large", "they tell apart", MURPHY, "threshold"),
    Metric("threshold_uncertainty", threshold_uncertainty, "UNC", "1", "none", "hard to foretell", MURPHY, "threshold"),
    Metric("threshold_within", threshold_within, "WB", "1", "none", "bins are coarse", STEPHENSON, "threshold"),
    Metric("nll", nll, "NLL", "1", "small", "worse", GNEITING),
    Metric("crps", crps, "CRPS", "unit", "small", "worse", GNEITING),
    Metric("interval_score", interval_score, "IS", "unit", "small", "worse", GNEITING, "level"),
)


OF_LEVELS = ("level", "group", "quantile", "pair")
SUFFIXES = {**dict.fromkeys(OF_LEVELS, "_<level>"), "threshold": "_<t>"}


@dataclass(frozen=True)
class Choices:
    """What an experiment asks for: levels, bin schemes with edges of their own or shared, reference mean, curve.

    beside : names of the covariates and class rasters by which coverage is grouped too. form : how the forecast is
    given, None for mean and variance. effective : number of independent pixels that each bin is worth, by the name of
    its scheme; pixels of a scheme without it are taken as independent.
    """

    levels: Sequence[float]
    schemes: Sequence[BinScheme]
    reference_mean: float | None = None
    shared_edges: dict[str, Floats] | None = None
    calibration_levels: Sequence[float] = CALIBRATION_LEVELS
    calibration_weights: CalibrationWeights = "equal"
    groups: Groups = GROUPS
    ordering: bool = False
    thresholds: Sequence[float] = ()
    beside: Sequence[str] = ()
    form: Form | None = None
    effective: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def groupings(self) -> tuple[str, ...]:
        """All that coverage is grouped by."""
        return (*self.groups.by, *self.beside)


@dataclass(frozen=True)
class Value:
    """One number (or, of a summary with leading dimensions, an array of them) with its full name; level : its own."""

    metric: Metric
    name: str
    bins: str
    value: Floats
    group: str = ""
    level: float | None = None


def level_name(metric: str, level: float) -> str:
    """Name of a metric of a level.

    >>> level_name("coverage", 0.9), level_name("coverage", 0.6827)
    ('coverage_90', 'coverage_68.27')
    """
    return metric + _percent(level)


def _percent(level: float) -> str:
    return f"_{round(100 * level, 10):g}"


@dataclass(frozen=True)
class _Call:
    """One call of a metric's function: what it takes beside the summary, and what its value is named by."""

    arguments: tuple[Any, ...] = ()
    suffix: str = ""
    bins: str = ""
    group: str = ""
    effective: Floats | None = None


_CALLS: Mapping[Choice, Callable[[Choices], list[_Call]]] = {
    "none": lambda _: [_Call()],
    "bins": lambda c: [
        _Call((s, (c.shared_edges or {}).get(s.name)), bins=s.name, effective=c.effective.get(s.name))
        for s in c.schemes
    ],
    "level": lambda c: [_Call((level,), _percent(level)) for level in c.levels],
    "group": lambda c: [
        _Call((level, by, c.groups.count), _percent(level), group=by) for by, level in product(c.groupings, c.levels)
    ],
    "ordering": lambda c: [_Call()] if c.ordering else [],
    "threshold": lambda c: [_Call((t,), suffix=f"_{t:g}") for t in c.thresholds],
    "calibration": lambda c: [_Call((c.calibration_levels,))],
    "calibration_weights": lambda c: [_Call((c.calibration_levels, c.calibration_weights))],
    "reference_mean": lambda c: [_Call((c.reference_mean,))],
    "quantile": lambda c: [_Call((p,), _percent(p)) for p in (c.form.levels if isinstance(c.form, Quantiles) else ())],
    "pair": lambda c: [_Call((p,), _percent(p)) for p in (c.form.pairs if isinstance(c.form, Quantiles) else ())],
}


def evaluate_metric(metric: Metric, summary: Summary, choices: Choices) -> Iterator[Value]:
    """The values of one metric for every level, bin scheme or grouping chosen."""
    for call in _CALLS[metric.choice](choices):
        name, number = metric.name + call.suffix, np.full(np.shape(summary.n), np.nan)
        with isolated("numbers", " ".join(filter(None, (name, call.bins, call.group)))):
            effective = (call.effective,) if metric.on_effective else ()
            number = metric.function(summary, *call.arguments, *effective)
        level = call.arguments[0] if metric.choice in OF_LEVELS else None
        yield Value(metric, name, call.bins, number, call.group, level)


def as_markdown(metrics: Iterable[Metric] = METRICS) -> str:
    """A list of metrics as a Markdown table."""
    lines = ["| name | what | unit | ideal | above means | source |", "|---|---|---|---|---|---|"]
    for metric in metrics:
        what = metric.claim.split(";")[0].rstrip(".").replace("|", "\\|")
        name = metric.name + SUFFIXES.get(metric.choice, "")
        lines.append(f"| `{name}` | {what} | {metric.unit} | {metric.ideal} | {metric.above} | {metric.source} |")
    return "\n".join(lines) + "\n"


def unit_of(metric: Metric, units: str) -> str:
    """Unit of a metric of a variable in `units`.

    >>> unit_of(METRICS[0], "Mg ha-1")
    '(Mg ha-1)^2'
    """
    if metric.unit == "1" or units in ("", "1"):
        return "1" if metric.unit == "1" or units == "1" else ""
    if metric.unit == "unit":
        return units
    return f"({units})^2" if " " in units or "/" in units else f"{units}^2"
