"""Tables and text in Markdown."""

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Return a text that stands in a cell of a table: on one line, with bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [list(headings), ["---"] * len(headings), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter and ends with a full stop.

    >>> sentence("seed of the draws"), sentence("`name`: settings")
    ('Seed of the draws.', '`name`: settings.')
    """
    text = " ".join(text.split())
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
