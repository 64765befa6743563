"""A tile's summaries on disk: bit by bit what was saved, in whole or in parts, readable by others, or refused."""

import hashlib
import os
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
from geouq.summary import (
    netcdf,
)
from geouq.summary import tile_file as room
from geouq.summary.tile_file import (
    cells_in_parts,
    key_of_file,
    load_place,
    load_wholes,
    rewrite_tile,
    save_tile,
    tile_writer,
)
from geouq.summary.tiles_file import load_tile
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED

SHARED_FOLDER = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


LEVELS = st.lists(st.sampled_from([0.5, 0.6827, 0.8, 0.9, 0.99]), min_size=1, unique=True).map(tuple)
NAMES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=3, unique=True)
TILES = st.builds(
    drawn_tile,
    st.integers(0, 2**32),
    NAMES,
    tile=st.sampled_from(["r0c0", "übung"]),
    levels=LEVELS,
    columns=st.sampled_from([UNWEIGHTED, len(FIELDS)]),
    shape=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    crs=st.sampled_from(["", 'LOCAL_CS["Köln"]']),
)


@pytest.fixture
def some_tile():
    """A tile of which every variable has entries of cells."""
    drawn = (drawn_tile(seed, ("height", "cover", "gini")) for seed in range(100))
    return next(t for t in drawn if all(len(part.cells.entry_key) > 100 for part in t.variables.values()))


@given(tile=TILES)
@SHARED_FOLDER
def test_what_is_saved_is_read_back_bit_by_bit(tile, tmp_path):
    path = tmp_path / "tile.nc"
    save_tile(tile, path, "some key")

    place, wholes = load_place(path), load_wholes(path)

    assert key_of_file(path) == "some key"
    assert same(load_tile(path), tile)
    assert (place.tile, place.grid, place.cell_size) == (tile.tile, tile.grid, tile.cell_size)
    assert list(wholes.variables) == list(tile.variables)
    for name, part in tile.variables.items():
        assert same(wholes.variables[name].whole, part.whole)
        assert same(wholes.variables[name].excluded, part.excluded)
        assert same(load_wholes(path, variables=[name]).variables, {name: wholes.variables[name]})
    assert [found.name for found in tmp_path.iterdir()] == ["tile.nc"]


def without_entries(tile):
    variables = {
        name: replace(
            part,
            cells=replace(
                part.cells,
                entry_cell=part.cells.entry_cell[:0],
                entry_key=part.cells.entry_key[:0],
                entry_sums=part.cells.entry_sums[:0],
            ),
        )
        for name, part in tile.variables.items()
    }
    return replace(tile, variables=variables)


@given(
    tile=TILES,
    order=st.randoms(use_true_random=False),
    pieces=st.integers(1, 9),
    room_for=st.sampled_from([1, 7, 64]),
)
@SHARED_FOLDER
def test_entries_in_any_pieces_and_order_are_the_same_summary(tile, order, pieces, room_for, tmp_path):
    path = tmp_path / "tile.nc"
    chunks = []
    for number, part in enumerate(tile.variables.values()):
        cells = part.cells
        columns = (cells.entry_cell, cells.entry_key, cells.entry_sums)
        shuffled = np.array(order.sample(range(len(cells.entry_key)), len(cells.entry_key)), np.int64)
        chunks += [(number, *(values[own] for values in columns)) for own in np.array_split(shuffled, pieces)]
    order.shuffle(chunks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "ENTRIES", room_for)
        patch.setattr(room, "READ_AT_ONCE", 3 * room_for)
        with tile_writer(path, "key") as writer:
            for chunk in chunks:
                writer.append(*chunk)
            writer.finish(without_entries(tile))
        found = load_tile(path)

    assert same(found, tile)


def test_appended_arrays_may_be_used_again(tmp_path, some_tile):
    cells = np.zeros(1, np.uint32)
    with tile_writer(tmp_path / "tile.nc", "key") as writer:
        for number in range(3):
            cells[0] = number
            writer.append(0, cells, [5], [[1, 2, 3, 4]])
        writer.finish(without_entries(some_tile))

    assert load_tile(tmp_path / "tile.nc").variables["height"].cells.entry_cell.tolist() == [0, 1, 2]


def fail_after_finishing(path, tile):
    with tile_writer(path, "failed") as writer:
        writer.finish(tile)
        raise ZeroDivisionError


