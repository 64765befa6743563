"""Tables of the pages: numbers with intervals and marks, verdicts, differences, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from geouq.config import Variable
from geouq.core.wording import for_people, true_minus, with_interval
from geouq.metrics import deviation, heading_of, ideal_value, named, shown_in, usual_heading, usual_name
from geouq.metrics.record import OF_VARIANCE
from geouq.pages.content import ReportContent
from geouq.pages.headline import effect_words, severity
from geouq.pages.marks import MARKS
from geouq.pages.percent import shown_as, with_unit
from geouq.pages.sheet import DASH, Cell, Column, Sheet, limits_of
from geouq.verdict import Place, Verdict, place_of, place_of_row, verdict_of

Row = Mapping[str, Any]
Numbers = Mapping[Place, Mapping[str, Row]]
Headings = Sequence[tuple[str, str]]  # of numbers, by their names in tables

OF_TILE = ("n", "value")  # columns that the table of tiles shows
WORST_TILES, WORST_VARIABLES = 3, 12  # tiles of each variable, and variables, on the page of a region
EXCLUDED = "tables/excluded.csv"
PIXELS = Column("pixels", about="Number of valid pixels: those with a mean, an uncertainty and a truth")
EXCLUDED_PIXELS = Column("pixels", about="Number of excluded pixels")
EXPLAINED = ("over-confident", "under-confident", "over-prediction", "under-prediction")  # under the table of regions
DIRECTIONS = ("over-prediction", "under-prediction")
CERTAIN = (  # below tables of differences
    "A mark shows a difference that is significant after the adjustment for the number of tests: ✓ better, ✗ worse."
)
WHY_BINS = ", which all hold pixels (if variances are skewed, one equal-width bin holds nearly all: see metrics.csv)"


def shown_numbers(content: ReportContent) -> Numbers:
    """Return the rows of the metrics that are shown, by what they are of, then by metric.

    Tiles may be thousands, so their rows have only the columns that pages show.
    """
    found: dict[Place, dict[str, Row]] = {}
    names = headings(content.metric_names)
    for row in content.metrics:
        if row["metric"] in names and row["bins"] in ("", content.bins):
            own = {name: row[name] for name in OF_TILE} if row["level"] == "tile" else row
            found.setdefault(place_of_row(row), {})[row["metric"]] = own
    return found


def shown_metrics(content: ReportContent) -> Headings:
    """Return names and headings of the metrics shown: those in the tables, and those of a variance if there is one."""
    shown = dict.fromkeys(content.metric_names)
    of_variance = [metric for metric in shown_in("page") if metric.forms == OF_VARIANCE]
    if any(metric.choice == "none" and metric.name in shown for metric in of_variance):
        shown |= dict.fromkeys(map(usual_name, of_variance))
    return tuple((name, heading) for name, heading in headings(shown).items() if name in shown)


def headings(names: Iterable[str]) -> dict[str, str]:
    """Return the heading of each number shown, by its name in tables, in their order. names : those in the tables."""
    found = {usual_name(metric): usual_heading(metric) for metric in shown_in("page") if metric.choice != "class"}
    of_classes = (
        name for name in names if (one := named(name)) and one[0].choice == "class" and "page" in one[0].shown
    )
    return found | {name: heading_of(name) for name in of_classes}


def cells_of_numbers(
    content: ReportContent, numbers: Numbers, found: Mapping[Place, Verdict]
) -> dict[Place, list[Cell]]:
    """Return the number of pixels and the numbers shown as cells of tables, by what they are of."""
    shown = shown_metrics(content)
    return {place: _number_cells(shown, rows, found.get(place)) for place, rows in numbers.items()}


def regions_sheet(
    content: ReportContent, numbers: Numbers, cells: Mapping[Place, Sequence[Cell]], wanted: Sequence[Cell]
) -> Sheet:
    """Return all numbers of some regions, variable by variable.

    Parameters
    ----------
    cells : mapping from place to cells
        What `cells_of_numbers` returns.
    wanted : sequence of Cell
        Name of each region, with the link to its page.
    """
    first = (Column("variable", "text"), Column("region", "name"), Column("verdict", "text"), PIXELS)
    columns = (*first, *_headed(shown_metrics(content)))
    groups = {
        variable.name: [
            [Cell(_with_units(variable)), name, _verdict_cell(content.verdicts.get(place)), *cells[place]]
            for name in wanted
            if (place := place_of(name.text, variable)) in cells
        ]
        for variable in content.variables
    }
    places = {place_of(name.text, variable) for name in wanted for variable in content.variables}
    caption = (
        f"{_of_bins(content)}The interval is under the number. Marks show what the verdict finds: "
        f"{', '.join(f'{MARKS[says]} {says}' for says in EXPLAINED)}, {MARKS['covers too little']} errors larger than "
        f"predicted or coverage too small, {MARKS['covers too much']} the reverse.{content.compared}"
        f"{_footnote(numbers, places)}"
    )
    return Sheet("regions", caption, columns, groups)


def _footnote(numbers: Numbers, places: Iterable[Place]) -> str:
    """Return why some numbers have no interval, once for all of them."""
    return why_dashes(row for place in places for row in numbers.get(place, {}).values())


def why_dashes(rows: Iterable[Row]) -> str:
    """Return why numbers have no interval, as a sentence below a table; empty if all have one."""
    reasons = sorted({row["ci_method"] for row in rows if row.get("ci_low") is None and row.get("ci_method")})
    return f" {DASH}: no interval ({'; '.join(reasons)})." if reasons else ""


def tiles_sheet(content: ReportContent, cells: Mapping[Place, Sequence[Cell]], tiles: Iterable[str]) -> Sheet:
    """Return the numbers of some tiles, variable by variable; tiles have no intervals."""
    wanted = list(tiles)
    columns = (
        *(Column("variable", "text"), Column("tile", "name"), PIXELS),
        *_headed(shown_metrics(content)),
    )
    groups = {
        variable.name: [
            [Cell(_with_units(variable)), Cell(tile), *cells[place]]
            for tile in wanted
            if (place := ("tile", tile, variable.variable, variable.model)) in cells
        ]
        for variable in content.variables
    }
    caption = f"{_of_bins(content)}Single tiles have no intervals."
    return Sheet("tiles", caption, columns, groups)


def effects_of_tiles(content: ReportContent) -> dict[Place, Verdict]:
    """Return the size of the effects in each tile; tiles are not tested."""
    parts = {
        name for name in content.metric_names if (one := named(name)) and one[0].part in ("bias", "spread", "coverage")
    }
    rows: dict[Place, list[Row]] = {}
    for row in content.metrics:
        if row["level"] == "tile" and row["metric"] in parts:
            rows.setdefault(place_of_row(row), []).append(row)
    return {place: verdict_of(own, ()) for place, own in rows.items()}


def worst_tiles(
    variables: Sequence[Variable], effects: Mapping[Place, Verdict], numbers: Numbers, tiles: Iterable[str]
) -> Sheet:
    """Return the tiles of a region with the largest effects, the worst first; at most 12 variables are shown."""
    own, groups = set(tiles), {}
    for variable in variables[:WORST_VARIABLES]:
        found = {tile: effects.get(("tile", tile, variable.variable, variable.model)) for tile in own}
        known = sorted((tile for tile in own if found[tile]), key=lambda tile: (-severity(found[tile]), tile))
        groups[variable.name] = [
            [
                Cell(variable.name),
                Cell(tile, link=f"#{urlencode({'variable': variable.name, 'tile': tile})}"),
                Cell(_pixels(numbers.get(("tile", tile, variable.variable, variable.model), {}))),
                Cell(effect_words(one)),
            ]
            for tile in known[:WORST_TILES]
            if (one := found[tile])
        ]
    columns = (Column("variable", "text"), Column("tile", "name"), PIXELS, Column("effect", "long"))
    caption = (
        f"The {WORST_TILES} tiles with the largest effects on each variable. Single tiles are not tested, and an "
        "effect in few pixels may be chance. The link of a tile shows it on the map."
    )
    return Sheet("worst", caption, columns, groups)


def _of_bins(content: ReportContent) -> str:
    shown = headings(content.metric_names)
    found = (named(name) for name in content.metric_names if name in shown)
    binned = {one[0].symbol: one[0].rank for one in found if one and one[0].choice == "bins"}
    if not binned:
        return ""
    why = WHY_BINS if content.bins.startswith("equal-count") else ""
    return f"{' and '.join(sorted(binned, key=binned.__getitem__))} over {content.bins} bins{why}. "


def skill_of(content: ReportContent) -> dict[Place, float | None]:
    """Return the skill of the mean of each variable in the whole and in each region, where its form has one."""
    skills = {name for name in content.metric_names if (one := named(name)) and one[0].part == "skill"}
    return {place_of_row(row): row["value"] for row in content.metrics_without_tiles if row["metric"] in skills}


def interval_text(row: Row) -> str:
    """Return the ends of an interval, on one line; empty where there is none."""
    if row.get("ci_low") is None:
        return ""
    return true_minus(f"{for_people(row['ci_low'])}\u00a0to\u00a0{for_people(row['ci_high'])}")


def thousands(number: int) -> str:
    """Return a whole number with thin spaces between thousands.

    >>> thousands(1234567)
    '1\u202f234\u202f567'
    """
    return f"{number:,}".replace(",", "\u202f")


def _text(value: float | None) -> str:
    return DASH if value is None else true_minus(for_people(value))


def _with_units(variable: Variable) -> str:
    return f"{variable.name} ({variable.units})" if variable.units else variable.name


def _headed(shown: Headings, *, is_difference: bool = False) -> list[Column]:
    return [
        Column(with_unit(heading, name, is_difference=is_difference), about=_claim(name)) for name, heading in shown
    ]


def _claim(name: str) -> str:
    """Return what a number means, in a sentence."""
    found = named(name)
    return found[0].claim if found else ""


def _number_cells(shown: Headings, rows: Mapping[str, Row], verdict: Verdict | None = None) -> list[Cell]:
    """Return the number of pixels and each number shown, with marks for deviations that the verdict supports."""
    some = any(row.get("ci_low") is not None for row in rows.values())
    return [
        Cell(_pixels(rows)),
        *(_number_cell(name, rows.get(name), verdict, is_noted=some) for name, _ in shown),
    ]


def _pixels(rows: Mapping[str, Row]) -> str:
    """Return the number of pixels that all these numbers are of; a dash without numbers."""
    return thousands(next(iter(rows.values()))["n"]) if rows else DASH


def _number_cell(name: str, row: Row | None, verdict: Verdict | None, *, is_noted: bool) -> Cell:
    """Return a number, rounded to the precision of its interval.

    is_noted : whether a dash shows that the interval is missing.
    """
    if row is None or row["value"] is None:
        return Cell(DASH)
    own = shown_as(row, name)
    if row.get("ci_low") is None:
        return _with_digits(own["value"], under=DASH if is_noted and row.get("ci_method") else "")
    return _with_limits(own["value"], own, interval_says(row) if _is_supported(row, verdict) else "")


def _with_digits(value: float | None, under: str = "", says: str = "") -> Cell:
    """Return the cell of a number with all its digits, as the CSV tables have them."""
    text = _text(value)
    return Cell(text, under, says, number="" if value is None or repr(value) == text else repr(value))


def _with_limits(value: float, row: Row, says: str) -> Cell:
    """Return the cell of a number with all its digits and its interval."""
    text, under = _value_and_limits(value, row)
    number = "" if repr(value) == text else repr(value)
    return Cell(text, under, says, number=number, limits=limits_of(row["ci_low"], row["ci_high"]))


def _verdict_cell(verdict: Verdict | None) -> Cell:
    return Cell("") if verdict is None else Cell(verdict.word, verdict.why, verdict.tone)


def _is_supported(row: Row, verdict: Verdict | None) -> bool:
    """Return whether the verdict supports the deviation of a number from its ideal.

    A number that the verdict rests on must be significant after the adjustment for the number of regions. For any other
    number, the bias must be, or, of the size of errors, the bias or the spread.
    """
    if verdict is None:
        return False
    parts = (verdict.bias, verdict.spread, verdict.shape, verdict.inside)
    part = next((part for part in parts if part.metric == row["metric"]), None)
    if part is not None:
        return part.is_significant
    if interval_says(row) in DIRECTIONS:
        return verdict.bias.is_significant
    return bool(verdict.bias.finding or verdict.spread.finding)


def interval_says(row: Row) -> str:
    """Return what an interval that excludes the ideal means, such as over-confident; empty if it includes the ideal."""
    found = named(row["metric"])
    if found is None or row.get("ci_low") is None:
        return ""
    ideal = ideal_value(*found)
    if ideal is None or row["ci_low"] <= ideal <= row["ci_high"]:
        return ""
    return deviation(found[0], is_above=row["ci_low"] > ideal)


NEITHER = ("wider", "sharper", "larger", "smaller")  # differences that are neither better nor worse
SHIFT = ("variable", "number", "in distribution", "out of distribution", "difference", "verdict")
SHIFT_KINDS = ("text", "name", "number", "number", "number", "text")


def shift_sheet(content: ReportContent) -> Sheet:
    """Return the numbers shown, in distribution and out of distribution."""
    groups: dict[str, list[list[Cell]]] = {}
    shown = headings(dict.fromkeys(row["metric"] for row in content.shift))
    for row in content.shift:
        if row["metric"] in shown and row["bins"] in ("", content.bins):
            groups.setdefault(_named(row), []).append(_shift_row(row))
    columns = tuple(Column(heading, kind) for heading, kind in zip(SHIFT, SHIFT_KINDS, strict=True))
    caption = (
        "Difference: out of distribution minus in distribution; its interval is from independent resamples of both. A "
        "colour shows a significant difference."
        f"{why_dashes(row for row in content.shift if row['metric'] in shown)}"
    )
    return Sheet("shift", caption, columns, groups, "tables/shift.csv")


def models_sheet(content: ReportContent) -> Sheet:
    """Return the differences between the numbers of each model and those of the first one."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    compared = headings(dict.fromkeys(row["metric"] for row in content.comparison))
    for row in content.comparison:
        if row["metric"] in compared and row["bins"] in ("", content.bins):
            found.setdefault((*place_of_row(row), row["against"]), {})[row["metric"]] = row
    groups: dict[str, list[list[Cell]]] = {}
    shown = shown_metrics(content)
    for (_, name, variable, model, against), rows in found.items():
        cells = [difference_cell(shown_as(rows[metric], metric) if metric in rows else None) for metric, _ in shown]
        groups.setdefault(variable, []).append([Cell(variable), Cell(name), Cell(f"{model} minus {against}"), *cells])
    columns = (
        Column("variable", "text"),
        Column("region", "name"),
        Column("models", "text"),
        *_headed(shown, is_difference=True),
    )
    caption = (
        f"Differences on the same resamples of blocks of cells, with intervals. {CERTAIN}"
        f"{why_dashes(row for rows in found.values() for row in rows.values())}"
    )
    return Sheet("models", caption, columns, groups, "tables/comparison.csv")


