"""What the map and its diagrams load: the regions, and the curves and numbers of each of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from geouq.config import Variable
from geouq.pages.cells import script_of
from geouq.pages.content import ReportContent, Row
from geouq.pages.curves import Curves
from geouq.verdict import NOT_DETECTED, Place, Verdict, place_of, place_of_row

AT_ONCE = 40  # regions in one file


def region_scripts(content: ReportContent, links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the scripts that hold the regions, and curves and numbers of each variable.

    Parameters
    ----------
    links : mapping
        Link to the page of each region by its name.
    """
    if content.cells is None:
        return
    variables = [sums.variable for sums in content.cells.variables]
    names = ["all", *content.regions]
    yield script_of("layout", 0, 0, content.cells.facts() | {"regions": _regions(content, links, variables)})
    numbers = _numbers(content)
    for number, variable in enumerate(variables):
        places = [place_of(name, variable) for name in names]
        for part, first in enumerate(range(0, len(places), AT_ONCE)):
            own = [
                content.curves.get(place, Curves()).as_record() | {"numbers": numbers.get(place, {})}
                for place in places[first : first + AT_ONCE]
            ]
            yield script_of("diagrams", number, part, own)


def _regions(content: ReportContent, links: Mapping[str, str], variables: list[Variable]) -> dict[str, Any]:
    """Return names, links and tiles of the regions, and for each variable whether a verdict is in doubt (1) or not."""
    cells = content.cells
    numbers = {tile.place.tile: k for k, tile in enumerate(cells.layout.tiles)} if cells else {}
    tiles = [
        None if name in content.zones else [numbers[tile] for tile in own if tile in numbers]
        for name, own in content.regions.items()
    ]
    names = ["all", *content.regions]
    doubt = [
        "".join(str(int(_is_doubtful(content.verdicts.get(place_of(name, v))))) for name in names) for v in variables
    ]
    return {
        "names": names,
        "links": ["index.html", *(links[name] for name in content.regions)],
        "tiles": [None, *tiles],
        "lines": [content.outlines.lines.get(name) for name in names],
        "note": content.outlines.note,
        "doubt": doubt,
        "perFile": AT_ONCE,
    }


def _is_doubtful(verdict: Verdict | None) -> bool:
    return verdict is None or not (verdict.is_certain or verdict.findings == (NOT_DETECTED,))


def _numbers(content: ReportContent) -> dict[Place, dict[str, list[float | None]]]:
    """Return value and interval of each number that the map shows, by place and name."""
    wanted = {metric.name for sums in content.cells.variables for metric in sums.metrics} if content.cells else set()
    found: dict[Place, dict[str, list[float | None]]] = {}
    for row in content.metrics:
        if row["level"] != "tile" and row["metric"] in wanted and row["bins"] in ("", content.bins):
            found.setdefault(place_of_row(row), {"n": [row["n"]]})[row["metric"]] = _with_limits(row)
    return found


def _with_limits(row: Row) -> list[float | None]:
    limits = [row["ci_low"], row["ci_high"]]
    return [row["value"]] if None in limits else [row["value"], *limits]
