"""Figures look as they did when they were last looked at."""

import golden_figures as golden
import numpy as np
import pytest
from PIL import Image

TOLERANCE = 4  # root mean square over pixels, of 255: far less than a line that has moved


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), np.float64)


@pytest.fixture(scope="module")
def figures():
    return golden.figures()


def difference(one, other):
    return np.inf if one.shape != other.shape else float(np.sqrt(np.square(one - other).mean()))


@pytest.mark.parametrize("name", sorted(path.stem for path in golden.FOLDER.glob("*.png")))
def test_a_figure_looks_as_it_did(name, figures, tmp_path):
    path = golden.FOLDER / f"{name}.png"
    with Image.open(path) as image:
        drawn_with = image.text["Software"]
    if drawn_with != golden.DRAWN_WITH:
        pytest.skip(f"letters differ: drawn with {drawn_with}, here is {golden.DRAWN_WITH}")
    golden.save(figures[name], tmp_path / "now.png")

    assert difference(pixels(tmp_path / "now.png"), pixels(path)) <= TOLERANCE


def test_each_picture_that_is_kept_is_of_a_figure(figures):
    assert {path.stem for path in golden.FOLDER.glob("*.png")} == set(figures)


def test_a_line_that_has_moved_is_noticed(figures, tmp_path):
    figure = golden.figures()["pit"]
    figure.axes[0].set_ylim(0, 5)
    golden.save(figure, tmp_path / "moved.png")
    golden.save(figures["pit"], tmp_path / "now.png")

    assert difference(pixels(tmp_path / "moved.png"), pixels(tmp_path / "now.png")) > 2 * TOLERANCE
