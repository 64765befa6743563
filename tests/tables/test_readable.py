"""Tables for people, and numbers rounded by their intervals."""

import re

import pytest
from forecasts import heteroscedastic
from hypothesis import example, given
from hypothesis import strategies as st

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10, Variable
from geouq.core.wording import latex_numbers, with_interval
from geouq.metrics import MetricOptions
from geouq.regions import EvaluationUnit
from geouq.tables.readable import as_latex, as_markdown, sheet_of, write_readable
from geouq.tables.rows import metric_rows, sorted_table

HOSTILE = "a|b_<img onerror=x>&50%$#{}~^\\"
P95, HOSTILE_ONE = Variable(name="P95", band=1, units="m"), Variable(name=HOSTILE, band=2, units="Mg ha-1")
FINITE = st.floats(-1e12, 1e12)


@pytest.fixture(scope="module")
def metrics():
    """Rows of two variables of the whole, two regions and a tile, with intervals of some."""
    summary = summarize_arrays(*heteroscedastic((80, 80)), (0.5, 0.9)).whole
    variables = {P95.name: summary, HOSTILE: summary}
    pools = [EvaluationUnit("all", "all", ("t",), variables), EvaluationUnit("region", "west", ("t",), variables)]
    pools += [EvaluationUnit("region", HOSTILE, ("t",), variables), EvaluationUnit("tile", "tile|1", ("t",), variables)]
    choices = dict.fromkeys(variables, MetricOptions((0.5, 0.9), (EQUAL_WIDTH_10, EQUAL_COUNT_10)))
    rows = [row for pool in pools for row in metric_rows(pool, [P95, HOSTILE_ONE], choices)]
    for row in rows:
        if row["metric"] in ("bias", "rmse") and row["value"] is not None:
            row |= {"ci_low": row["value"] - 0.0412, "ci_high": row["value"] + 0.0512, "ci_level": 0.95}
    return sorted_table("metrics", rows)


@given(value=FINITE, below=st.floats(1e-9, 1e9), above=st.floats(1e-9, 1e9))
def test_a_number_and_its_interval_are_right_to_a_twentieth_of_what_is_uncertain(value, below, above):
    low, high = value - below, value + above
    if not low < value < high:
        return
    text = with_interval(value, low, high)
    shown = [float(number) for number in re.split(r"[ \[\],]+", text.rstrip("]"))]
    span = max(2 * min(value - low, high - value), (high - low) / 100)

    for rounded, number in zip(shown, (value, low, high), strict=True):
        assert abs(rounded - number) <= 0.05 * span * (1 + 1e-9) + 1e-12 * abs(number)
    assert shown[1] <= shown[0] <= shown[2]
    if "e" not in text and "." in text:
        assert 10.0 ** -len(text.split(" ")[0].split(".")[1]) >= span / 100 * (1 - 1e-9)  # no digit more than two


@given(value=FINITE, half=st.floats(1e-7, 1e7))
@example(value=-0.0, half=1e-7)
def test_no_zero_has_a_sign(value, half):
    for text in re.split(r"[ \[\],]+", with_interval(value, value - half, value + half)):
        assert not (text.startswith("-") and float(text) == 0)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0.9032, 0.8811, 0.9254), "0.903 [0.881, 0.925]"),
        ((80.66, 75.1, 86.2), "81 [75, 86]"),
        ((-0.0001, -0.2, 0.2), "0.00 [-0.20, 0.20]"),
        ((5e-9, 4e-9, 6.5e-9), "5.0e-09 [4.0e-09, 6.5e-09]"),
        ((3.14159, 3.14159, 3.14159), "3.14"),
        ((1.0, 0.87, 1.0), "1.00 [0.87, 1.00]"),
        ((0.308, 0.01, 15.21), "0.31 [0.01, 15.21]"),
        ((None, None, None), "n/a"),
    ],
)
def test_numbers_are_rounded_by_their_interval(numbers, expected):
    assert with_interval(*numbers) == expected


