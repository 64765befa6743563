"""Figures: each a function from summaries, or rows of tables, to a matplotlib Figure; nothing is drawn globally."""

from geouq.figures.areas import error_correlation_figure, scales_figure
from geouq.figures.calibration import calibration_figure, pit_histogram, ranks_figure, shares_figure
from geouq.figures.cells import TileCells, cell_map, correlogram_figure
from geouq.figures.predicted_std import error_by_std_figure, sparsification_figure, std_figure
from geouq.figures.regions import group_coverage_figure, region_figure, shift_figure
from geouq.figures.reliability import before_after_figure, reliability_diagram
from geouq.figures.style import (
    DATA,
    DOTS_PER_INCH,
    FAINT,
    FORMATS,
    GREEN,
    IDEAL,
    INK,
    PALETTE,
    VERMILION,
    Curve,
    save_figure,
)

__all__ = [
    "DATA",
    "DOTS_PER_INCH",
    "FAINT",
    "FORMATS",
    "GREEN",
    "IDEAL",
    "INK",
    "PALETTE",
    "VERMILION",
    "Curve",
    "TileCells",
    "before_after_figure",
    "calibration_figure",
    "cell_map",
    "correlogram_figure",
    "error_by_std_figure",
    "error_correlation_figure",
    "group_coverage_figure",
    "pit_histogram",
    "ranks_figure",
    "region_figure",
    "reliability_diagram",
    "save_figure",
    "scales_figure",
    "shares_figure",
    "shift_figure",
    "sparsification_figure",
    "std_figure",
]
