"""The page says what the means of areas may be off by, and claims no more than the numbers."""

import re

import pytest
from report_content import AREA, HOSTILE, content, row

from geouq.pages import write_report
from geouq.pages.areas import area_diagrams, area_sentences, areas_sheet, models_of_areas_sheet

VARIABLE = {"variable": "P95", "model": ""}


def scale(metric, value, low, high, side=1, metres=31500.0):
    return VARIABLE | {
        "kind": "block", "side_cells": side, "side_metres": metres, "n_areas": 90, "metric": f"aggregate_{metric}",
        "value": value, "ci_low": low, "ci_high": high, "ci_method": "jackknife",
    }  # fmt: skip


CORRELATED = [
    scale("zms_independent", 961.0, 500.0, 1700.0),
    scale("coverage_independent_90", 0.05, 0.03, 0.08),
    scale("coverage_full_90", 0.9, 0.8, 0.95),
    scale("coverage_calibrated_90", 0.9, 0.82, 0.94),
]


def test_correlated_errors_are_named_with_their_factor_and_the_remedy():
    said = area_sentences(content(aggregates=CORRELATED))

    first, second = said[0].split(". ")
    assert first == "P95: for areas of 31.5 km use the fitted correlation"
    assert "the std of a mean is 31 times too small, and 90 % intervals cover 5 %" in second
    assert second.endswith("with the fitted correlation and corrected std they cover 90 %.")


def test_areas_of_classes_and_above_thresholds_have_sentences_of_their_own():
    shares = [{"threshold": 20.0, "class": ""}, {"threshold": None, "class": "forest"}]
    rows = [row | share for share in ({"threshold": None, "class": ""}, *shares) for row in CORRELATED]

    said = area_sentences(content(aggregates=rows))

    assert [one.split(":")[0] for one in said] == ["P95", "Share of P95 > 20 m", "Share of forest (P95)"]


def test_no_claim_is_made_where_the_interval_holds_one():
    rows = [scale("zms_independent", 1.2, 0.8, 1.7), *CORRELATED[1:]]

    said = area_sentences(content(aggregates=rows))

    assert "no sign that pixels of areas of 31.5 km share errors" in said[0]
    assert "too small" not in said[0]


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (0.07, 0.05, 0.09, "spread 0.07 (0.05 to 0.09) times as much as they err; too little for means of areas."),
        (1.6, 1.2, 2.1, "spread 1.6 (1.2 to 2.1) times as much as they err; too much for means of areas."),
        (1.1, 0.8, 1.5, "spread 1.1 (0.8 to 1.5) times as much as they err; no sign of a wrong spread."),
    ],
)
def test_members_are_judged_by_their_means_over_the_largest_areas_with_an_interval(value, low, high, says):
    rows = [
        scale("spread_skill", 0.9, 0.8, 1.0),
        scale("spread_skill", value, low, high, side=2, metres=63000.0),
        scale("spread_skill", 3.0, None, None, side=4, metres=126000.0),
    ]

    assert area_sentences(content(aggregates=rows)) == [f"P95: members' means of areas of 63 km {says}"]


def test_the_removed_error_of_the_truth_is_named():
    removed = {"parameter": "truth_share", "value": 0.346}
    rows = [VARIABLE | {"threshold": threshold, "class": ""} | removed for threshold in (None, 20.0)]

    (said,) = area_sentences(content(error_correlation=rows))

    assert said.startswith("P95: the truth's own error is 35 % of z². It is left out of")


@pytest.mark.parametrize("rows", [[], CORRELATED[:1]])
def test_nothing_is_said_without_numbers(rows):
    assert area_sentences(content(aggregates=rows)) == []


def test_the_table_has_a_dash_for_a_missing_interval_and_the_reason_once():
    sheet = areas_sheet(content(areas=[AREA, AREA | {"name": HOSTILE, "level": "region"}]))

    assert sheet.rows[0][2].under == sheet.rows[0][5].under == "–"  # noqa: RUF001  as on the page
    assert sheet.caption.count("fewer than 5 degrees of freedom") == 1


def test_an_area_above_a_threshold_is_named_with_it():
    above = AREA | {"threshold": 60.0, "mean": 0.25, "units": "1", "total": 120.0, "total_units": "ha"}

    sheet = areas_sheet(content(areas=[AREA, above, above | {"name": HOSTILE, "level": "region"}]))

    units = content().variables[0].units
    first, second = (row[0].text for row in sheet.rows[:2])
    assert (first, second) == (f"P95 ({units})", f"share of P95 > 60 {units}")
    assert (sheet.rows[1][5].text.strip(), sheet.rows[1][6].text) == ("120", "ha")


