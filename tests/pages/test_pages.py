"""Pages: what they say, that names stay text, and that they need nothing but themselves."""

import re

import pytest
from report_content import HOSTILE, Page, content

from geouq.pages import write_report
from geouq.pages.html import page_name


@pytest.fixture
def pages(tmp_path):
    written = write_report(content(), tmp_path)
    return {path.name: path.read_text(encoding="utf-8") for path in written if path.suffix == ".html"}


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
    assert "1 of 1 gate failed" in text
    assert "too few independent cells to test" in text
    assert "masked" in text
    assert "4\u202f321" in text
    assert "–" in text  # noqa: RUF001  in place of a number that is missing


def test_the_index_leads_to_every_table(tmp_path):
    index, *_ = write_report(content(tables=["metrics", "tests", "comparison"]), tmp_path)

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
    assert page_name("index") not in {page_name(other) for other in ("region_index", "inde%78", "inde%2578")}


def test_warnings_about_the_input_stand_above_the_verdict_of_every_page(tmp_path):
    text = "height: different units"
    index, region, *_ = write_report(content(input_warnings=[text]), tmp_path)

    for page in (index.read_text(encoding="utf-8"), region.read_text(encoding="utf-8")):
        assert 0 < page.index("Warnings about the input") < page.index(text) < page.index('<section id="verdict"')


def test_numbers_in_warnings_and_explanations_have_true_minus_signs(tmp_path):
    warning = "height: shifted by -0.7 rows (errors are mean - truth) in tile-1 since 2020-01-31"
    index, *_ = write_report(content(input_warnings=[warning], warnings=[warning]), tmp_path)
    text = " ".join(Page(index.read_text(encoding="utf-8")).texts)

    shown = "height: shifted by ~0.7 rows (errors are mean ~ truth) in tile-1 since 2020-01-31"
    assert text.count(shown.replace("~", "\N{MINUS SIGN}")) == 2


def test_pages_without_failures_say_so(tmp_path):
    index, *_ = write_report(content(failures=[], gates=[], warnings=[], excluded=[]), tmp_path)
    text = " ".join(Page(index.read_text(encoding="utf-8")).texts)

    assert "none failed" in text
    assert "No pixel is excluded" in text
