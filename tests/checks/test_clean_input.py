"""No finding on input that is right, however good or bad the forecast is."""

import numpy as np
import pytest
from simulated.inputs import VARIABLES, each, forecast, patches_of

from geouq.checks import examine_model

SIZES = [
    {"shape": (96, 96), "tiles": 4, "scale": 8, "spread": 0.5},
    {"shape": (96, 96), "tiles": 4, "scale": 30, "spread": 0.8, "smooth": 1.0},
    {"shape": (90, 90), "tiles": 3, "scale": 5, "spread": 2.5, "smooth": 0.0},
    {"shape": (22, 53), "tiles": 6, "scale": 8, "spread": 0.7},
    {"shape": (40, 30), "tiles": 1, "scale": 10, "spread": 1.0},
]


def in_a_region(values):
    """The same values, but constant ones in a quarter of each window."""
    here = np.arange(values.shape[1]) < values.shape[1] // 4
    return lambda constant: np.where(here, constant, values)


FORECASTS = {
    "calibrated": {},
    "over-confident by 2": {"std": lambda one: one.std / 2},
    "over-confident by 2.5": {"std": lambda one: one.std / 2.5},
    "over-confident by 5": {"std": lambda one: one.std / 5},
    "under-confident by 2": {"std": lambda one: one.std * 2},
    "under-confident by 4": {"std": lambda one: one.std * 4},
    "std that varies too little": {"std": lambda one: np.median(one.std) * (one.std / np.median(one.std)) ** 0.6},
    "std that varies too much": {"std": lambda one: np.median(one.std) * (one.std / np.median(one.std)) ** 1.6},
    "biased by one std": {"mean": lambda one: one.mean + one.truth.std()},
    "too high by 30 %": {"mean": lambda one: 1.3 * one.mean},
    "too low by 40 %": {"mean": lambda one: 0.6 * one.mean},
    "regressed to the mean": {"mean": lambda one: one.mean.mean() + 0.4 * (one.mean - one.mean.mean())},
    "no skill": {"mean": lambda one: np.roll(one.mean, one.mean.shape[0] // 2, 0)},
    "integer truth": {"truth": lambda one: np.round(one.truth)},
    "integers": {"truth": lambda one: np.round(one.truth), "mean": lambda one: np.round(one.mean)},
    "constant region": {
        "truth": lambda one: in_a_region(one.truth)(0),
        "mean": lambda one: in_a_region(one.mean)(0.01),
        "std": lambda one: in_a_region(one.std)(0.02),
    },
    "constant truth in a region": {"truth": lambda one: in_a_region(one.truth)(np.median(one.truth))},
}


def kinds(windows, layer):
    return [str(finding) for finding in examine_model({"height": patches_of(windows)}, layer)]


@pytest.mark.parametrize("seed", range(len(SIZES)))
@pytest.mark.parametrize("variable", VARIABLES)
def test_a_forecast_that_is_read_as_it_was_meant_has_no_finding(variable, seed):
    """Each forecast is combined with each variable, and in turn with each size and key of the variance."""
    for i, (name, change) in enumerate(FORECASTS.items()):
        if i % len(SIZES) == seed:
            size = SIZES[(i // len(SIZES) + seed) % len(SIZES)]
            windows = each(forecast(seed + 10, variable, **size), **change)
            assert kinds(windows, ("std", "variance")[seed % 2]) == [], (name, size)


@pytest.mark.parametrize(("seed", "variable"), [(30, "biomass"), (95, "height")])
def test_smooth_fields_in_small_tiles_are_not_shifted_by_chance(seed, variable):
    """The correlation is flat about its top, so that its place is less certain than a jackknife says."""
    windows = forecast(seed, variable, tiles=12, shape=(64, 64), scale=30, spread=0.5, smooth=0.5)

    assert kinds(windows, "std") == []


@pytest.mark.parametrize(("seed", "variable"), [(25, "height"), (27, "fraction"), (31, "height"), (62, "biomass")])
def test_a_window_that_is_little_more_than_a_slope_is_not_flipped_by_chance(seed, variable):
    windows = forecast(seed, variable, tiles=1, shape=(24, 24), scale=12, spread=1.2, smooth=1.0)

    assert kinds(windows, "std") == []