def test_a_writer_that_fails_or_is_given_up_leaves_no_file(tmp_path, some_tile):
    path = tmp_path / "summaries" / "tile.nc"
    with tile_writer(path, "given up") as writer:
        writer.append(0, [1], [2], [[1, 1, 1, 1]])
    with pytest.raises(ZeroDivisionError):
        fail_after_finishing(path, some_tile)

    assert not list(path.parent.iterdir())


def test_a_writer_that_fails_leaves_what_was_there(tmp_path, some_tile):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "before")
    with pytest.raises(ZeroDivisionError), tile_writer(path, "after"):
        raise ZeroDivisionError

    assert key_of_file(path) == "before"
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("room_for", [room.ENTRIES, 10], ids=["at once", "as it comes"])
def test_xarray_reads_it_and_it_explains_itself(tmp_path, some_tile, monkeypatch, room_for):
    monkeypatch.setattr(room, "ENTRIES", room_for)
    save_tile(some_tile, tmp_path / "tile.nc", "key")

    with xr.open_dataset(tmp_path / "tile.nc") as found:
        assert found["variable"].values.tolist() == list(some_tile.variables)
        assert found.attrs["tile"] == "a1"
        assert found.attrs["crs"] == some_tile.grid.crs
        for name, part in some_tile.variables.items():
            own = found.sel(variable=name)
            assert own["moments_n"] == part.whole.n
            assert own["excluded"].sel(reason="truth_nodata") == part.excluded[0]
            assert own["moments_sums"].sel(sum="error") == part.whole.moments.sums[0]
            np.testing.assert_array_equal(own["cell_moments_n"], part.cells.moments.n)
            entries = found["cell_entry_variable"] == list(some_tile.variables).index(name)
            pixels = found["cell_entry_sums"].sel(field="n")[entries]
            np.testing.assert_array_equal(pixels, part.cells.entry_sums[:, FIELDS.index("n")])
        assert all(found[name].attrs["long_name"] for name in found.variables)
        assert "number of valid pixels, by cell" in found["cell_moments_n"].attrs["long_name"]


def flipped(whole, bit):
    content = bytearray(whole)
    content[bit // 8] ^= 1 << bit % 8
    return bytes(content)


def test_a_file_that_was_just_written_is_not_read_for_its_checksum(tmp_path, some_tile, monkeypatch):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "key")
    content = path.read_bytes()

    with monkeypatch.context() as patched:
        patched.setattr(netcdf, "_read_checksum", None)
        known = netcdf.checksum_of(path)
    assert content.endswith(netcdf.MARK + known.encode())
    path.write_bytes(content[:99] + bytes([content[99] ^ 1]) + content[100:])
    assert netcdf.checksum_of(path) is None


def test_a_file_with_any_bit_flipped_is_refused_and_has_no_checksum(tmp_path, some_tile):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "key")
    whole, digest = path.read_bytes(), netcdf.checksum_of(path)
    bits = np.random.default_rng(1).integers(0, 8 * len(whole), 300).tolist()

    assert digest == hashlib.sha256(whole[: -netcdf.LENGTH]).hexdigest()
    for bit in [*bits, 0, 8 * len(whole) - 1]:
        path.write_bytes(flipped(whole, bit))
        assert (key_of_file(path), netcdf.checksum_of(path)) == (None, None)
        with pytest.raises(SummaryError, match=r"tile\.nc .*its content does not match its checksum"):
            load_tile(path)


def test_a_file_that_is_rewritten_under_its_size_and_time_is_checked_again(tmp_path, some_tile):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "key")
    assert key_of_file(path) == "key"
    before = path.stat()
    path.write_bytes(flipped(path.read_bytes(), 8 * before.st_size // 2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert key_of_file(path) is None


def test_no_part_of_a_file_records_when_it_was_made(tmp_path, some_tile):
    """So that the same values give the same bytes at any time."""
    save_tile(some_tile, tmp_path / "tile.nc", "key")
    with h5py.File(tmp_path / "tile.nc") as file:
        times = {name: h5py.h5g.get_objinfo(file.id, name.encode()).mtime for name in file}

    assert set(times.values()) == {0}


@pytest.mark.parametrize("content", [b"", b"not a summary", b"\x89HDF\r\n\x1a\n" + bytes(100)])
def test_a_damaged_summary_is_refused_and_has_no_key(tmp_path, content):
    path = tmp_path / "tile.nc"
    path.write_bytes(content)

    assert key_of_file(path) is None
    for load in (load_tile, load_wholes, load_place, lambda p: list(cells_in_parts(p, "height"))):
        with pytest.raises(SummaryError, match=r"tile\.nc"):
            load(path)


def test_a_summary_cut_short_anywhere_is_refused(tmp_path, some_tile):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "key")
    whole = path.read_bytes()

    for length in range(0, len(whole), 997):
        path.write_bytes(whole[:length])
        with pytest.raises(SummaryError, match=r"tile\.nc"):
            load_tile(path)


@pytest.mark.parametrize("name", ["variable", "level", "moments_n", "z_counts", "cell_moments_n", "cell_key"])
def test_a_summary_without_one_of_its_parts_is_refused(tmp_path, some_tile, name):
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "key")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - netcdf.LENGTH)
    with h5py.File(path, "a") as file:
        del file[name]
    netcdf._seal(path)

    with pytest.raises(SummaryError, match=r"tile\.nc cannot be read as a tile summary"):
        load_tile(path)


