"""Splits and models on a page: differences with their intervals."""

from collections.abc import Mapping
from typing import Any

from geouq.pages.content import ReportContent
from geouq.pages.marks import without_interval
from geouq.pages.numbers import headings, interval_text, place_of, shown_metrics
from geouq.pages.sheet import Cell, Column, Sheet
from geouq.text.wording import for_people

Row = Mapping[str, Any]

NEITHER = ("wider", "sharper", "larger", "smaller")  # of what no value is better than another
SHIFT = ("variable", "number", "in", "out", "difference", "verdict")
SHIFT_KINDS = ("text", "name", "number", "number", "number", "text")


def shift_sheet(content: ReportContent) -> Sheet:
    """Return the numbers shown, in and out of distribution."""
    groups: dict[str, list[list[Cell]]] = {}
    for row in content.shift:
        if row["metric"] in headings() and row["bins"] in ("", content.bins):
            groups.setdefault(_named(row), []).append(_shift_row(row))
    columns = tuple(Column(heading, kind) for heading, kind in zip(SHIFT, SHIFT_KINDS, strict=True))
    caption = "Difference: out less in, with an interval of both drawn apart; a colour shows that it is significant."
    return Sheet("shift", caption, columns, groups)


def models_sheet(content: ReportContent) -> Sheet:
    """Return the numbers shown of each model less those of the first one."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in content.comparison:
        if row["metric"] in headings() and row["bins"] in ("", content.bins):
            found.setdefault((*place_of(row), row["against"]), {})[row["metric"]] = row
    groups: dict[str, list[list[Cell]]] = {}
    shown = shown_metrics(content)
    for (_, name, variable, model, against), rows in found.items():
        cells = [_difference_cell(rows.get(metric)) for metric, _ in shown]
        groups.setdefault(variable, []).append([Cell(variable), Cell(name), Cell(f"{model} less {against}"), *cells])
    columns = (
        Column("variable", "text"),
        Column("region", "name"),
        Column("models", "text"),
        *(Column(heading) for _, heading in shown),
    )
    caption = (
        "Differences on the same draws of the same blocks of cells, with intervals; a mark says that a difference is "
        "significant after adjusting for their number: ✓ better, ✗ worse."
    )
    return Sheet("models", caption, columns, groups)


def _named(row: Row) -> str:
    return f"{row['variable']} ({row['model']})" if row["model"] else str(row["variable"])


def _shift_row(row: Row) -> list[Cell]:
    says = ""
    if row["significant"] == "yes" and not row["verdict"].startswith(NEITHER):
        says = "better" if row["verdict"].startswith("better") else "worse"
    return [
        Cell(_named(row)),
        Cell(headings()[row["metric"]]),
        Cell(for_people(row["in"])),
        Cell(for_people(row["out"])),
        Cell(for_people(row["difference"]), interval_text(row) or without_interval(row)),
        Cell(row["verdict"], says=says),
    ]


def _difference_cell(row: Row | None) -> Cell:
    if row is None:
        return Cell("n/a")
    says = ""
    if row["significant"] == "yes" and row["better"]:
        says = "better" if row["better"] == row["model"] else "worse"
    return Cell(for_people(row["difference"]), interval_text(row) or without_interval(row), says)
