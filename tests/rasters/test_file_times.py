"""Paths with {time}: a file for each time gives the numbers of one dataset with a dimension of time."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from arrays_in_files import PLACE, layers, on_map, save, with_crs
from landscape import write_raster

import geouq
from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles
from geouq.rasters.file_times import label_of_time
from geouq.rasters.steps import with_step_regions

SHAPE = (40, 50)
DAYS = pd.to_datetime(["2019-12-01", "2020-03-01", "2020-06-01", "2020-07-01"])
KEYS = ("mean", "variance", "truth")
QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}, "variables": ["v"]}
PATHS = {key: f"maps/{{time}}/agb_{{time}}_{key}.tif" for key in KEYS}


@pytest.fixture
def pixels(tmp_path, monkeypatch):
    """Four months of layers, as files of each month and in one netCDF file."""
    monkeypatch.chdir(tmp_path)
    found = layers(len(DAYS), shape=SHAPE)
    for key, values in found.items():
        for day, own in zip(DAYS.strftime("%Y-%m"), values, strict=True):
            write_raster(tmp_path / f"maps/{day}/agb_{day}_{key}.tif", own, transform=PLACE, nodata=np.nan)
    save(with_crs(on_map(found, dims=("time",)).assign_coords(time=DAYS)), tmp_path / "all.nc")
    return found


def experiment(data=None, name="files", **more):
    return load_experiment({"version": 1, "name": name, "data": PATHS | (data or {})} | QUICK | more)


def of_arrays(data=None, **more):
    arrays = {key: {"path": "all.nc", "variable": key} for key in KEYS}
    return experiment(arrays | (data or {}), "arrays", **more)


def numbers(configuration):
    results = geouq.run(configuration)
    assert not results.failures
    return results.metrics[["level", "name", "variable", "metric", "bins", "value"]].reset_index(drop=True)


def names(configuration):
    return [tile.name for tile in find_tiles(configuration).tiles]


MONTHS = ["2019-12", "2020-03", "2020-06", "2020-07"]
ALIKE = {
    "pooled": {},
    "seasons": {"regions": {"seasons": {"dimension": "time", "by": "season"}}},
    "labels": {"regions": {"dates": {"dimension": "time"}, "summer": ["2020-06", "2020-07"]}},
    "years": {"regions": {"years": {"dimension": "time", "by": "year"}}},
    "named": {"tiles": ["2020-03", "2020-07"]},
    "cut": {"tiles": {"grid": 256}},
}


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("more", ALIKE.values(), ids=ALIKE)
def test_numbers_are_those_of_a_dataset_with_a_time(more):
    pd.testing.assert_frame_equal(numbers(experiment(**more)), numbers(of_arrays(**more)), check_exact=True)


@pytest.mark.parametrize(
    ("select", "expected"),
    {
        "2020": MONTHS[1:],
        "JJA": MONTHS[2:],
        "2020-03..2020-06": MONTHS[1:3],
        ("2019-12", "2020-07"): [MONTHS[0], MONTHS[3]],
        "2020-06": ["2020-06"],
    }.items(),
    ids=str,
)
@pytest.mark.usefixtures("pixels")
def test_times_are_selected_like_those_of_a_dataset(select, expected):
    wanted = {"time": list(select) if isinstance(select, tuple) else select}

    assert names(experiment({"select": wanted})) == expected


@pytest.mark.usefixtures("pixels")
def test_a_time_that_is_not_there_cannot_be_selected():
    with pytest.raises(ConfigError, match=r"data.select.time: mean: time has no 2021; it has 2019-12, 2020-03"):
        names(experiment({"select": {"time": ["2020", "2021"]}}))


def test_layers_without_a_time_are_the_same_at_all_times(pixels, tmp_path):
    mask = np.ones(SHAPE, np.uint8)
    mask[:, :20] = 0
    write_raster(tmp_path / "mask.tif", mask, transform=PLACE)

    table = numbers(experiment({"mask": "mask.tif"}))

    errors = (pixels["mean"].astype(float) - pixels["truth"])[1, :, 20:]
    (bias,) = table.query("name == '2020-03' and metric == 'bias'").value
    assert bias == pytest.approx(errors[np.isfinite(errors)].mean(), rel=1e-9)


def test_tiles_and_times_give_a_step_for_each_pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i, tile in enumerate(("N10_E020", "N10_E030")):
        for key, values in layers(2, shape=SHAPE, seed=i).items():
            for year, own in zip(("2010", "2015"), values, strict=True):
                write_raster(tmp_path / f"{tile}_{year}_{key}.tif", own, transform=PLACE)
    data = {key: f"{{tile}}_{{time}}_{key}.tif" for key in KEYS}
    pairs = ["N10_E020_2010", "N10_E020_2015", "N10_E030_2010", "N10_E030_2015"]

    assert names(experiment(data)) == pairs
    assert names(experiment(data, tiles=["N10_E020"])) == pairs[:2]
    assert names(experiment(data, tiles=["N10_E020_2015", "N10_E030"])) == pairs[1:]
    catalog = find_tiles(own := experiment(data, regions={"first": ["N10_E020"], "years": {"dimension": "time"}}))
    regions = with_step_regions(own, catalog).regions
    assert regions == {"first": tuple(pairs[:2]), "2010": tuple(pairs[::2]), "2015": tuple(pairs[1::2])}
    stack = geouq.open_stack(experiment(data), "N10_E020")
    assert stack["mean"].sizes["time"] == 2


@pytest.mark.usefixtures("pixels")
def test_a_lazy_stack_has_the_times_of_the_files_as_a_dimension(pixels):
    stack = geouq.open_stack(experiment())

    assert list(stack["time"].values) == list(DAYS.to_numpy())
    np.testing.assert_array_equal(stack["mean"].isel(time=2, variable=0).compute(), pixels["mean"][2])


@pytest.mark.usefixtures("pixels")
def test_a_time_without_any_truth_is_left_out_with_a_note(tmp_path):
    (tmp_path / "maps/2020-06/agb_2020-06_truth.tif").unlink()

    found = find_tiles(experiment())

    assert [tile.name for tile in found.tiles] == [MONTHS[0], MONTHS[1], MONTHS[3]]
    assert not found.failures
    assert any("1 of 4 times are left out" in note and "truth.tif at 2020-06" in note for note in found.notes)


def test_truth_at_no_time_of_the_prediction_is_refused(pixels, tmp_path):
    for day in MONTHS:
        (tmp_path / f"maps/{day}/agb_{day}_truth.tif").unlink()
    write_raster(tmp_path / "maps/2021-01/agb_2021-01_truth.tif", pixels["truth"][0], transform=PLACE)

    with pytest.raises(ConfigError, match="no time is in all layers; 4 of 4 times are left out"):
        find_tiles(experiment())


@pytest.mark.usefixtures("pixels")
def test_a_time_without_a_file_of_the_prediction_fails(tmp_path):
    (tmp_path / "maps/2020-06/agb_2020-06_variance.tif").unlink()

    found = find_tiles(experiment())

    (failure,) = found.failures
    assert failure.tile == "2020-06"
    assert "there is no file" in failure.message
    assert "agb_2020-06_variance.tif" in failure.message


@pytest.mark.usefixtures("pixels")
def test_a_file_that_is_not_there_at_one_tile_alone_fails(tmp_path):
    for day in MONTHS[:2]:
        for key in KEYS:
            for tile in ("a", "b"):
                source = (tmp_path / f"maps/{day}/agb_{day}_{key}.tif").read_bytes()
                (tmp_path / f"{tile}_{day}_{key}.tif").write_bytes(source)
    (tmp_path / "b_2020-03_truth.tif").unlink()

    found = find_tiles(experiment({key: f"{{tile}}_{{time}}_{key}.tif" for key in KEYS}))

    assert [tile.name for tile in found.tiles] == ["a_2019-12", "a_2020-03", "b_2019-12"]
    assert [failure.tile for failure in found.failures] == ["b_2020-03"]


def test_dates_of_layers_need_not_be_written_alike(pixels, tmp_path):
    for day, own in zip(DAYS.strftime("%Y%m%d"), pixels["truth"], strict=True):
        write_raster(tmp_path / f"als/{day}.tif", own, transform=PLACE)

    table = numbers(experiment({"truth": "als/{time}.tif"}))

    pd.testing.assert_frame_equal(table, numbers(experiment(name="same")), check_exact=True)


MIXED = {
    "truth in an array": {key: PATHS[key] for key in ("mean", "variance")},
    "prediction in an array": {"truth": PATHS["truth"]},
}


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("files", MIXED.values(), ids=MIXED)
def test_files_of_times_and_arrays_are_matched_by_their_dates(files):
    found = numbers(of_arrays(files))

    pd.testing.assert_frame_equal(found, numbers(experiment(name="same")), check_exact=True)


@pytest.mark.usefixtures("pixels")
def test_times_of_an_array_without_a_file_are_left_out_with_a_note(tmp_path):
    (tmp_path / "maps/2020-06/agb_2020-06_truth.tif").unlink()

    found = find_tiles(of_arrays({"truth": PATHS["truth"]}))

    assert [tile.name for tile in found.tiles] == [MONTHS[0], MONTHS[1], MONTHS[3]]
    assert any("1 of 4 times of mean" in note for note in found.notes)


def test_dates_in_a_file_hold_where_its_name_has_a_time(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for year in (2019, 2020):
        days = pd.date_range(f"{year}-01-01", periods=2, freq="6MS")
        save(
            on_map(layers(2, shape=SHAPE, seed=year), dims=("time",)).assign_coords(time=days), tmp_path / f"{year}.nc"
        )
    arrays = {key: {"path": "{time}.nc", "variable": key} for key in KEYS}
    own = experiment(arrays, regions={"seasons": {"dimension": "time", "by": "season"}})

    regions = with_step_regions(own, find_tiles(own)).regions

    assert regions == {"DJF": ("2019_2019-01", "2020_2020-01"), "JJA": ("2019_2019-07", "2020_2020-07")}


@pytest.mark.usefixtures("pixels")
def test_other_files_are_no_times_where_some_times_are_dates(tmp_path):
    for text in ("old", "2020-03_qa"):
        (tmp_path / "maps" / text).mkdir()
        (tmp_path / f"maps/{text}/agb_{text}_mean.tif").write_bytes(b"")

    assert names(experiment()) == MONTHS


def test_times_that_are_no_dates_have_no_seasons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key, values in layers(2, shape=SHAPE).items():
        for epoch, own in zip(("before", "after"), values, strict=True):
            write_raster(tmp_path / f"{epoch}_{key}.tif", own, transform=PLACE)
    data = {key: f"{{time}}_{key}.tif" for key in KEYS}
    seasons = experiment(data, regions={"seasons": {"dimension": "time", "by": "season"}})

    assert names(experiment(data)) == ["after", "before"]
    with pytest.raises(ConfigError, match=r"regions.seasons.by: after is no date, so that its season is not known"):
        with_step_regions(seasons, find_tiles(seasons))


def test_years_have_no_seasons():
    label = label_of_time("2010")

    assert label.has_group("year")
    assert not label.has_group("season")


DATES = {"2010": "2010-01-01", "201006": "2010-06-01", "2010_06": "2010-06-01", "2010-06-05": "2010-06-05"}
DATES |= {"2010032": "2010-02-01", "20100605": "2010-06-05", "20100605T0630": "2010-06-05T06:30"}


@pytest.mark.parametrize(("text", "date"), DATES.items())
def test_dates_are_read_as_names_of_files_write_them(text, date):
    assert label_of_time(text).value == np.datetime64(date, "s")


@pytest.mark.parametrize("text", ["20100231", "2010366", "0512", "v2", "2010-6"])
def test_other_texts_are_no_dates(text):
    assert label_of_time(text).value == text


WRONG = {
    "in one layer of a prediction": ({"variance": "v.tif"}, "data.variance: needs {time} where the time stands"),
    "in the truth alone": ({"mean": "m.tif", "variance": "v.tif"}, "data.truth: has {time}, but the paths of the"),
    "one time twice": ({}, "2020-03 and 202003 in the names of files are one time"),
}


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_named(wrong, tmp_path):
    data, message = WRONG[wrong]
    if not data:
        (tmp_path / "maps/202003").mkdir()
        (tmp_path / "maps/202003/agb_202003_mean.tif").write_bytes(b"")

    with pytest.raises(ConfigError) as refused:
        find_tiles(experiment(data))

    assert message in str(refused.value)


def test_times_on_a_web_server_are_written(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    data = {key: f"https://localhost:1/{{time}}_{key}.tif" for key in KEYS}

    with pytest.raises(ConfigError, match="times cannot be listed on a web server"):
        find_tiles(experiment(data))
    found = find_tiles(experiment(data | {"select": {"time": ["2010", "2015"]}}))
    assert [failure.tile for failure in found.failures] == ["2010", "2015"]


def test_members_of_each_time_are_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels = layers(2, shape=SHAPE)
    for year, mean, truth in zip(("2010", "2015"), pixels["mean"], pixels["truth"], strict=True):
        write_raster(tmp_path / f"{year}_truth.tif", truth, transform=PLACE)
        for member in range(3):
            write_raster(tmp_path / f"{year}_m{member}.tif", mean + member, transform=PLACE)
    data = {"members": "{time}_m{member}.tif", "truth": "{time}_truth.tif"}
    config = tmp_path / "members.yaml"
    config.write_text(json.dumps({"version": 1, "name": "members", "data": data} | QUICK), encoding="utf-8")

    found = find_tiles(load_experiment(config))

    assert [(tile.name, tile.form.layers) for tile in found.tiles] == [("2010", 3), ("2015", 3)]


@pytest.mark.usefixtures("pixels")
def test_tables_name_the_times():
    results = geouq.run(experiment())

    with (results.folder / "tables/metrics.csv").open(encoding="utf-8") as file:
        tiles = {row["name"] for row in csv.DictReader(file) if row["level"] == "tile"}
    assert tiles == set(MONTHS)


@pytest.fixture
def two_tiles(tmp_path, monkeypatch):
    """Two tiles at two times, with a class raster of each tile; the experiment."""
    monkeypatch.chdir(tmp_path)
    for i, tile in enumerate(("a", "b")):
        for key, values in layers(2, shape=SHAPE, seed=i).items():
            for year, own in zip(("2010", "2015"), values, strict=True):
                write_raster(tmp_path / f"{tile}_{year}_{key}.tif", own, transform=PLACE)
        write_raster(tmp_path / f"cover_{tile}.tif", np.full(SHAPE, i + 1, np.uint8), transform=PLACE)
    data = {key: f"{{tile}}_{{time}}_{key}.tif" for key in KEYS}
    regions = {"cover": {"classes": "cover_{tile}.tif", "names": {1: "grass", 2: "wood"}}, "first": ["a"]}
    years = {"years": {"dimension": "time", "by": "year"}}
    return experiment(data, tiles=["a", "b"], regions=regions | years)


def test_class_rasters_of_tiles_hold_at_all_times(two_tiles):
    table = numbers(two_tiles).query("metric == 'rmse'").set_index("name").value

    assert table["grass"] == pytest.approx(table["first"], rel=1e-9)
    assert {"2010", "2015", "wood", "a_2010"} <= set(table.index)


def test_the_configuration_of_a_run_is_read_again(two_tiles):
    results = geouq.run(two_tiles)

    again = load_experiment(results.folder / "config.yaml")

    assert again.regions["first"] == ("a_2010", "a_2015")
    assert [tile.name for tile in find_tiles(again).tiles] == ["a_2010", "a_2015", "b_2010", "b_2015"]


def test_tiles_and_times_in_a_yaml_file_may_be_numbers(two_tiles, tmp_path):
    del two_tiles
    paths = "\n".join(f"  {key}: '{{tile}}_{{time}}_{key}.tif'" for key in KEYS)
    text = f"version: 1\nname: numbers\ndata:\n{paths}\n  select: {{time: [2010]}}\nvariables: [v]\n"
    (tmp_path / "numbers.yaml").write_text(text, encoding="utf-8")

    assert names(load_experiment(tmp_path / "numbers.yaml")) == ["a_2010", "b_2010"]
