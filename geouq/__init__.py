"""geouq: whether the predicted uncertainty of every pixel can be trusted, everywhere and region by region."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from geouq.version import __version__

if TYPE_CHECKING:
    from geouq.arrays import summarize_arrays
    from geouq.config import Experiment, load_experiment
    from geouq.experiment import Options, report, run
    from geouq.stack import open_stack
    from geouq.summary import Summary
    from geouq.summary.file import load_tile


__all__ = [
    "Experiment",
    "Options",
    "Summary",
    "__version__",
    "load_experiment",
    "load_tile",
    "open_stack",
    "report",
    "run",
    "summarize_arrays",
]

_ROOM_OF = {
    "Experiment": "config",
    "Options": "experiment",
    "Summary": "summary",
    "load_experiment": "config",
    "load_tile": "summary.file",
    "open_stack": "stack",
    "report": "experiment",
    "run": "experiment",
    "summarize_arrays": "arrays",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that the command line starts at once."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'geouq' has no attribute {name!r}")
    return getattr(import_module(f"geouq.{_ROOM_OF[name]}"), name)
