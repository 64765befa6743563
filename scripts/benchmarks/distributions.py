"""The kernel of other distributions against the normal one, on the same pixels."""

import time
from functools import partial

import numpy as np
from affine import Affine
from numpy.typing import NDArray

from benchmarks.choices import LEVELS, Choice
from benchmarks.measure import RATIO, Table, compare_all, ratio_row, seconds
from geouq.arrays.points import summarize_grid
from geouq.core.distribution import NORMAL, Distribution
from geouq.core.grid import Grid
from geouq.sweep.settings import Settings, cell_size_for

Layer = NDArray[np.float32]
PATCH = 32  # pixels: side of a patch of nearly the same forecast
ONE_LEVEL = (0.9,)
OTHERS = {
    "log-normal": (Distribution("lognormal"), "<= 2"),
    "truncated normal": (Distribution("truncated_normal"), "<= 2"),
    "square of a normal (transform: sqrt)": (Distribution("squared_normal"), ""),
    "gamma": (Distribution("gamma"), "<= 6"),
    "Student t": (Distribution("student_t", 5.0), "<= 6"),
}


def distributions_section(choice: Choice) -> Table:
    """Return the processor time of the kernel by that of normal forecasts."""
    layers = _layers(choice.kernel_size)
    cases = [
        (f"{name}{what}", own, levels, target if levels == LEVELS else "")
        for name, (own, target) in OTHERS.items()
        for what, levels in (("", LEVELS), (", one level instead of four", ONE_LEVEL))
    ]
    base = partial(_summarized, layers, NORMAL, LEVELS)
    works = [partial(_summarized, layers, own, levels) for _, own, levels, _ in cases]
    ratios = compare_all(works, base, choice.times(), time.process_time)
    nanoseconds = 1e9 * seconds(base, time.process_time) / layers[0].size
    return Table(
        "Other distributions: kernel / kernel of normal forecasts",
        f"{layers[0].size / 1e6:.1f} million pixels in memory, float32, one thread; all metrics. Forecasts vary by "
        f"about 5 % within patches of {PATCH} pixels. A normal forecast takes {nanoseconds:.1f} ns a pixel.",
        ("forecast", *RATIO),
        tuple(ratio_row(what, ratio, target) for (what, *_, target), ratio in zip(cases, ratios, strict=True)),
    )


def _layers(side: int) -> tuple[Layer, Layer, Layer]:
    """Return mean, variance and truth of forecasts of numbers above 0."""
    rng = np.random.default_rng(0)

    def varied(low: float, high: float) -> Layer:
        """Return numbers from low to high, nearly the same in each patch."""
        patches = rng.uniform(low, high, [-(-side // PATCH)] * 2)
        noise = rng.uniform(0.95, 1.05, (side, side))
        return (np.kron(patches, np.ones((PATCH, PATCH)))[:side, :side] * noise).astype(np.float32)

    mean = varied(5, 25)
    std = mean * varied(0.2, 0.6)
    truth = np.maximum(mean + std * rng.standard_normal((side, side), np.float32), np.float32(0.01))
    return mean, std * std, truth


def _summarized(layers: tuple[Layer, Layer, Layer], distribution: Distribution, levels: tuple[float, ...]) -> object:
    grid = Grid(layers[0].shape, Affine.identity(), "")
    settings = Settings(levels, cell_size_for([grid]), groups=("truth",), added=(), distribution=distribution)
    return summarize_grid(layers, grid, settings)
