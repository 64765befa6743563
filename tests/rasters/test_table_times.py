"""Items and features with times: they give the numbers of files with {time} in their paths."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from landscape import write_raster
from products import boreal_grid, calibrated, item, numbers, numbers_of_run, write_features, write_items

import geouq
from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError, DataError
from geouq.rasters.catalog import find_tiles
from geouq.rasters.steps import with_step_regions
from geouq.rasters.table_times import Entry, places_of
from geouq.starting.begin import starter_config

TILES, YEARS = ("N10", "N20"), (2010, 2015, 2020)
QUICK = {"output": {"directory": "out", "maps": "none", "figures": "none"}, "intervals": {"resamples": 100}}
BANDS = {"mean": {"band": 1}, "std": {"band": 2}, "truth": "truth/{tile}_{time}.tif"}
ITEMS = {"stac": "items.json", "asset": "cog", "time": "datetime"}
FILES = {"mean": {"path": "maps/{tile}_{time}.tif", "band": 1}, "std": {"path": "maps/{tile}_{time}.tif", "band": 2}}
STEPS = [f"{tile}_{year}" for tile in TILES for year in YEARS]


def start_of(year):
    return {"datetime": None, "start_datetime": f"{year}-01-01T00:00:00Z", "end_datetime": f"{year}-12-31T23:59:59Z"}


@pytest.fixture
def pixels(tmp_path, monkeypatch):
    """Two tiles in three years: mean and std in one file, and truth, with an item for each of them."""
    monkeypatch.chdir(tmp_path)
    found, items = {}, []
    for place, tile in enumerate(TILES):
        for year in YEARS:
            name = f"{tile}_{year}"
            found[name] = calibrated(place * 100 + year)
            write_raster(tmp_path / f"maps/{name}.tif", np.stack(found[name][:2]), **boreal_grid(place))
            write_raster(tmp_path / f"truth/{name}.tif", found[name][2], **boreal_grid(place))
            items.append(item(name, {"cog": {"href": f"maps/{name}.tif"}}, **start_of(year), grid=f"tile-{tile}"))
    write_items(tmp_path / "items.json", *items)
    return found


def experiment(data=None, tiles=ITEMS, **more):
    written = {"version": 1, "name": "boreal", "variables": ["agb"], "data": BANDS | (data or {})} | QUICK | more
    return load_experiment(written if tiles is None else written | {"tiles": tiles})


def names(own):
    return [tile.name for tile in find_tiles(own).tiles]


def changed(change, path="items.json"):
    """Change each item of a file; an item that becomes None is left out."""
    features = json.loads(Path(path).read_text("utf-8"))["features"]
    write_items(Path(path), *filter(None, map(change, features)))


def table(own):
    results = geouq.run(own)
    assert not results.failures
    return results.metrics[["level", "name", "variable", "metric", "bins", "value"]].reset_index(drop=True)


ALIKE = {
    "pooled": {},
    "years": {"regions": {"years": {"dimension": "time", "by": "year"}}},
    "lists": {"regions": {"north": ["N20"], "late": ["N10_2020", "N20_2020"]}},
}


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("more", ALIKE.values(), ids=ALIKE)
def test_items_give_the_numbers_of_files_with_a_time(more):
    pd.testing.assert_frame_equal(table(experiment(**more)), table(experiment(FILES, None, **more)), check_exact=True)


def test_each_time_of_a_tile_has_the_numbers_of_its_pixels(pixels):
    geouq.run(experiment())

    found = numbers_of_run("out")
    assert found.keys() == pixels.keys()
    for name, own in pixels.items():
        assert found[name] == pytest.approx(numbers(*own), rel=1e-6), name


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"data": {"select": {"time": [2010, 2020]}}}, [name for name in STEPS if "2015" not in name]),
        ({"data": {"select": {"time": "2015..2020"}}}, [name for name in STEPS if "2010" not in name]),
        ({"tiles": ITEMS | {"names": ["N20"]}}, STEPS[3:]),
        ({"tiles": ITEMS | {"names": ["N10_2015", "N20"]}}, [STEPS[1], *STEPS[3:]]),
    ],
    ids=str,
)
def test_times_and_tiles_of_items_are_selected(more, expected):
    assert names(experiment(**more)) == expected


@pytest.mark.usefixtures("pixels")
def test_a_time_that_no_item_has_cannot_be_selected():
    with pytest.raises(ConfigError, match=r"data.select.time: mean: time has no 2012; it has 2010, 2015, 2020"):
        names(experiment({"select": {"time": 2012}}))


def test_a_lazy_stack_has_the_times_of_items_as_a_dimension(pixels):
    stack = geouq.open_stack(experiment(), "N10")

    assert list(stack["time"].values) == [np.datetime64(f"{year}-01-01", "ns") for year in YEARS]
    np.testing.assert_array_equal(stack["mean"].isel(time=1, variable=0).compute(), pixels["N10_2015"][0])


@pytest.mark.usefixtures("pixels")
def test_a_time_without_any_truth_is_left_out_with_a_note(tmp_path):
    for tile in TILES:
        (tmp_path / f"truth/{tile}_2015.tif").unlink()

    found = find_tiles(experiment())

    assert [tile.name for tile in found.tiles] == [name for name in STEPS if "2015" not in name]
    assert f"1 of 3 times are left out: no file matches {tmp_path}/truth/{{tile}}_{{time}}.tif at 2015" in found.notes


@pytest.mark.usefixtures("pixels")
def test_truth_is_joined_from_other_items_by_tile_and_time(tmp_path):
    truth = [
        item(f"als-{tile}-{year}", {"dtm": {"href": f"{tile}_{year}.tif"}}, datetime=f"{year}-01-01", place=tile)
        for tile in TILES
        for year in YEARS[:2]
    ]
    write_items(tmp_path / "truth/items.json", *truth)
    own = {"truth": {"asset": "dtm", "tiles": {"stac": "truth/items.json", "time": "datetime", "name": "place"}}}

    found = find_tiles(experiment(own))

    expected = [name for name in STEPS if "2020" not in name]
    assert [tile.name for tile in found.tiles] == expected
    assert [tile.truth.path for tile in found.tiles] == [str(tmp_path / f"truth/{name}.tif") for name in expected]
    assert f"1 of 3 times are left out: {tmp_path}/truth/items.json has no truth at 2020" in found.notes


@pytest.mark.usefixtures("pixels")
def test_items_without_a_time_are_the_same_at_all_times(tmp_path):
    write_items(tmp_path / "t.json", *(item(tile, {"dtm": {"href": f"truth/{tile}_2010.tif"}}) for tile in TILES))
    own = experiment({"truth": {"asset": "dtm", "tiles": {"stac": "t.json"}}})

    found = find_tiles(own).tiles

    assert [Path(tile.truth.path).stem for tile in found] == ["N10_2010"] * 3 + ["N20_2010"] * 3


@pytest.mark.usefixtures("pixels")
def test_a_property_names_the_tiles():
    for path in list(Path("truth").iterdir()):
        path.rename(path.with_stem(f"tile-{path.stem}"))

    assert names(experiment(tiles=ITEMS | {"name": "grid"})) == [f"tile-{name}" for name in STEPS]


@pytest.mark.usefixtures("pixels")
def test_items_are_one_tile_if_their_footprints_are_alike(tmp_path):
    ids = {name: f"v4-{'abcdef'[place]}" for place, name in enumerate(STEPS)}

    def renamed(own):
        place = TILES.index(own["id"][:3])
        grid = {"proj:shape": [60, 70], "proj:transform": list(boreal_grid(place)["transform"])}
        return own | {"id": ids[own["id"]], "properties": own["properties"] | grid}

    changed(renamed)
    for tile, first in zip(TILES, ("v4-a", "v4-d"), strict=True):
        for year in YEARS:
            (tmp_path / f"truth/{tile}_{year}.tif").rename(tmp_path / f"truth/{first}_{year}.tif")

    assert names(experiment()) == [f"{first}_{year}" for first in ("v4-a", "v4-d") for year in YEARS]


@pytest.mark.usefixtures("pixels")
def test_items_that_are_named_after_times_are_one_tile(tmp_path):
    changed(lambda own: own | {"id": own["id"][4:]} if own["id"].startswith("N10") else None)
    for year in YEARS:
        (tmp_path / f"truth/N10_{year}.tif").rename(tmp_path / f"truth/{year}.tif")

    assert names(experiment({"truth": "truth/{time}.tif"})) == ["2010", "2015", "2020"]


@pytest.mark.usefixtures("pixels")
def test_items_in_parquet_have_times_too(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "id": name,
            "datetime": pd.Timestamp(f"{name[4:]}-06-01T10:00:00.5", tz="UTC").to_pydatetime(),
            "assets": {"cog": {"href": f"maps/{name}.tif"}},
        }
        for name in STEPS
    ]
    pq.write_table(pa.Table.from_pylist(rows), "items.parquet")
    for path in list((tmp_path / "truth").iterdir()):
        path.rename(path.with_stem(f"{path.stem}0601T10"))

    assert names(experiment(tiles=ITEMS | {"stac": "items.parquet"})) == [f"{name}-06-01T10" for name in STEPS]


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("named", [True, False], ids=["name", "stem"])
def test_an_index_with_years_gives_the_numbers_of_files_with_a_time(tmp_path, named):
    pytest.importorskip("pyogrio")
    columns = {
        "location": [f"maps/{name}.tif" for name in STEPS],
        "place": [name[:3] for name in STEPS],
        "year": [int(name[4:]) for name in STEPS],
    }
    write_features(tmp_path / "index.gpkg", columns)
    index = {"index": "index.gpkg", "time": "year"} | ({"name": "place"} if named else {})
    regions = {"regions": {"years": {"dimension": "time", "by": "year"}}}

    found = table(experiment(tiles=index, **regions))

    pd.testing.assert_frame_equal(found, table(experiment(FILES, None, **regions)), check_exact=True)


@pytest.mark.usefixtures("pixels")
def test_features_of_one_name_need_a_time(tmp_path):
    pytest.importorskip("pyogrio")
    write_features(tmp_path / "i.gpkg", {"location": ["a.tif", "b.tif"], "place": ["N10", "N10"], "year": [2010, 2010]})

    with pytest.raises(ConfigError, match=r"two features are tile 'N10'; .*give the attribute of their times as tiles"):
        find_tiles(experiment({"truth": "truth/{tile}.tif"}, {"index": "i.gpkg", "name": "place"}))
    with pytest.raises(ConfigError, match="'N10' and 'N10' are the time 2010 of tile 'N10'; keep one of them"):
        find_tiles(experiment(tiles={"index": "i.gpkg", "name": "place", "time": "year"}))


@pytest.mark.usefixtures("pixels")
def test_a_run_can_be_continued_and_recalibrated(geouq):
    Path("boreal.yaml").write_text(to_yaml(experiment()), "utf-8")
    assert geouq("run", "boreal.yaml", "--only", "N10_2010").exit_code == 0
    assert geouq("run", "boreal.yaml").exit_code == 0
    assert numbers_of_run("out").keys() == set(STEPS)

    assert geouq("recalibrate", "out", "--method", "scale", "--apply", "all").exit_code == 0

    rasters = Path("out/recalibration/rasters").iterdir()
    assert {path.name for path in rasters} == {f"{name}_variance.tif" for name in STEPS}


@pytest.mark.usefixtures("pixels")
def test_years_have_regions_and_no_seasons():
    own = experiment(regions={"years": {"dimension": "time", "by": "year"}, "all-dates": {"dimension": "time"}})
    with pytest.raises(ConfigError, match="2010 names another region already"):
        with_step_regions(own, find_tiles(own))
    own = experiment(regions={"seasons": {"dimension": "time", "by": "season"}})
    with pytest.raises(ConfigError, match="2010 is a year without months"):
        with_step_regions(own, find_tiles(own))


WRONG = {
    "{time} in a path alone": (
        {},
        {"stac": "items.json", "asset": "cog"},
        "has {time}, but the tiles have no time: wri",
    ),
    "{time} of an index": ({}, {"index": "items.json"}, "write tiles.time, the attribute that holds the time"),
    "{time} in an asset": (
        {"mean": {"asset": "agb_{time}"}},
        ITEMS,
        "data.mean: the name of an asset cannot hold {time}",
    ),
    "a std without": ({"std": "maps/{tile}_sd.tif"}, ITEMS, "data.std: needs {time} where the time stands, as other"),
    "a std of other items": (
        {"std": {"asset": "sd", "tiles": {"stac": "sd.json"}}},
        ITEMS,
        "data.std: needs a time of its items or features, as other layers of the prediction have it",
    ),
    "the truth alone": (
        {"truth": {"asset": "dtm", "tiles": ITEMS}},
        {"stac": "items.json", "asset": "cog"},
        "data.truth: its items or features have a time, but the prediction has none",
    ),
    "another property": ({}, ITEMS | {"time": "created"}, "items.json: 'N10_2010' has no time"),
    "another name": ({}, ITEMS | {"name": "gird"}, "tiles.stac: name: "),
}


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_named(wrong):
    data, tiles, message = WRONG[wrong]

    with pytest.raises(ConfigError) as refused:
        find_tiles(experiment(data, tiles))

    assert message in str(refused.value)


def test_two_items_of_a_tile_at_one_time_are_refused():
    entries = [Entry("N10_2010_a", "2010-01-01", "N10"), Entry("N10_2010_b", "2010-01-01T00:00:00Z", "N10")]

    with pytest.raises(DataError, match="'N10_2010_a' and 'N10_2010_b' are the time 2010 of tile 'N10'"):
        places_of(entries)


@pytest.mark.usefixtures("pixels")
def test_init_finds_the_times_of_items():
    changed(lambda own: own | {"assets": {"mean": own["assets"]["cog"], "std": own["assets"]["cog"]}})

    text = starter_config(["items.json", "truth"]).text

    assert "time: datetime" in text
    assert "truth: 'truth/{tile}_{time}.tif'" in text
