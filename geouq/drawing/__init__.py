"""From a run to its figures: what each is drawn from, which are drawn by default, and under which names."""

from geouq.drawing.figure_context import DRAWERS, Case, Source, Wanted, by_default, draw
from geouq.drawing.saved import Selection, draw_saved, path_of_figure

__all__ = ["DRAWERS", "Case", "Selection", "Source", "Wanted", "by_default", "draw", "draw_saved", "path_of_figure"]
