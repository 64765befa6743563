"""The scorecard: fill shows the effect, border significance, hatching doubt; the worst region comes first."""

import json
import re
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from large_report import large_content
from report_content import p_row
from report_content import row as metric_row

from geouq.config import Variable
from geouq.maps.scales import OVER_CONFIDENT_ABOVE, SIGNED, SKILL, hexadecimal
from geouq.pages import write_report
from geouq.pages.marks import MARKS
from geouq.pages.scorecard import INLINE, TABS, fill_rules, scorecard, shown_tabs, states
from geouq.pages.sheet import DASH, FIGURE
from geouq.verdict import Part, Verdict, verdict_of, verdicts_of

VARIABLE = Variable(name="v", band=1)


def part(value, low=None, high=None, p=None, finding=""):
    return Part("z_std", value, low, high, 0.95, p, finding, "" if p is not None else "fewer than 8 cells")


def verdict(spread, bias=None, coverage=0.9, limits=None, coverage_p=None):
    bias = bias or part(0.0, -0.1, 0.1, 0.9)
    inside = Part("coverage_90", coverage, *(limits or (None, None)), 0.95, coverage_p)
    return Verdict(("x",), bias, spread, bias, inside)


def said(mark):
    return f"{mark.text} {mark.sign}".strip()


def marks(found):
    (row,) = scorecard([VARIABLE], {}, {("all", "all", "v", ""): found}, {})
    return row.cells[0].marks


@pytest.mark.parametrize(
    ("spread", "text", "classes"),
    [
        (part(1.9, 1.4, 2.6, 0.01, "over-confident"), "1.9 ▲", "f3 sig"),
        (part(0.6, 0.5, 0.8, 0.01, "under-confident"), "0.60 ▼", "f-3 sig"),
        (part(1.3, 0.9, 1.8, 0.2), "1.30 ?", "f2 open"),
        (part(0.95, 0.92, 0.98, 0.01, "under-confident"), "0.950 ▼", "f0 sig"),  # small but significant
        (part(6.4), "6.4 †", "f3 untested"),
        (part(1.02, 0.9, 1.2, 0.6), "1.02 ✓", "f0"),
        (part(1.02, 0.7, 1.4, 0.6), "1.02 ?", "f0 open"),  # the evidence is missing, so that nothing is praised
    ],
)
def test_the_spread_is_filled_by_its_size_and_framed_by_its_significance(spread, text, classes):
    shown = marks(verdict(spread))[1]

    assert (said(shown), shown.classes) == (text, classes)


def test_a_significant_number_does_not_look_like_its_ideal():
    bias = Part("z_mean", 0.0004, 0.0001, 0.0007, 0.95, 0.01, "biased")
    own = verdict(part(1.0004, 1.0001, 1.0007, 0.01, "over-confident"), bias, 0.8997, (0.8995, 0.8999), 0.01)

    assert [said(mark) for mark in marks(own)[:3]] == ["89.97 △", "1.00040 ▲", "+0.0004 ↓"]


def test_fills_have_the_colours_of_the_maps():
    rules = fill_rules().splitlines()

    assert len(rules) == 18
    assert rules[0] == f".card .f-3 {{ background-color: {hexadecimal(OVER_CONFIDENT_ABOVE[0])}; }}"
    assert rules[13] == f".card .b3 {{ background-color: {hexadecimal(SIGNED[6])}; }}"
    assert rules[14] == f".card .k0 {{ background-color: {hexadecimal(SKILL[0])}; }}"


def test_where_another_tab_has_a_significant_effect_no_tab_praises():
    narrow, wide = part(1.0, 0.95, 1.05, 0.8), part(1.0, 0.7, 1.4, 0.6)
    biased = part(-1.1, -1.2, -1.0, 0.003, "biased")

    assert said(marks(verdict(narrow, bias=biased))[1]) == "1.00 *"
    assert said(marks(verdict(narrow))[1]) == "1.00 ✓"
    # hatching stays, and the sign says that the verdict is nevertheless certain
    assert marks(verdict(wide, bias=biased))[1] == ("1.00", "f0 open", 1.0, "?*")
    assert said(marks(verdict(part(6.4), bias=biased))[1]) == "6.4 †*"
    assert said(marks(verdict(part(None), bias=biased))[1]) == DASH


@pytest.mark.parametrize(
    ("share", "limits", "p", "text", "classes"),
    [
        (0.63, (0.4, 0.8), 0.01, "63 △", "f3 sig"),
        (0.97, (0.95, 0.99), 0.01, "97 ▽", "f-2 sig"),
        (0.89, (0.85, 0.92), 0.5, "89 ✓", "f0"),
        (0.89, (0.6, 0.98), 0.5, "89 ?", "f0 open"),
        (0.87, (0.83, 0.897), 0.049, "87 △", "f1 sig"),
        (0.87, (0.83, 0.897), 0.06, "87 ✓", "f1"),  # it excludes 0.9, but not after the adjustment
        (0.86, (0.78, 0.897), 0.06, "86 ?", "f1 open"),  # the same, and wide
        (0.46, None, None, "46 †", "f3 untested"),
    ],
)
def test_the_coverage_is_hatched_unless_its_interval_is_narrow(share, limits, p, text, classes):
    shown = marks(verdict(part(1.0), coverage=share, limits=limits, coverage_p=p))[0]

    assert (said(shown), shown.classes) == (text, classes)


