"""Every metric of the registry as a function of arrays, or of a Summary in their place.

`measure("uce")` is what `geouq.uce` is: signature and documentation follow from the function on summaries, so that a
new row of the registry needs nothing here.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Real
from typing import Any, TypeGuard, get_args

import numpy as np
from pydantic import ValidationError

from geouq.arrays.arguments import as_count, as_number, as_numbers, as_text, is_xarray, variance_of
from geouq.arrays.points import TAIL
from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import Dim, summarize
from geouq.config import BinScheme, CalibrationWeights
from geouq.core.errors import ArgumentError, ConfigError, DataError, SummaryError, wrong_type
from geouq.metrics import Metric, metrics_of
from geouq.summary import Summary
from geouq.summary.form import GAUSSIAN

Bins = int | str | BinScheme | Sequence[float]
LEVEL = 0.9
WEIGHTS_OF_LEVELS = get_args(CalibrationWeights)
OWN_NAMES = {"weights": "level_weights"}  # what is called weights here are those of pixels
SEVERAL = {"level": "levels", "threshold": "thresholds"}  # of which several may be given at once
PARAMETERS = """
Parameters
----------
mean, variance, truth : as in `geouq.summarize`
    Or a Summary or SummaryArray as `mean`, and none of the others.
weights : array, optional
    How much each pixel counts.
dim : int, str or sequence of these, optional
    Dimensions to reduce; by default all of them.
std : array, optional
    Predicted standard deviation, instead of the variance."""
RETURNS = """

Returns
-------
float or array
    With `dim` or several levels or thresholds, an array of what is kept; a DataArray if the arrays are. Dask arrays are
    computed.
