"""A comparison as tables for people: Markdown, LaTeX and plain text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from geouq.atomic import atomic_write
from geouq.metrics import metric_label, shown_in, usual_name
from geouq.tables.rows import Row
from geouq.text.wording import for_people, latex_escaped, markdown_escaped, one_line

NUMBERS = ("baseline", "value", "difference", "interval")


@dataclass(frozen=True)
class Shown:
    """Rows to be shown to people. compared : what stands beside the baseline, `run` or `model`; notes : on all rows."""

    rows: Sequence[Row]
    baseline: str
    compared: str
    notes: Sequence[str] = ()

    @property
    def headings(self) -> tuple[str, ...]:
        """Of the columns."""
        what = ("variable", "region", "metric", "baseline", self.compared)
        return (*what, "value", "difference", "interval", "verdict")


def write_texts(shown: Shown, folder: Path) -> list[Path]:
    """Write comparison.md and comparison.tex; the files written."""
    texts = {"comparison.md": as_markdown(shown), "comparison.tex": as_latex(shown)}
    for name, text in texts.items():
        with atomic_write(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def shown_rows(rows: Iterable[Row], bins: str) -> list[Row]:
    """Rows of the numbers most asked for, of binned ones those of one scheme."""
    names = set(map(usual_name, shown_in("comparison")))
    return [row for row in rows if row["metric"] in names and row["bins"] in ("", bins)]


def as_markdown(shown: Shown) -> str:
    """Return a table in Markdown, below what it compares and what the reader should know."""
    lines = [f"Differences from {markdown_escaped(shown.baseline)}.", ""]
    lines += [f"- {markdown_escaped(note)}" for note in shown.notes]
    lines += [""] if shown.notes else []
    rules = "".join("---:|" if heading in NUMBERS else "---|" for heading in shown.headings)
    lines += [f"| {' | '.join(shown.headings)} |", f"|{rules}"]
    lines += [f"| {' | '.join(map(markdown_escaped, _cells(row)))} |" for row in shown.rows]
    return "\n".join(lines) + "\n"


def as_latex(shown: Shown) -> str:
    """Return a `tabular` with the rules of the package booktabs; the notes are comments above it."""
    headings = shown.headings
    columns = "".join("r" if heading in NUMBERS else "l" for heading in headings)
    lines = [f"% {one_line(line)}" for line in (f"Differences from {shown.baseline}.", *shown.notes)]
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", " & ".join(headings) + " \\\\", "\\midrule"]
    lines += [" & ".join(map(_set, headings, _cells(row))) + " \\\\" for row in shown.rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def as_text(shown: Shown) -> list[str]:
    """Lines of a table with columns of even width."""
    headings = shown.headings
    lines = [headings, *(tuple(map(one_line, _cells(row))) for row in shown.rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(headings))]
    return ["  ".join(map(_padded, headings, line, widths)).rstrip() for line in lines]


def _padded(heading: str, text: str, width: int) -> str:
    return text.rjust(width) if heading in NUMBERS else text.ljust(width)


def _set(heading: str, text: str) -> str:
    """Return a cell in LaTeX, with a minus where a hyphen would stand before a number."""
    escaped = latex_escaped(text)
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", escaped) if heading in NUMBERS else escaped


def _cells(row: Row) -> tuple[str, ...]:
    interval = "" if row["ci_low"] is None else f"{for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
    numbers = (for_people(row["baseline"]), row["run"], for_people(row["value"]), for_people(row["difference"]))
    return (row["variable"], row["name"], metric_label(row["metric"]), *numbers, interval, row["verdict"])
