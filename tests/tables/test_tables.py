"""Rows, CSV, Markdown, gates, and the pools that they are made of."""

import csv
import io
import math
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from forecasts import heteroscedastic
from hypothesis import given
from hypothesis import strategies as st

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10, Groups, Variable
from geouq.metrics import MetricOptions
from geouq.regions import EvaluationUnit
from geouq.summary import empty_summary
from geouq.tables.parquet import write_parquet
from geouq.tables.rows import (
    Table,
    as_csv,
    bin_rows,
    curve_rows,
    heavy_bins,
    metric_rows,
    mostly_odd,
    sorted_table,
)

P95 = Variable(name="P95", band=1, units="m")
CHOICES = {"P95": MetricOptions((0.5, 0.9), (EQUAL_WIDTH_10, EQUAL_COUNT_10))}

CURVES = ("pit_histogram", "calibration", "calibration_interval", "coverage_50_by_truth", "coverage_90_by_truth")


@pytest.fixture(scope="module")
def pool():
    summary = summarize_arrays(*heteroscedastic((80, 80)), (0.5, 0.9)).whole
    return EvaluationUnit("all", "all", ("t",), {"P95": summary})


def test_units_follow_the_metric(pool):
    units = {row["metric"]: row["units"] for row in metric_rows(pool, [P95], CHOICES)}

    assert (units["rmse"], units["uce"], units["ence"], units["nll"]) == ("m", "m^2", "1", "1")


def test_an_empty_pool_has_missing_values():
    nothing = EvaluationUnit("region", "sea", (), {"P95": empty_summary((0.5, 0.9))})

    assert {row["value"] for row in metric_rows(nothing, [P95], CHOICES)} == {None}
    assert {row["n"] for row in metric_rows(nothing, [P95], CHOICES)} == {0}
    assert not bin_rows(nothing, [P95], CHOICES)
    assert not curve_rows(nothing, [P95], CHOICES)


def test_bins_hold_all_pixels_once(pool):
    rows = [row for row in bin_rows(pool, [P95], CHOICES) if row["bins"] == "equal-count-10"]

    assert sum(row["n"] for row in rows) == pool.variables["P95"].n
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert all(row["lower"] <= row["mean_variance"] <= row["upper"] for row in rows)


def test_curves_are_a_histogram_two_calibration_curves_and_coverage_by_group(pool):
    choices = {"P95": MetricOptions((0.5, 0.9), (), calibration_levels=(0.25, 0.5, 0.9), groups=Groups(by=("truth",)))}
    rows = curve_rows(pool, [P95], choices)

    points = {curve: [(row["x"], row["y"]) for row in rows if row["curve"] == curve] for curve in CURVES}
    assert sum(map(len, points.values())) == len(rows)
    assert len(points["pit_histogram"]) == 20
    shares = {row["metric"]: row["value"] for row in metric_rows(pool, [P95], choices)}
    assert [x for x, _ in points["coverage_90_by_truth"]] == pytest.approx(np.arange(0.05, 1, 0.1))
    assert min(y for _, y in points["coverage_90_by_truth"]) == shares["lowest_group_coverage_90"]
    assert dict(points["calibration_interval"])[0.5] == shares["coverage_50"]
    assert dict(points["calibration"])[0.25] == shares["coverage_below_50"]
    assert dict(points["calibration"])[0.9] == pytest.approx(
        sum(density for x, density in points["pit_histogram"] if x < 0.9) / 20
    )


def test_a_bin_with_nearly_all_pixels_is_warned_of():
    variance = np.full((50, 50), 1.0)
    variance[0, 0] = 1000
    summary = summarize_arrays(np.zeros((50, 50)), variance, np.ones((50, 50)), (0.5, 0.9)).whole
    pool = EvaluationUnit("all", "all", ("t",), {"P95": summary})

    warnings = heavy_bins(sorted_table("bins", bin_rows(pool, [P95], CHOICES)))

    assert "bin 1 of equal-width-10 holds 100.0% of the pixels" in warnings[0]
    assert not any("of equal-count-10" in warning for warning in warnings)  # which is what they tell one to read


