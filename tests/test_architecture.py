"""Rooms and floors: a module imports only from the floors below it."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "geouq"
FLOORS = (
    {"core", "version"},
    {"config"},
    {"summary"},
    {"kernel", "metrics", "regions"},
    {"forms"},
    {"rasters"},
    {"inference", "reading", "tables", "verdict", "zones"},
    {"checks", "starting", "sweep"},
    {"arrays", "runs"},
    {"aggregates", "classes", "ensemble", "maps", "numbers", "quantiles"},
    {"figures"},
    {"comparison", "drawing", "pages"},
    {"api", "recalibration"},
    {"accessor", "pipeline", "plot"},
    {"cli", "rio"},
    {"__main__"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> set[str]:
    """Rooms of the package that a module imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "geouq" and len(part) > 1}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path):
    room = room_of(path)
    if room == "__init__":
        return
    higher = {other for other in imported_rooms(path) - {room} if FLOOR[other] >= FLOOR[room]}
    assert not higher, f"{room} (floor {FLOOR[room]}) imports {higher}"


def test_every_room_has_a_floor():
    rooms = {room_of(path) for path in MODULES} - {"__init__"}

    assert rooms == set(FLOOR)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) else None
            documentation = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
            assert node.end_lineno - node.lineno - documentation < 60, f"{node.name} is too long"


def test_the_page_on_the_architecture_names_every_room_and_no_other():
    page = (PACKAGE.parent / "docs/development/architecture.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| ((?:`\w+` ?)+) \| [a-z]", page, re.MULTILINE)

    assert sorted(re.findall(r"\w+", " ".join(table))) == sorted(set(FLOOR) - {"__main__", "extensions", "version"})
