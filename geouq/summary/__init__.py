"""What pixels contribute, and how contributions add."""

from geouq.summary.accumulate import RunningTotal
from geouq.summary.coverage_profile import GROUPED_BY, ClassCoverage, CoverageProfile
from geouq.summary.form import FormSums
from geouq.summary.moments import Moments
from geouq.summary.summary import Summary, add_all, empty_summary
from geouq.summary.swept_pixels import ProfileOfPixels
from geouq.summary.tail_pixels import TailPixels
from geouq.summary.tile import CellSummaries, TilePlace, TileSummary, TileWholes, VariableSummary, VariableWhole
from geouq.summary.truth_error import TruthError
from geouq.summary.variance_profile import Binned, VarianceProfile
from geouq.summary.z_histogram import ZHistogram

__all__ = [
    "GROUPED_BY",
    "Binned",
    "CellSummaries",
    "ClassCoverage",
    "CoverageProfile",
    "FormSums",
    "Moments",
    "ProfileOfPixels",
    "RunningTotal",
    "Summary",
    "TailPixels",
    "TilePlace",
    "TileSummary",
    "TileWholes",
    "TruthError",
    "VariableSummary",
    "VariableWhole",
    "VarianceProfile",
    "ZHistogram",
    "add_all",
    "empty_summary",
]
