"""Quick looks at maps of pixels: the colours of the maps, at their places, in one picture with their meaning."""

import re
from dataclasses import replace
from importlib.resources import files

import matplotlib.image
import numpy as np
import pytest
import rasterio

from geouq.config import load_experiment
from geouq.maps.pixel_maps import map_named
from geouq.maps.pixels import write_pixel_maps
from geouq.maps.scales import colours_of_codes, hexadecimal
from geouq.pages.cells import layout_of
from geouq.pages.quick_looks import MOST, NO_DATA, quick_looks, write_picture
from geouq.rasters.catalog import find_tiles
from geouq.summary import TilePlace, empty_summary

WHOLE = empty_summary((0.5, 0.9))


@pytest.fixture
def mapped(tile_folder, tmp_path):
    """Maps of three tiles side by side, where these are, and their variables."""
    tiles = find_tiles(load_experiment(tile_folder())).tiles
    for tile in tiles:
        write_pixel_maps(tile, ["z", "status"], tmp_path / "maps", {})
    variables = tiles[0].variables
    layout = layout_of([TilePlace(tile.name, tile.grid, 16) for tile in tiles], len(variables))
    return tmp_path / "maps", layout, variables, {variable.name: WHOLE for variable in variables}


def test_a_pixel_has_the_colour_of_its_value_in_the_scale_of_the_map(mapped):
    folder, layout, variables, wholes = mapped
    looks = quick_looks(["z"], variables, wholes, layout, folder)

    assert len(looks) == len(variables)
    tile = layout.tiles[0]
    with rasterio.open(folder / f"{tile.place.tile}_z.tif") as file:
        values = file.read(1)
    row, column = np.argwhere(values >= 3)[0] if (values >= 3).any() else np.argwhere(np.isfinite(values))[0]
    scale = map_named("z").scale(WHOLE)
    wanted = [np.interp(values[row, column], scale.values, channel) for channel in zip(*scale.colours, strict=True)]
    got = looks[0].picture[:, tile.top + row, tile.left + column]
    np.testing.assert_allclose(got[:3], wanted, atol=1)
    assert got[3] == 255
    assert looks[0].colours == list(zip(map(hexadecimal, scale.colours), scale.values, strict=True))
    assert not looks[0].has_codes


def test_a_pixel_of_a_tile_without_a_value_has_a_colour_of_its_own_and_outside_is_nothing(mapped):
    folder, layout, variables, wholes = mapped
    (look,) = quick_looks(["z"], variables[:1], wholes, layout, folder)

    tile = layout.tiles[0]
    with rasterio.open(folder / f"{tile.place.tile}_z.tif") as file:
        missing = np.isnan(file.read(1))
    rows, columns = tile.place.grid.shape
    shown = look.picture[:, tile.top : tile.top + rows, tile.left : tile.left + columns]
    assert missing.any()
    np.testing.assert_array_equal((shown == np.array(NO_DATA)[:, None, None]).all(axis=0), missing)
    assert look.has_missing
    assert look.picture[3].min() == NO_DATA[3]  # tiles side by side leave nothing free


def test_what_lies_outside_of_all_tiles_is_transparent(mapped):
    folder, layout, variables, wholes = mapped
    apart = replace(layout, tiles=[replace(layout.tiles[0], top=7, left=9), *layout.tiles[1:]])
    (look,) = quick_looks(["status"], variables[:1], wholes, apart, folder)

    assert not look.picture[:, :7, : layout.tiles[1].left].any()
    assert look.picture[3, 7, 9]


def test_the_colour_of_missing_pixels_is_the_grey_of_cells_on_light_and_dark_pages():
    style = (files("geouq.pages") / "static/report.css").read_text("utf-8")
    papers, greys = (re.findall(rf"--{name}: #(\w+);", style) for name in ("paper", "nodata"))
    for paper, grey in zip(papers[:2], greys[:2], strict=True):
        opacity = NO_DATA[3] / 255
        over = [NO_DATA[0] * opacity + int(paper[k : k + 2], 16) * (1 - opacity) for k in (0, 2, 4)]
        np.testing.assert_allclose(over, [int(grey[k : k + 2], 16) for k in (0, 2, 4)], atol=2)


def test_codes_have_their_colours_and_meanings(mapped):
    folder, layout, variables, wholes = mapped
    (look,) = quick_looks(["status"], variables[:1], wholes, layout, folder)

    codes = map_named("status").codes
    assert look.has_codes
    assert [colour for colour, _ in look.colours] == list(map(hexadecimal, colours_of_codes(codes)))
    tile = layout.tiles[-1]
    with rasterio.open(folder / f"{tile.place.tile}_status.tif") as file:
        code = int(file.read(1)[0, 0])
    assert tuple(look.picture[:3, tile.top, tile.left]) == colours_of_codes(codes)[code]


def test_a_tile_without_a_file_has_no_data_and_very_many_maps_are_not_all_shown(mapped):
    folder, layout, variables, wholes = mapped
    (folder / f"{layout.tiles[0].place.tile}_z.tif").unlink()

    looks = quick_looks(["z"] * 20, variables, wholes, layout, folder)

    assert len(looks) == MOST
    tile = layout.tiles[0]
    assert tuple(looks[0].picture[:, tile.top, tile.left]) == NO_DATA
    assert (looks[0].picture[3] == 255).any()


def test_all_pictures_stand_below_each_other_in_one_file(mapped, tmp_path):
    folder, layout, variables, wholes = mapped
    looks = quick_looks(["z", "status"], variables, wholes, layout, folder)

    shown = matplotlib.image.imread(write_picture(looks, tmp_path / "looks.png"))  # 0 to 1, (rows, columns, 4)
    last = shown[-looks[-1].picture.shape[1] :]
    np.testing.assert_array_equal(np.moveaxis(np.rint(255 * last), -1, 0), looks[-1].picture)
