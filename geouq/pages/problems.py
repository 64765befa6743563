"""What is not in the numbers, as tables: tiles that failed, and pixels that do not count."""

from collections.abc import Mapping
from typing import Any

from geouq.pages.content import ReportContent
from geouq.pages.numbers import thousands
from geouq.pages.sheet import Cell, Column, Sheet

Row = Mapping[str, Any]


def failures_sheet(content: ReportContent) -> Sheet:
    """Return what failed, and why: tiles, and single numbers, intervals, maps, figures and pages."""
    columns = (
        *(Column("tile", "name"), Column("item", "text"), Column("stage", "text"), Column("error", "text")),
        *(Column("message", "long"), Column("where", "text")),
    )
    rows = [[Cell(str(row[column.heading])) for column in columns] for row in content.failures]
    return Sheet("failures", "These tiles and items are missing; all others are complete.", columns, {"all": rows})


def excluded_sheet(content: ReportContent) -> Sheet:
    """Pixels of each tile that do not count, variable by variable."""
    columns = (Column("variable", "text"), Column("tile", "name"), Column("reason", "text"), Column("pixels"))
    groups: dict[str, list[list[Cell]]] = {}
    for row in content.excluded:
        cells = [Cell(_named(row)), Cell(row["tile"]), Cell(row["reason"]), Cell(thousands(row["n"]))]
        groups.setdefault(_named(row), []).append(cells)
    return Sheet("excluded", "Each pixel under its first reason.", columns, groups)


def excluded_total(content: ReportContent) -> Sheet:
    """Return the same of all tiles together."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for row in content.excluded:
        n, tiles = totals.get((_named(row), row["reason"]), (0, 0))
        totals[_named(row), row["reason"]] = n + row["n"], tiles + 1
    columns = (Column("variable", "text"), Column("reason", "name"), Column("pixels"), Column("tiles"))
    rows = [
        [Cell(variable), Cell(reason), Cell(thousands(n)), Cell(thousands(tiles))]
        for (variable, reason), (n, tiles) in totals.items()
    ]
    return Sheet("reasons", "Of all tiles; each pixel under its first reason.", columns, {"all": rows})


def _named(row: Row) -> str:
    return f"{row['variable']} ({row['model']})" if row["model"] else str(row["variable"])
