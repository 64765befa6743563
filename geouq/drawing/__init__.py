"""From a run to its figures: records, default selection, and drawing from the saved summaries."""

from geouq.drawing import of_runs as _of_runs  # noqa: F401  registers the figures
from geouq.drawing.case import Case, Source
from geouq.drawing.paths import path_of_figure
from geouq.drawing.record import FIGURES, FigureRecord, figure, unknown_figures
from geouq.drawing.saved import Selection, draw_saved

__all__ = [
    "FIGURES",
    "Case",
    "FigureRecord",
    "Selection",
    "Source",
    "draw_saved",
    "figure",
    "path_of_figure",
    "unknown_figures",
]
