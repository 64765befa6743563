"""What the figure of cells says of places without a number."""

import numpy as np
from affine import Affine
from correlated import UTM
from matplotlib.colors import to_hex
from pictures import scale_of
from PIL import Image

from geouq.core.grid import Grid
from geouq.figures import TileCells, cell_map, save_figure
from geouq.figures.cells import EMPTY, HATCH


def tile_at(column, values, transform=None):
    transform = transform or Affine(100, 0, 100 * column, 0, -100, 0)
    return TileCells(f"at {column}", Grid(np.shape(values), transform, UTM), np.array(values, float), 3)


def key_of(tiles):
    """Labels of the key of a map, and the colour or hatch of each."""
    legend = cell_map(tiles, "zms", scale_of("zms"), title="t", units="1").axes[-1].get_legend()
    if legend is None:
        return {}
    shown = zip(legend.get_texts(), legend.get_patches(), strict=True)
    return {text.get_text(): patch.get_hatch() or to_hex(patch.get_facecolor()) for text, patch in shown}


def test_a_map_says_what_is_grey_and_what_is_hatched_where_they_occur():
    full, holed = [[1, 2], [0.5, 1]], [[1, 2], [0.5, np.nan]]

    assert key_of([tile_at(0, full), tile_at(2, full)]) == {}
    assert key_of([tile_at(0, full), tile_at(2, holed)]) == {"no data": EMPTY}
    assert key_of([tile_at(0, full), tile_at(3, full)]) == {"outside the tiles": HATCH}
    assert key_of([tile_at(0, holed), tile_at(3, full)]) == {"no data": EMPTY, "outside the tiles": HATCH}


def test_what_lies_outside_is_found_beside_tiles_that_overlap_or_are_turned():
    full = np.ones((2, 2))
    turned = tile_at(0, full, Affine.rotation(30) @ Affine.scale(100, -100))

    assert key_of([tile_at(0, np.ones((2, 4))), tile_at(0, full), tile_at(5, full)]) == {"outside the tiles": HATCH}
    assert key_of([turned]) == {"outside the tiles": HATCH}


def test_no_data_and_outside_look_different(tmp_path):
    """A tile without data on the left, then a gap, then a tile with data: three looks."""
    figure = cell_map(
        [tile_at(0, [[np.nan, np.nan], [np.nan, 1]]), tile_at(4, [[1, 1], [1, 1]])],
        "zms", scale_of("zms"), title="t", units="1",
    )  # fmt: skip
    save_figure(figure, tmp_path / "map.png", 200)
    picture, axes = np.asarray(Image.open(tmp_path / "map.png").convert("RGB")), figure.axes[0]

    def around(x, y):
        """Colours of a square of the picture around a place of the map."""
        column, row = np.rint(axes.transData.transform((x, y))).astype(int)
        row = len(picture) - row
        return {
            to_hex(np.array(own) / 255) for own in picture[row - 9 : row + 9, column - 9 : column + 9].reshape(-1, 3)
        }

    assert around(100, -50) == {EMPTY}
    outside = around(300, -100)
    assert EMPTY not in outside
    assert "#ffffff" in outside
    assert len(outside) > 2  # lines of the hatching
    assert around(500, -100) == {"#f7f7f7"}
