"""The figures whose pictures are kept in tests/golden; `python tests/golden_figures.py` draws them anew."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from affine import Affine
from correlated import UTM
from matplotlib import ft2font
from pictures import scale_of

from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10
from geouq.core.grid import Grid
from geouq.figures import Curve, TileCells, calibration_figure, cell_map, pit_histogram, reliability_diagram

FOLDER = Path(__file__).parent / "golden"
DRAWN_WITH = f"matplotlib {mpl.__version__}, FreeType {ft2font.__freetype_version__}"
DOTS_PER_INCH = 100


def figures():
    """Each figure by its name, of forecasts whose faults are seen: over-confident, with a bias, or by chance."""
    rng = np.random.default_rng(0)
    variance = np.exp(rng.normal(0, 1, (80, 80)))
    noise = np.sqrt(variance) * rng.standard_normal((80, 80))
    zero = np.zeros((80, 80))
    good, bad, low = (summarize_arrays(zero, variance, truth).whole for truth in (noise, 2 * noise, noise + 1))
    cells = TileCells("a", Grid((8, 8), Affine(640, 0, 0, 0, -640, 0), UTM), np.exp(noise[:8, :8]), 6400)
    return {
        "reliability": reliability_diagram(bad, EQUAL_COUNT_10, title="Over-confident", units="m"),
        "pit": pit_histogram(bad, title="Over-confident"),
        "calibration": calibration_figure({"all": Curve(good), "low": Curve(low)}, title="Of two regions"),
        "cells": cell_map([cells], "zms", scale_of("zms"), title="Cells", units="1"),
    }


def save(figure, path):
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": DRAWN_WITH})


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, figure in figures().items():
        save(figure, FOLDER / f"{name}.png")