def drawn_verdict(rng):
    """Verdict of some numbers with intervals of some width and some p-values; any of the tests may be missing."""
    places = {"z_mean": 0.0, "z_std": 1.0, "coverage_50": 0.5, "coverage_90": 0.9, "pit_std": 0.289}
    rows, tests = [], []
    for metric, ideal in places.items():
        scale = 0.02 if metric in ("coverage_90", "pit_std") else 0.2
        value, half = ideal + rng.normal(0, scale), scale * rng.uniform(0.5, 3)
        known = rng.random() > 0.05
        limits = {"ci_low": value - half, "ci_high": value + half, "ci_level": 0.95} if known else {"ci_low": None}
        rows.append({"metric": metric, "bins": "", "group": "", "n": 9, "value": value, "ci_method": "bca"} | limits)
        if known:
            alone = 0.01 if abs(value - ideal) > half else 0.5
            tests.append({"metric": metric, "bins": "", "p_adjusted": min(1.0, alone * rng.choice([1, 2, 8]))})
    return verdict_of(rows, tests)


def test_marks_and_verdicts_contradict_each_other_nowhere():
    rng, seen = np.random.default_rng(3), Counter()
    for found in (drawn_verdict(rng) for _ in range(4000)):
        state, word = states(found), found.findings[0]
        seen[word] += 1
        if "sig" in state.values():
            assert found.is_certain
        if found.is_certain:
            assert "sig" in state.values() or found.shape.finding
        if word == "no miscalibration detected":
            assert (state["spread"], state["bias"]) == ("", "")
            assert state["coverage"] in ("", "untested")
        if word == "inconclusive" and not any(part.reason for part in found.parts.values()):
            assert "open" in state.values()

    assert min(seen.values()) > 30
    assert len(seen) >= 6


def test_no_number_of_a_table_is_marked_that_the_scorecard_leaves_open(tmp_path):
    """The mean error and the mean of z exclude 0 before the adjustment, and the spread is significant."""
    region, limits = "region 0 with a name of some length", {"ci_level": 0.95, "ci_method": "bca"}
    values = {
        "z_mean": (0.3, 0.1, 0.5),
        "bias": (-3.0, -5.0, -1.0),
        "z_std": (1.5, 1.3, 1.7),
        "coverage_90": (0.8, 0.7, 0.89),
    }
    rows = [
        metric_row(level, name, "variable 0", metric, value) | {"ci_low": low, "ci_high": high} | limits
        for level, name in (("all", "all"), ("region", region))
        for metric, (value, low, high) in values.items()
    ]
    tests = [
        p_row(region, "variable 0", metric, p)
        for metric, p in (("z_std", 0.01), ("z_mean", 0.06), ("coverage_90", 0.08))
    ]
    write_report(replace(large_content(tiles=4, regions=1), metrics=rows, verdicts=verdicts_of(rows, tests)), tmp_path)
    html = next(tmp_path.glob("region*.html")).read_text(encoding="utf-8")
    table = html[html.index('id="numbers"') :]

    assert re.findall(r'aria-label="([\w -]+)">', table[: table.index("</table>")])[1:] == 2 * ["over-confident"]


def test_a_coverage_that_only_the_adjustment_leaves_open_is_explained():
    narrow = part(1.0, 0.9, 1.1, 0.7)

    def row_of(p, limits):
        found = verdict(narrow, coverage=0.87, limits=limits, coverage_p=p)
        (row,) = scorecard([VARIABLE], {}, {("all", "all", "v", ""): found}, {})
        return row

    def words(p, limits):
        return row_of(p, limits).cells[0].words

    reason = "excludes 90 %, but not after p is multiplied by the number of tests of PIT and coverage"
    assert reason in words(0.06, (0.83, 0.897))
    assert "(p = 0.06)" in words(0.06, (0.83, 0.897))
    for p, limits in ((0.01, (0.83, 0.897)), (0.06, (0.83, 0.93)), (None, None)):
        assert reason not in words(p, limits)
    for p, is_told in ((0.06, True), (0.01, False)):
        ((_, tab), *_) = shown_tabs([row_of(p, (0.83, 0.897))])
        assert ("p is multiplied by the number of tests" in tab.about) == is_told


def test_a_truth_above_the_mean_is_blue_as_errors_below_zero_are():
    assert marks(verdict(part(1.0), bias=part(0.93, -0.5, 2.3, 0.2)))[2].classes == "b-3 open"
    assert said(marks(verdict(part(1.0), bias=part(-0.93, -0.5, 2.3, 0.2)))[2]) == "−0.93 ?"  # noqa: RUF001