def test_latex_has_minus_signs_and_powers():
    assert latex_numbers("-1.5 [-2e-08, 3e+09]") == r"$-$1.5 [$-$2$\times10^{-8}$, 3$\times10^{9}$]"


def test_a_region_is_a_table_of_metrics_by_variables(metrics):
    rows = {}
    for row in metrics.rows:
        if row["name"] == "west":
            rows.setdefault(row["variable"], {})[row["metric"]] = row
    sheet = sheet_of("west", rows, [P95, HOSTILE_ONE])

    assert sheet.headings == ("metric", "P95 (m)", f"{HOSTILE} (Mg ha-1)")
    names = [row[0] for row in sheet.rows]
    assert names[:3] == ["n", "bias (unit of the variable)", "rmse (unit of the variable)"]
    assert {"coverage_50", "coverage_90", "uce (squared unit of the variable)", "zms"} <= set(names)
    rmse = rows["P95"]["rmse"]
    assert sheet.rows[2][1] == with_interval(rmse["value"], rmse["ci_low"], rmse["ci_high"])
    level, bins = sheet.notes
    assert level == "In brackets: intervals of level 0.95."
    assert bins.startswith("uce and ence over equal-count-10 bins. Equal-count bins all hold pixels.")


def test_names_stay_text_in_markdown_and_latex(metrics):
    rows = {}
    for row in metrics.rows:
        if row["name"] == HOSTILE:
            rows.setdefault(row["variable"], {})[row["metric"]] = row
    sheet = sheet_of(HOSTILE, rows, [P95, HOSTILE_ONE])
    markdown, latex = as_markdown(sheet), as_latex(sheet)

    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {4}
    assert "<img" not in re.sub(r"\\.", "", markdown)
    body = latex[latex.index("\\begin") :]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines() if line.endswith(r" \\")} == {2}
    assert not re.search(r"(?<!\\)[%#]", body)
    assert len(re.findall(r"\\(?:top|mid|bottom)rule", body)) == 3
    assert "\\begin{tabular}{lrr}" in body


def test_the_whole_and_each_region_are_files_and_those_of_regions_that_are_gone_are_removed(metrics, tmp_path):
    variables = [P95, HOSTILE_ONE]
    write_readable(metrics, variables, ["west", HOSTILE], tmp_path)
    written = write_readable(metrics, variables, ["west"], tmp_path)

    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == {
        *("metrics.md", "metrics.tex", "regions/west.md", "regions/west.tex"),
    }
    assert sorted(written) == sorted(tmp_path.rglob("*.*"))
    whole = (tmp_path / "metrics.md").read_text(encoding="utf-8")
    assert "| P95 | west |" in whole
    assert "tile" not in whole.replace("All tiles", "")


@pytest.mark.parametrize("schemes", [(EQUAL_WIDTH_10, EQUAL_COUNT_10), (EQUAL_COUNT_10, EQUAL_WIDTH_10)])
def test_equal_count_bins_are_shown_in_any_order_of_the_schemes_with_the_reason(tmp_path, schemes):
    summary = summarize_arrays(*heteroscedastic((80, 80)), (0.5, 0.9)).whole
    choices = {P95.name: MetricOptions((0.5, 0.9), schemes)}
    rows = metric_rows(EvaluationUnit("all", "all", ("t",), {P95.name: summary}), [P95], choices)

    write_readable(sorted_table("metrics", rows), [P95], [], tmp_path)

    text = (tmp_path / "metrics.md").read_text(encoding="utf-8")
    value = next(row["value"] for row in rows if row["metric"] == "uce" and row["bins"] == "equal-count-10")
    assert re.search(rf"^\| uce \(m\^2\) \| {with_interval(value, None, None)} ", text, re.MULTILINE)
    assert "Equal-count bins all hold pixels" in text
