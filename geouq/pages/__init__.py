"""Pages that open from disk: one for the run, one for each region."""

from geouq.pages.cells import CellMaps, cell_maps
from geouq.pages.content import ReportContent
from geouq.pages.html import write_report

__all__ = ["CellMaps", "ReportContent", "cell_maps", "write_report"]
