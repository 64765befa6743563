"""Pages of the documentation that hold a table between two marks."""

from pathlib import Path


def written(text: str, table: str, name: str) -> str:
    """Return the text with this table between the marks of a study; SystemExit where it has none."""
    begin_mark, end_mark = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, begin, rest = text.partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not (begin and end):
        raise SystemExit(f"there is no {begin_mark.strip()} ... {end_mark} to write between")
    return f"{before}{begin}{table}{end}{after}"


def write(page: Path, table: str, name: str) -> None:
    """Replace the table of a study in a page."""
    page.write_text(written(page.read_text(encoding="utf-8"), table, name), encoding="utf-8")
