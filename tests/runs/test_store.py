"""Where the summaries of many small tiles are, what a second run takes from there, and what becomes of damage."""

import json
from pathlib import Path

import pytest
from alike import same

from geouq import load_tile
from geouq.runs.store import SavedFiles
from geouq.summary.tiles_file import tiles_file

TILES = [f"t{number}" for number in range(10)]
SHORT = "variables: [height]\noutput: {maps: none, figures: none}\nintervals: {resamples: 100}\n"


@pytest.fixture
def evaluated(tile_folder, geouq):
    """The configuration and the results of ten small tiles."""
    config = tile_folder(TILES, text=SHORT)
    assert geouq("run", config).exit_code == 0
    return config, config.parent / "results" / "small"


def together(folder):
    return sorted(path.name for path in (folder / "summaries" / "together").iterdir())


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def changed(config, tile):
    path = next(Path(config.parent).rglob(f"{tile}_mean.tif"))
    path.touch()


def test_many_small_tiles_share_a_file_that_the_record_names_and_a_second_run_reuses(evaluated, geouq):
    config, folder = evaluated
    assert together(folder) == ["0001.nc"]
    assert list(json.loads((folder / "run.json").read_text())["summaries"]) == ["summaries/together/0001.nc"]

    again = geouq("run", config)

    assert "10 of 10 tiles are summarised already" in again.output
    assert together(folder) == ["0001.nc"]


def test_files_hold_about_the_same_number_of_tiles_and_no_tile_is_left_alone(tile_folder, geouq):
    tiles = [f"t{number}" for number in range(18)]
    assert geouq("run", tile_folder(tiles, text=SHORT, shape=(175, 175))).exit_code == 0

    folder = Path("results/small/summaries")
    assert [path.name for path in folder.iterdir()] == ["together"]  # none has a file of its own
    assert sorted(len(tiles_file(path).tiles) for path in (folder / "together").iterdir()) == [9, 9]


def test_few_tiles_and_large_tiles_have_a_file_each(tile_folder, geouq):
    assert geouq("run", tile_folder(TILES[:3], text=SHORT)).exit_code == 0
    assert geouq("run", tile_folder(TILES, text=SHORT, shape=(190, 190)), "--out", "large").exit_code == 0

    for folder, tiles in ((Path("results/small"), TILES[:3]), (Path("large"), TILES)):
        assert sorted(path.stem for path in (folder / "summaries").iterdir()) == sorted(tiles)


def test_identical_runs_write_identical_files(evaluated, geouq):
    config, folder = evaluated

    assert geouq("run", config, "--out", "other").exit_code == 0

    paths = [place / "summaries" / "together" / "0001.nc" for place in (folder, Path("other"))]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_tile_that_is_read_again_alone_is_read_from_its_new_file(evaluated, geouq):
    config, folder = evaluated
    before = load_tile(folder / "summaries" / "together" / "0001.nc", "t3")
    changed(config, "t3")

    assert "9 of 10 tiles are summarised already" in geouq("run", config).output

    assert SavedFiles(folder).path("t3") == folder / "summaries" / "t3.nc"
    assert same(load_tile(folder / "summaries" / "t3.nc"), before)
    assert "10 of 10 tiles are summarised already" in geouq("run", config).output


def test_a_file_whose_tiles_are_all_read_again_is_removed(evaluated, geouq):
    config, folder = evaluated

    assert geouq("run", config, "--fresh").exit_code == 0

    assert together(folder) == ["0002.nc"]
    assert "10 of 10 tiles are summarised already" in geouq("run", config).output


def test_a_file_that_holds_a_tile_that_is_still_read_from_there_stays(evaluated, geouq):
    config, folder = evaluated
    for tile in TILES[1:]:
        changed(config, tile)

    assert "1 of 10 tiles are summarised already" in geouq("run", config).output

    assert together(folder) == ["0001.nc", "0002.nc"]
    assert SavedFiles(folder).path("t0").name == "0001.nc"


def test_the_tiles_of_a_damaged_file_are_swept_again_and_the_file_is_named(evaluated, geouq):
    config, folder = evaluated
    metrics = (folder / "tables" / "metrics.csv").read_bytes()
    damage(folder / "summaries" / "together" / "0001.nc")

    refused, again = geouq("report", folder), geouq("run", config)

    assert refused.exit_code == 2
    assert "0001.nc cannot be read" in refused.output.replace("\n", "")
    assert "the tiles in summaries/together/0001.nc are swept again, as it is damaged" in again.output
    assert together(folder) == ["0002.nc"]
    assert (folder / "tables" / "metrics.csv").read_bytes() == metrics


def test_exact_edges_of_small_tiles_are_saved_and_used_again(tile_folder, geouq):
    config = tile_folder(
        TILES, text=SHORT + "bins: {schemes: [{edges: [0, 1.5, 4, 100]}], exact: true}\n", shape=(120, 120)
    )
    assert geouq("run", config).exit_code == 0
    folder = config.parent / "results" / "small"
    metrics = (folder / "tables" / "metrics.csv").read_bytes()

    assert "10 of 10 tiles are summarised already" in geouq("run", config).output

    assert (folder / "tables" / "metrics.csv").read_bytes() == metrics
    assert {row.split(",")[-1] for row in (folder / "tables" / "bins.csv").read_text().splitlines()[1:]} == {"exact"}
