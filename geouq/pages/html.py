"""HTML pages from templates; names from configurations and files are escaped."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from geouq.atomic import written_whole
from geouq.naming import file_name
from geouq.pages.content import SHOWN, ReportContent, number_rows, shift_rows
from geouq.wording import for_people


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """Write index.html and a page for each region; each opens from disk and asks for nothing but its figures."""
    pages = {folder / "index.html": _index(content)}
    for region in content.regions:
        pages[folder / page_name(region)] = _region(content, region)
    for path, html in pages.items():
        with written_whole(path) as part:
            part.write_text(html, encoding="utf-8")
    return list(pages)


def page_name(region: str) -> str:
    """File of a region's page; the run's own page is index.html.

    >>> page_name("west"), page_name("index")
    ('west.html', 'region_index.html')
    """
    name = file_name(region)
    return f"region_{name}.html" if name.lower() == "index" else f"{name}.html"


def _index(content: ReportContent) -> str:
    pools = [("all", "all"), *(("region", region) for region in content.regions)]
    return _rendered(
        "index.html.j2",
        content,
        rows=number_rows(content, pools),
        shift=shift_rows(content),
        figures=_figures(content, "all"),
    )


def _region(content: ReportContent, region: str) -> str:
    own = () if region in content.zones else content.regions[region]  # of a zone, the numbers of tiles say little
    tiles = [tile for tile in content.tiles if tile in own]
    pools = [("region", region), *(("tile", tile) for tile in tiles)]
    rows = number_rows(content, pools)
    return _rendered("region.html.j2", content, region=region, rows=rows, figures=_figures(content, region))


def _figures(content: ReportContent, name: str) -> list[tuple[str, dict[str, str]]]:
    """Figures of a pool for each variable, as (variable, path from the page by figure)."""
    return [
        (
            variable.name,
            {
                figure: f"../{_url(path)}"
                for (of, name_of_variable, figure), path in content.figures.items()
                if of == name and name_of_variable == variable.name
            },
        )
        for variable in content.variables
    ]


def _url(path: str) -> str:
    """A relative path as a URL: file names hold no character but % that means something there."""
    return path.replace("%", "%25")


def _rendered(template: str, content: ReportContent, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("geouq.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"people": for_people, "url": _url, "page": page_name, "thousands": _thousands}
    facts: Mapping[str, Any] = {"content": content, "headings": [heading for _, heading in SHOWN]}
    return environment.get_template(template).render(**facts, **values)


def _thousands(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
