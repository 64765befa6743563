"""Rooms and floors: a module imports only from the floors below it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "geouq"
FLOORS = (
    {"redaction"},
    {
        "errors",
        "atomic",
        "naming",
        "wording",
        "compiled",
        "version",
        "memory",
        "growing_rows",
        "opening",
        "array_kinds",
        "figure_names",
    },
    {"gaussian", "grid", "validity"},
    {"config", "raster", "areas"},
    {"summary"},
    {"z_lattice", "settings", "layered", "predictions", "members"},
    {"kernel"},
    {"catalog", "decoded", "metrics", "summary_array"},
    {"form_pixels", "variable_window"},
    {"layer_stack"},
    {"reader", "cutting", "workers"},
    {"stack", "regions", "parts", "zones"},
    {"tile_sum", "group_sums", "checksums"},
    {"piecework"},
    {"zone_sums"},
    {"zone_batches"},
    {"sweep", "arrays", "tables", "exact", "inference"},
    {"store", "gates", "plan", "figures", "maps", "starter", "progress", "provenance", "owner", "form_points"},
    {"inputs"},
    {"measures", "shift", "paired", "map_files", "readable", "outcome", "classes", "ensemble", "quantiles"},
    {"datasets"},
    {"accessor", "doctor", "verification"},
    {"pages", "run_numbers"},
    {"drawing"},
    {"present"},
    {"recalibration"},
    {"experiment", "comparison"},
    {"cli"},
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
def test_files_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < 60, f"{node.name} is too long"
