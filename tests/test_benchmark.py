"""The benchmark runs, and says what it measured; how long it takes is no test."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "benchmark"


@pytest.mark.parametrize(
    ("section", "first"), [("sweep", "deflate, band order"), ("kernel", "the notebook's four calls")]
)
def test_a_section_prints_a_table_of_ratios(tmp_path, section, first):
    options = ["--data", str(tmp_path), "--size", "256", "--kernel-size", "128", "--rounds", "1"]
    done = subprocess.run([sys.executable, str(SCRIPT), section, *options], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows[0][1:] == ["ratio", "spread", "target", "others' CPUs"]
    assert rows[2][0] == first
    assert float(rows[2][1]) > 0


def test_an_unknown_section_is_refused():
    done = subprocess.run([sys.executable, str(SCRIPT), "swep"], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "there is no section swep" in done.stderr