def test_an_area_of_a_class_is_named_with_it():
    own = AREA | {"class": "forest", "mean": 0.25, "units": "1", "total": 120.0, "total_units": "ha"}

    assert [row[0].text for row in areas_sheet(content(areas=[own])).rows] == ["share of forest (P95)"]


def test_intervals_stand_under_mean_and_total():
    own = AREA | {"ci_low": 170.0, "ci_high": 230.0, "ci_level": 0.9, "total_low": 1.6e10, "total_high": 2.2e10}

    row = areas_sheet(content(areas=[own])).rows[0]

    assert row[2].under == "170\u00a0to\u00a0230"
    assert "1.6\u00a0\N{MULTIPLICATION SIGN}\u00a010¹⁰" in row[5].under
    assert row[6].text == "Mg"


def test_what_has_no_meaning_as_a_total_has_none():
    row = areas_sheet(content(areas=[AREA | {"total_units": "g/kg m2"}])).rows[0]

    assert row[5].text == row[6].text == ""


def test_diagrams_show_every_model_and_both_kinds_of_pairs():
    pairs = [
        VARIABLE
        | {
            "threshold": None,
            "same_tile": same,
            "distance": metres,
            "correlation": 0.4,
            "standard_error": 0.1,
            "fitted": 0.38,
            "fitted_error": 0.08,
        }
        for same in ("yes", "no")
        for metres in (3e4, 6e4, 1e5)
    ]
    blocks = CORRELATED + [row | {"side_cells": 2, "side_metres": 63000.0} for row in CORRELATED]

    [drawn] = area_diagrams(content(aggregates=blocks, error_correlogram=pairs), 12)

    assert drawn.scales.count('class="dots') == 3
    assert drawn.correlation.count('class="dots') == 2
    assert area_diagrams(content(error_correlogram=[one | {"standard_error": 0.6} for one in pairs]), 12) == []
    assert drawn.correlation.count('class="band') == 2  # of the lines
    assert len(re.findall('class="[a-z]+ limits"', drawn.correlation)) == 2
    assert "Coverage of 90 % intervals of means of P95" in drawn.scales


def test_without_areas_there_is_no_section(tmp_path):
    write_report(content(), tmp_path)

    assert 'id="areas"' not in (tmp_path / "index.html").read_text(encoding="utf-8")


COMPARED = [
    row("all", "all", "P95", "zms", 0.5)
    | {"model": "ens", "against": "base", "difference": -0.25, "better": "", "significant": "no"}
]


def compared(metric, difference, better="", **more):
    return {
        **scale(metric, 1.0, difference - 0.25, difference + 0.25),
        "model": "ens",
        "against": "base",
        "difference": difference,
        "better": better,
        "significant": "yes" if better else "no",
    } | more


def test_models_are_compared_by_the_size_of_areas_with_marks_for_what_is_certain():
    rows = [
        compared("rmse", -0.5, "ens"),
        compared("coverage_calibrated_90", -0.3, "base"),
        compared("zms_independent", 3.0, "base"),
        compared("rmse", 0.125, side_cells=4, side_metres=None, n_areas=20),
        compared("rmse", 2.0, kind="tile", side_cells=None, ci_low=None, ci_high=None, ci_method="6 areas are too few"),
    ]

    sheet = models_of_areas_sheet(content(aggregate_comparison=rows))

    assert [column.heading for column in sheet.columns[4:]] == [
        "RMSE",
        "coverage of 90 %, calibrated, in percentage points",
    ]
    assert [[cell.text for cell in row[1:4]] for row in sheet.rows] == [
        ["cells (31.5 km)", "90", "ens minus base"],
        ["4 x 4 cells", "20", "ens minus base"],
        ["tiles", "90", "ens minus base"],
    ]
    assert [row[4].says for row in sheet.rows] == ["better", "", ""]
    assert sheet.rows[0][5].says == "worse"
    assert sheet.rows[0][5].text == "\N{MINUS SIGN}30"
    assert sheet.rows[0][4].text == "\N{MINUS SIGN}0.50"
    assert sheet.rows[2][4].under == sheet.rows[1][5].text == "–"  # noqa: RUF001  as on the page
    assert "6 areas are too few" in sheet.caption


def test_the_page_of_models_links_the_table_of_their_means_of_areas(tmp_path):
    for rows, count in (([compared("rmse", -0.5, "ens")], 1), ([], 0)):
        index, *_ = write_report(content(aggregate_comparison=rows, comparison=COMPARED), tmp_path)

        page = index.read_text(encoding="utf-8")
        assert page.count('href="../tables/aggregate_comparison.csv"') == count
        assert page.count("ens minus base") == 1 + count