def _named(row: Row) -> str:
    return f"{row['variable']} ({row['model']})" if row["model"] else str(row["variable"])


def _shift_row(row: Row) -> list[Cell]:
    says = ""
    if row["significant"] == "yes" and not row["verdict"].startswith(NEITHER):
        says = "better" if row["verdict"].startswith("better") else "worse"
    own = shown_as(row, row["metric"])
    return [
        Cell(_named(row)),
        Cell(with_unit(heading_of(row["metric"]), row["metric"]), about=_claim(row["metric"])),
        _with_digits(own["in"]),
        _with_digits(own["out"]),
        _difference(own),
        Cell(row["verdict"], says=says),
    ]


def difference_cell(row: Row | None) -> Cell:
    """Return the difference of a model from the first one, with a mark where one of both is better for certain."""
    if row is None:
        return Cell(DASH)
    says = ""
    if row["significant"] == "yes" and row["better"]:
        says = "better" if row["better"] == row["model"] else "worse"
    return _difference(row, says)


def _difference(row: Row, says: str = "") -> Cell:
    """Return a difference, rounded to the precision of its interval, or with a dash if the interval is missing."""
    if row["difference"] is None or row.get("ci_low") is None:
        return _with_digits(row["difference"], DASH if row.get("ci_method") else "", says)
    return _with_limits(row["difference"], row, says)