@pytest.mark.parametrize(("lost", "warned"), [(2, False), (20, True)])
def test_pixels_without_a_variance_that_are_more_than_one_in_a_hundred_are_warned_of(lost, warned):
    metrics = Table(("level",), ({"level": "all", "variable": "rain", "model": "", "n": 1000},))
    excluded = Table(("tile",), ({"variable": "rain", "model": "", "reason": "variance_not_positive", "n": lost},))
    found = mostly_odd(metrics, excluded)

    assert bool(found) == warned
    assert all(f"rain: {lost} pixels have no variance above 0" in text and "1000 count" in text for text in found)


@given(value=st.floats(allow_nan=False, allow_infinity=False), text=st.text(max_size=20))
def test_csv_gives_back_what_was_written(value, text):
    """Numbers as they are; of a text that a spreadsheet would compute, all behind an apostrophe."""
    text = text.replace("\r", "").replace("\0", "")
    table = Table(("a", "b", "c"), ({"a": value, "b": text, "c": None},))

    (row,) = csv.DictReader(io.StringIO(as_csv(table), newline=""))

    assert float(row["a"]) == value
    assert row["b"] in (text, f"'{text}")
    assert row["b"] == text or text[0] in "=+-@\t\n"
    assert row["c"] == ""


@given(sign=st.sampled_from("=+-@\t"), rest=st.text(min_size=1, max_size=20))
def test_no_text_of_a_csv_is_a_formula(sign, rest):
    text = sign + rest.replace("\r", "").replace("\0", "")
    (cell,) = next(csv.reader(io.StringIO(as_csv(Table(("a",), ({"a": text},))).split("\n", 1)[1], newline="")))

    assert cell[0] == "'" or len(text) == 1 or float(text) is not None


@pytest.mark.parametrize("text", ["-", "-12", "+1.5e-3", "-.5", "a=b", "@", ""])
def test_numbers_and_plain_text_stay_as_they_are(text):
    assert as_csv(Table(("a",), ({"a": text},))).splitlines()[1:] == ([text] if text else ['""'])


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "-60_10", "+cmd|' /C calc'!A0", "-1+2", "\t=1"])
def test_what_a_spreadsheet_would_compute_begins_with_an_apostrophe(text):
    assert as_csv(Table(("a",), ({"a": text},))).splitlines()[1].lstrip('"').startswith("'")


def test_parquet_is_typed(pool, tmp_path):
    table = sorted_table("metrics", metric_rows(pool, [P95], CHOICES))

    assert write_parquet(table, tmp_path / "m.parquet", {"version": "1.2", "config_sha256": "abc"})
    read = pq.read_table(tmp_path / "m.parquet")
    assert read.schema.metadata == {b"geouq.version": b"1.2", b"geouq.config_sha256": b"abc"}
    assert read.column_names == list(table.columns)
    assert {str(field.type) for field in read.schema} == {"string", "double", "int64"}
    assert str(read.schema.field("value").type) == "double"
    assert str(read.schema.field("n").type) == "int64"
    assert read.column("value").to_pylist() == [row["value"] for row in table.rows]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("name", ["a", None, "", "größer", None, "b" * 300, "z", None, "last"]),
        ("n", [1, None, 2**62, -5, 0, None, 7, 8, 9]),
        ("value", [0.1, None, math.inf, -0.0, 5e-324, None, 1.0, 2.0, 3.0]),
        ("value", [None] * 9),
        ("name", [None] * 9),
    ],
)
def test_parquet_keeps_each_value_and_what_is_missing(column, values, tmp_path):
    write_parquet(Table((column,), tuple({column: value} for value in values)), tmp_path / "m.parquet", {})

    assert pq.read_table(tmp_path / "m.parquet").column(column).to_pylist() == values
    pq.read_table(tmp_path / "m.parquet").validate(full=True)


def test_parquet_is_written_without_pandas(tmp_path):
    code = f"""
import sys
from pathlib import Path
from geouq.tables.parquet import write_parquet
from geouq.tables.rows import Table
write_parquet(Table(("name", "n"), ({{"name": "a", "n": None}},)), Path({str(tmp_path / "m.parquet")!r}), {{}})
print("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
