"""Tables for people: the main numbers in Markdown and LaTeX, with intervals and the digits that these justify."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from geouq.config import Variable
from geouq.core.atomic import write_text
from geouq.core.naming import file_name
from geouq.core.wording import for_people, latex_escaped, latex_numbers, markdown_escaped, one_line, with_interval
from geouq.metrics import metric_label, named, shown_in, unit_of
from geouq.tables.rows import Row, Table

WHY_EQUAL_COUNT = (
    " Equal-count bins all hold pixels. Where variances are skewed, one equal-width bin holds nearly all of them, so "
    "that UCE is one number without an interval; those numbers are in metrics.csv."
)


@dataclass(frozen=True)
class Sheet:
    """A table for people: headings, and rows of as many texts; notes : what the reader must know.

    texts : places of the columns that hold names or words; the others hold numbers.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    texts: tuple[int, ...] = (0,)


def write_readable(metrics: Table, variables: Sequence[Variable], regions: Sequence[str], folder: Path) -> list[Path]:
    """Write metrics.md and metrics.tex of the whole, and `regions/<region>` as both; the files written.

    Below the whole, metrics.md holds a table of all regions. Those of regions that are gone are removed.
    """
    rows = _by_unit(metrics)
    whole = sheet_of("all", rows.get(("all", "all"), {}), variables)
    texts = {folder / "metrics.tex": as_latex(whole)}
    texts[folder / "metrics.md"] = "\n".join(map(as_markdown, (whole, overview(rows, variables))))
    for region in regions:
        sheet, stem = sheet_of(region, rows.get(("region", region), {}), variables), file_name(region)
        texts[folder / "regions" / f"{stem}.md"] = as_markdown(sheet)
        texts[folder / "regions" / f"{stem}.tex"] = as_latex(sheet)
    for path in (folder / "regions").glob("*"):
        if path not in texts and path.suffix in (".md", ".tex"):
            path.unlink()
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def sheet_of(region: str, rows: Mapping[str, Mapping[str, Row]], variables: Sequence[Variable]) -> Sheet:
    """Return a line for each metric, and a column for each variable; rows : by variable and metric."""
    own = [rows.get(variable.name, {}) for variable in variables]
    lines = [("n", *(for_count(found) for found in own))]
    lines += [(_with_unit(name, variables), *(_shown(found.get(name)) for found in own)) for name in _names(own)]
    units = (f" ({variable.units})" if variable.units not in ("", "1") else "" for variable in variables)
    headings = ("metric", *(f"{variable.name}{unit}" for variable, unit in zip(variables, units, strict=True)))
    title = "All tiles together" if region == "all" else f"Region {region}"
    return Sheet(title, headings, tuple(lines), tuple(_notes(own)))


def overview(rows: Mapping[tuple[str, str], Mapping[str, Mapping[str, Row]]], variables: Sequence[Variable]) -> Sheet:
    """Return a line for each variable and region, the whole first, with comparable digits."""
    evaluation_units = {name: own for (level, name), own in rows.items() if level != "tile"}
    names = _names([found for own in evaluation_units.values() for found in own.values()])
    lines = [
        (variable.name, name, for_count(found), *(for_people(found[m]["value"] if m in found else None) for m in names))
        for variable in variables
        for name, own in evaluation_units.items()
        if (found := own.get(variable.name))
    ]
    return Sheet("Regions", ("variable", "region", "n", *map(metric_label, names)), tuple(lines), texts=(0, 1))


def as_markdown(sheet: Sheet) -> str:
    """Return a table in Markdown under its title."""
    lines = [f"## {markdown_escaped(sheet.title)}", "", *markdown_table(sheet)]
    return "\n".join([*lines, *(f"\n{markdown_escaped(note)}" for note in sheet.notes)]) + "\n"


