"""Numbers and words for people."""

import pytest

from geouq.text.wording import calibration_word, for_people


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.4, "999"),
        (999.7, "1000"),
        (-999.7, "-1000"),
        (4253.4, "4253"),
        (999_999.7, "1e+06"),
        (0.00012345, "0.000123"),
        (0.0, "0"),
        (None, "n/a"),
    ],
)
def test_numbers_have_three_digits_and_no_exponent_below_a_million(value, text):
    assert for_people(value) == text


@pytest.mark.parametrize(
    ("zms", "word"), [(None, "no pixels"), (1.0, "calibrated"), (1.2, "over-confident"), (0.8, "under-confident")]
)
def test_a_mean_square_above_one_is_over_confident(zms, word):
    assert calibration_word(zms) == word
