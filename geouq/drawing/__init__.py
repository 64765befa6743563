"""From a run to its figures: what each is drawn from, which are drawn by default, and under which names."""

from geouq.drawing.case import DRAWERS, Case, Source, draw
from geouq.drawing.chosen import Wanted, by_default
from geouq.drawing.saved import Selection, draw_saved, path_of_figure

__all__ = ["DRAWERS", "Case", "Selection", "Source", "Wanted", "by_default", "draw", "draw_saved", "path_of_figure"]
