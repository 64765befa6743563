"""From a predicted distribution to a better one: fitted on some tiles, judged on others, written as rasters."""

from geouq.recalibration.recalibrate import Outcome, recalibrate, recalibrate_run
from geouq.recalibration.recalibrator import Recalibrated, Recalibrator, load_recalibrator
from geouq.recalibration.source_run import JustRun, wanted_of

__all__ = [
    "JustRun",
    "Outcome",
    "Recalibrated",
    "Recalibrator",
    "load_recalibrator",
    "recalibrate",
    "recalibrate_run",
    "wanted_of",
]
