"""The summaries of many small tiles in one file: bit by bit what was saved, readable by others, or refused."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from alike import same
from drawn_tiles import drawn_tile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geouq.core.errors import SummaryError
from geouq.summary.all_pixels import AllPixels
from geouq.summary.tiles_file import TilesFile, load_tile, save_tiles
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED

NAMES = ["a1", "a2", "b1"]
SHARED_FOLDER = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def swept_tiles(tile_folder, sweep_one):
    """The summaries of three small tiles of three variables."""
    swept = sweep_one(tile_folder(NAMES))
    return [swept[name] for name in NAMES]


def damaged(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def assert_read_back(tiles, path):
    saved = TilesFile(path)
    assert list(saved.keys.items()) == [(tile.tile, f"key{number}") for number, tile in enumerate(tiles)]
    for tile in tiles:
        place, wholes = saved.place(tile.tile), saved.wholes(tile.tile)
        assert same(saved.summary(tile.tile), tile)
        assert (place.grid, place.cell_size) == (tile.grid, tile.cell_size)
        for name, part in tile.variables.items():
            assert same(wholes.variables[name].whole, part.whole)
            assert same(saved.wholes(tile.tile, [name]).variables, {name: wholes.variables[name]})
            assert same(saved.cells(tile.tile, name), part.cells)


@given(
    seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=4, unique=True),
    names=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1, max_size=3, unique=True),
    columns=st.sampled_from([UNWEIGHTED, len(FIELDS)]),
    shape=st.tuples(st.integers(1, 70), st.integers(1, 70)),
)
@SHARED_FOLDER
def test_summaries_of_any_kind_are_read_back_bit_by_bit(seeds, names, columns, shape, tmp_path):
    tiles = [drawn_tile(seed, names, tile=f"t{seed}", columns=columns, shape=shape) for seed in seeds]

    save_tiles(tiles, [f"key{number}" for number in range(len(tiles))], tmp_path / "0001.nc")

    assert_read_back(tiles, tmp_path / "0001.nc")


def test_summaries_of_all_pixels_are_read_back_bit_by_bit(swept_tiles, tmp_path):
    save_tiles(swept_tiles, ["key0", "key1", "key2"], tmp_path / "0001.nc")

    assert_read_back(swept_tiles, tmp_path / "0001.nc")


def test_profiles_follow_from_the_pixels_of_a_swept_tile(swept_tiles):
    tile = swept_tiles[0]
    for part in tile.variables.values():
        pixels = AllPixels.of(part.whole.variance, part.cells, tile.grid, tile.cell_size)

        assert same(pixels.profile(tile.tile), part.whole.variance)
        assert same(pixels.entries.sums, part.cells.entry_sums)


@pytest.mark.parametrize("what", ["sums", "entries", "pixels"])
def test_profiles_that_do_not_follow_from_the_pixels_to_the_last_bit_are_saved(swept_tiles, what, tmp_path):
    tile = swept_tiles[0]
    name, part = next(iter(tile.variables.items()))
    profile = part.whole.variance
    if what == "sums":
        sums = profile.sums.copy()
        sums[3, 0] = np.nextafter(sums[3, 0], np.inf)
        part = replace(part, whole=part.whole.having(variance=replace(profile, sums=sums)))
    elif what == "pixels":
        pixels = profile.kept.pixels.copy()
        pixels[3, 1] = 3.0  # no square of a float
        kept = replace(profile.kept, pixels=pixels)
        part = replace(part, whole=part.whole.having(variance=replace(profile, kept=kept)))
    else:
        sums = part.cells.entry_sums.copy()
        sums[3, 0] = np.nextafter(sums[3, 0], np.float32(np.inf))
        part = replace(part, cells=replace(part.cells, entry_sums=sums))
    other = replace(tile, variables={**tile.variables, name: part})

    save_tiles([other, *swept_tiles[1:]], ["key0", "key1", "key2"], tmp_path / "0001.nc")

    assert AllPixels.of(part.whole.variance, part.cells, tile.grid, tile.cell_size) is None
    assert_read_back([other, *swept_tiles[1:]], tmp_path / "0001.nc")


def test_xarray_reads_it_and_it_explains_itself(swept_tiles, tmp_path):
    save_tiles(swept_tiles, ["key0", "key1", "key2"], tmp_path / "0001.nc")

    with xr.open_dataset(tmp_path / "0001.nc") as found:
        assert found["tile"].values.tolist() == NAMES
        parts = [part.whole.moments.n for tile in swept_tiles for part in tile.variables.values()]
        assert found["moments_n"].values.tolist() == parts
        assert all(found[name].attrs.get("long_name") for name in found.data_vars if name != "words")


def test_a_tile_of_many_is_loaded_by_its_name(swept_tiles, tmp_path):
    save_tiles(swept_tiles, ["key0", "key1", "key2"], tmp_path / "0001.nc")

    assert same(load_tile(tmp_path / "0001.nc", "a2"), swept_tiles[1])
    with pytest.raises(SummaryError, match="does not hold tile c9; it holds a1, a2, b1"):
        load_tile(tmp_path / "0001.nc", "c9")


def test_a_damaged_file_is_refused_by_its_name(swept_tiles, tmp_path):
    save_tiles(swept_tiles, ["key0", "key1", "key2"], tmp_path / "0001.nc")
    damaged(tmp_path / "0001.nc")

    with pytest.raises(SummaryError, match=r"0001\.nc cannot be read"):
        TilesFile(tmp_path / "0001.nc")
