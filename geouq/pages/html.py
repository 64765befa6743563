"""HTML pages from templates, and the files next to them; names from configurations and files are escaped."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from geouq.config import Variable
from geouq.core.atomic import atomic_write
from geouq.core.failures import isolated
from geouq.core.naming import file_name
from geouq.core.wording import counted, for_people, minus_in_text, true_minus
from geouq.pages.areas import area_diagrams, area_sentences, areas_sheet, models_of_areas_sheet
from geouq.pages.content import ReportContent
from geouq.pages.explorer import region_scripts
from geouq.pages.headline import Headline, headline, headline_of_region, of_few_members, severity
from geouq.pages.marks import MARKS, NOT_TESTED
from geouq.pages.multiples import MOST_VARIABLES, multiples, of_region
from geouq.pages.numbers import (
    Numbers,
    cells_of_numbers,
    effects_of_tiles,
    excluded_sheet,
    excluded_total,
    failures_sheet,
    gates_sheet,
    models_sheet,
    regions_sheet,
    shift_sheet,
    shown_numbers,
    skill_of,
    thousands,
    tiles_sheet,
    worst_tiles,
)
from geouq.pages.quick_looks import write_picture
from geouq.pages.recalibration import recalibration_sheet
from geouq.pages.scorecard import CardRow, as_record, fill_rules, rows_inline, scorecard, shown_tabs, skill_key
from geouq.pages.sheet import DASH, SHORT, Cell, Sheet, files_of_rows
from geouq.verdict import RULE, Place, Verdict, place_of


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Write index.html, a page for each region, and the files that they load; pages open from disk, without a network.

    Return the files written. Scripts of an earlier report are removed.
    """
    report = _Report(content)
    pages = {"index.html": report.index}
    pages |= {page_name(region): partial(report.region, region) for region in content.regions}
    assets, written = folder / "assets", []
    for name, html_of in pages.items():
        with isolated("pages", name, outputs=[folder / name]):
            written.append(_write(html_of(), folder / name))
    with isolated("pages", "what pages load"):
        written += [*write_static(assets), *write_scripts(report.scripts(), assets)]
    with isolated("pages", "quick looks", outputs=[assets / PICTURE]):
        written += [write_picture(content.looks, assets / PICTURE)] if content.looks else []
    return written


def _write(html: str, path: Path) -> Path:
    with atomic_write(path) as part:
        part.write_text(html, encoding="utf-8")
    return path


def page_name(region: str) -> str:
    """Return the file name of a region's page, different for each region and never index.html.

    >>> page_name("west"), page_name("index")
    ('west.html', 'inde%78.html')
    """
    name = file_name(region)
    if name.lower() == "index":
        name = f"{name[:-1]}%{ord(name[-1]):02X}"  # file_name escapes no other x, so that no region is called so
    return f"{name}.html"


