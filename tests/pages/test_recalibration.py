"""A recalibration of the run stands on its first page, and one of another run does not."""

import pytest
from report_content import HOSTILE, Page, content

from geouq.pages import read_recalibration, write_report
from geouq.recalibration.corrections import Scale
from geouq.recalibration.recalibrator import Provenance, Recalibrator, save_recalibrator
from geouq.tables.columns import RECALIBRATION
from geouq.tables.rows import Table, write_csv

STARTED = "2026-01-01T00:00:00Z"
SENTENCE = f"P95: scale, CRPS 1 instead of 2 {HOSTILE}"


def row(**changes):
    told = {"level": "all", "name": "all", "variable": "P95", "model": "", "method": "scale", "judged": "k-fold"}
    numbers = {"metric": "crps", "before": 2.0, "after": 1.25, "better": "after", "significant": "yes", "chosen": "yes"}
    return dict.fromkeys(RECALIBRATION.columns) | told | numbers | changes


@pytest.fixture
def run_folder(tmp_path):
    own = tmp_path / "recalibration"
    fitted_on = Provenance("small", "", ("a",), 9, STARTED)
    save_recalibrator(Recalibrator("P95", "m", Scale(2.0), fitted_on, "", (SENTENCE,)), own / "P95.json")
    (own / "figures" / "all").mkdir(parents=True)
    (own / "figures/all/P95_before_after.png").touch()
    rows = (row(), row(judged="in-sample", after=0.125), row(method="affine", after=9.5, chosen="no"))
    write_csv(Table(RECALIBRATION.columns, rows), own / "recalibration.csv")
    return tmp_path


def test_the_first_page_tells_what_was_chosen_out_of_fold(run_folder):
    found = read_recalibration(run_folder, STARTED, {"P95": "P95", "none": "none"})
    index, *_ = write_report(content(recalibrated=found), run_folder / "report")

    html = index.read_text(encoding="utf-8")
    page = Page(html)
    text = " ".join(page.texts)
    assert SENTENCE in text
    assert HOSTILE not in html
    assert "1.25" in text
    assert "before: 2" in text
    assert "0.125" not in text
    assert "9.5" not in text
    assert "../recalibration/figures/all/P95_before_after.png" in page.links
    assert "../recalibration/recalibration.csv" in page.links


def test_a_recalibration_of_another_run_is_not_shown(run_folder, tmp_path):
    assert read_recalibration(run_folder, "2027", {"P95": "P95"}) is None
    assert read_recalibration(tmp_path / "none", STARTED, {"P95": "P95"}) is None
    index, *_ = write_report(content(), tmp_path / "report")
    assert 'id="recalibration"' not in index.read_text(encoding="utf-8")
