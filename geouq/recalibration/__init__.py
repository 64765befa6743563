"""From a predicted distribution to a better one: fitted on some tiles, judged on others, written as rasters."""

from geouq.recalibration.recalibrator import Recalibrated, Recalibrator, load_recalibrator

__all__ = ["Recalibrated", "Recalibrator", "load_recalibrator"]
