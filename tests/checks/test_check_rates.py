"""The study of the input checks counts findings as it says, and its page has a row for each kind of map."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from simulated.check_cases import clean_cases, fault_cases
from simulated.check_table import markdown, written
from simulated.checks import Case, Row, measured, simulate

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "check_rates"
PAGE = ROOT / "docs" / "explanation" / "checks.md"


def test_a_share_counts_maps_and_others_count_kinds():
    clean, fault = Case("clean", lambda *_: {}), Case("fault", lambda *_: {}, "a")
    findings = [("a",), ("a", "b", "b"), (), ("b",)]

    assert (Row(clean, findings).share, Row(fault, findings).share) == (0.75, 0.5)
    assert Row(fault, findings).others == Counter(b=2)
    assert Row(fault, findings).error == pytest.approx(0.25)
    assert Row(clean, [()] * 100).error == pytest.approx(0.01, rel=0.01)  # of one finding


@pytest.mark.parametrize("case", [fault_cases()[1], fault_cases()[-1]], ids=lambda case: case.name)
def test_maps_with_a_fault_are_found_and_the_same_whenever_they_are_made(case):
    found = [simulate(case, 5, number) for number in range(3)]

    assert found == [simulate(case, 5, number) for number in range(3)]
    assert any(case.right in kinds for kinds in found)


def test_maps_of_each_clean_kind_can_be_drawn(monkeypatch):
    monkeypatch.setattr(
        "simulated.checks.kinds_in", lambda patches, _: (str(np.isfinite(patches["x"][0].truth).any()),)
    )

    assert {simulate(case, 0, number) for case in clean_cases() for number in range(2)} == {("True",)}


def test_the_script_prints_a_row_for_each_case():
    cases = [fault_cases()[-1]]
    table = markdown(measured(cases, 2, seed=0, workers=1))

    assert table.splitlines()[-1] == "| std is the truth | 2 | 100 ± 35 |  |"
    assert subprocess.run([sys.executable, str(SCRIPT), "--help"], capture_output=True, check=True).stdout


def test_tables_are_written_between_the_marks_of_a_page():
    page = "before\n<!-- check rates -->\nold\n<!-- /check rates -->\nafter\n"

    assert written(page, "new\n") == "before\n<!-- check rates -->\nnew\n<!-- /check rates -->\nafter\n"
    with pytest.raises(SystemExit):
        written("nothing", "new\n")


def test_the_tables_of_the_page_have_a_row_for_each_case():
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- check rates -->\n")
    lines = [line.strip("| ").split(" | ") for line in rest.partition("<!-- /check")[0].splitlines() if "|" in line]
    names = [
        line[0] for line in lines if line[0] not in ("clean maps", "fault", "all") and not line[0].startswith("--")
    ]

    assert names == [case.name for case in (*clean_cases(), *fault_cases())]