def test_a_significant_bias_has_the_sign_of_the_tables():
    assert said(marks(verdict(part(1.0), bias=part(0.05, 0.02, 0.08, 0.01)))[2]) == "+0.05 ↓"
    assert said(marks(verdict(part(1.0), bias=part(-0.2, -0.3, -0.1, 0.01)))[2]) == "−0.20 ↑"  # noqa: RUF001
    assert said(marks(verdict(part(1.0), bias=part(-0.001, -0.3, 0.3, 0.9)))[2]) == "+0.00 ?"


def test_numbers_of_a_column_have_their_decimal_points_below_each_other():
    found = {
        ("region", name, "v", ""): verdict(one)
        for name, one in {"a": part(1.25), "b": part(12.0, 8.0, 18.0, 0.2), "c": part(0.95, 0.92, 0.98, 0.01)}.items()
    }
    rows = scorecard([VARIABLE], dict.fromkeys("abc", ""), found, {})
    texts = {row.name: row.cells[0].marks[1].text for row in rows}

    assert texts == {
        "all": DASH, "a": "1.25" + FIGURE, "b": "12.0" + 2 * FIGURE, "c": "0.950"
    }  # fmt: skip


def test_the_whole_comes_first_and_then_the_worst_region():
    of = {"all": 1.0, "a": 1.1, "b": 0.4, "c": 2.0}
    found = {("all" if name == "all" else "region", name, "v", ""): verdict(part(std)) for name, std in of.items()}

    rows = scorecard([VARIABLE], {name: f"{name}.html" for name in "abc"}, found, {})

    assert [row.name for row in rows] == ["all", "b", "c", "a"]


def test_slivers_come_after_the_regions_whose_effects_are_more_than_chance():
    of = {"all": (1.0, 30_000), "a": (1.5, 9000), "b": (9.0, 3), "c": (2.0, 8000), "d": (1.0, 7000)}
    found = {
        ("all" if name == "all" else "region", name, "v", ""): replace(verdict(part(std)), n=n)
        for name, (std, n) in of.items()
    }

    rows = scorecard([VARIABLE], {name: f"{name}.html" for name in "abcd"}, found, {})

    assert [row.name for row in rows] == ["all", "c", "a", "b", "d"]


def test_the_first_tab_shows_the_coverage_as_the_first_number_of_the_answer_does():
    assert TABS[0].key == "coverage"


def test_scripts_know_the_tabs_in_their_order():
    script = (files("geouq.pages") / "static/scorecard.js").read_text("utf-8")
    (names,) = re.findall(r"const TABS = (\[.*?\]);", script)

    assert json.loads(names) == [tab.key for tab in TABS]


def test_the_key_of_each_tab_has_the_signs_that_the_tab_shows(tmp_path):
    given = large_content(tiles=4, regions=2)
    rows = [metric_row("all", "all", "variable 0", metric, 0.5) for metric in ("z_mean", "z_std", "r2")]
    html = write_report(replace(given, metrics=[*given.metrics, *rows], verdicts=verdicts_of(rows, [])), tmp_path)[0]
    keys = dict(re.findall(r'<p class="t-(\w+) key">(.*?)</p>', html.read_text(encoding="utf-8")))
    words = {name: re.sub("<.*?>", "", text) for name, text in keys.items()}

    assert words["spread"].startswith("▲ ▼ border and sign: significant, over-confident or under-confident")
    assert words["bias"].startswith("↑ ↓ border and sign: significant, over-prediction or under-prediction")
    assert words["skill"] == "up to 0 up to 0.33 up to 0.67 above Not tested. A dash: not available"
    assert "b2 sig" in keys["bias"]
    assert "f2" not in keys["bias"]


def test_a_tab_without_a_number_is_left_out():
    (row,) = scorecard([VARIABLE], {}, {("all", "all", "v", ""): verdict(part(None))}, {})

    assert [k for k, _ in shown_tabs([row])] == [0, 2]
    assert row.cells[0].marks[1].text == DASH


def test_rows_beyond_a_few_hundred_cells_come_from_a_file(tmp_path):
    written = write_report(large_content(tiles=12, regions=300, variables=2), tmp_path)

    html = written[0].read_text(encoding="utf-8")
    assert len(re.findall('<td><a href="#map">', html)) == INLINE
    script = (tmp_path / "assets/data/card_0_0.js").read_text(encoding="utf-8")
    rows = json.loads(re.fullmatch(r'geouq\.take\("card",0,0,(.*)\);\n', script)[1])
    assert len(rows) == 301


def test_scripts_and_templates_spell_no_signs_of_their_own():
    signs = set(MARKS.values()) - {"+", MARKS["under-prediction"], MARKS["better"], MARKS["worse"]}
    spelled = [*signs, *(f"\\u{ord(sign):04x}" for sign in signs)]
    sources = [path for path in files("geouq.pages").rglob("*") if path.suffix in (".js", ".j2", ".css")]

    assert len(sources) > 12
    assert not [(path.name, sign) for path in sources for sign in spelled if sign in path.read_text("utf-8")]
