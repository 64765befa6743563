"""Regions of the same pixels count once among the tests."""

import json

from csv_rows import rows_of

import geouq


def test_a_second_name_for_a_region_changes_no_test_of_the_others(tile_folder, tmp_path):
    text = "variables: [height]\noutput: {maps: none, figures: none}\nregions: "
    found = []
    for k, regions in enumerate(({"west": ["a1"], "east": ["b1"]}, {"west": ["a1"], "east": ["b1"], "also": ["a1"]})):
        config = tile_folder(shape=(160, 160), text=text + json.dumps(regions))
        folder = geouq.run(config, options=geouq.Options(out=tmp_path / str(k))).folder
        rows = rows_of(folder / "tables" / "tests.csv")
        found.append({(row["level"], row["name"], row["metric"], row["bins"]): row["p_adjusted"] for row in rows})
    once, twice = found

    assert {place[1] for place in twice} == {"all", "west", "east", "also"}
    assert once.items() <= twice.items()
    assert len(once) < len(twice)
