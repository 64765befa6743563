"""How a summary shows itself: a few lines in a terminal, a small table in a notebook."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Protocol

import numpy as np

from geouq.core.wording import for_people

PER_LINE = 4


class _Shown(Protocol):
    @property
    def n(self) -> Any:
        """Return the number of pixels."""

    @property
    def levels(self) -> tuple[float, ...]:
        """Return the nominal levels."""

    @property
    def kind(self) -> str:
        """Return the name of the form."""


Numbers = Callable[[Any], Mapping[str, float]]

_numbers: list[Numbers] = []


def show_with(numbers: Numbers) -> None:
    """Let summaries show these numbers of themselves by name: numbers follow from summaries, never the reverse."""
    _numbers[:] = [numbers]


def as_text(summary: _Shown) -> str:
    """Return what it is of, and (without leading dimensions) its numbers, four a line."""
    cells = [f"{name} {value}" for name, value in _values(summary).items()]
    lines = ["   ".join(cells[i : i + PER_LINE]) for i in range(0, len(cells), PER_LINE)]
    return "\n  ".join([_heading(summary), *lines])


def as_html(summary: _Shown) -> str:
    """Return the same as a table."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(v)}</td></tr>" for name, v in _values(summary).items())
    return f"<div><p>{escape(_heading(summary))}</p><table>{rows}</table></div>"


def _heading(summary: _Shown) -> str:
    n, levels = np.asarray(summary.n), ", ".join(f"{level:g}" for level in summary.levels)
    what = f"Summary of {int(n):,} pixels" if n.ndim == 0 else f"Summaries {n.shape} of {int(n.sum()):,} pixels in all"
    how = {"normal": f"levels {levels}", "ensemble": f"an ensemble, levels {levels}"}.get(summary.kind, summary.kind)
    return f"<{what}, {how}>"


def _values(summary: _Shown) -> dict[str, str]:
    if np.ndim(summary.n) or not _numbers:
        return {}
    return {
        name: for_people(float(value) if np.isfinite(value) else None) for name, value in _numbers[0](summary).items()
    }
