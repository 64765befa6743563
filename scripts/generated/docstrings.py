"""Signatures and numpydoc docstrings, as Markdown."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from generated.markdown import sentence
from geouq.config import BinScheme

SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Notes", "References", "Examples", "See Also")
LONGEST = 8  # entries of a default that are shown


@dataclass(frozen=True)
class Entry:
    """A parameter, a returned value or an error: what stands before the colon, behind it, and below it."""

    name: str
    kind: str
    about: str


@dataclass(frozen=True)
class Documented:
    """A docstring: its first line, the text below it, and its sections that list entries."""

    first: str
    text: str
    sections: dict[str, list[Entry]]


def documented(thing: Any) -> Documented:
    """Return the docstring of a function or class, in parts."""
    first, _, rest = (inspect.getdoc(thing) or "").partition("\n")
    parts = re.split(rf"^({'|'.join(SECTIONS)})\n-+\n", rest, flags=re.MULTILINE)
    sections = {name: list(_entries(text)) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    return Documented(first, parts[0].split(">>>")[0].strip(), sections)


def _entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a section: a line each, with indented text below it."""
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        head, _, about = block.partition("\n")
        name, _, kind = head.partition(" : ")
        yield Entry(name.strip(), kind.strip(), " ".join(about.split()))


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return how a function is called: names and defaults, without types."""
    parameters = inspect.signature(function).parameters.values()
    return f"{name}({', '.join(_parameters(list(parameters)))})"


def _parameters(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    is_after_star = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_after_star:
            is_after_star = True
            yield "*"
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        is_after_star = is_after_star or one.kind is one.VAR_POSITIONAL
        yield f"{stars}{one.name}" + ("" if one.default is one.empty else f"={_default(one.default)}")


def _default(value: Any) -> str:
    if isinstance(value, BinScheme):
        return repr(value.name)
    if isinstance(value, tuple) and len(value) > LONGEST:
        return f"({value[0]}, {value[1]}, ..., {value[-1]})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_default, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if isinstance(value, str | float | int | None) else "..."


def as_markdown(found: Documented) -> str:
    """Return the text, the parameters, what is returned and which errors are raised."""
    parts = [sentence(found.first), found.text]
    for section in ("Parameters", "Returns", "Raises"):
        lines = [_line(entry, is_named=section != "Returns") for entry in found.sections.get(section, ())]
        parts += [f"{section}:\n\n" + "\n".join(lines)] if lines else []
    return "\n\n".join(filter(None, parts)).replace("``", "`")


def _line(entry: Entry, *, is_named: bool) -> str:
    name = ", ".join(f"`{one}`" for one in entry.name.split(", ")) if is_named else entry.name
    kind = f" ({entry.kind})" if entry.kind else ""
    return f"- {name}{kind}" + (f": {entry.about}" if entry.about else "")
