"""What geouq makes of a folder: its numbers, or the message why there are none."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from click.testing import CliRunner

from geouq.cli import main
from geouq.config import load_experiment
from geouq.core.failures import Failure
from geouq.core.overflow import overflow_is_missing
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.rasters.catalog import find_tiles
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import sweep_tiles

CHOICES = MetricOptions((0.9,), ())
NUMBERS = ("n", "bias", "rmse", "zms", "sharpness")


def numbers_of(config: Path) -> dict[str, float] | str:
    """Numbers of the only tile of a configuration, or the message of its failure."""
    catalog = find_tiles(load_experiment(config))
    if catalog.failures:
        return catalog.failures[0].message
    with ThreadPoolExecutor(1) as pool:
        (outcome,) = sweep_tiles(catalog.tiles, Settings((0.9,), 16, negative="exclude"), pool, 2)
    if isinstance(outcome, Failure):
        return outcome.message
    (own,) = outcome.variables.values()
    with overflow_is_missing():  # as in a run
        found = {value.name: float(value.value) for value in evaluate_metrics(own.whole, CHOICES)}
    return {"n": float(own.whole.n)} | {name: found[name] for name in NUMBERS if name in found}


def verdict_on(*arguments: str) -> str:
    """Return what is wrong with an answer of the program: nothing, a traceback, an unknown exit code, or no message."""
    result = CliRunner().invoke(main, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"traceback: {result.exception!r}"
    if "Traceback" in result.output:
        return "traceback in the output"
    if result.exit_code not in (0, 2, 3):
        return f"exit code {result.exit_code}"
    if result.exit_code and not result.output.strip():
        return "no message"
    return ""
