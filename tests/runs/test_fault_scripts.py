"""A few faults of every kind end well, and the page that tells of thousands is made of what was counted."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
SECTIONS = ("configs", "rasters", "servers", "kills", "disks")
ROW = re.compile(r"\| .+ \| (\d+) \| .+ \|")


def rows(page, section):
    """How often each kind of fault was tried, by the page."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- {section} -->\n")
    table, _, _ = rest.partition(f"<!-- /{section} -->")
    return [int(found[1]) for found in map(ROW.fullmatch, table.splitlines()) if found]


@pytest.mark.parametrize("sections", [("configs",), ("rasters",), ("servers",), ("kills", "disks")], ids=" ".join)
def test_faults_of_each_kind_end_well(tmp_path, sections):
    """Kills and disks are tried by one program, as both are compared with the same undisturbed run."""
    page = Path(shutil.copy(PAGE, tmp_path))
    kinds = {section: len(rows(page, section)) for section in sections}
    command = [sys.executable, ROOT / "scripts" / "faults", *sections, "--times", "1", "--write", page]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)

    assert done.returncode == 0, done.stdout + done.stderr
    for section in sections:
        assert len(rows(page, section)) == kinds[section]
        assert set(rows(page, section)) <= ({0, 1} if section == "disks" else {1})  # small disks are for root alone


@pytest.mark.parametrize(("section", "least"), list(zip(SECTIONS, (100, 500, 20, 20, 5), strict=True)))
def test_the_page_tells_of_many(section, least):
    assert min(rows(PAGE, section)) >= least
    assert max(rows(PAGE, "kills")) >= 100
