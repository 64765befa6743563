"""Members of an ensemble along a dimension of an array, as labels that {member} stands for."""

import numpy as np
import pytest
from alike import same
from arrays_in_files import DAYS, PLACE, layers, on_map, save
from landscape import write_raster

from geouq.config import load_experiment, to_yaml
from geouq.rasters import array_reader
from geouq.rasters.catalog import find_tiles

SHAPE = (60, 70)
ALONG = {"path": "{tile}.zarr", "variable": "t2m", "select": {"number": "{member}"}}
TRUTH = {"path": "{tile}_truth.nc", "variable": "obs"}
LABELS = ("0", "2", "10")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def members(tmp_path):
    """Three members in one array and in files, and the truth of both."""
    values, truth = layers(3, shape=SHAPE)["mean"], layers(shape=SHAPE)["truth"]
    dataset = on_map({"t2m": values}, dims=("number",)).assign_coords(number=[0, 2, 10])
    save(dataset, tmp_path / "west.zarr", {"number": 3, "y": 32})
    save(on_map({"obs": truth}), tmp_path / "west_truth.nc")
    for label, one in zip(LABELS, values, strict=True):
        write_raster(tmp_path / f"west_m{label}.tif", one, transform=PLACE, nodata=np.nan)
    write_raster(tmp_path / "west_truth.tif", truth, transform=PLACE, nodata=np.nan)
    return values


def experiment(members=ALONG, truth=TRUTH, **more):
    data = {"members": members, "truth": truth}
    return load_experiment({"version": 1, "name": "one", "variables": ["t2m"], "data": data} | more)


def failure(own):
    (found,) = find_tiles(own).failures
    return found.message


@pytest.mark.usefixtures("members")
def test_labels_of_a_dimension_give_the_sums_of_a_file_for_each_member(sweep_one):
    (along,) = sweep_one(experiment()).values()
    (files,) = sweep_one(experiment("{tile}_m{member}.tif", "{tile}_truth.tif")).values()

    assert same(along.variables, files.variables)


@pytest.mark.usefixtures("members")
def test_members_are_the_labels_in_the_order_of_their_numbers():
    (tile,) = find_tiles(experiment()).tiles

    assert [key for key in tile.rasters if key != "truth"] == [f"members.{label}" for label in LABELS]
    assert tile.name == "west"


@pytest.mark.usefixtures("members")
def test_a_saved_configuration_finds_the_same_members(tmp_path):
    own = experiment()
    (tmp_path / "saved.yaml").write_text(to_yaml(own), "utf-8")

    (again,), (tile,) = (find_tiles(one).tiles for one in (load_experiment("saved.yaml"), own))

    assert again.rasters.keys() == tile.rasters.keys()
    assert [raster.array.fixed for raster in again.rasters.values()] == [(("number", k),) for k in range(3)] + [()]


@pytest.mark.usefixtures("members")
def test_a_chunk_with_all_members_is_decoded_once(monkeypatch, sweep_one):
    decoded, plain = [], array_reader.ArraySource._whole
    monkeypatch.setattr(
        array_reader.ArraySource, "_whole", lambda self, number: decoded.append(number) or plain(self, number)
    )

    sweep_one(experiment())

    assert sorted(number for number in decoded if len(number) == 3) == [(0, 0, 0), (0, 1, 0)]


def test_times_stay_steps_beside_members(tmp_path):
    values = layers(2, 3, shape=SHAPE)
    dataset = on_map({"t2m": values["mean"]}, dims=("time", "number")).assign_coords(time=DAYS[:2])
    save(dataset, tmp_path / "west.zarr", {"number": 2})
    truth = on_map({"obs": values["truth"][:, 0]}, dims=("time",)).assign_coords(time=DAYS[:2])
    save(truth, tmp_path / "west_truth.nc")

    found = find_tiles(experiment()).tiles

    assert [tile.name for tile in found] == ["west_2019-12", "west_2020-01"]
    assert [len(tile.rasters) for tile in found] == [4, 4]


@pytest.mark.usefixtures("members")
def test_an_unknown_dimension_is_refused_by_its_name():
    wrong = {**ALONG, "select": {"realization": "{member}"}}

    assert "no dimension realization; there are number" in failure(experiment(wrong))


