"""A comparison as tables for people: Markdown, LaTeX and plain text."""

import re
from collections.abc import Iterable, Sequence

from geouq.tables import Row
from geouq.wording import for_people

SHOWN = ("bias", "rmse", "sharpness_rms", "zms", "coverage_90", "uce", "ence", "crps", "nll")
HEADINGS = ("variable", "region", "metric", "baseline", "run", "value", "difference", "interval", "verdict")
NUMBERS = ("baseline", "value", "difference", "interval")
LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\textquotedbl{}",
}


def shown_rows(rows: Iterable[Row], bins: str) -> list[Row]:
    """Rows of the numbers most asked for, of binned ones those of one scheme."""
    return [row for row in rows if row["metric"] in SHOWN and row["bins"] in ("", bins)]


def verdict(row: Row) -> str:
    """In words what a row says: better, worse, larger or smaller than the first run, or why nothing can be said.

    Coverage that is too low in one run and too high in another may surely differ, and neither be surely better.

    >>> verdict({"difference": 0.0, "significant": "no", "better": "", "run": "b"})
    'no difference'
    """
    if row["difference"] is None:
        return "no value"
    if row["difference"] == 0:
        return "no difference"
    if not row["significant"]:
        return f"not tested: {row['ci_method']}"
    if row["significant"] == "no":
        apart = row["ci_low"] > 0 or row["ci_high"] < 0
        return "differs, which is better is not certain" if apart else "not significant"
    if not row["better"]:
        return "larger" if row["difference"] > 0 else "smaller"
    return "better" if row["better"] == row["run"] else "worse"


def as_markdown(rows: Sequence[Row], baseline: str, notes: Sequence[str]) -> str:
    """A table in Markdown, below what it compares and what the reader should know."""
    lines = [f"Differences from {markdown_escaped(baseline)}.", ""]
    lines += [f"- {markdown_escaped(note)}" for note in notes]
    lines += [""] if notes else []
    lines += [f"| {' | '.join(HEADINGS)} |", "|" + "".join("---:|" if h in NUMBERS else "---|" for h in HEADINGS)]
    lines += [f"| {' | '.join(map(markdown_escaped, _cells(row)))} |" for row in rows]
    return "\n".join(lines) + "\n"


def as_latex(rows: Sequence[Row], baseline: str, notes: Sequence[str]) -> str:
    """A `tabular` with the rules of the package booktabs; the notes are comments above it."""
    columns = "".join("r" if heading in NUMBERS else "l" for heading in HEADINGS)
    lines = [f"% {_one_line(line)}" for line in (f"Differences from {baseline}.", *notes)]
    lines += [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", " & ".join(HEADINGS) + " \\\\", "\\midrule"]
    lines += [" & ".join(map(_set, HEADINGS, _cells(row))) + " \\\\" for row in rows]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def as_text(rows: Sequence[Row]) -> list[str]:
    """Lines of a table with columns of even width."""
    lines = [HEADINGS, *(tuple(map(_one_line, _cells(row))) for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADINGS))]
    return ["  ".join(map(_padded, HEADINGS, line, widths)).rstrip() for line in lines]


def _padded(heading: str, text: str, width: int) -> str:
    return text.rjust(width) if heading in NUMBERS else text.ljust(width)


def markdown_escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line.

    >>> print(markdown_escaped("a|b_c\nd"))
    a\|b\_c d
    """
    return re.sub(r"([\\`*_{}\[\]<>#!|~$&])", r"\\\1", _one_line(text))


def latex_escaped(text: str) -> str:
    r"""Text that LaTeX sets as it is, on one line.

    >>> print(latex_escaped(r"50% of \x_1"))
    50\% of \textbackslash{}x\_1
    """
    return "".join(LATEX.get(char, char) for char in _one_line(text))


def _set(heading: str, text: str) -> str:
    """A cell in LaTeX, with a minus where a hyphen would stand before a number."""
    escaped = latex_escaped(text)
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", escaped) if heading in NUMBERS else escaped


def _cells(row: Row) -> tuple[str, ...]:
    interval = "" if row["ci_low"] is None else f"{for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
    numbers = (for_people(row["baseline"]), row["run"], for_people(row["value"]), for_people(row["difference"]))
    return (row["variable"], row["name"], row["metric"], *numbers, interval, verdict(row))


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
