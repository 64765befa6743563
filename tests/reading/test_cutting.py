"""Groups and windows: each pixel once, in an order that windows do not change."""

from dataclasses import replace

import pytest
from affine import Affine
from hypothesis import given
from hypothesis import strategies as st

from geouq.config import load_experiment
from geouq.core.grid import Grid, Window
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import BAND, CACHE, SMALL_CACHE, Pieces, Reading, overlap, reading_for

SIDES = st.integers(1, 5).map(lambda squares: 256 * squares)


def pixels(windows):
    return sum(window.height * window.width for window in windows)


@given(rows=st.integers(1, 2000), columns=st.integers(1, 20_000), height=SIDES, width=SIDES | st.just(20_224))
def test_windows_and_groups_hold_each_pixel_once(rows, columns, height, width):
    pieces = Pieces(Grid((rows, columns), Affine.identity(), ""), Reading(height, width))

    assert pixels(w for piece in pieces for w in piece.windows) == rows * columns
    assert pixels(g for piece in pieces for g in piece.groups) == rows * columns
    for piece in pieces:
        boxes = [overlap(w, g) for w in piece.windows for g in piece.groups]
        assert pixels(box for box in boxes if box.height > 0 and box.width > 0) == pixels(piece.windows)
        assert [w.column for w in piece.windows] == sorted(w.column for w in piece.windows)


def test_pieces_of_any_grid_are_made_one_by_one():
    """A header of a hundred bytes may claim so many."""
    pieces = Pieces(Grid((2**31 - 1, 2**31 - 1), Affine.identity(), ""), Reading(512, 512))

    assert len(pieces) == 2**22 * 2**18
    assert pieces[len(pieces) - 1].windows[-1] == Window(2**31 - 512, 2**31 - 512, 511, 511)


@given(rows=st.integers(1, 2000), columns=st.integers(1, 20_000), height=SIDES, width=SIDES | st.just(20_224))
def test_groups_of_a_band_come_from_top_to_bottom(rows, columns, height, width):
    pieces = Pieces(Grid((rows, columns), Affine.identity(), ""), Reading(height, width))
    groups = [group for piece in pieces for group in piece.groups]

    for band in range(0, columns, BAND):
        own = [group for group in groups if group.column == band]
        assert own == [
            Window(row, band, min(256, rows - row), min(BAND, columns - band)) for row in range(0, rows, 256)
        ]


@pytest.fixture
def tile_of(tile_folder):
    """A tile whose three rasters have these blocks, as far as their headers tell."""
    tile = find_tiles(load_experiment(tile_folder(("a1",)))).tiles[0]

    def make(shape, block, *, interleaved=False, server=""):
        grid = replace(tile.grid, shape=shape)
        layers = {
            layer: replace(raster, grid=grid, block=block, interleaved=interleaved, path=server + raster.path)
            for layer, raster in tile.rasters.items()
        }
        return replace(tile, grid=grid).with_rasters(layers)

    return make


@pytest.mark.parametrize(
    ("shape", "block", "height", "width"),
    [
        ((4096, 4096), (512, 512), 512, 512),
        ((4096, 4096), (256, 256), 512, 512),
        ((4096, 4096), (1024, 1024), 1024, 1024),
        ((4096, 6000), (1, 6000), 256, 6144),
        ((4096, 40_000), (16, 40_000), 256, 40_192),
        ((300, 400), (20, 400), 512, 512),
        ((20_000, 20_000), (10_000, 10_000), 10_240, 256),
    ],
)
def test_windows_hold_whole_blocks(tile_of, shape, block, height, width):
    reading = reading_for(tile_of(shape, block))

    assert (reading.height, reading.width) == (height, width)


@pytest.mark.parametrize(
    ("shape", "block", "height", "width"),
    [
        ((4096, 4096), (512, 512), 2048, 2048),
        ((1000, 1000), (256, 256), 1024, 1024),
        ((4096, 6000), (1, 6000), 768, 6144),
        ((20_000, 20_000), (10_000, 10_000), 10_240, 256),
    ],
)
def test_windows_of_files_on_a_server_are_larger(tile_of, shape, block, height, width):
    reading = reading_for(tile_of(shape, block, server="https://server"))

    assert (reading.height, reading.width) == (height, width)


def test_blocks_too_large_for_a_window_stay_in_the_cache(tile_of):
    reading = reading_for(tile_of((20_000, 20_000), (10_000, 10_000)), workers=2)

    assert reading.cache >= 2 * 3 * 10_000 * 10_000 * 4


def test_blocks_that_lie_across_windows_are_cached(tile_of):
    assert reading_for(tile_of((4000, 4000), (300, 300))).cache == CACHE
    assert reading_for(tile_of((4096, 4096), (512, 512))).cache == SMALL_CACHE
