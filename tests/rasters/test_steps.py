"""Steps of arrays as tiles: selected, pooled, matched between layers, and grouped into regions."""

import json
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from alike import same
from arrays_in_files import DAYS, experiment_of, layers, on_map, save

from geouq.config import load_experiment
from geouq.core.errors import ChangedError, ConfigError
from geouq.pipeline.data import Options
from geouq.pipeline.run import run
from geouq.rasters import raster, steps
from geouq.rasters.catalog import find_tiles
from geouq.rasters.steps import with_step_regions
from geouq.reading.stack import open_stack
from geouq.runs.plan import plan_run
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import sweep_tiles

SHAPE = (20, 30)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def monthly(tmp_path):
    """Twelve months of layers, and the file that holds them."""
    pixels = layers(12, shape=SHAPE)
    dataset = on_map(pixels, dims=("time",)).assign_coords(time=DAYS)
    return pixels, save(dataset, tmp_path / "monthly.nc", {"time": 5})


@pytest.fixture
def at_levels(tmp_path):
    pixels = layers(3, 2, shape=SHAPE)
    dataset = on_map(pixels, dims=("time", "plev"))
    level = ("plev", np.float32([850, 500]), {"standard_name": "air_pressure", "units": "hPa"})
    dataset = dataset.assign_coords(time=DAYS[:3], plev=level)
    return pixels, save(dataset, tmp_path / "levels.zarr", {"time": 2})


def names(experiment):
    return [tile.name for tile in find_tiles(experiment).tiles]


def errors(pixels, *place):
    error = (pixels["mean"].astype(float) - pixels["truth"])[place]
    return error[np.isfinite(error)]


def bias(results, name):
    (row,) = (r for r in results.metrics.query("metric == 'bias'").to_dict("records") if r["name"] == name)
    return row["value"], row["n"]


def test_each_step_is_a_tile_and_all_are_pooled_in_the_whole(monthly):
    pixels, path = monthly
    results = run(experiment_of(path), Options(workers=2))

    for i, name in enumerate(DAYS.strftime("%Y-%m")):
        assert bias(results, name) == (pytest.approx(errors(pixels, i).mean(), rel=1e-9), errors(pixels, i).size)
    assert bias(results, "all")[0] == pytest.approx(errors(pixels).mean(), rel=1e-9)


def test_seasons_are_regions(monthly):
    pixels, path = monthly
    results = run(experiment_of(path, {"regions": {"seasons": {"dimension": "time", "by": "season"}}}), Options())

    for place, season in enumerate(("DJF", "MAM", "JJA", "SON")):
        months = slice(3 * place, 3 * place + 3)
        assert bias(results, season)[0] == pytest.approx(errors(pixels, months).mean(), rel=1e-9)


SELECTED = {
    "2020-01": ["one"],
    "2020": [f"2020-{month:02}" for month in range(1, 12)],
    "DJF": ["2019-12", "2020-01", "2020-02"],
    "2020-02..2020-04": ["2020-02", "2020-03", "2020-04"],
    "..2020-01": ["2019-12", "2020-01"],
    "2020-10..": ["2020-10", "2020-11"],
    ("2019-12", "2020-06"): ["2019-12", "2020-06"],
}


@pytest.mark.parametrize("select", SELECTED, ids=str)
def test_times_are_selected_by_their_dates(monthly, select):
    wanted = list(select) if isinstance(select, tuple) else select

    assert names(experiment_of(monthly[1], select={"time": wanted})) == SELECTED[select]


def test_levels_are_selected_by_their_values(at_levels):
    pixels, path = at_levels
    results = run(experiment_of(path, select={"level": 850, "time": "2020-01"}), Options())

    assert bias(results, "all")[0] == pytest.approx(errors(pixels, 1, 0).mean(), rel=1e-9)


@pytest.mark.parametrize("wanted", ["500..850", "400..", "..900", ["850", "500"]], ids=str)
def test_ranges_of_numbers_hold_their_ends(at_levels, wanted):
    assert len(names(experiment_of(at_levels[1], select={"level": wanted}))) == 6


def test_leads_are_selected_by_their_length(tmp_path):
    _, _, experiment = forecasts(tmp_path)
    data = experiment.data.model_copy(update={"select": {"lead": "1d"}})

    assert names(experiment.model_copy(update={"data": data})) == ["2020-01-01", "2020-01-02"]


