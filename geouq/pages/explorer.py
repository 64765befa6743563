"""Scripts that the map loads: the regions, and the curves and numbers of each region."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from geouq.pages.cells import compressed, script_of
from geouq.pages.content import ReportContent, Row
from geouq.pages.curves import Curves
from geouq.pages.scorecard import UNTESTED, states
from geouq.verdict import Place, Verdict, place_of, place_of_row

AT_ONCE = 40  # regions in one file
FEW = 8  # regions that need no file of their own
NO_STATE = "-"


def region_scripts(content: ReportContent) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the scripts that hold the regions, and curves and numbers of each variable.

    The first script of a variable holds what the map needs at first, and, if regions are few, their curves and numbers.
    """
    if content.cells is None:
        return
    variables = [sums.variable for sums in content.cells.variables]
    layout = json.dumps(content.cells.facts() | {"regions": _regions(content)}, separators=(",", ":"))
    yield script_of("layout", 0, 0, compressed(layout.encode()))
    numbers = _numbers(content)
    for number, variable in enumerate(variables):
        whole, *places = [place_of(name, variable) for name in ("all", *content.regions)]
        facts: dict[str, Any] = {
            "states": _states([content.verdicts.get(place) for place in (whole, *places)]),
            "whole": _diagrams(content, whole, numbers),
        }
        if len(places) <= FEW:
            facts["regions"] = [_diagrams(content, place, numbers) for place in places]
            places = []
        yield script_of("diagrams", number, 0, content.cells.facts_of(number) | facts)
        for part, first in enumerate(range(0, len(places), AT_ONCE), 1):
            own = [_diagrams(content, place, numbers) for place in places[first : first + AT_ONCE]]
            yield script_of("diagrams", number, part, own)


def _diagrams(content: ReportContent, place: Place, numbers: Mapping[Place, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the curves and the numbers of a variable in a region."""
    return content.curves.get(place, Curves()).as_record() | {"numbers": numbers.get(place, {})}


def _regions(content: ReportContent) -> dict[str, Any]:
    """Return names, tiles and outlines of the regions."""
    cells = content.cells
    numbers = {tile.place.tile: k for k, tile in enumerate(cells.layout.tiles)} if cells else {}
    tiles = [
        None if name in content.zones else [numbers[tile] for tile in own if tile in numbers]
        for name, own in content.regions.items()
    ]
    names = ["all", *content.regions]
    return {
        "names": names,
        "tiles": [None, *tiles],
        "lines": [content.outlines.lines.get(name) for name in names],
        "spots": [content.outlines.spots.get(name) for name in names],
        "note": content.outlines.note,
        "perFile": AT_ONCE,
    }


def _states(verdicts: Sequence[Verdict | None]) -> dict[str, str]:
    """Return the first letter of the state of each verdict by the tab of the scorecard; untested without a verdict."""
    found = [None if verdict is None else states(verdict) for verdict in verdicts]
    tabs = dict.fromkeys(tab for own in found if own for tab in own)
    return {
        tab: "".join(UNTESTED[0] if own is None else (own.get(tab) or NO_STATE)[0] for own in found) for tab in tabs
    }


def _numbers(content: ReportContent) -> dict[Place, dict[str, list[float | None]]]:
    """Return value and interval of each number that the map shows, by place and name."""
    wanted = {metric.name for sums in content.cells.variables for metric in sums.metrics} if content.cells else set()
    found: dict[Place, dict[str, list[float | None]]] = {}
    for row in content.metrics_without_tiles:
        if row["metric"] in wanted and row["bins"] in ("", content.bins):
            found.setdefault(place_of_row(row), {"n": [row["n"]]})[row["metric"]] = _with_limits(row)
    return found


def _with_limits(row: Row) -> list[float | None]:
    limits = [row["ci_low"], row["ci_high"]]
    return [row["value"]] if None in limits else [row["value"], *limits]
