"""The functions of Python: signatures, first lines and parameters, from the docstrings."""

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import geouq
import geouq.core.errors
import geouq.metrics
from generated.docstrings import as_markdown, documented, signature
from generated.markdown import sentence, table
from geouq.accessor import FUNCTIONS, GeouqAccessor
from geouq.arrays.metric_functions import OWN_PARAMETERS, measure, measure_names
from geouq.metrics import METRICS
from geouq.metrics.record import OF_VARIANCE

OF_A_VARIANCE = [one for one in METRICS if set(OF_VARIANCE) <= set(one.forms)]
MODULES = ("ensemble", "quantiles", "classes", "plot")


def functions() -> str:
    """Return a part for each public function and class but the metrics, module by module."""
    own = [name for name in geouq.__all__ if name not in (*measure_names(), "__version__")]
    parts = [_module("geouq", geouq, own)]
    for name in MODULES:
        module = getattr(geouq, name)
        parts.append(_module(f"geouq.{name}", module, module.__all__))
    return "\n".join(parts)


def metric_functions() -> str:
    """Return a table of the metrics as functions of arrays and of summaries, and one of their parameters."""
    names = measure_names()
    rows = (
        (
            f"`{name}`",
            ", ".join(f"`{one}`" for one in _own_parameters(name)),
            sentence(documented(measure(name)).first),
        )
        for name in names
    )
    parameters = (
        (f"`{head}`", " ".join(about.split()))
        for name, text in OWN_PARAMETERS.items()
        for head, _, about in [text.format(default="that of the metric").partition("\n")]
    )
    return (
        f"{table(('metric', 'own parameters', 'what it returns'), rows)}\n{table(('parameter', 'meaning'), parameters)}"
    )


def summary_functions() -> str:
    """Return a table of the functions of `geouq.metrics` that are no metrics of a variance."""
    of_variance = [one.function for one in OF_A_VARIANCE]
    found = ((name, getattr(geouq.metrics, name)) for name in geouq.metrics.__all__)
    others = ((name, one) for name, one in found if inspect.isfunction(one) and one not in of_variance)
    return table(
        ("function", "what it returns"),
        ((f"`{signature(name, one)}`", sentence(documented(one).first)) for name, one in others),
    )


def accessor() -> str:
    """Return a table of the methods of the accessor."""
    own = ((name, getattr(GeouqAccessor, name)) for name in ("named", "summarize", "evaluate", "table"))
    rows = [(f"`ds.geouq.{name}`", sentence(documented(one).first)) for name, one in own]
    rows += [(f"`ds.geouq.{name}`", sentence(documented(one).first)) for name, one in FUNCTIONS.items()]
    return table(("method", "what it returns"), rows)


def errors() -> str:
    """Return a table of the errors, with the built-in exceptions that they also are."""
    own = [
        one
        for one in vars(geouq.core.errors).values()
        if inspect.isclass(one) and one.__module__ == "geouq.core.errors"
    ]
    rows = (
        (f"`{one.__name__}`", ", ".join(f"`{base.__name__}`" for base in one.__bases__), documented(one).first)
        for one in own
    )
    return table(("error (`geouq.core.errors`)", "is also", "meaning"), rows)


def _own_parameters(name: str) -> Iterator[str]:
    """Yield the parameters of a metric that not all metrics have."""
    yield from (one for one in inspect.signature(measure(name)).parameters if one in OWN_PARAMETERS)


def _module(name: str, module: ModuleType, names: list[str]) -> str:
    """Return the parts of a module: functions with their parameters, and a table of the metrics among them."""
    metrics = {one.function for one in METRICS}
    rows, parts = [], [f"## {name}\n"]
    for own in names:
        thing: Any = getattr(module, own)
        if thing in metrics:
            rows.append((f"`{signature(own, thing)}`", sentence(documented(thing).first)))
        else:
            parts.append(_part(f"{name}.{own}", thing))
    about = "Metrics of a summary:\n\n" + table(("function", "what it returns"), rows) if rows else ""
    return "\n".join([*parts, about] if about else parts)


def _part(name: str, thing: Any) -> str:
    call = name if inspect.isclass(thing) else signature(name, thing)
    return f"### {name}\n\n    {call}\n\n{as_markdown(documented(thing))}\n"
