"""Pages: what they say, that names stay text, and that they need nothing but themselves."""

import re
from html.parser import HTMLParser

import pytest

from geouq.config import Variable
from geouq.pages import ReportContent, write_report
from geouq.pages.html import page_name

HOSTILE = "<img src=x onerror=alert(1)>"


def row(level, name, variable, metric, value, bins=""):
    return {
        "level": level,
        "name": name,
        "variable": variable,
        "model": "",
        "compare_on": "",
        "metric": metric,
        "value": value,
        "bins": bins,
        "n": 12_345,
    }


def content(**changes):
    pools = [("all", "all"), ("region", HOSTILE), ("tile", "t1")]
    rows = [
        row(*pool, variable, metric, value)
        for pool in pools
        for variable in ("P95", HOSTILE)
        for metric, value in (("bias", -1.5), ("zms", 2.5), ("coverage_90", None))
    ]
    rows += [row(*pool, "P95", "uce", value, bins) for pool in pools for bins, value in (("a-10", 1.0), ("b-10", 7.25))]
    given = {
        "name": HOSTILE,
        "variables": (Variable(name="P95", band=1, units="m"), Variable(name=HOSTILE, band=2)),
        "regions": {HOSTILE: ("t1", "t2")},
        "tiles": ("t1", "t2"),
        "metrics": rows,
        "bins": "b-10",
        "excluded": [{"tile": "t1", "variable": "P95", "model": "", "reason": "masked", "n": 4321}],
        "failures": [{"tile": "t3", "stage": "sweep", "error": "DataError", "message": f"{HOSTILE} cannot be read"}],
        "warnings": [HOSTILE],
        "gates": [
            {
                "metric": "zms",
                "variable": "P95",
                "model": "",
                "region": "all",
                "min": None,
                "max": 2.0,
                "value": 2.5,
                "on": "interval",
                "low": 2.25,
                "high": 2.75,
                "passed": False,
            }
        ],
        "figures": {("all", "P95", "pit"): "figures/all/100%25.png"},
        "maps": ["maps/t1_z.tif"],
        "zones": frozenset(),
        "provenance": {"geouq": "0", "started": "2026"},
    }
    return ReportContent(**given | changes)


class Page(HTMLParser):
    """Tags and text of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.links = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def pages(tmp_path):
    return {path.name: path.read_text(encoding="utf-8") for path in write_report(content(), tmp_path)}


def test_there_is_a_page_for_the_run_and_each_region(pages):
    assert list(pages) == ["index.html", page_name(HOSTILE)]


def test_names_stay_text(pages):
    for html in pages.values():
        page = Page(html)
        assert HOSTILE not in html
        assert not any("onerror" in (link or "") and "<" in link for link in page.links)
        assert any(HOSTILE in text for text in page.texts)


def test_a_page_asks_for_nothing_from_elsewhere(pages):
    for html in pages.values():
        assert not re.search(r"https?://|//[a-z]", "".join(filter(None, Page(html).links)))


def test_the_index_tells_verdict_failures_gates_and_reasons(pages):
    text = " ".join(Page(pages["index.html"]).texts)

    assert "1 failed" in text
    assert "cannot be read" in text
    assert "1 of 1 gates failed" in text
    assert "over-confident" in text
    assert "masked" in text
    assert "4\u202f321" in text
    assert "n/a" in text


def test_the_index_leads_to_every_table(tmp_path):
    (index, _) = write_report(content(tables=["metrics", "tests", "comparison"]), tmp_path)

    links = Page(index.read_text(encoding="utf-8")).links
    assert {f"../tables/{name}.csv" for name in ("metrics", "tests", "comparison")} <= set(links)


def test_binned_numbers_are_those_of_the_scheme_shown(pages):
    text = " ".join(Page(pages["index.html"]).texts)

    assert "7.25" in text
    assert "b-10" in text


def test_figures_are_found_whatever_their_names(pages):
    assert "../figures/all/100%2525.png" in Page(pages["index.html"]).links


def test_a_region_named_index_does_not_replace_the_index():
    assert page_name("index") != "index.html"
    assert page_name("INDEX").lower() != "index.html"


def test_pages_without_failures_say_so(tmp_path):
    (index, _) = write_report(content(failures=[], gates=[], warnings=[], excluded=[]), tmp_path)
    text = " ".join(Page(index.read_text(encoding="utf-8")).texts)

    assert "none failed" in text
    assert "Every pixel counts" in text
