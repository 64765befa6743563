"""Tables of pages: what intervals and tests say of a number, in words; and which tables come from files."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from large_report import large_content
from report_content import HOSTILE, Page, content, p_row, row

from geouq.pages import write_report
from geouq.pages.numbers import excluded_sheet, excluded_total, interval_says
from geouq.pages.sheet import SHORT, Cell, Column, Sheet


@pytest.mark.parametrize(
    ("metric", "low", "high", "says"),
    [
        ("z_std", 1.1, 1.3, "over-confident"),
        ("zms", 1.1, 1.3, "errors larger than predicted"),
        ("zms", 0.7, 0.9, "errors smaller than predicted"),
        ("zms", 0.9, 1.1, ""),
        ("coverage_90", 0.7, 0.8, "covers too little"),
        ("coverage_90", 0.91, 0.95, "covers too much"),
        ("bias", -2.0, -1.0, "under-prediction"),
        ("rmse", 1.0, 2.0, ""),
        ("zms", None, None, ""),
    ],
)
def test_an_interval_that_excludes_the_ideal_says_what_that_means(metric, low, high, says):
    assert interval_says({"metric": metric, "ci_low": low, "ci_high": high}) == says


def written(folder, p):
    """Texts of the first page, where one region has intervals that exclude their ideals, and this adjusted p."""
    limits = {"zms": (2.25, 2.75), "z_std": (1.3, 1.9)}
    rows = [
        one | {"ci_low": limits[one["metric"]][0], "ci_high": limits[one["metric"]][1], "ci_level": 0.95}
        if one["metric"] in limits and (one["name"], one["variable"]) == (HOSTILE, "P95")
        else one
        for one in content().metrics
    ]
    index, *_ = write_report(content(metrics=rows, tests=[p_row(HOSTILE, "P95", "z_std", p)]), folder)
    return " ".join(Page(index.read_text(encoding="utf-8")).texts)


def test_the_page_shows_the_verdict_of_each_region_with_the_size_of_the_effect(tmp_path):
    text = written(tmp_path, 0.001)

    assert "2.25\u00a0to\u00a02.75" in text
    assert re.search(r"1\.50\s+▲", text)
    assert re.search(r"1\.5\s+†", text)
    assert "over-confident" in text
    assert "errors scatter 1.50 (1.30 to 1.90) times as much as predicted" in text
    assert text.count("no interval (fewer than 8 cells)") == 1


def test_no_number_is_marked_that_the_verdict_leaves_open(tmp_path):
    """The interval excludes the ideal, but not after the adjustment for the number of regions."""
    for p, count in ((0.001, 1), (0.2, 0)):
        written(tmp_path / str(p), p)
        _, numbers = (tmp_path / str(p) / "index.html").read_text(encoding="utf-8").split('id="numbers"')
        cells = re.findall(r"<tbody>.*?</tbody>", numbers.split("</details>")[0], re.DOTALL)
        assert ("".join(cells).count("▲"), "".join(cells).count("△")) == (2 * count, count)  # one of the verdict


def test_a_difference_between_models_that_is_significant_is_marked(tmp_path):
    compared = row("all", "all", "P95", "zms", 0.5) | {"model": "ens", "against": "base", "difference": -0.25}
    compared |= {"ci_low": -0.5, "ci_high": -0.125, "better": "ens", "significant": "yes"}
    index, *_ = write_report(content(comparison=[compared]), tmp_path)
    page = index.read_text(encoding="utf-8")

    assert "ens minus base" in page
    assert re.search(r'class="[^"]*better[^"]*" data-number="-0.25" data-limits="-0.5 -0.125">−0.25', page)  # noqa: RUF001  the minus of numbers


def test_rows_of_a_long_table_come_from_files_and_not_with_the_page(tmp_path):
    tiles = [f"tile{number}" for number in range(SHORT + 1)]
    rows = [*content().metrics, *(row("tile", tile, "P95", "bias", 3.25) for tile in tiles)]
    written = write_report(content(metrics=rows, tiles=tiles, regions={HOSTILE: tiles}), tmp_path)

    scripts = [path for path in written if path.parent.name == "data"]
    assert [path.name for path in scripts] == ["tiles_0_0.js"]
    text = scripts[0].read_text(encoding="utf-8")
    found, _ = json.loads(re.fullmatch(r'geouq\.take\("tiles",0,0,(.*)\);\n', text)[1])
    assert [one[1] for one in found] == tiles
    assert found[0][3] == "3.25"
    assert "3.25" not in written[1].read_text(encoding="utf-8")


def test_a_table_of_many_columns_is_long_with_fewer_rows():
    rows = {"v": [[Cell("1")] * 13 for _ in range(20)]}

    assert not Sheet("s", "c", [Column("n")] * 11, rows).is_long
    assert Sheet("s", "c", [Column("n")] * 12, rows).is_long


def test_scripts_of_an_earlier_report_are_removed(tmp_path):
    (tmp_path / "assets/data").mkdir(parents=True)
    (tmp_path / "assets/data/tiles_7_0.js").write_text("old", encoding="utf-8")

    write_report(content(), tmp_path)

    assert not (tmp_path / "assets/data/tiles_7_0.js").exists()


def test_rows_are_cut_into_files_of_at_most_a_megabyte_and_keep_their_order():
    rows = [[Cell(f"{number}"), Cell("x" * 1000)] for number in range(2500)]
    sheet = Sheet("wide", "", (Column("a", "name"), Column("b", "text")), {"all": rows})

    files = dict(sheet.files())

    assert list(files) == ["wide_0_0.js", "wide_0_1.js", "wide_0_2.js"]
    assert all(len(text) < 1_100_000 for text in files.values())
    pieces = [json.loads(text.split(",", 3)[3].removesuffix(");\n")) for text in files.values()]
    assert [one[0] for piece in pieces for one in piece] == [str(number) for number in range(2500)]


def test_groups_of_a_small_table_are_in_one_file():
    groups = {name: [[Cell(f"{name}{k}"), Cell(f"{k}")] for k in range(90)] for name in "ab"}
    sheet = Sheet("small", "", (Column("a", "name"), Column("b")), groups)

    ((name, text),) = sheet.files()

    assert (name, sheet.index()["files"]) == ("small_0_0.js", None)
    one, other = json.loads(text.split(",", 3)[3].removesuffix(");\n"))
    assert (one[3], other[89]) == (["a3", "3"], ["b89", "89"])


def test_the_page_of_a_zone_shows_the_map_of_the_tiles_in_which_it_lies(tmp_path):
    given = large_content(tiles=4, regions=2)
    name = next(iter(given.regions))

    _, page, *_ = write_report(replace(given, zones=frozenset({name})), tmp_path)

    html = page.read_text(encoding="utf-8")
    text = " ".join(Page(html).texts)
    assert json.loads(unescape(re.search('data-map="([^"]*)"', html)[1])) == list(given.regions[name])
    assert "The map shows all pixels of the tiles in which the region lies" in text
    assert "Its tiles" not in text


def test_cells_of_numbers_have_all_digits_of_the_csv_tables(tmp_path):
    rows = [one | {"value": 1 / 3} if one["metric"] == "bias" else one for one in content().metrics]
    index, *_ = write_report(content(metrics=rows), tmp_path)

    assert f'data-number="{1 / 3!r}"' in index.read_text(encoding="utf-8")


@pytest.mark.parametrize("sheet_of", [excluded_sheet, excluded_total])
def test_the_heading_of_excluded_pixels_does_not_call_them_valid(sheet_of):
    (pixels,) = (one for one in sheet_of(content()).columns if one.heading == "pixels")

    assert pixels.about == "Number of excluded pixels"