def test_a_label_that_is_there_twice_is_refused(tmp_path):
    dataset = on_map(layers(3, shape=SHAPE), dims=("time",)).assign_coords(time=DAYS[[0, 1, 0]])

    failures = find_tiles(experiment_of(save(dataset, tmp_path / "a.nc"))).failures

    assert "time has 2019-12 2 times" in failures[0].message


def test_a_layer_may_have_a_selection_of_its_own(tmp_path):
    pixels = layers(3, shape=SHAPE)
    stacked = on_map(
        {"kind": np.concatenate([pixels["mean"][:1], pixels["variance"][:1], pixels["truth"][:1]])}, dims=("kind_of",)
    )
    path = save(stacked.assign_coords(kind_of=["mean", "variance", "truth"]), tmp_path / "a.nc")
    data = {
        key: {"path": str(path), "variable": "kind", "select": {"kind_of": key}}
        for key in ("mean", "variance", "truth")
    }

    results = run(experiment_of(path, **data), Options())

    assert bias(results, "all")[0] == pytest.approx(errors(pixels, 0).mean(), rel=1e-9)


def test_two_dimensions_give_a_tile_for_each_pair_and_regions_by_label(at_levels):
    pixels, path = at_levels
    regions = {"levels": {"dimension": "plev"}, "dates": {"dimension": "time"}}
    results = run(experiment_of(path, {"regions": regions}), Options())

    assert bias(results, "2020-01_level500")[0] == pytest.approx(errors(pixels, 1, 1).mean(), rel=1e-9)
    assert bias(results, "level850")[0] == pytest.approx(errors(pixels, slice(None), 0).mean(), rel=1e-9)
    assert bias(results, "2020-02")[0] == pytest.approx(errors(pixels, 2).mean(), rel=1e-9)


def forecasts(tmp_path, dates=("2020-01-01", "2020-01-02"), leads=(12, 24)):
    pixels = layers(len(dates), len(leads), shape=SHAPE)
    own = {"time": pd.to_datetime(dates), "step": ("step", pd.to_timedelta(leads, "h"))}
    both = {name: pixels[name] for name in ("mean", "variance")}
    path = save(on_map(both, dims=("time", "step")).assign_coords(own), tmp_path / "f.zarr")
    times = pd.date_range("2020-01-01", "2020-01-03", freq="12h")
    truth = layers(len(times), shape=SHAPE, seed=1)["truth"]
    measured = save(on_map({"truth": truth}, dims=("time",)).assign_coords(time=times), tmp_path / "t.nc")
    return pixels["mean"], truth, experiment_of(path, truth={"path": str(measured), "variable": "truth"})


def test_truth_without_leads_is_taken_at_the_time_that_a_forecast_is_for(tmp_path):
    mean, truth, experiment = forecasts(tmp_path)

    results = run(experiment, Options())

    expected = {"mean": mean[1, 0], "truth": truth[3]}
    assert bias(results, "2020-01-02_lead12h")[0] == pytest.approx(errors(expected).mean(), rel=1e-9)


def test_steps_that_truth_does_not_have_are_left_out_with_a_note(tmp_path):
    _, _, experiment = forecasts(tmp_path, dates=("2020-01-01", "2020-01-03"))

    catalog = find_tiles(experiment)

    assert [tile.name for tile in catalog.tiles] == ["2020-01-01_lead12h", "2020-01-01_lead24h"]
    assert "2 of 4 steps of one are left out: truth" in catalog.notes[0]


def test_a_layer_without_steps_is_the_same_for_all(monthly, tmp_path):
    mask = np.zeros(SHAPE, np.uint8)
    mask[:, :10] = 1
    path = save(on_map({"mask": mask}), tmp_path / "mask.nc")
    results = run(experiment_of(monthly[1], mask={"path": str(path), "variable": "mask"}), Options())

    inside = errors(monthly[0], slice(None), slice(None), slice(0, 10))
    assert bias(results, "all")[0] == pytest.approx(inside.mean(), rel=1e-9)


