"""Numbers and words for people."""

import pytest

from geouq.core.wording import for_people


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
