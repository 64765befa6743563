"""All metrics at once: as an xarray Dataset, or as a tidy pandas table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from geouq.arrays.arguments import as_numbers, as_text
from geouq.arrays.metric_functions import Bins, bin_scheme, summary_of
from geouq.arrays.points import TAIL
from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import Dim
from geouq.config import GROUPS, BinScheme, preferred_first
from geouq.config import Bins as BinsOfARun
from geouq.config.model import LEVELS
from geouq.core.errors import SummaryError
from geouq.metrics import Metric, MetricOptions, Value, evaluate_metric, metrics_of, unit_of
from geouq.summary import Summary, empty_summary
from geouq.summary.form import GAUSSIAN

SCHEMES = preferred_first(BinsOfARun().schemes)
ORDER = ("bins", "group")  # what a metric may have several values for


@dataclass(frozen=True)
class _Number:
    """One metric, its full name, what it is of, and what was found (dims)."""

    metric: Metric
    name: str
    of: dict[str, str]
    found: NDArray[np.float64]


def evaluate(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] | None = None,
    bins: Sequence[Bins] = SCHEMES,
    reference_mean: float | None = None,
    units: str | None = None,
    thresholds: Sequence[float] = (),
) -> xr.Dataset:
    """Return every metric as a Dataset, with a variable for each metric.

    A metric of bins has the dimension `bins`, a metric of groups the dimension `group`. A metric of a level ends in the
    level, as coverage_90. Attributes give unit, symbol, ideal value, the meaning of a value above it, and the source.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim : as in `geouq.summarize`
        Or a Summary or SummaryArray as `mean`, and none of the others.
    levels : sequence of float, optional
        Levels of the intervals. By default those of the summary.
    bins : sequence of schemes
        Each as in `geouq.uce`. By default the schemes that a run shows.
    reference_mean : float, optional
        Divisor of nbias, nmae and nrmse. By default the mean of the truth.
    units : str, optional
        Unit of the variable. By default the unit of `truth`, if that is a DataArray.
    thresholds : sequence of float
        Values whose forecasts of being exceeded are scored.

    Returns
    -------
    Dataset
        Along the dimensions that `dim` does not name. The variable `n` is the number of pixels. A metric that needs a
        statistic that the summary does not keep is left out: ause and spearman need `summarize(..., ordering=True)`.

    Raises
    ------
    DataError, ConfigError, ArgumentError
        As from `geouq.summarize`.

    Examples
    --------
    >>> found = evaluate([1.0, 2, 3], [0.01, 0.25, 1], [1.5, 3, 2], units="m")
    >>> float(found.zms), found.rmse.attrs["units"]
    (10.0, 'm')
    """
    levels = None if levels is None else as_numbers("levels", levels)
    summary = _summary_of(mean, variance, truth, levels, bins, std=std, weights=weights, dim=dim, thresholds=thresholds)
    units = units_of(truth, units)
    dims, coords = places_of(summary)
    found: dict[str, Any] = {"n": (dims, np.asarray(summary.n), {"long_name": "number of pixels", "units": "1"})}
    by_name: dict[str, list[_Number]] = {}
    for number in _numbers(summary, levels, bins, reference_mean):
        by_name.setdefault(number.name, []).append(number)
    parts = [xr.Dataset(found, coords)]
    parts += [_variable(numbers, dims, units) for numbers in by_name.values()]
    # groups and bins that one variable has and another has not are missing there
    return xr.merge(parts, join="outer", compat="no_conflicts")


def table(
    mean: Any,
    variance: Any = None,
    truth: Any = None,
    *,
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] | None = None,
    bins: Sequence[Bins] = SCHEMES,
    reference_mean: float | None = None,
    units: str | None = None,
    thresholds: Sequence[float] = (),
) -> pd.DataFrame:
    """Return every metric as a tidy table, with a row for each number.

    Parameters
    ----------
    mean, variance, truth, std, weights, dim, levels, bins, reference_mean, units, thresholds : as in `geouq.evaluate`

    Returns
    -------
    DataFrame
        The dimensions that are kept, then metric, value, units, bins, group and n. A metric over no pixel is NaN.

    Raises
    ------
    DataError, ConfigError, ArgumentError
        As from `geouq.summarize`.

    Examples
    --------
    >>> found = table([1.0, 2, 3], [0.01, 0.25, 1], [1.5, 3, 2])
    >>> float(found.set_index("metric").value["zms"])
    10.0
    """
    levels = None if levels is None else as_numbers("levels", levels)
    summary = _summary_of(mean, variance, truth, levels, bins, std=std, weights=weights, dim=dim, thresholds=thresholds)
    units = units_of(truth, units)
    dims, coords = places_of(summary)
    n, numbers = np.asarray(summary.n), list(_numbers(summary, levels, bins, reference_mean))
    rows = [
        {dim: coords[dim][1][place] if dim in coords else place for dim, place in zip(dims, index, strict=True)}
        | {"metric": number.name, "value": float(number.found[index]), "units": unit_of(number.metric, units)}
        | {name: number.of.get(name, "") for name in ORDER}
        | {"n": int(n[index])}
        for index in np.ndindex(n.shape)
        for number in numbers
    ]
    return pd.DataFrame(rows, columns=[*dims, "metric", "value", "units", *ORDER, "n"])


def _summary_of(
    mean: Any, variance: Any, truth: Any, levels: Sequence[float] | None, bins: Any, **options: Any
) -> Summary | SummaryArray:
    """Return the given summary, or a summary of the arrays with all that any metric needs."""
    tail = max([TAIL, *(scheme.count for scheme in schemes_of(bins))])
    return summary_of(
        mean, variance, truth, levels=LEVELS if levels is None else levels, tail=tail, ordering=True, **options
    )


def units_of(truth: Any, units: str | None) -> str:
    """Return the unit that is given, or else the unit of `truth` if that is a DataArray."""
    return str(getattr(truth, "attrs", {}).get("units", "")) if units is None else as_text("units", units)


def schemes_of(bins: Any) -> tuple[BinScheme, ...]:
    """Return the schemes that are meant: one alone needs no list."""
    each = bins if isinstance(bins, Iterable) and not isinstance(bins, str | BinScheme) else [bins]
    return tuple(bin_scheme(one, SCHEMES[0]) for one in each)


def places_of(summary: Summary | SummaryArray) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the dimensions that are kept and their coordinates."""
    if isinstance(summary, SummaryArray):
        return summary.dims, dict(summary.coords or {})
    return tuple(f"dim_{axis}" for axis in range(summary.n.ndim)), {}