def test_files_with_a_name_and_steps_give_tiles_of_both(tmp_path):
    for name in ("a", "b"):
        dataset = on_map(layers(2, shape=SHAPE), dims=("time",)).assign_coords(time=DAYS[:2])
        save(dataset, tmp_path / f"{name}.nc")

    assert names(experiment_of(tmp_path / "{tile}.nc")) == ["a_2019-12", "a_2020-01", "b_2019-12", "b_2020-01"]
    assert names(experiment_of(tmp_path / "{tile}.nc", {"tiles": ["b", "a_2020-01"]})) == [
        "a_2020-01", "b_2019-12", "b_2020-01",
    ]  # fmt: skip


def test_a_map_with_steps_can_be_cut(tmp_path):
    pixels = layers(2, shape=(300, 300))
    dataset = on_map(pixels, dims=("time",)).assign_coords(time=DAYS[:2]).isel(y=slice(None, None, -1))
    path = save(dataset, tmp_path / "a.zarr", {"time": 2, "y": 80, "x": 100})

    experiment = experiment_of(path, {"tiles": {"grid": 256}})

    assert names(experiment)[:3] == ["r0c0_2019-12", "r0c0_2020-01", "r0c1_2019-12"]
    found = open_stack(experiment, "r1c0_2020-01").load()["mean"].isel(variable=0)
    np.testing.assert_array_equal(found, pixels["mean"][1, 256:, :256])


def test_a_run_of_some_steps_can_be_reported_again(monthly, geouq, tmp_path):
    config = tmp_path / "c.yaml"
    layer = "{{path: {}, variable: {}}}"
    data = "".join(f"  {key}: {layer.format(monthly[1], key)}\n" for key in ("mean", "variance", "truth"))
    config.write_text(
        f"version: 1\nname: some\nvariables: [v]\ndata:\n{data}regions: {{seasons: {{dimension: time, by: season}}}}\n"
    )

    assert geouq("run", config, "--only", "MAM").exit_code == 0
    assert geouq("report", "results/some").exit_code == 0
    assert "2020-03" in (tmp_path / "results/some/tables/metrics.csv").read_text()
    assert "2020-09" not in (tmp_path / "results/some/tables/metrics.csv").read_text()


