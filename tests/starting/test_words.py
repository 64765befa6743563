"""Words in names say which layer a file, a band or an array is."""

import pytest

from geouq.starting.tiles import pattern_of, tile_names
from geouq.starting.words import mark_of


@pytest.mark.parametrize(
    ("name", "role", "value"),
    [
        ("N10_AGB_SD-MERGED", "std", ""),
        ("X_Map", "mean", ""),
        ("X_Map_SD", "std", ""),
        ("SE_mean", "mean", ""),
        ("mean_SE", "std", ""),
        ("mean_m01", "mean", ""),
        ("GEDI04_B_PE", "relative_std", ""),
        ("ocs_0-30cm_Q0.05", "quantiles", "0.05"),
        ("v1_p90", "quantiles", "0.9"),
        ("median_of_all", "quantiles", "0.5"),
        ("t1_member07", "members", "07"),
        ("sim_12", "members", "12"),
        ("e1", "", ""),
        ("p100", "", ""),
        ("meaningful", "", ""),
    ],
)
def test_the_word_that_counts_is_found(name, role, value):
    mark = mark_of(name)

    assert (mark.role, mark.value) == (role, value) if mark else role == ""


@pytest.mark.parametrize(
    ("keys", "tiles"),
    [
        (["a_1_v2", "a_2_v2"], ["1", "2"]),
        (["N00_E010", "N00_E020"], ["E010", "E020"]),
        (["N00_E010", "N10_E020"], ["N00_E010", "N10_E020"]),
        (["x_y"], ["x_y"]),
    ],
)
def test_the_tile_is_what_differs(keys, tiles):
    assert list(tile_names(keys).values()) == tiles


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        ({"1": ["t/a_1.tif"], "2": ["t/a_2.tif"]}, "t/a_{tile}.tif"),
        ({"1": ["1/a_1.tif"], "2": ["2/a_2.tif"]}, "{tile}/a_{tile}.tif"),
        ({"1": ["v1/1.tif", "v1/1_x.tif"], "2": ["v1/2.tif"]}, "v1/{tile}.tif"),
        ({"1": ["a_1_1.tif"], "2": ["a_1_2.tif"]}, "a_1_{tile}.tif"),
        ({"1": ["b.tif"]}, ""),
    ],
)
def test_the_path_that_most_tiles_have_is_found(paths, pattern):
    assert pattern_of(paths)[0] == pattern