def test_another_summary_takes_the_place_of_one_and_the_entries_of_cells_stay(tmp_path, some_tile, monkeypatch):
    monkeypatch.setattr(room, "READ_AT_ONCE", 100)
    path = tmp_path / "tile.nc"
    save_tile(some_tile, path, "before")
    seen = []

    def change(summary):
        seen.append(summary)
        return replace(summary, tile="changed")

    rewrite_tile(path, "after", change)

    assert len(seen) == 1
    assert same(seen[0], without_entries(some_tile))
    assert same(load_tile(path), replace(some_tile, tile="changed"))
    assert key_of_file(path) == "after"


def test_a_variable_that_is_not_there_is_refused(tmp_path, some_tile):
    save_tile(some_tile, tmp_path / "tile.nc", "key")

    with pytest.raises(SummaryError, match="depth"):
        list(cells_in_parts(tmp_path / "tile.nc", "depth"))


@given(tile=TILES, budget=st.integers(1, 1 << 16))
@settings(max_examples=20, deadline=None)
def test_cells_are_the_same_however_many_are_taken_together(tile, budget):
    for part in tile.variables.values():
        cells = part.cells
        at_once = cells.summary()
        some = list(cells.summaries(budget))

        assert np.concatenate([one.n for one in some]).tolist() == at_once.n.tolist()
        for one, index in zip(some, np.cumsum([0, *(len(s.n) for s in some[:-1])]), strict=True):
            columns = np.searchsorted(at_once.variance.keys, one.variance.keys)
            expected = at_once.variance.sums[index : index + len(one.n)]
            np.testing.assert_array_equal(one.variance.sums, expected[:, columns])
            assert one.variance.sums.sum() == pytest.approx(expected.sum())
            assert one.variance.sums.dtype == np.float64
            assert one.variance.sums.nbytes <= budget or len(one.n) == 1


@SHARED_FOLDER
@given(summary=TILES)
def test_cells_come_once_each_in_parts_with_their_profiles(summary, tmp_path):
    """Read a few entries at a time."""
    save_tile(summary, tmp_path / "t.nc", "key")
    for name, part in summary.variables.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room, "READ_AT_ONCE", 7)
            parts = list(cells_in_parts(tmp_path / "t.nc", name))

        assert sorted(np.concatenate([found for found, _ in parts])) == list(range(len(part.cells)))
        whole = part.cells.summary()
        for found, cells in parts:
            own = cells.summary()
            np.testing.assert_array_equal(own.n, whole.n[found])
            np.testing.assert_array_equal(own.interval_scores, whole.interval_scores[found])
            shared = np.searchsorted(whole.variance.keys, own.variance.keys)
            np.testing.assert_array_equal(own.variance.sums, whole.variance.sums[found][:, shared])
            assert own.variance.sums.astype(bool).sum() == whole.variance.sums[found].astype(bool).sum()


def test_cells_with_pixels_keep_their_numbers_and_profiles(some_tile):
    cells = some_tile.variables["height"].cells
    empty = np.zeros(len(cells), np.bool_)
    empty[::2] = True
    left = cells.some(np.flatnonzero(~empty))

    assert left.entry_cell.tolist() == (cells.entry_cell[~empty[cells.entry_cell]] // 2).tolist()
    assert left.entry_sums.tobytes() == cells.entry_sums[~empty[cells.entry_cell]].tobytes()
    numbers, some = cells.with_pixels()
    assert numbers.tolist() == np.flatnonzero(cells.moments.n).tolist()
    assert some.summary().total().n == cells.summary().total().n
    assert len(some.entry_key) == len(cells.entry_key)