WRONG = {
    "label": ({"select": {"time": "2031"}}, "data.select: time has no 2031; it has 2019-12"),
    "dimension": ({"select": {"depth": 3}}, "data.select: no layer has a dimension depth; there are time"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_selection_of_nothing_is_refused(monthly, case):
    data, message = WRONG[case]

    assert message in find_tiles(experiment_of(monthly[1], **data)).failures[0].message


def test_a_dimension_of_truth_alone_is_refused(monthly, tmp_path):
    pixels = layers(shape=SHAPE)
    one = {name: pixels[name] for name in ("mean", "variance")}
    experiment = experiment_of(
        save(on_map(one), tmp_path / "one.nc"), truth={"path": str(monthly[1]), "variable": "truth"}
    )

    assert "write one of its labels below this layer, such as select: {time: 2019-12" in (
        find_tiles(experiment).failures[0].message
    )


def test_a_step_that_is_named_but_not_there_is_refused(monthly):
    with pytest.raises(ConfigError, match="no layer has a file for tile '2020-13'"):
        find_tiles(experiment_of(monthly[1], {"tiles": ["2020-01", "2020-13"]}))


def test_regions_of_a_dimension_that_there_is_not_are_refused(monthly):
    experiment = experiment_of(monthly[1], {"regions": {"levels": {"dimension": "level"}}})

    with pytest.raises(ConfigError, match="several labels of a dimension level; there are time"):
        with_step_regions(experiment, find_tiles(experiment))


def test_a_store_that_many_steps_share_is_looked_at_now_and_then(at_levels, monkeypatch):
    looks, plain = [], raster.stamp
    monkeypatch.setattr(raster, "stamp", lambda path: looks.append(path) or time.sleep(0.05) or plain(path))

    for tile in find_tiles(experiment_of(at_levels[1])).tiles:
        raster.require_same_versions(tile.rasters.values())

    assert len(looks) == 3  # one for each layer


def test_a_store_that_changes_between_two_looks_is_noticed(at_levels):
    (tile, *_) = find_tiles(experiment_of(at_levels[1])).tiles
    next(path for path in (at_levels[1] / "mean").rglob("*") if path.is_file()).touch()

    with pytest.raises(ChangedError, match="changed while it was read"):
        raster.require_same_versions(tile.rasters.values())


def test_memory_bounds_the_chunks_that_hold_several_steps(tmp_path):
    dataset = on_map(layers(8, shape=(600, 600)), dims=("time",)).assign_coords(time=DAYS[:8])
    path = save(dataset, tmp_path / "a.zarr", {"time": 8, "y": 300, "x": 300})
    catalog = find_tiles(experiment_of(path))

    roomy, narrow = plan_run(catalog, 2), plan_run(catalog, 1, "560MB")

    assert roomy.readings["2019-12"].cache >= 3 * 8 * 600 * 600 * 4
    assert narrow.memory <= 560 << 20


def test_workers_in_other_processes_give_the_same_bits(at_levels, sweep_one):
    catalog = find_tiles(experiment_of(at_levels[1]))
    settings = Settings((0.5, 0.9), 16)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        found = list(pool.map(partial(summaries, settings=settings), catalog.tiles[:2]))

    expected = sweep_one(catalog)
    assert all(same(own, expected[tile.name].variables) for own, tile in zip(found, catalog.tiles[:2], strict=True))


def summaries(tile, settings):
    with ThreadPoolExecutor(1) as pool:
        (found,) = sweep_tiles([tile], settings, pool, 1)
    return found.variables


def test_a_note_says_where_chunks_of_many_steps_do_not_stay_in_memory(at_levels, monkeypatch):
    assert not any("decoded again" in note for note in find_tiles(experiment_of(at_levels[1])).notes)

    monkeypatch.setattr(steps, "DEEP", 1000)

    notes = find_tiles(experiment_of(at_levels[1])).notes
    assert any("holds 4 steps" in note and "tiles: {grid: 256} avoids it" in note for note in notes)


def test_a_note_says_that_intervals_ignore_the_correlation_of_steps(monthly):
    assert "intervals are too narrow" in find_tiles(experiment_of(monthly[1])).notes[-1]
    assert not find_tiles(experiment_of(monthly[1], select={"time": "2020-01"})).notes


def test_ranges_of_numbers_below_zero_hold_their_ends(tmp_path):
    depths = np.float32([-20, -10, -5, 0, 5])
    dataset = on_map(layers(5, shape=SHAPE), dims=("depth",)).assign_coords(depth=depths)
    path = save(dataset, tmp_path / "depths.nc")

    found = [len(names(experiment_of(path, select={"depth": own}))) for own in ("-20..-5", "-10..5", "-20..0")]

    assert found == [3, 4, 4]


def test_the_name_of_a_file_in_a_list_stands_for_its_steps(tmp_path):
    for name in ("a", "b"):
        dataset = on_map(layers(2, shape=SHAPE), dims=("time",)).assign_coords(time=DAYS[:2])
        save(dataset, tmp_path / f"{name}.nc")
    lists = {"regions": {"first": ["a"]}, "splits": {"in": ["a"], "out": ["b_2020-01"]}, "training_tiles": ["b"]}
    experiment = experiment_of(tmp_path / "{tile}.nc", lists)

    found = with_step_regions(experiment, find_tiles(experiment))

    assert found.regions["first"] == ("a_2019-12", "a_2020-01")
    assert found.splits == {"in": ("a_2019-12", "a_2020-01"), "out": ("b_2020-01",)}
    assert found.training_tiles == ("b_2019-12", "b_2020-01")


def test_squares_of_a_map_with_steps_are_opened_again_by_their_names(tmp_path, geouq):
    dataset = on_map(layers(2, shape=(300, 300)), dims=("time",)).assign_coords(time=DAYS[:2])
    path = save(dataset, tmp_path / "a.zarr", {"time": 1})
    data = "".join(f"  {key}: {{path: {path}, variable: {key}}}\n" for key in ("mean", "variance", "truth"))
    head = f"version: 1\nname: cut\nvariables: [v]\ntiles: {{grid: 256}}\ndata:\n{data}"
    (tmp_path / "c.yaml").write_text(f"{head}regions: {{month: {{dimension: time, by: month}}}}\n")

    assert geouq("run", "c.yaml", "--only", "r0c0_2020-01").exit_code == 0

    assert geouq("verify", "results/cut").exit_code == 0
    assert geouq("report", "results/cut").exit_code == 0


def test_arrays_of_stac_items_have_steps_too(tmp_path):
    save(on_map(layers(2, shape=SHAPE), dims=("time",)).assign_coords(time=DAYS[:2]), tmp_path / "a.nc")
    item = {"type": "Feature", "id": "a", "properties": {}, "links": [], "assets": {"nc": {"href": "a.nc"}}}
    (tmp_path / "items.json").write_text(json.dumps({"type": "FeatureCollection", "features": [item]}))
    written = {
        "version": 1,
        "name": "one",
        "variables": ["v"],
        "tiles": {"stac": "items.json", "asset": "nc"},
        "data": {key: {"variable": key} for key in ("mean", "variance", "truth")},
    }

    assert names(load_experiment(written)) == ["a_2019-12", "a_2020-01"]
    chosen = written | {"tiles": {"stac": "items.json", "asset": "nc", "names": ["a_2020-01"]}}
    assert names(load_experiment(chosen)) == ["a_2020-01"]


def test_a_lead_without_a_unit_of_time_is_refused(tmp_path):
    pixels = layers(2, 2, shape=SHAPE)
    both = on_map({name: pixels[name] for name in ("mean", "variance")}, dims=("time", "lead"))
    lead = ("lead", [1.0, 2.0], {"standard_name": "forecast_period", "units": "1"})
    path = save(both.assign_coords(time=DAYS[:2], lead=lead), tmp_path / "f.nc")
    truth = save(
        on_map({"truth": layers(4, shape=SHAPE)["truth"]}, dims=("time",)).assign_coords(time=DAYS[:4]),
        tmp_path / "t.nc",
    )

    (failure,) = find_tiles(experiment_of(path, truth={"path": str(truth), "variable": "truth"})).failures

    assert "has no unit of time" in failure.message


def test_recalibrated_steps_get_no_configuration_that_could_not_read_them(tmp_path, geouq):
    pixels = layers(8, shape=(64, 64))
    path = save(on_map(pixels, dims=("time",)).assign_coords(time=DAYS[:8]), tmp_path / "a.nc")
    data = "".join(f"  {key}: {{path: {path}, variable: {key}}}\n" for key in ("mean", "variance", "truth"))
    (tmp_path / "c.yaml").write_text(f"version: 1\nname: steps\nvariables: [v]\ndata:\n{data}")
    assert geouq("run", "c.yaml").exit_code == 0

    done = geouq("recalibrate", "results/steps", "--apply", "all")

    assert done.exit_code == 0, done.output
    assert list((tmp_path / "results/steps/recalibration").rglob("*_variance.tif"))
    assert not list((tmp_path / "results/steps/recalibration").glob("evaluate.yaml"))


def test_a_stack_has_all_steps_along_their_dimensions(at_levels):
    pixels, path = at_levels

    stack = open_stack(experiment_of(path))

    assert stack["mean"].dims == ("time", "plev", "variable", "y", "x")
    assert stack["mean"].chunks is not None
    assert stack["time"].to_index().equals(DAYS[:3])
    assert stack["valid"].dtype == bool
    for name, values in pixels.items():
        np.testing.assert_array_equal(stack[name].isel(variable=0), values)


def test_a_stack_of_one_step_is_that_of_the_tile(monthly):
    pixels, path = monthly

    stack = open_stack(experiment_of(path), "2020-01")

    assert stack["mean"].dims == ("variable", "y", "x")
    np.testing.assert_array_equal(stack["mean"].isel(variable=0), pixels["mean"][1])


def test_a_step_that_a_layer_lacks_is_not_valid_in_a_stack(tmp_path):
    pixels = layers(2, 2, shape=SHAPE)
    leads = np.array([0, 31], "m8[D]").astype("m8[ns]")
    forecast = on_map({key: pixels[key] for key in ("mean", "variance")}, dims=("time", "lead"))
    save(forecast.assign_coords(time=DAYS[:2], lead=leads), tmp_path / "forecast.zarr")
    truth = on_map({"truth": pixels["truth"][:, 0]}, dims=("time",)).assign_coords(time=DAYS[:2])
    save(truth, tmp_path / "truth.zarr")
    own = {key: {"path": "forecast.zarr", "variable": key} for key in ("mean", "variance")}

    stack = open_stack(experiment_of("truth.zarr", **own))

    assert stack["valid"].any(("variable", "y", "x")).to_numpy().tolist() == [[True, True], [True, False]]
    assert np.isnan(stack["mean"].sel(time=DAYS[1]).isel(lead=1)).all()
