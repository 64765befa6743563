"""Where the figures of a run are written."""

from pathlib import Path

from geouq.drawing.case import Case
from geouq.drawing.cells import usual_metric
from geouq.runs import default_figures


def path_of_figure(case: Case, figure: str, kind: str = "png") -> Path:
    """Return the path of a figure, relative to the folder of the run."""
    usual = case.metric in ("", usual_metric(case.metric_options.form))
    name = figure if figure != "cells" or usual else f"{figure}_{case.metric}"
    return default_figures.path_of_figure(case.evaluation_unit.name, case.variable, name, kind)