def markdown_table(sheet: Sheet) -> list[str]:
    """Return the lines of a table in Markdown, with names and words escaped."""
    columns = range(len(sheet.headings))
    rules = ["---" if k in sheet.texts else "---:" for k in columns]
    rows = [[markdown_escaped(row[k]) if k in sheet.texts else row[k] for k in columns] for row in sheet.rows]
    return [f"| {' | '.join(row)} |" for row in (map(markdown_escaped, sheet.headings), rules, *rows)]


def as_latex(sheet: Sheet) -> str:
    """Return a `tabular` with the rules of booktabs, ready for `input`; title and notes are comments."""
    columns = range(len(sheet.headings))
    rows = [
        " & ".join(latex_escaped(row[k]) if k in sheet.texts else latex_numbers(row[k]) for k in columns)
        for row in sheet.rows
    ]
    comments = [f"% {one_line(text)}" for text in (sheet.title, *sheet.notes)]
    begin = f"\\begin{{tabular}}{{{''.join('l' if k in sheet.texts else 'r' for k in columns)}}}"
    head = " & ".join(map(latex_escaped, sheet.headings))
    body = [begin, "\\toprule", f"{head} \\\\", "\\midrule", *(f"{row} \\\\" for row in rows)]
    return "\n".join([*comments, *body, "\\bottomrule", "\\end{tabular}"]) + "\n"


def for_count(found: Mapping[str, Row]) -> str:
    """Return the number of pixels of an evaluation unit."""
    return str(next(iter(found.values()))["n"]) if found else "0"


def _by_unit(table: Table) -> dict[tuple[str, str], dict[str, dict[str, Row]]]:
    """Return rows by region, variable and metric; of several bin schemes the first, but equal-count before others."""
    found: dict[tuple[str, str], dict[str, dict[str, Row]]] = {}
    for row in table.without_tiles():
        name = f"{row['variable']} ({row['model']})" if row["model"] else row["variable"]
        own = found.setdefault((row["level"], row["name"]), {}).setdefault(name, {})
        if row["metric"] not in own or _is_preferred(row) > _is_preferred(own[row["metric"]]):
            own[row["metric"]] = row
    return found


def _is_preferred(row: Row) -> bool:
    return str(row["bins"]).startswith("equal-count")


def _names(each: Sequence[Mapping[str, Row]]) -> list[str]:
    """Return the names of the metrics shown, with a coverage for each level."""
    known = dict.fromkeys(name for found in each for name in found)
    shown = dict.fromkeys(metric.name for metric in shown_in("table"))
    bases = {name: found[0].name for name in known if (found := named(name))}
    return [name for base in shown for name, own in bases.items() if own == base]


def _with_unit(name: str, variables: Sequence[Variable]) -> str:
    """Return the label of a metric with its unit; of variables with several units, the headings name these."""
    found, label = named(name), metric_label(name)
    if found is None or found[0].unit == "1":
        return label
    units = {unit_of(found[0], variable.units) for variable in variables}
    if len(units) > 1:
        return f"{label} ({'unit of the variable' if found[0].unit == 'unit' else 'squared unit of the variable'})"
    unit = units.pop() if units else ""
    return f"{label} ({unit})" if unit not in ("", "1") else label


def _shown(row: Row | None) -> str:
    if row is None:
        return ""
    return with_interval(row["value"], row.get("ci_low"), row.get("ci_high"))


def _notes(each: Sequence[Mapping[str, Row]]) -> Iterator[str]:
    """Yield which intervals and bins stand in a table."""
    rows = [row for found in each for row in found.values()]
    levels = {row["ci_level"] for row in rows if row.get("ci_level") is not None}
    if levels:
        yield f"In brackets: intervals of level {', '.join(f'{level:g}' for level in sorted(levels))}."
    used = [row for found in each for name in _names([found]) if (row := found[name])["bins"]]
    bins = dict.fromkeys(row["bins"] for row in used)
    if bins:
        names = " and ".join(dict.fromkeys(row["metric"] for row in used))
        yield f"{names} over {', '.join(bins)} bins.{WHY_EQUAL_COUNT if any(map(_is_preferred, used)) else ''}"
