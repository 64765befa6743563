"""Tables of the pages: numbers with intervals and marks, verdicts, differences, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from geouq.config import Variable
from geouq.core.wording import for_people
from geouq.metrics import deviation, ideal_value, named, shown_in, usual_heading, usual_name
from geouq.metrics.record import OF_VARIANCE
from geouq.pages.content import ReportContent
from geouq.pages.sheet import Cell, Column, Sheet
from geouq.verdict import Place, Verdict

Row = Mapping[str, Any]
Numbers = Mapping[Place, Mapping[str, Row]]
Headings = Sequence[tuple[str, str]]  # of numbers, by their names in tables

WHY_BINS = ", which all hold pixels (of skewed variances, one equal-width bin holds nearly all: see metrics.csv)"


def place_of(row: Row) -> Place:
    """Which evaluation unit, variable and model a row is of."""
    return row["level"], row["name"], row["variable"], row["model"]


def shown_numbers(content: ReportContent) -> Numbers:
    """Return the rows of the metrics that are shown, by what they are of, then by metric."""
    found: dict[Place, dict[str, Row]] = {}
    names = headings()
    for row in content.metrics:
        if row["metric"] in names and row["bins"] in ("", content.bins):
            found.setdefault(place_of(row), {})[row["metric"]] = row
    return found


def shown_metrics(content: ReportContent) -> Headings:
    """Names and headings of the metrics that are shown: those of a variance where it has one, and those of its form."""
    shown = {row["metric"] for row in content.metrics}
    of_variance = [metric for metric in shown_in("page") if metric.forms == OF_VARIANCE]
    if any(metric.choice == "none" and metric.name in shown for metric in of_variance):
        shown |= set(map(usual_name, of_variance))
    return tuple((name, heading) for name, heading in headings().items() if name in shown)


def headings() -> dict[str, str]:
    """Heading of each number shown, by its name in tables."""
    return {usual_name(metric): usual_heading(metric) for metric in shown_in("page")}


def regions_sheet(
    content: ReportContent, numbers: Numbers, found: Mapping[Place, Verdict], wanted: Sequence[Cell]
) -> Sheet:
    """Every number of these evaluation units, which are told by the cells of their names, variable by variable."""
    first = (Column("variable", "text"), Column("region", "name"), Column("verdict", "text"), Column("pixels"))
    shown = shown_metrics(content)
    groups = {
        variable.name: [
            [
                Cell(_with_units(variable)),
                name,
                _verdict_cell(found.get(place)),
                *_number_cells(shown, rows),
            ]
            for name in wanted
            for place in [_place(name.text, variable)]
            if (rows := numbers.get(place))
        ]
        for variable in content.variables
    }
    caption = (
        f"{_of_bins(content, numbers)}The interval is under the number; a mark shows that it excludes the ideal: "
        "▲ over-confident, ▼ under-confident, + over-prediction, − under-prediction, △ errors larger than predicted or "  # noqa: RUF001  the minus that is shown
        f"coverage too small, ▽ the reverse.{content.compared}"
    )
    return Sheet("regions", caption, (*first, *_headed(shown)), groups)


def tiles_sheet(content: ReportContent, numbers: Numbers, tiles: Iterable[str]) -> Sheet:
    """Return the numbers of these tiles, variable by variable; tiles have no intervals."""
    wanted, shown = list(tiles), shown_metrics(content)
    columns = (Column("variable", "text"), Column("tile", "name"), Column("pixels"), *_headed(shown))
    groups = {
        variable.name: [
            [Cell(_with_units(variable)), Cell(tile), *_number_cells(shown, rows)]
            for tile in wanted
            if (rows := numbers.get(("tile", tile, variable.variable, variable.model)))
        ]
        for variable in content.variables
    }
    caption = f"{_of_bins(content, numbers)}Single tiles have no intervals."
    return Sheet("tiles", caption, columns, groups)


def _of_bins(content: ReportContent, numbers: Numbers) -> str:
    found = map(named, dict.fromkeys(name for rows in numbers.values() for name in rows))
    binned = {one[0].symbol: one[0].rank for one in found if one and one[0].choice == "bins"}
    if not binned:
        return ""
    why = WHY_BINS if content.bins.startswith("equal-count") else ""
    return f"{' and '.join(sorted(binned, key=binned.__getitem__))} over {content.bins} bins{why}. "


def verdict_matrix(content: ReportContent, found: Mapping[Place, Verdict], wanted: Sequence[Cell]) -> list[list[Cell]]:
    """Return a row for each region: its name, and for each variable the verdict, the size of the effect and why."""
    return [[name, *(_matrix_cell(found.get(_place(name.text, v))) for v in content.variables)] for name in wanted]


def skill_of(content: ReportContent) -> dict[Place, float | None]:
    """Return the skill of the mean of each variable in the whole and in each region, where its form has one."""
    names = {row["metric"] for row in content.metrics}
    skills = {name for name in names if (one := named(name)) and one[0].part == "skill"}
    return {
        place_of(row): row["value"] for row in content.metrics if row["metric"] in skills and row["level"] != "tile"
    }


def interval_text(row: Row) -> str:
    """Return the ends of an interval, on one line; empty where there is none."""
    if row.get("ci_low") is None:
        return ""
    return f"{for_people(row['ci_low'])}\u00a0to\u00a0{for_people(row['ci_high'])}"


def thousands(number: int) -> str:
    """Return a whole number with thin spaces between thousands.

    >>> thousands(1234567)
    '1\u202f234\u202f567'
    """
    return f"{number:,}".replace(",", "\u202f")


def _place(name: str, variable: Variable) -> Place:
    return "all" if name == "all" else "region", name, variable.variable, variable.model


def _with_units(variable: Variable) -> str:
    return f"{variable.name} ({variable.units})" if variable.units else variable.name


def _headed(shown: Headings) -> list[Column]:
    return [Column(heading) for _, heading in shown]


def _number_cells(shown: Headings, rows: Mapping[str, Row]) -> list[Cell]:
    """Pixels, then each number shown; a reason that all have stands beside the verdict."""
    some = any(row.get("ci_low") is not None for row in rows.values())
    return [
        Cell(thousands(next(iter(rows.values()))["n"])),
        *(_number_cell(rows.get(name), show_reason=some) for name, _ in shown),
    ]


def _number_cell(row: Row | None, *, show_reason: bool) -> Cell:
    if row is None:
        return Cell("n/a")
    under = interval_text(row) or (without_interval(row) if show_reason else "")
    return Cell(for_people(row["value"]), under, interval_says(row))


def _verdict_cell(verdict: Verdict | None) -> Cell:
    return Cell("") if verdict is None else Cell(verdict.word, verdict.why, verdict.tone)


def _matrix_cell(verdict: Verdict | None) -> Cell:
    if verdict is None:
        return Cell("n/a")
    return Cell(verdict.word, "; ".join(filter(None, (verdict.effect, verdict.why))), verdict.tone)


def without_interval(row: Row) -> str:
    """Return why a number has no interval; empty where it has one or needs none."""
    if row.get("ci_low") is not None or not row.get("ci_method"):
        return ""
    return f"no interval: {row['ci_method']}"


def interval_says(row: Row) -> str:
    """Return what an interval that excludes the ideal means, such as over-confident; empty where it holds the ideal."""
    found = named(row["metric"])
    if found is None or row.get("ci_low") is None:
        return ""
    ideal = ideal_value(*found)
    if ideal is None or row["ci_low"] <= ideal <= row["ci_high"]:
        return ""
    return deviation(found[0], is_above=row["ci_low"] > ideal)


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