@dataclass(frozen=True)
class _Report:
    """The pages of a run and the tables that they share."""

    content: ReportContent

    @cached_property
    def numbers(self) -> Numbers:
        """Return the numbers that are shown."""
        return shown_numbers(self.content)

    @cached_property
    def cells(self) -> dict[Place, list[Cell]]:
        """Return the cells of these numbers, which the first page and those of the regions show."""
        return cells_of_numbers(self.content, self.numbers, self.content.verdicts)

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        """Return the tables of the first page by name."""
        found = (
            regions_sheet(self.content, self.numbers, self.cells, self._regions()),
            shift_sheet(self.content),
            models_sheet(self.content),
            models_of_areas_sheet(self.content),
            recalibration_sheet(self.content.recalibrated),
            failures_sheet(self.content),
            gates_sheet(self.content),
            excluded_sheet(self.content),
            excluded_total(self.content),
            *([areas_sheet(self.content)] if self.content.areas else []),
        )
        return {sheet.name: sheet for sheet in found}

    @cached_property
    def verdicts_of_tiles(self) -> dict[Place, Verdict]:
        """Return the effects in each tile; tiles are not tested."""
        return effects_of_tiles(self.content)

    @cached_property
    def tiles(self) -> Sheet:
        """Return the table of the tiles."""
        return tiles_sheet(self.content, self.cells, self.content.tiles)

    @cached_property
    def card(self) -> list[CardRow]:
        """Return the rows of the scorecard."""
        return scorecard(self.content.variables, self._links, self.content.verdicts, skill_of(self.content))

    @cached_property
    def _card_files(self) -> list[tuple[str, str]]:
        """Return names and texts of the scripts that hold the rows of the scorecard."""
        return list(files_of_rows("card", 0, as_record(self.card)))

    def scripts(self) -> Iterator[tuple[str, str]]:
        """Yield names and texts of the scripts that pages load when they are needed."""
        if rows_inline(self.card) < len(self.card):
            yield from self._card_files
        for sheet in (*self.sheets.values(), self.tiles):
            if sheet.is_long:
                yield from sheet.files()
        if self.content.cells:
            yield from self.content.cells.files()
            yield from region_scripts(self.content)

    def _explained(self, answer: Headline) -> Headline:
        """Return the answer with what few members of an ensemble explain of it."""
        return replace(answer, why=" ".join(filter(None, (answer.why, of_few_members(self.content.members)))))

    def index(self) -> str:
        """Return the first page."""
        return _rendered(
            "index.html.j2",
            self.content,
            sheets=self.sheets,
            headline=self._explained(headline(self.content.variables, self.content.verdicts)),
            card=self.card,
            card_rows=rows_inline(self.card),
            card_parts=len(self._card_files),
            skill_key=skill_key(),
            tabs=shown_tabs(self.card),
            multiples=multiples(self._most_important(), {row.name: row.link for row in self.card}, self.content.curves),
            variables_left_out=max(0, len(self.content.variables) - MOST_VARIABLES),
            pixels=self._pixels,
            figures=_figures(self.content, "all"),
            picture=PICTURE,
            recalibrated=_recalibrated_figures(self.content),
            area_sentences=area_sentences(self.content),
            area_diagrams=area_diagrams(self.content, MOST_VARIABLES),
        )

    @property
    def _pixels(self) -> str:
        """Return the number of pixels of the variables, from the smallest to the largest."""
        counts = {row["n"] for row in self.content.metrics_without_tiles if row["level"] == "all"} or {0}
        return " to ".join(map(thousands, sorted({min(counts), max(counts)})))

    def region(self, region: str) -> str:
        """Return the page of a region."""
        # tiles lie only partly in a zone, so pages of zones have no table of tiles
        own = () if region in self.content.zones else self.content.regions[region]
        number = self._worst_regions.index(region)
        return _rendered(
            "region.html.j2",
            self.content,
            region=region,
            neighbours=["", *self._worst_regions, ""][number : number + 3 : 2],
            links=self._links,
            headline=self._explained(headline_of_region(self.content.variables, region, self.content.verdicts)),
            multiples=of_region(self._worst_first(region), region, self.content.curves),
            numbers=replace(regions_sheet(self.content, self.numbers, self.cells, [Cell(region)]), name="region"),
            worst=worst_tiles(self._worst_first(region), self.verdicts_of_tiles, self.numbers, own),
            tiles=self._tiles_of(own),
            tiles_of=list(own),
            mapped=list(self.content.regions[region]) if self.content.cells else [],
            figures=_figures(self.content, region),
            areas=areas_sheet(self.content, region) if self.content.areas else None,
        )

    def _most_important(self) -> Sequence[Variable]:
        """Return the variables; if there are more than 12, those with the largest effects."""
        variables = self.content.variables
        return variables if len(variables) <= MOST_VARIABLES else self._worst_first("all")[:MOST_VARIABLES]

    def _worst_first(self, region: str) -> list[Variable]:
        """Return the variables by the size of their effect in a region."""
        found = self.content.verdicts
        return sorted(self.content.variables, key=lambda variable: -severity(found.get(place_of(region, variable))))

    @cached_property
    def _links(self) -> dict[str, str]:
        """Return the link to the page of each region."""
        return {region: _url(page_name(region)) for region in self.content.regions}

    @cached_property
    def _worst_regions(self) -> list[str]:
        """Return the regions in the order of the scorecard."""
        return [row.name for row in self.card[1:]]

    def _regions(self) -> list[Cell]:
        return [Cell("all"), *(Cell(region, link=self._links[region]) for region in self._worst_regions)]

    def _tiles_of(self, tiles: Sequence[str]) -> Sheet | None:
        """Return the table of some tiles; if it is long, the table of all tiles, which the page then filters."""
        if len(tiles) * len(self.content.variables) > SHORT:
            return self.tiles
        return tiles_sheet(self.content, self.cells, tiles) if tiles else None


