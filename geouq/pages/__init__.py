"""Pages that open from disk: one for the run, one for each region."""

from geouq.pages.cells import CellMaps, cell_maps
from geouq.pages.content import ReportContent
from geouq.pages.curves import Curves, Groups, curves_of
from geouq.pages.html import write_report
from geouq.pages.outlines import Outlines, outlines_on
from geouq.pages.quick_looks import quick_looks
from geouq.pages.recalibration import read_recalibration

__all__ = [
    "CellMaps",
    "Curves",
    "Groups",
    "Outlines",
    "ReportContent",
    "cell_maps",
    "curves_of",
    "outlines_on",
    "quick_looks",
    "read_recalibration",
    "write_report",
]