def _numbers(
    summary: Summary | SummaryArray,
    levels: Sequence[float] | None,
    bins: Sequence[Bins],
    reference_mean: float | None,
) -> Iterator[_Number]:
    """Yield every metric with its values."""
    summaries = list(summary) if isinstance(summary, SummaryArray) else [summary]
    some = next((one for one in summaries if one.n.any()), empty_summary(levels or _levels_of(summaries)))
    chosen = MetricOptions(
        tuple(levels or some.levels),
        schemes_of(bins),
        reference_mean,
        groups=GROUPS.model_copy(update={"by": tuple(some.groups) if some.n.any() else GROUPS.by}),
        ordering=some.ordering is not None,
        thresholds=some.thresholds.thresholds,
        form=next((one.given_as for one in summaries if one.form), GAUSSIAN),
    )
    found = [
        [value for metric in metrics_of(chosen.form) for value in _values(metric, one, chosen)] for one in summaries
    ]
    for values in zip(*found, strict=True):
        first, shape = values[0], np.shape(summary.n)
        of = {name: getattr(first, name) for name in ORDER if getattr(first, name)}
        numbers = np.stack([value.value for value in values]).reshape(shape)
        yield _Number(first.metric, first.name, of, np.asarray(numbers, np.float64))


def _levels_of(summaries: Sequence[Summary]) -> Sequence[float]:
    """Return the levels that summaries keep."""
    return summaries[0].levels if summaries else LEVELS


def _values(metric: Metric, summary: Summary, chosen: MetricOptions) -> list[Value]:
    """Return the values of a metric; none of the calibration curve if its default levels were not kept."""
    try:
        return list(evaluate_metric(metric, summary, chosen))
    except SummaryError:
        if metric.choice not in ("calibration", "calibration_weights"):
            raise
        return []


def _variable(numbers: Sequence[_Number], dims: tuple[str, ...], units: str) -> xr.Dataset:
    """One metric, along what it has several values for."""
    first = numbers[0]
    metric, own = first.metric, tuple(first.of)
    attrs = {
        "long_name": metric.claim,
        "symbol": metric.symbol,
        "units": unit_of(metric, units),
        "ideal": metric.ideal,
        "above": metric.above,
        "source": metric.source,
    }
    if not own:
        return xr.Dataset({first.name: (dims, first.found, attrs)})
    (dim,) = own
    values = np.stack([number.found for number in numbers], axis=-1)
    coords = {dim: [number.of[dim] for number in numbers]}
    return xr.Dataset({first.name: ((*dims, dim), values, attrs)}, coords)
