"""A comparison as tables for people: Markdown, LaTeX and plain text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from geouq.core.atomic import write_text
from geouq.core.wording import for_people, markdown_escaped, one_line
from geouq.metrics import metric_label, shown_in, usual_name
from geouq.tables.readable import Sheet, as_latex, markdown_table
from geouq.tables.rows import Row

NUMBERS = ("baseline", "value", "difference", "interval")


@dataclass(frozen=True)
class Shown:
    """Rows to be shown to people. compared : what stands beside the baseline, `run` or `model`; notes : on all rows."""

    rows: Sequence[Row]
    baseline: str
    compared: str
    notes: Sequence[str] = ()

    @property
    def sheet(self) -> Sheet:
        """Return the rows as a table of texts."""
        headings = (
            *("variable", "region", "metric", "baseline", self.compared),
            *("value", "difference", "interval", "verdict"),
        )
        texts = tuple(place for place, heading in enumerate(headings) if heading not in NUMBERS)
        title = f"Differences from {self.baseline}."
        return Sheet(title, headings, tuple(map(_cells, self.rows)), tuple(self.notes), texts)


def write_texts(shown: Shown, folder: Path) -> list[Path]:
    """Write comparison.md and comparison.tex; return their paths."""
    texts = {"comparison.md": as_markdown(shown), "comparison.tex": as_latex(shown.sheet)}
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]


def shown_rows(rows: Iterable[Row], bins: str) -> list[Row]:
    """Return the rows of the main metrics, of binned ones those of one scheme."""
    names = set(map(usual_name, shown_in("comparison")))
    return [row for row in rows if row["metric"] in names and row["bins"] in ("", bins)]


def as_markdown(shown: Shown) -> str:
    """Return a table in Markdown, below what it compares and what the reader should know."""
    lines = [markdown_escaped(shown.sheet.title), ""]
    lines += [f"- {markdown_escaped(note)}" for note in shown.notes]
    lines += [""] if shown.notes else []
    return "\n".join([*lines, *markdown_table(shown.sheet)]) + "\n"


def as_text(shown: Shown) -> list[str]:
    """Return the lines of a table with columns of even width."""
    sheet = shown.sheet
    lines = [sheet.headings, *(tuple(map(one_line, row)) for row in sheet.rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(sheet.headings))]
    pads = [str.ljust if k in sheet.texts else str.rjust for k in range(len(widths))]
    return [
        "  ".join(pad(text, width) for pad, text, width in zip(pads, line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _cells(row: Row) -> tuple[str, ...]:
    interval = "" if row["ci_low"] is None else f"{for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
    numbers = (for_people(row["baseline"]), row["run"], for_people(row["value"]), for_people(row["difference"]))
    return (row["variable"], row["name"], metric_label(row["metric"]), *numbers, interval, row["verdict"])
