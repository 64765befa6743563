"""Rows of tests: p-values are adjusted for the number of regions, and regions of the same pixels count once."""

import pytest

from geouq.inference import adjusted, false_discovery_adjusted


def row_of(name, p_value, value=1.5, level="region", metric="z_std"):
    return {
        "level": level,
        "name": name,
        "variable": "v",
        "metric": metric,
        "bins": "",
        "value": value,
        "p_value": p_value,
    }


def adjusted_by_name(rows, pixels):
    return {
        row["name"]: row["p_adjusted"]
        for row in adjusted(rows, {("region", name, "v"): n for name, n in pixels.items()})
    }


def test_regions_of_different_pixels_are_adjusted_as_before():
    p = [0.01, 0.04, 0.03]
    rows = [row_of(f"r{k}", one, value=1 + k) for k, one in enumerate(p)]
    found = adjusted_by_name(rows, {"r0": 9, "r1": 9, "r2": 9})

    assert list(found.values()) == false_discovery_adjusted(p).tolist()


def test_a_region_of_the_same_pixels_changes_no_other_p_value():
    rows = [row_of("west", 0.03), row_of("east", 0.04, value=1.2), row_of("south", 0.2, value=1.1)]
    pixels = {"west": 100, "east": 90, "south": 80}
    alone = adjusted_by_name(rows, pixels)
    again = adjusted_by_name([*rows, row_of("west again", 0.03)], pixels | {"west again": 100})

    assert again == alone | {"west again": alone["west"]}


def test_of_regions_of_the_same_pixels_the_first_p_value_counts_and_none_is_below_its_own():
    rows = [row_of("west", 0.01), row_of("again", 0.03, value=1.5 * (1 + 1e-13)), row_of("east", 0.04, value=1.2)]
    found = adjusted_by_name(rows, {"west": 100, "again": 100, "east": 90})

    assert found == {name: pytest.approx(p) for name, p in {"west": 0.02, "again": 0.03, "east": 0.04}.items()}


@pytest.mark.parametrize(("n", "other"), [(101, 0.0), (100, 1e-6)])
def test_regions_that_differ_in_a_pixel_or_in_another_number_count_each(n, other):
    rows = [row_of("west", 0.02), row_of("twin", 0.02)]
    rows += [row_of("west", 0.5, 0.1, metric="z_mean"), row_of("twin", 0.5, 0.1 + other, metric="z_mean")]
    rows.append(row_of("east", 0.04, value=1.2))
    found = [
        row["p_adjusted"]
        for row in adjusted(rows, {("region", k, "v"): v for k, v in {"west": 100, "twin": n, "east": 90}.items()})
    ]

    assert found[0] == pytest.approx(0.03)  # the second of three; of two it would be 0.04