"""
OWN_PARAMETERS = {
    "bins": """bins : int, str, sequence of float or BinScheme
    Number of bins of the default scheme, name of a scheme such as "equal-count-20", or edges. Default: {default}.""",
    "level": """level : float or sequence of float
    Level of the interval. Numbers of several levels, such as [0.5, 0.9], are along a last dimension.""",
    "threshold": """threshold : float or sequence of float
    Value to be exceeded. Numbers of several thresholds, such as [10, 20], are along a last dimension.""",
    "by": """by : str
    What pixels are grouped by: truth, mean, variance, or the name of a covariate or class raster.""",
    "groups": """groups : int
    Number of groups of equal numbers of pixels.""",
    "levels": """levels : sequence of float
    Levels of the calibration curve.""",
    "level_weights": """level_weights : str
    How much each level counts: equal, or counts (by the pixels below the quantile).""",
    "reference_mean": """reference_mean : float, optional
    Divisor; by default the mean of the truth.""",
}


def measure_names() -> tuple[str, ...]:
    """Return the names of all metrics."""
    return tuple(metric.name for metric in metrics_of(GAUSSIAN))


@cache
def measure(name: str) -> Callable[..., Any]:
    """Return the metric of that name as a function of arrays or of a Summary; raise ConfigError for another name.

    >>> measure("coverage")([1.0, 2, 3], [0.01, 0.25, 1], [1.5, 3, 2], level=0.8)
    0.333
    """
    for metric in metrics_of(GAUSSIAN):
        if metric.name == name:
            return _on_arrays(metric)
    raise ConfigError(f"there is no metric {name!r}; they are {', '.join(measure_names())}")


def bin_scheme(bins: Bins, default: BinScheme) -> BinScheme:
    """Return the scheme that is meant; raise ConfigError if there is none, ArgumentError if it is of a wrong type.

    >>> from geouq.config import EQUAL_COUNT_10
    >>> bin_scheme(20, EQUAL_COUNT_10).name, bin_scheme("equal-width", EQUAL_COUNT_10).name
    ('equal-count-20', 'equal-width-10')
    """
    if isinstance(bins, BinScheme):
        return bins
    wanted: Mapping[str, Any]
    if isinstance(bins, str):
        scheme, _, count = bins.rpartition("-")
        wanted = {"scheme": scheme, "count": int(count)} if count.isdecimal() else {"scheme": bins}
    elif np.ndim(bins):
        wanted = {"edges": as_numbers("edges", bins)}
    elif isinstance(bins, bool) or not isinstance(bins, Real):
        raise wrong_type("bins", bins, "give a number of bins, the name of a scheme, edges, or a BinScheme")
    else:
        wanted = {"scheme": default.scheme, "count": bins}
    try:
        return BinScheme.model_validate(wanted)
    except ValidationError as error:
        raise ConfigError(f"bins={bins!r}: {error.errors()[0]['msg']}") from None


def summary_of(
    mean: Any, variance: Any, truth: Any, *, std: Any, weights: Any, dim: Dim, **kept: Any
) -> Summary | SummaryArray:
    """Return the Summary given as `mean`, or a summary of the arrays, computed if lazy."""
    found = mean
    if not (isinstance(mean, Summary | SummaryArray) or is_lazy(mean)):
        spread = variance_of(variance, std)
        if spread is None or truth is None:
            raise DataError(
                f"mean is a {type(mean).__name__}; give a Summary alone, or three arrays: mean, variance, truth (or "
                "std= in the place of the variance)"
            )
        found = summarize(mean, spread, truth, weights=weights, dim=dim, **kept)
    elif any(given is not None for given in (variance, truth, std, weights, dim)):
        raise DataError("a Summary stands alone; variance, truth, std, weights and dim were settled when it was made")
    return found.compute() if is_lazy(found) else found


def is_lazy(value: Any) -> TypeGuard[Any]:
    """Return whether it is a `dask.delayed`, such as `summarize` makes of dask arrays."""
    delayed = sys.modules.get("dask.delayed")
    return delayed is not None and isinstance(value, delayed.Delayed)


def _on_arrays(metric: Metric) -> Callable[..., Any]:
    """Return a metric that takes arrays, or a Summary."""
    metric_options = _choices(metric)
    defaults = {name: parameter.default for name, parameter in metric_options.items()}

    def numbers(
        mean: Any,
        variance: Any = None,
        truth: Any = None,
        *,
        weights: Any = None,
        dim: Dim = None,
        std: Any = None,
        **chosen: Any,
    ) -> Any:
        """Return the metric of arrays or of a summary; its documentation is set below."""
        if unknown := chosen.keys() - metric_options.keys():
            known = ", ".join(metric_options) or "no choices"
            raise ArgumentError(f"{metric.name}() got an unexpected argument {min(unknown)!r}; it takes {known}")
        chosen = defaults | chosen
        if missing := [choice for choice, value in chosen.items() if value is inspect.Parameter.empty]:
            raise ArgumentError(f"{metric.name}() needs {missing[0]}=, a number")
        chosen = {choice: _checked(choice, value) for choice, value in chosen.items()}
        kept: dict[str, Any] = {"ordering": metric.choice == "ordering"}
        several = [name for name in SEVERAL if np.ndim(chosen.get(name, 0))]
        for name, kept_as in SEVERAL.items():
            if name in chosen:
                kept[kept_as] = tuple(np.atleast_1d(chosen[name]).tolist())
        if "bins" in chosen:
            chosen["bins"] = bin_scheme(chosen["bins"], _scheme_of(metric))
            kept["tail"] = max(TAIL, chosen["bins"].count)
        summary = summary_of(mean, variance, truth, std=std, weights=weights, dim=dim, **kept)
        theirs = {own: theirs for theirs, own in OWN_NAMES.items()}
        chosen = {theirs.get(name, name): value for name, value in chosen.items()}
        if not several:
            return _of(metric, summary, chosen)
        each = [chosen | {several[0]: value} for value in kept[SEVERAL[several[0]]]]
        return _side_by_side([_of(metric, summary, own) for own in each], several[0], kept[SEVERAL[several[0]]])

    shown = list(inspect.signature(numbers).parameters.values())[:-1]
    numbers.__name__ = numbers.__qualname__ = metric.name
    numbers.__module__ = "geouq"
    numbers.__doc__ = _documentation(metric)
    signature = inspect.Signature([*shown, *metric_options.values()], return_annotation=Any)
    numbers.__signature__ = signature  # type: ignore[attr-defined]
    numbers.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()} | {"return": Any}
    return numbers


def _checked(name: str, value: Any) -> Any:
    """Return the value of a choice in its own type; raise ArgumentError or ConfigError if it is none."""
    if name in SEVERAL:
        return as_numbers(name, value) if _is_sequence(value) else as_number(name, value)
    if name == "levels":
        return as_numbers(name, value)
    if name == "groups":
        return as_count(name, value)
    if name == "reference_mean":
        return None if value is None else as_number(name, value)
    if name == "level_weights" and value not in WEIGHTS_OF_LEVELS:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(WEIGHTS_OF_LEVELS)}")
    return as_text(name, value) if name == "by" else value


def _is_sequence(value: Any) -> bool:
    return np.ndim(value) > 0 and not isinstance(value, str)


def _side_by_side(numbers: Sequence[Any], name: str, values: Sequence[float]) -> Any:
    """Return the numbers of several levels or thresholds along a last dimension of that name."""
    if not values:
        raise ConfigError(f"{name}=[] names none; give a number, or several")
    if is_xarray(numbers[0]):
        import xarray as xr  # noqa: PLC0415  loaded already, as DataArrays were summarised

        dims = (*numbers[0].dims, name)
        return xr.concat(numbers, xr.DataArray(list(values), dims=name, name=name)).transpose(*dims)
    return np.stack([np.asarray(number) for number in numbers], axis=-1)


def _choices(metric: Metric) -> dict[str, inspect.Parameter]:
    """Return the keyword parameters of a metric; edges are given as bins, and pixels are independent."""
    found = {}
    for parameter in list(inspect.signature(metric.function).parameters.values())[1:]:
        name, kind, default = OWN_NAMES.get(parameter.name, parameter.name), parameter.annotation, parameter.default
        if name in ("edges", "effective"):
            continue
        if name == "bins":
            kind, default = Bins, default.count
        elif name == "level":
            default = LEVEL
        found[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    return found


def _scheme_of(metric: Metric) -> BinScheme:
    """Return the default bins of a metric."""
    default: BinScheme = inspect.signature(metric.function).parameters["bins"].default
    return default


def _documentation(metric: Metric) -> str:
    default = _scheme_of(metric).name if metric.choice == "bins" else ""
    own = "".join(f"\n{OWN_PARAMETERS[name].format(default=default)}" for name in _choices(metric))
    about = (inspect.getdoc(metric.function) or "").partition("\n\nParameters\n")[0]
    return f"{about}\n{PARAMETERS}{own}{RETURNS}"


def _of(metric: Metric, summary: Summary | SummaryArray, chosen: Mapping[str, Any]) -> Any:
    """Return the number of a summary, or those of many in the form of what was summarised."""
    if isinstance(summary, Summary):
        value = np.asarray(_function(metric, summary)(summary, **chosen))
        return value if value.ndim else float(value)
    values = summary.map(lambda one: _function(metric, one)(one, **chosen))
    if summary.coords is None:
        return values
    import xarray as xr  # noqa: PLC0415  loaded already, as DataArrays were summarised

    attrs = {"long_name": metric.claim, "symbol": metric.symbol}
    return xr.DataArray(values, dict(summary.coords), summary.dims, metric.name, attrs)


def _function(metric: Metric, summary: Summary) -> Callable[..., Any]:
    """Return the metric of that name for a form of the forecast; raise SummaryError if the form has none."""
    for own in metrics_of(summary.given_as):
        if own.name == metric.name:
            return own.function
    raise SummaryError(f"{metric.name} is of a forecast with a variance; this summary is of a {summary.kind} one")