def _value_and_limits(value: float, row: Row) -> tuple[str, str]:
    """Return a number and its interval, each on one line and rounded to the precision of the interval."""
    text, _, limits = with_interval(value, row["ci_low"], row["ci_high"]).partition(" ")
    return true_minus(text), true_minus(limits.strip("[]").replace(", ", "\u00a0to\u00a0") or interval_text(row))


def gates_sheet(content: ReportContent) -> Sheet:
    """Return the bounds of each gate with the number that it judges, and whether it passed."""
    columns = (
        *(Column("metric", "name"), Column("variable", "text"), Column("region", "text")),
        *(Column("least"), Column("greatest"), Column("value"), Column("interval", "text"), Column("result", "text")),
    )
    rows = [
        [
            Cell(gate["metric"]),
            Cell(" ".join(filter(None, (_named(gate), gate["share"])))),
            Cell(str(gate["areas"] or gate["region"])),
            *(_with_digits(gate[name]) for name in ("min", "max", "value")),
            Cell(f"{_text(gate['low'])} to {_text(gate['high'])}" if gate["on"] == "interval" else ""),
            Cell(*(("passed", "", "better") if gate["passed"] else ("failed", "", "worse"))),
        ]
        for gate in content.gates
    ]
    caption = "A gate fails if its number is missing or beyond a bound; of an interval, if an end is."
    return Sheet("gates", caption, columns, {"all": rows}, "gates.json")


