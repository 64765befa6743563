"""Pages that open from disk: one for the run, one for each region."""

from geouq.report.content import ReportContent
from geouq.report.pages import write_report

__all__ = ["ReportContent", "write_report"]
