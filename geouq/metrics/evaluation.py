"""Every number that an experiment asks for, from a Summary."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.config import CALIBRATION_LEVELS, GROUPS, BinScheme, CalibrationWeights, Groups
from geouq.core.failures import isolated
from geouq.core.sending import Sendable
from geouq.metrics.record import METRICS, OF_LEVELS, Choice, Metric, has, level_name
from geouq.summary import Summary
from geouq.summary.form import GAUSSIAN, Form

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MetricOptions(Sendable):
    """The options of the metrics of a variable: levels, bin schemes with own or shared edges, reference mean, curve.

    Parameters
    ----------
    auxiliary_groups : sequence of str
        Names of the covariates and class rasters that also group the coverage.
    form : Form
        Form of the forecast.
    effective : mapping
        Number of independent pixels of each bin, by the name of its scheme. Without it, pixels count as independent.
    """

    levels: Sequence[float]
    schemes: Sequence[BinScheme]
    reference_mean: float | None = None
    shared_edges: Mapping[str, Floats] | None = None
    calibration_levels: Sequence[float] = CALIBRATION_LEVELS
    calibration_weights: CalibrationWeights = "equal"
    groups: Groups = GROUPS
    ordering: bool = False
    thresholds: Sequence[float] = ()
    auxiliary_groups: Sequence[str] = ()
    form: Form = GAUSSIAN
    effective: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def groupings(self) -> tuple[str, ...]:
        """Return all that coverage is grouped by."""
        return (*self.groups.by, *self.auxiliary_groups)

    def calls(self, choice: Choice) -> Sequence["_Call"]:
        """Return the calls of a metric with that choice, which are the same for all of them."""
        if choice not in self._calls:
            self._calls[choice] = _CALLS[choice](self)
        return self._calls[choice]

    @cached_property
    def _calls(self) -> dict[Choice, Sequence["_Call"]]:
        return {}


@dataclass(frozen=True)
class Value:
    """One number (or, of a summary with leading dimensions, an array of them) with its full name; level : its own."""

    metric: Metric
    name: str
    bins: str
    value: Floats
    group: str = ""
    level: float | None = None


@dataclass(frozen=True)
class _Call:
    """One call of a metric's function: its arguments besides the summary, and the name of its value."""

    arguments: tuple[Any, ...] = ()
    suffix: str = ""
    bins: str = ""
    group: str = ""
    effective: Floats | None = None


_CALLS: Mapping[Choice, Callable[[MetricOptions], list[_Call]]] = {
    "none": lambda _: [_Call()],
    "bins": lambda c: [
        _Call((s, (c.shared_edges or {}).get(s.name)), bins=s.name, effective=c.effective.get(s.name))
        for s in c.schemes
    ],
    "level": lambda c: [_Call((level,), level_name("", level)) for level in c.levels],
    "group": lambda c: [
        _Call((level, by, c.groups.count), level_name("", level), group=by)
        for by, level in product(c.groupings, c.levels)
    ],
    "ordering": lambda c: [_Call()] if c.ordering else [],
    "threshold": lambda c: [_Call((t,), suffix=f"_{t:g}") for t in c.thresholds],
    "calibration": lambda c: [_Call((tuple(c.calibration_levels),))],
    "calibration_weights": lambda c: [_Call((tuple(c.calibration_levels), c.calibration_weights))],
    "reference_mean": lambda c: [_Call((c.reference_mean,))],
    "quantile": lambda c: [_Call((p,), level_name("", p)) for p in c.form.quantile_levels],
    "class": lambda c: [_Call((k,), f"_{name}") for k, name in enumerate(c.form.class_names)],
    "pair": lambda c: [_Call((p,), level_name("", p)) for p in c.form.pairs],
}


def evaluate_metric(metric: Metric, summary: Summary, metric_options: MetricOptions) -> Iterator[Value]:
    """Yield the values of one metric for every level, bin scheme or grouping chosen."""
    overflows = summary.moments.overflows
    for call in metric_options.calls(metric.choice):
        name, number = metric.name + call.suffix, None
        try:
            number = np.asarray(_number(metric, summary, call))
        except Exception:  # of many numbers, only one that fails takes the time to say which it is
            with isolated("numbers", " ".join(filter(None, (name, call.bins, call.group)))):
                raise
        if number is None:
            number = np.full(np.shape(summary.n), np.nan)
        if overflows is not None:
            number = np.where(overflows, np.nan, number)  # what is left of it may be 0
        level = call.arguments[0] if metric.choice in OF_LEVELS else None
        yield Value(metric, name, call.bins, number, call.group, level)


def _number(metric: Metric, summary: Summary, call: _Call) -> Floats:
    """Return the number of a call. Tables and intervals need the same ones; edges of bins may differ between them."""
    if not call.bins:
        return summary.once(
            "number", (metric.function, call.arguments), lambda: metric.function(summary, *call.arguments)
        )
    effective = (call.effective,) if metric.on_effective else ()
    return metric.function(summary, *call.arguments, *effective)


def metrics_of(form: Form) -> tuple[Metric, ...]:
    """Return the metrics of a forecast of this form, with those of mean and variance if it has a variance."""
    return tuple(metric for metric in METRICS if has(form, metric.forms))


def evaluate_metrics(summary: Summary, metric_options: MetricOptions) -> Iterator[Value]:
    """Yield every metric of the form that is chosen, for every choice, in their order."""
    for metric in metrics_of(metric_options.form):
        yield from evaluate_metric(metric, summary, metric_options)
