"""Files of the zones of a tile: bit by bit what was saved, in shared arrays or alone; read by others, or refused."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray as xr
from alike import same
from drawn_tiles import drawn_tile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geouq.core.errors import SummaryError
from geouq.forms.ensemble import Ensemble
from geouq.summary import FormSums, netcdf, zone_batch, zone_file
from geouq.summary.tile_file import key_of_file
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED
from geouq.summary.zone_file import cells_of_zone, load_zone, place_of_zone, zones_keep, zones_of_file, zones_writer

SHAPES = [(17, 40), (64, 80), (3, 200), (16, 16), (90, 33)]
SHARED_FOLDER = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def drawn_zones(seed, count=5, variables=("height", "cover"), columns=UNWEIGHTED):
    names = [f"zone {number}" for number in range(count)]
    shapes = [SHAPES[number % len(SHAPES)] for number in range(count)]
    return {
        name: drawn_tile(seed + number, variables, columns=columns, shape=shape)
        for number, (name, shape) in enumerate(zip(names, shapes, strict=True))
    }


def save(path, zones, *, order=None, levels=(0.5, 0.9), statistics=("ordering",)):
    with zones_writer(path, "key", list(zones)) as writer:
        for name in order or zones:
            writer.add(name, zones[name])
        writer.finish(levels, statistics)


def assert_read_back(zones, path):
    assert list(zones_of_file(path)) == list(zones)
    for name, zone in zones.items():
        place, wholes = place_of_zone(path, name), load_zone(path, name)
        assert (place.tile, place.grid, place.cell_size) == (zone.tile, zone.grid, zone.cell_size)
        assert (wholes.tile, wholes.grid, list(wholes.variables)) == (zone.tile, zone.grid, list(zone.variables))
        for variable, part in zone.variables.items():
            assert same(wholes.variables[variable].whole, part.whole)
            assert same(wholes.variables[variable].excluded, part.excluded)
            assert same(load_zone(path, name, [variable]).variables, {variable: wholes.variables[variable]})
            ((numbers, cells),) = cells_of_zone(path, name, variable)
            assert same(cells, part.cells)
            assert same(numbers, np.arange(len(part.cells)))


def groups_of(path):
    with h5py.File(path) as file:
        return sorted(name for name in file if isinstance(file[name], h5py.Group))


@given(
    seed=st.integers(0, 2**32),
    shapes=st.lists(st.tuples(st.integers(1, 70), st.integers(1, 70)), min_size=1, max_size=5),
    variables=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=3, unique=True
    ),
    columns=st.sampled_from([UNWEIGHTED, len(FIELDS)]),
    order=st.randoms(use_true_random=False),
)
@SHARED_FOLDER
def test_zones_of_any_shape_and_order_are_read_back_bit_by_bit(seed, shapes, variables, columns, order, tmp_path):
    zones = {
        f"zone {number}": drawn_tile(seed + number, variables, columns=columns, shape=shape)
        for number, shape in enumerate(shapes)
    }
    coming = list(zones)
    order.shuffle(coming)

    save(tmp_path / "zones.nc", zones, order=coming)

    assert_read_back(zones, tmp_path / "zones.nc")
    assert groups_of(tmp_path / "zones.nc") == ["together_0"]


def test_arrays_in_several_pieces_are_read_back_bit_by_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf, "PIECE", 256)
    monkeypatch.setattr(netcdf, "WORTHWHILE", 64)
    zones = drawn_zones(3, columns=len(FIELDS))

    save(tmp_path / "zones.nc", zones)

    with h5py.File(tmp_path / "zones.nc") as file:
        counts = file["together_0/cell_moments_n"]
        assert counts.chunks[0] == 1
        assert counts.chunks[1] < counts.shape[1]
    assert_read_back(zones, tmp_path / "zones.nc")


def test_ensembles_with_samples_are_read_back_bit_by_bit(tmp_path):
    rng, form = np.random.default_rng(5), Ensemble(3, (0.5,), densities=True)
    zones = drawn_zones(5)
    for name, zone in zones.items():
        variables = {}
        for variable, part in zone.variables.items():
            whole = part.whole.having(form=FormSums(form, rng.normal(size=form.width)))
            of_cells = FormSums(form, rng.normal(size=(len(part.cells), form.width)))
            cells = replace(part.cells, statistics={**part.cells.statistics, "form": of_cells})
            variables[variable] = replace(part, whole=whole, cells=cells)
        zones[name] = replace(zone, variables=variables)

    save(tmp_path / "zones.nc", zones)

    assert_read_back(zones, tmp_path / "zones.nc")


def test_batches_are_written_as_zones_come_so_that_few_wait(tmp_path, monkeypatch):
    zones = drawn_zones(7, 12)
    one = drawn_bytes(zones["zone 0"])
    monkeypatch.setattr(zone_file, "WAITING", 3 * one)
    waiting = []

    with zones_writer(tmp_path / "zones.nc", "key", list(zones)) as writer:
        for name, zone in zones.items():
            writer.add(name, zone)
            waiting.append(writer._waiting.bytes)
        writer.finish((0.5, 0.9), ())

    assert max(waiting) < 3 * one
    assert len(groups_of(tmp_path / "zones.nc")) >= 3
    assert_read_back(zones, tmp_path / "zones.nc")


def drawn_bytes(zone):
    batch = zone_batch.Batch()
    batch.add("one", zone)
    return batch.bytes


def test_more_zones_than_owners_have_numbers_are_in_several_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(zone_batch, "MOST", 4)
    zones = drawn_zones(9)

    save(tmp_path / "zones.nc", zones)

    assert groups_of(tmp_path / "zones.nc") == ["together_0", "together_1", "together_2"]
    assert_read_back(zones, tmp_path / "zones.nc")


def test_zones_whose_cells_keep_other_statistics_are_not_joined(tmp_path):
    zones = drawn_zones(11, 3)
    other = zones["zone 1"]
    without = {
        name: replace(
            part, cells=replace(part.cells, statistics={k: v for k, v in part.cells.statistics.items() if k != "z"})
        )
        for name, part in other.variables.items()
    }
    zones["zone 1"] = replace(other, variables=without)

    save(tmp_path / "zones.nc", zones)

    assert len(groups_of(tmp_path / "zones.nc")) == 3
    assert_read_back(zones, tmp_path / "zones.nc")


def test_a_zone_with_many_entries_has_a_group_of_its_own(tmp_path):
    zones = drawn_zones(13, 3)
    many = zones["zone 1"]

    with zones_writer(tmp_path / "zones.nc", "key", list(zones)) as writer:
        writer.begin("zone 1")
        for name, zone in zones.items():
            writer.add(name, zone)
        writer.finish((0.5, 0.9), ())

    assert groups_of(tmp_path / "zones.nc") == ["1", "together_0"]
    assert same(load_zone(tmp_path / "zones.nc", "zone 1").variables["cover"].whole, many.variables["cover"].whole)
    parts = list(cells_of_zone(tmp_path / "zones.nc", "zone 1", "cover"))
    assert sum(len(numbers) for numbers, _ in parts) == len(many.variables["cover"].cells)
    assert list(zones_of_file(tmp_path / "zones.nc")) == list(zones)


def test_a_layer_without_a_zone_has_an_empty_file(tmp_path):
    save(tmp_path / "zones.nc", {})

    assert list(zones_of_file(tmp_path / "zones.nc")) == []


def test_a_file_tells_what_its_zones_keep(tmp_path):
    path = tmp_path / "zones.nc"
    save(path, drawn_zones(15, 2))

    assert key_of_file(path, zone_file.FORMAT) == "key"
    assert zones_keep(path, (0.9,), {"ordering"})
    assert not zones_keep(path, (0.8,), {"ordering"})
    assert not zones_keep(path, (0.9,), {"coverage_by_truth"})


def test_xarray_reads_it_and_it_explains_itself(tmp_path):
    zones = drawn_zones(17)
    save(tmp_path / "zones.nc", zones)
    parts = [part for zone in zones.values() for part in zone.variables.values()]

    with xr.open_dataset(tmp_path / "zones.nc", group="together_0") as found:
        assert found["zone"].values.tolist() == list(zones)
        np.testing.assert_array_equal(found["shape"], [zone.grid.shape for zone in zones.values()])
        np.testing.assert_array_equal(found["moments_n"], [part.whole.moments.n for part in parts])
        cells = [zone.variables["cover"].cells for zone in zones.values()]
        of_cover = found["cell_moments_n"].sel(variable="cover")
        np.testing.assert_array_equal(of_cover, np.concatenate([own.moments.n for own in cells]))
        np.testing.assert_array_equal(found["zone_cells"], list(map(len, cells)))
        ends = found["cell_entry_count"].values.cumsum()
        second = found["cell_entry_sums"][ends[2] : ends[3]]
        np.testing.assert_array_equal(second, parts[3].cells.entry_sums)
        assert all(found[name].attrs["long_name"] for name in found.variables if name != "words")


def test_the_same_zones_give_the_same_bytes(tmp_path):
    save(tmp_path / "one.nc", drawn_zones(19))
    save(tmp_path / "two.nc", drawn_zones(19))

    assert (tmp_path / "one.nc").read_bytes() == (tmp_path / "two.nc").read_bytes()


READERS = [
    zones_of_file,
    lambda path: load_zone(path, "zone 1"),
    lambda path: place_of_zone(path, "zone 1"),
    lambda path: list(cells_of_zone(path, "zone 1", "cover")),
]


def read_all(path):
    return [read(path) for read in READERS]


def test_a_file_with_a_flipped_bit_is_refused_also_after_it_was_read(tmp_path):
    path = tmp_path / "zones.nc"
    save(path, drawn_zones(21))
    for read in READERS:
        read(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    for read in READERS:
        with pytest.raises(SummaryError, match=r"zones\.nc"):
            read(path)
    assert not zones_keep(path, (), ())


@pytest.mark.parametrize("content", [None, b"", b"not a summary"])
def test_what_is_no_file_of_zones_is_refused(tmp_path, content):
    path = tmp_path / "zones.nc"
    if content is not None:
        path.write_bytes(content)

    for read in READERS:
        with pytest.raises(SummaryError, match=r"zones\.nc"):
            read(path)


@pytest.mark.parametrize("name", ["words", "level", "moments_n", "zone_cells", "cell_moments_n", "cell_key", "shape"])
def test_a_group_without_one_of_its_parts_is_refused(tmp_path, name):
    path = tmp_path / "zones.nc"
    save(path, drawn_zones(23))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - netcdf.LENGTH)
    with h5py.File(path, "a") as file:
        del file["together_0"][name]
    netcdf._seal(path)

    with pytest.raises(SummaryError, match=r"zones\.nc cannot be read"):
        read_all(path)


def test_a_zone_and_a_variable_that_are_not_there_are_refused(tmp_path):
    path = tmp_path / "zones.nc"
    save(path, drawn_zones(25))

    with pytest.raises(SummaryError, match=r"zones\.nc does not hold the zone moor"):
        load_zone(path, "moor")
    with pytest.raises(SummaryError, match=r"zones\.nc"):
        list(cells_of_zone(path, "zone 1", "depth"))


def test_a_writer_that_is_given_up_leaves_no_file(tmp_path):
    zones = drawn_zones(27, 2)

    with zones_writer(tmp_path / "zones.nc", "key", list(zones)) as writer:
        writer.add("zone 0", zones["zone 0"])

    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def taken(monkeypatch):
    """Bytes of each array that is read from a file."""
    found, plain = [], h5py.Dataset.__getitem__

    def noted(dataset, place, *rest):
        one = plain(dataset, place, *rest)
        found.append(getattr(one, "nbytes", 0))
        return one

    monkeypatch.setattr(h5py.Dataset, "__getitem__", noted)
    return found


def test_reading_one_zone_reads_few_bytes_of_the_others(tmp_path, monkeypatch, taken):
    monkeypatch.setattr(netcdf, "PIECE", 1 << 12)
    path, zones = tmp_path / "zones.nc", drawn_zones(29, 60, columns=len(FIELDS))
    save(path, zones)
    load_zone(path, "zone 31")  # and what all zones share
    taken.clear()

    load_zone(path, "zone 31")
    list(cells_of_zone(path, "zone 31", "cover"))

    assert 0 < sum(taken) < 2 * drawn_bytes(zones["zone 31"])


def test_reading_many_zones_reads_no_array_twice(tmp_path, taken):
    path, zones = tmp_path / "zones.nc", drawn_zones(30, 60, columns=len(FIELDS))
    save(path, zones)

    for zone in zones:
        load_zone(path, zone)
        list(cells_of_zone(path, zone, "cover"))

    assert sum(taken) < 1.5 * sum(map(drawn_bytes, zones.values()))


def test_a_piece_of_an_array_in_memory_can_be_changed(tmp_path):
    path, zones = tmp_path / "zones.nc", drawn_zones(31, 3)
    save(path, zones)
    load_zone(path, "zone 0")
    load_zone(path, "zone 1").variables["height"].whole.moments.sums[...] = np.nan

    assert_read_back(zones, path)


@pytest.mark.parametrize("held", [[], [0], [3, 7]])
def test_cells_without_a_pixel_of_any_variable_are_not_written(tmp_path, held):
    zones = drawn_zones(33, 3)
    few = emptied(zones["zone 1"], held)

    save(tmp_path / "zones.nc", zones | {"zone 1": few})

    for variable, part in few.variables.items():
        ((numbers, cells),) = cells_of_zone(tmp_path / "zones.nc", "zone 1", variable)
        assert numbers.tolist() == (held or [0])
        assert same(cells, part.cells.some(numbers))
    ((numbers, _),) = cells_of_zone(tmp_path / "zones.nc", "zone 2", "height")
    assert len(numbers) == len(zones["zone 2"].variables["height"].cells)


def emptied(zone, held):
    """The zone, of which these cells alone hold pixels."""
    variables = {}
    for name, part in zone.variables.items():
        moments = part.cells.moments
        n = np.zeros_like(moments.n)
        n[held] = np.maximum(moments.n[held], 1)
        statistics = part.cells.statistics | {"moments": replace(moments, n=n)}
        variables[name] = replace(part, cells=replace(part.cells, statistics=statistics))
    return replace(zone, variables=variables)