@pytest.mark.usefixtures("members")
def test_members_without_a_dimension_are_told_how_to_name_it():
    message = failure(experiment({**ALONG, "select": {"number": "2"}}))

    assert 'select: {number: "{member}"}' in message


@pytest.mark.usefixtures("members")
def test_labels_of_a_raster_are_refused_as_it_has_no_dimension():
    wrong = {"path": "{tile}_m0.tif", "select": {"number": "{member}"}}

    assert "select: it is no array of a netCDF or Zarr file" in failure(experiment(wrong, "{tile}_truth.tif"))


@pytest.mark.usefixtures("members")
def test_a_member_without_a_label_is_named():
    data = {"members": ALONG, "truth": TRUTH, "member_names": ["0", "7"]}

    assert "7" in failure(load_experiment({"version": 1, "name": "one", "variables": ["t2m"], "data": data}))


def test_a_tile_that_lacks_a_member_of_another_tile_fails(tmp_path):
    for tile, count in (("east", 3), ("west", 6)):
        values = layers(count, shape=SHAPE)["mean"]
        save(on_map({"t2m": values}, dims=("number",)).assign_coords(number=range(count)), tmp_path / f"{tile}.nc")
        save(on_map({"obs": layers(shape=SHAPE)["truth"]}), tmp_path / f"{tile}_truth.nc")
    save(on_map({"other": values}, dims=("number",)), tmp_path / "a-readme.nc")

    found = find_tiles(experiment({**ALONG, "path": "{tile}.nc"}, tiles=["east", "west"]))

    assert [(tile.name, len(tile.rasters)) for tile in found.tiles] == [("west", 6 + 1)]
    (failure,) = found.failures
    assert failure.tile == "east"
    assert "number" in failure.message


def test_a_member_is_taken_at_one_label_of_another_dimension(tmp_path, sweep_one):
    values = layers(2, 3, shape=SHAPE)["mean"]
    dataset = on_map({"t2m": values}, dims=("time", "number")).assign_coords(time=DAYS[:2])
    save(dataset, tmp_path / "west.zarr", {"number": 2})
    save(on_map({"obs": layers(shape=SHAPE)["truth"]}), tmp_path / "west_truth.nc")
    save(on_map({"t2m": values[1]}, dims=("number",)), tmp_path / "east.zarr")
    save(on_map({"obs": layers(shape=SHAPE)["truth"]}), tmp_path / "east_truth.nc")

    (late,) = sweep_one(
        experiment(
            {**ALONG, "path": "west.zarr", "select": {"time": "2020-01", "number": "{member}"}},
            {**TRUTH, "path": "west_truth.nc"},
        )
    ).values()
    (alone,) = sweep_one(experiment({**ALONG, "path": "east.zarr"}, {**TRUTH, "path": "east_truth.nc"})).values()

    assert same(late.variables, alone.variables)


@pytest.mark.parametrize("order", ["variables", "layers"])
def test_each_member_is_in_the_unit_of_its_own_variable(tmp_path, sweep_one, order):
    """Two members of a height in m and of a width that the truth has in cm and the members in m."""

    def write(path, bands, units):
        write_raster(path, np.float32(bands), units=units, transform=PLACE, nodata=np.nan)

    members, truth = np.round(8 * layers(4, shape=SHAPE)["mean"]) / 8, layers(shape=SHAPE)["truth"]  # exact in float32
    write(tmp_path / "a_truth.tif", [truth, 100 * truth], ["m", "cm"])
    factor = np.array([1, 1, 100, 100] if order == "variables" else [1, 100, 1, 100])
    write(tmp_path / "a_in_m.tif", members, ["m"] * 4)
    write(tmp_path / "a_in_own.tif", members * factor[:, None, None], ["m" if one == 1 else "cm" for one in factor])
    variables = {"height": {"band": 1, "units": "m"}, "width": {"band": 2, "units": "cm"}}

    def swept(members):
        data = {"members": members, "truth": "{tile}_truth.tif", "band_order": order}
        own = load_experiment({"version": 1, "name": "one", "variables": variables, "data": data})
        (found,) = sweep_one(own).values()
        return found.variables

    converted, plain = swept("{tile}_in_m.tif"), swept("{tile}_in_own.tif")
    for name in variables:
        for one, other in zip(converted[name].whole.moments.sums, plain[name].whole.moments.sums, strict=True):
            assert one == pytest.approx(other, rel=1e-12)