def _figures(content: ReportContent, name: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the figures of an evaluation unit as (variable, [(title, path from the page)])."""
    found: dict[str, list[tuple[str, str]]] = {variable.name: [] for variable in content.variables}
    for (of, variable, title), path in content.figures.items():
        if of == name:
            found.setdefault(variable, []).append((title, f"../{_url(path)}"))
    return [(variable, figures) for variable, figures in found.items() if figures]


def _recalibrated_figures(content: ReportContent) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the figures of a recalibration by variable."""
    figures = content.recalibrated.figures if content.recalibrated else {}
    return [(variable, [(title, f"../{_url(path)}") for title, path in own]) for variable, own in figures.items()]


def _url(path: str) -> str:
    """Return a relative path as a URL: in file names, % is the only character that needs to be escaped."""
    return path.replace("%", "%25")


def _rendered(template: str, content: ReportContent, **values: Any) -> str:
    return (
        _environment()
        .get_template(template)
        .render(content=content, rule=RULE, marks=MARKS, not_tested=NOT_TESTED, policy=POLICY, **values)
    )


def _people(value: float | None) -> str:
    return DASH if value is None else true_minus(for_people(value))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("geouq.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "minus": minus_in_text,
        "people": _people,
        "url": _url,
        "thousands": thousands,
        "counted": counted,
        "zip": zip,
    }
    return environment


# A page runs only the scripts next to it and requests nothing from a server. `file:` is for pages that are opened from
# disk, where 'self' matches nothing.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; "
    "img-src 'self' file: data: blob:; base-uri 'none'; form-action 'none'"
)

MAP = ("cells.js", "geometry.js", "colours.js", "charts.js", "map.js", "thumbnails.js")
STATIC: Mapping[str, Sequence[str]] = {
    "report.css": ("report.css",),
    "report.js": ("report.js", "about.js", "scorecard.js", "tables.js", "paper.js", *MAP),
    "forms.js": ("forms.js",),  # of forecasts without a variance alone
}  # what pages load, and the files of the package that it is made of
PICTURE = "quick_looks.png"


def write_static(folder: Path) -> list[Path]:
    """Write styles and scripts into a folder and remove files of earlier versions; return the files written."""
    sources = files("geouq.pages") / "static"
    for name, parts in STATIC.items():
        shorter = _compact_style if name.endswith(".css") else _compact
        text = "".join(shorter((sources / one).read_text("utf-8")) for one in parts)
        with atomic_write(folder / name) as part:
            part.write_text(text + (fill_rules() if name.endswith(".css") else ""), encoding="utf-8")
    for path in {path for path in folder.glob("*.js") if path.name not in STATIC}:
        path.unlink()
    return [folder / name for name in STATIC]


def _compact(source: str) -> str:
    r"""Return a script or style sheet without indentation, empty lines and comment lines, so that pages load less.

    >>> _compact("// Adds.\nlet a = 1;\n  /** Its double. */\n  a *= 2; // kept\n")
    'let a = 1;\na *= 2; // kept\n'
    """
    lines = (line.strip() for line in source.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not _is_comment(line))


def _compact_style(source: str) -> str:
    r"""Return a compact style sheet without the spaces that its syntax does not need.

    >>> _compact_style("a :is(b) { color: red; margin: 0 1px; }")
    'a :is(b){color:red;margin:0 1px}\n'
    """
    return re.sub(r"\s*([{};,])\s+", r"\1", _compact(source)).replace(": ", ":").replace(";}", "}").strip() + "\n"


def _is_comment(line: str) -> bool:
    return line.startswith("//") or (line.startswith("/*") and line.endswith("*/"))


def write_scripts(scripts: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write scripts that hold data into a folder of their own, and remove those of an earlier report."""
    data, written = folder / "data", []
    for name, text in scripts:
        with atomic_write(data / name) as part:
            part.write_text(text, encoding="utf-8")
        written.append(data / name)
    for path in set(data.glob("*.js")) - set(written):
        path.unlink()
    return written
