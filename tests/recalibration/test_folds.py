"""What a correction is judged on it was not fitted on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geouq.core.errors import ConfigError
from geouq.recalibration.fitting import REST, Fold, k_fold, leave_one_region_out

NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)


def test_a_fold_that_is_judged_on_what_it_was_fitted_on_is_refused():
    with pytest.raises(ConfigError, match="b would be fitted on and judged"):
        Fold("x", ("a", "b"), ("b", "c"))


@given(NAMES, st.dictionaries(st.sampled_from(["west", "east", "north"]), NAMES), st.integers(2, 9))
def test_every_tile_is_judged_once_and_never_by_what_has_seen_it(tiles, regions, count):
    for folds in (leave_one_region_out(tiles, regions), k_fold(tiles, count)):
        if folds:
            assert len(folds) > 1
            assert sorted(tile for fold in folds for tile in fold.judged) == sorted(tiles)
        for fold in folds:
            assert not set(fold.judged) & set(fold.fitted)
            assert set(fold.judged) | set(fold.fitted) == set(tiles)


@given(NAMES, st.dictionaries(st.sampled_from(["west", "east", "north"]), NAMES))
def test_no_tile_of_a_region_is_judged_by_what_has_seen_another_tile_of_it(tiles, regions):
    for fold in leave_one_region_out(tiles, regions):
        for members in regions.values():
            if set(members) & set(fold.judged):
                assert not set(members) & set(fold.fitted)


def test_regions_that_share_a_tile_go_together_and_the_rest_is_a_fold():
    folds = leave_one_region_out("abcde", {"one": "ab", "two": "c", "three": "bc"})

    assert [(fold.name, "".join(fold.judged)) for fold in folds] == [("one and two and three", "abc"), (REST, "de")]
    assert leave_one_region_out("abc", {"one": "ab", "two": "bc"}) == ()
    assert k_fold("a", 5) == ()
