"""File names for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geouq.core.naming import file_name

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(one=TEXTS, other=TEXTS)
def test_distinct_texts_get_distinct_names(one, other):
    assert (file_name(one) == file_name(other)) == (one == other)


@given(text=TEXTS)
def test_a_name_leaves_no_folder(text):
    name = file_name(text)

    assert "/" not in name
    assert "\\" not in name
    assert not name.startswith(".")
    assert name.isascii()


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
def test_a_name_fits_into_a_file_system(text):
    assert len(file_name(text)) <= 100


@pytest.mark.parametrize("device", ["CON", "con", "Aux", "NUL", "prn", "COM1", "lpt9"])
@pytest.mark.parametrize("rest", ["", ".", ".tif", ".a.b"])
def test_no_name_is_a_device_of_windows(device, rest):
    """Nor with a suffix, whatever the case."""
    name = file_name(device + rest)

    assert name.partition(".")[0].lower() != device.lower()
    assert file_name(f"{device}x{rest}").startswith(f"{device}x")


@pytest.mark.parametrize("text", ["west.", "west ", "west. ", ".", ".."])
def test_no_name_ends_in_a_dot_or_a_blank(text):
    assert file_name(text)[-1] not in ". "


def test_long_names_that_begin_alike_stay_distinct():
    names = {file_name("字" * 60 + end) for end in ("a", "b", "")}

    assert len(names) == 3
    assert all("~" in name for name in names)
