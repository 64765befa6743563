"""The drawing of the architecture, from the imports of the package."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "geouq"
# rooms that nearly every other one imports: arrows to them would hide the rest
COMMON = ("core", "version")
STARTS = ("__init__", "__main__")

Graph = Mapping[str, frozenset[str]]


def drawing() -> str:
    """Return the graph of the rooms in Mermaid: an arrow for each import that no longer path shows."""
    graph = reduced(imports())
    lines = [f"    {room} --> {other}" for room in sorted(graph) for other in sorted(graph[room])]
    return "\n".join(["```mermaid", "graph TD", *lines, "```", ""])


def imports() -> Graph:
    """Return which rooms each room imports, without those that nearly all import."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if room not in (*COMMON, *STARTS):
            found.setdefault(room, set()).update(set(_imported(path)) - {room, *COMMON, *STARTS})
    return {room: frozenset(others) for room, others in found.items()}


def reduced(graph: Graph) -> Graph:
    """Return a graph without circles, without the arrows that a longer path makes needless.

    >>> reduced({"a": frozenset("bc"), "b": frozenset("c"), "c": frozenset()})["a"]
    frozenset({'b'})
    """
    return {
        room: frozenset(one for one in others if not any(one in _below(graph, two) for two in others - {one}))
        for room, others in graph.items()
    }


def _below(graph: Graph, room: str) -> set[str]:
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        if isinstance(node, ast.ImportFrom) and node.module == "geouq":
            names = [f"geouq.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for parts in (name.split(".") for name in names):
            if parts[0] == "geouq" and len(parts) > 1:
                yield parts[1]
