"""The evaluation units of an experiment: the tiles, the whole, and the regions that are lists of tiles."""

import pytest
from alike import same

from geouq import regions
from geouq.config import load_experiment
from geouq.regions import evaluation_units
from geouq.summary import add_all

NAMES = ("a1", "a2", "b1", "b2")
TEXT = "variables: [height, cover]\nregions: {west: [a2, a1], east: [b1, b2], north: [a1, b1], far: [b2]}"


@pytest.fixture
def wholes(tile_folder, sweep_one):
    """An experiment of four regions, and a function that gives its tiles and notes which it was to give."""
    config = tile_folder(NAMES, text=TEXT)
    swept, requested = sweep_one(config), []

    def of(tiles):
        requested.append(tiles)
        return (swept[name] for name in NAMES if tiles is None or name in tiles)

    return load_experiment(config), of, requested


@pytest.mark.parametrize("most", [1, 2, 5, 8, 400])
def test_regions_are_summed_in_groups_that_hold_few_sums_and_read_only_their_tiles(most, wholes, monkeypatch):
    experiment, of, requested = wholes
    at_once = {unit.name: unit for unit in evaluation_units(experiment, ("height", "cover"), of)}
    requested.clear()
    monkeypatch.setattr(regions, "SUMS", most)

    units = list(evaluation_units(experiment, ("height", "cover"), of))

    assert [unit.name for unit in units] == [*NAMES, "all", "west", "east", "north", "far"]
    assert [unit.level for unit in units] == ["tile"] * 4 + ["all"] + ["region"] * 4
    assert [(unit.name, unit.tiles) for unit in units[5:]] == [
        ("west", ("a1", "a2")), ("east", ("b1", "b2")), ("north", ("a1", "b1")), ("far", ("b2",)),
    ]  # fmt: skip
    for unit in units:
        assert same(dict(unit.variables), dict(at_once[unit.name].variables))
    together = max(1, most // 2)
    groups = [{"a1", "a2"}, {"b1", "b2"}, {"a1", "b1"}, {"b2"}]
    expected = [set().union(*groups[start : start + together]) for start in range(together, 4, together)]
    assert requested == [None, *expected]


def test_a_region_is_the_sum_of_its_tiles(wholes):
    experiment, of, _ = wholes
    units = {unit.name: unit for unit in evaluation_units(experiment, ("height", "cover"), of)}

    for name, tiles in {"all": NAMES, "west": ("a1", "a2"), "far": ("b2",)}.items():
        for variable in ("height", "cover"):
            assert units[name].variables[variable] == add_all(units[tile].variables[variable] for tile in tiles)