def failures_sheet(content: ReportContent) -> Sheet:
    """Return what failed and why: tiles, numbers, intervals, maps, figures and pages."""
    columns = (
        *(Column("tile", "name"), Column("item", "text"), Column("stage", "text"), Column("error", "text")),
        *(Column("message", "long"), Column("where", "text")),
    )
    rows = [[Cell(str(row[column.heading])) for column in columns] for row in content.failures]
    caption = "These tiles and items are missing; all others are complete."
    return Sheet("failures", caption, columns, {"all": rows}, "tables/failures.csv")


def excluded_sheet(content: ReportContent) -> Sheet:
    """Return the number of excluded pixels of each tile, variable by variable."""
    columns = (Column("variable", "text"), Column("tile", "name"), Column("reason", "text"), EXCLUDED_PIXELS)
    groups: dict[str, list[list[Cell]]] = {}
    for row in content.excluded:
        cells = [Cell(_named(row)), Cell(row["tile"]), Cell(row["reason"]), Cell(thousands(row["n"]))]
        groups.setdefault(_named(row), []).append(cells)
    caption = "Each excluded pixel is counted under the first reason that applies."
    return Sheet("excluded", caption, columns, groups, EXCLUDED)


def excluded_total(content: ReportContent) -> Sheet:
    """Return the number of excluded pixels of all tiles, by variable and reason."""
    totals: dict[tuple[str, str], tuple[int, int]] = {}
    for row in content.excluded:
        n, tiles = totals.get((_named(row), row["reason"]), (0, 0))
        totals[_named(row), row["reason"]] = n + row["n"], tiles + 1
    columns = (Column("variable", "text"), Column("reason", "name"), EXCLUDED_PIXELS, Column("tiles"))
    rows = [
        [Cell(variable), Cell(reason), Cell(thousands(n)), Cell(thousands(tiles))]
        for (variable, reason), (n, tiles) in totals.items()
    ]
    caption = "All tiles; each excluded pixel is counted under the first reason that applies."
    return Sheet("reasons", caption, columns, {"all": rows}, EXCLUDED)
