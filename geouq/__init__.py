"""geouq: whether the predicted uncertainty of every pixel can be trusted, everywhere and region by region.

Every metric is a function of this package, of arrays or of a Summary: `geouq.uce(mean, variance, truth)`. Signatures
for editors and type checkers are in __init__.pyi, which scripts/stub writes.
"""

import logging as _logging
from importlib import import_module
from typing import Any

from geouq.core.registration import register_accessor as _register_accessor
from geouq.version import __version__ as __version__

_MODULES = ("classes", "ensemble", "plot", "quantiles")
_ROOM_OF = {
    "Experiment": "config",
    "GeouqError": "core.errors",
    "Options": "pipeline.data",
    "Summary": "summary",
    "SummaryArray": "arrays.summary_array",
    "aggregate": "pipeline.aggregate",
    "binned": "api.curves",
    "calibration_curve": "api.curves",
    "check": "pipeline.check",
    "compare": "comparison",
    "evaluate": "arrays.datasets",
    "evaluate_areas": "api.areas",
    "group_coverage": "api.curves",
    "interval_curve": "api.curves",
    "intervals": "api.intervals",
    "load_experiment": "config",
    "load_recalibrator": "recalibration",
    "load_tile": "summary.tiles_file",
    "open_stack": "reading.stack",
    "pit_histogram": "api.curves",
    "pixel_scores": "api.pixel_scores",
    "recalibrate": "recalibration",
    "report": "pipeline.run",
    "run": "pipeline.run",
    "sparsification_curve": "api.curves",
    "summarize": "arrays.validation",
    "summarize_arrays": "arrays.points",
    "summarize_form": "api.form",
    "summarize_intervals": "arrays.validation",
    "table": "arrays.datasets",
}

_logging.getLogger(__name__).addHandler(_logging.NullHandler())  # silent, unless the program configures logging
_register_accessor()


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that the command line starts at once."""
    if name == "__all__":
        return ["__version__", *_ROOM_OF, *_measures().measure_names()]
    if name in _MODULES:
        import_module("geouq.metrics.reprs")
        return import_module(f"geouq.{name}")
    if name in _ROOM_OF:
        import_module("geouq.metrics.reprs")  # summaries show these numbers of themselves
        return getattr(import_module(f"geouq.{_ROOM_OF[name]}"), name)
    if not name.startswith("_") and name in _measures().measure_names():
        return _measures().measure(name)
    raise AttributeError(f"module 'geouq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_MODULES, *__getattr__("__all__")]


def _measures() -> Any:
    return import_module("geouq.arrays.metric_functions")
