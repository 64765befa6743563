"""File names for any text."""

from hypothesis import given
from hypothesis import strategies as st

from geouq.text.naming import file_name

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


def test_long_names_that_begin_alike_stay_distinct():
    names = {file_name("字" * 60 + end) for end in ("a", "b", "")}

    assert len(names) == 3
    assert all("~" in name for name in names)
