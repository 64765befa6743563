"""Each mistake in wiring a product is refused or reported, as the page of mistakes says."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from mistaken.cases import mistakes
from mistaken.maps import Maps
from mistaken.outcomes import SILENT, outcome_of
from mistaken.page import row_of

import geouq

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mistakes.md"
MISTAKES = mistakes()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_mistake_is_noticed_as_documented(mistake):
    with TemporaryDirectory() as folder:  # whose path is short, as messages cut long ones
        outcome = outcome_of(mistake, Path(folder))

    assert outcome.by != SILENT
    assert row_of(mistake, outcome) in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_right_product_has_no_finding(tmp_path):
    config = Maps.made(tmp_path).written()

    assert geouq.check(config).findings == geouq.check(config, deep=True).findings == ()


def test_mistakes_have_names_of_their_own_and_each_has_a_row():
    names = [mistake.what for mistake in MISTAKES]

    assert len(set(names)) == len(names) >= 60
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("\n| ") - text.count("\n| mistake |") == len(names)
    assert "None passes without a word" in text
