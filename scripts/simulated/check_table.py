"""The rates of the input checks as Markdown."""

import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np

from simulated.checks import Row

BEGIN, END = "<!-- check rates -->\n", "<!-- /check rates -->"


def markdown(rows: Iterable[Row]) -> str:
    """Return the table of all clean maps, or of all faults; each row is also reported as soon as it is there."""
    known = []
    for row in rows:
        known.append(row)
        print(_line(row), file=sys.stderr, flush=True)
    faulty = bool(known[0].case.right)
    head = (
        "| fault | maps | reported as it is, % | other findings |"
        if faulty
        else "| clean maps | maps | with a finding, % | findings |"
    )
    lines = [head, "|---|---:|---:|---|", *map(_line, known)]
    if not faulty:
        lines.append(_total(known))
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    return f"| {row.case.name} | {len(row.findings)} | {_percent(row.share, row.error)} | {_listed(row.others)} |"


def _total(rows: Iterable[Row]) -> str:
    """Return the row of all clean maps together."""
    known = list(rows)
    n = sum(len(row.findings) for row in known)
    found = sum(bool(kinds) for row in known for kinds in row.findings)
    error = np.sqrt(max(found, 1) * (1 - max(found, 1) / n)) / n
    others = sum((row.others for row in known), Counter())
    return f"| all | {n} | {_percent(found / n, error)} | {_listed(others)} |"


def _percent(share: float, error: float) -> str:
    """Return a share and its error in percent, without exponents.

    >>> _percent(0.0026, 0.0011), _percent(1, 0.1)
    ('0.26 ± 0.1', '100 ± 10')
    """
    shown = f"{100 * share:.2g}" if share < 0.99 else f"{100 * share:.0f}"
    return f"{shown} ± " + (f"{100 * error:.1g}" if error < 0.095 else f"{100 * error:.0f}")


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())


def written(text: str, tables: str) -> str:
    """Return a page with these tables between its marks; SystemExit where it has none."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"there is no {BEGIN.strip()} ... {END} to write between")
    return f"{before}{begin}{tables}{end}{after}"
