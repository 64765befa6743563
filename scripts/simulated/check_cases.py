"""Clean maps, and faults of the input, whose findings `scripts/check_rates` counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulated.checks import LARGE, NAME, SMALL, Alter, Case, Maps
from simulated.inputs import Change, Window, crop, each, field, forecast

Floats = NDArray[np.float64]
Windows = Sequence[Window]
OTHER = "y"
HEIGHTS = ("height", "biomass")
MEASURED = ("height", "kelvin", "celsius", "biomass", "rain", "fraction")  # of counts the variance may be the mean
SKILLED = (0.3, 0.5, 0.8, 1.2)
SMOOTH = (20, 30, 40)  # ranges of fields that hardly differ from those of a neighbour
SHORT, LONG = (0, 2, 5, 12), (30, 60)  # ranges of errors, of which a sample holds many, or few, independent ones
LEAST = 0.1  # of a variable whose logarithm is taken


def clean_cases() -> list[Case]:
    """Return calibrated maps of several kinds, and models that are biased or whose std is too small or too large."""
    return [
        Case("ranges of 20 to 60 px", _as_it_is, scales=(20, 30, 40, 60)),
        Case("ranges of 2 to 8 px", _as_it_is, scales=(2, 3, 5, 8)),
        Case("noise", _as_it_is, scales=(0,)),
        Case("skewed truth (biomass)", _as_it_is, variables=("biomass",)),
        Case("truth mostly 0 (rain)", _as_it_is, variables=("rain",)),
        Case("counts", _as_it_is, variables=("counts",)),
        Case("fractions of 0 to 1", _as_it_is, variables=("fraction",)),
        Case("temperatures in K", _as_it_is, variables=("kelvin",)),
        Case("rounded to integers", _rounded, variables=("height", "kelvin", "celsius", "biomass", "counts")),
        Case("small tiles", _as_it_is, scales=(0, 2, 5, 12), sizes=SMALL),
        Case("3 % of the pixels have a truth", _few, sizes=LARGE),
        Case("tracks of truth", _tracks, sizes=LARGE),
        Case("biased model", _biased),
        Case("std too small by 1.3 to 3", _over_confident),
        Case("std too large by 1.3 to 3", _under_confident),
        Case("slope of 0.3 to 0.8", _regressed),
        Case("std to a power of 0.6 to 1.6", _dispersed),
        Case("std of 4 to 12 members", _of_members),
    ]


def fault_cases() -> list[Case]:
    """Return faults of the input, one each, of maps that are clean otherwise."""
    units = "different units"
    shift: dict[str, Any] = {"scales": SMOOTH, "sizes": LARGE}
    std: dict[str, Any] = {"variables": HEIGHTS, "layer": "variance"}
    variance: dict[str, Any] = {"variables": HEIGHTS, "layer": "std"}
    return [
        _fault("truth times 10", _times(10), units),
        _fault("truth times 100", _times(100), units),
        _fault("truth times 0.01", _times(0.01), units),
        _fault("inverted mask", _inverted_mask, "inverted mask", scales=(2, 5, 12, 30)),
        _fault("logarithm of the truth", _log_truth, "transformed truth", variables=HEIGHTS),
        _fault("shift by one pixel, errors of noise", _shifted, "shifted pixels", smooth=(0.0,), **shift),
        _fault("shift by one pixel, errors half as smooth", _shifted, "shifted pixels", smooth=(0.5,), **shift),
        _fault(
            "bands of two variables exchanged",
            _exchanged,
            "bands in another order",
            variables=HEIGHTS,
            scales=(5, 12, 30),
        ),
        _fault("std given as variance", _as_std, "std stored as variance", scales=SHORT, **std),
        _fault("std given as variance, ranges of 30 to 60 px", _as_std, "std stored as variance", scales=LONG, **std),
        _fault("variance given as std", _as_variance, "variance stored as std", scales=SHORT, **variance),
        _fault(
            "variance given as std, ranges of 30 to 60 px",
            _as_variance,
            "variance stored as std",
            scales=LONG,
            **variance,
        ),
        _fault("std is the mean", _std_is_mean, "std equal to the mean", layer="std"),
        _fault("std is the truth", _std_is_truth, "std equal to the truth", layer="std"),
    ]


def _fault(name: str, alter: Alter, right: str, *, variables: Sequence[str] = MEASURED, **drawn: Any) -> Case:
    """Return a fault of maps whose prediction has some skill."""
    return Case(name, alter, right, tuple(variables), spreads=SKILLED, **drawn)


def _as_it_is(windows: Windows, _: np.random.Generator) -> Maps:
    return {NAME: windows}


def _changed(windows: Windows, **changes: Change) -> Maps:
    return {NAME: each(windows, **changes)}


def _rounded(windows: Windows, _: np.random.Generator) -> Maps:
    return _changed(windows, truth=lambda one: np.round(one.truth), mean=lambda one: np.round(one.mean))


def _few(windows: Windows, rng: np.random.Generator) -> Maps:
    return _changed(windows, truth=lambda one: np.where(rng.random(one.truth.shape) < 0.03, one.truth, np.nan))


def _tracks(windows: Windows, rng: np.random.Generator) -> Maps:
    """Keep the truth in slanting tracks of 3 pixels."""
    rows, columns = windows[0].truth.shape
    across = np.arange(columns) + np.arange(rows)[:, np.newaxis] // 4 + rng.integers(48)
    return _changed(windows, truth=lambda one: np.where(across % 48 < 3, one.truth, np.nan))


def _biased(windows: Windows, rng: np.random.Generator) -> Maps:
    """Add up to one std of the truth to the mean, or multiply it by 0.6 to 1.5."""
    if rng.random() < 0.5:
        size = rng.uniform(-1, 1)
        return _changed(windows, mean=lambda one: one.mean + size * np.nanstd(one.truth))
    factor = np.exp(rng.uniform(np.log(0.6), np.log(1.5)))
    return _changed(windows, mean=lambda one: factor * one.mean)


def _over_confident(windows: Windows, rng: np.random.Generator) -> Maps:
    factor = rng.uniform(1.3, 3)
    return _changed(windows, std=lambda one: one.std / factor)


def _under_confident(windows: Windows, rng: np.random.Generator) -> Maps:
    factor = rng.uniform(1.3, 3)
    return _changed(windows, std=lambda one: one.std * factor)


def _regressed(windows: Windows, rng: np.random.Generator) -> Maps:
    slope = rng.uniform(0.3, 0.8)
    return _changed(windows, mean=lambda one: one.mean.mean() + slope * (one.mean - one.mean.mean()))


def _dispersed(windows: Windows, rng: np.random.Generator) -> Maps:
    """Take the std to a power of 0.6 to 1.6 about its median, as models whose std varies too little or too much."""
    power, centre = rng.uniform(0.6, 1.6), np.median([np.median(one.std) for one in windows])
    return _changed(windows, std=lambda one: centre * (one.std / centre) ** power)


def _of_members(windows: Windows, rng: np.random.Generator) -> Maps:
    """Estimate the std of each pixel from 4 to 12 members."""
    freedom = rng.integers(3, 12)
    return _changed(windows, std=lambda one: one.std * np.sqrt(rng.chisquare(freedom, one.std.shape) / freedom))


class _times:  # noqa: N801  a function with a state that another process can receive
    """Multiply the truth."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, windows: Windows, _: np.random.Generator) -> Maps:
        return _changed(windows, truth=lambda one: self.factor * one.truth)


def _inverted_mask(windows: Windows, rng: np.random.Generator) -> Maps:
    """Hide all but clouds, beneath which the truth is missing or 0."""
    clouds = [field(rng, one.truth.shape, 10) > 0.3 for one in windows]
    fill = (np.nan, 0.0)[rng.integers(2)]
    return {
        NAME: [
            Window(one.mean, one.std, np.where(cloud, fill, one.truth), ~cloud)
            for one, cloud in zip(windows, clouds, strict=True)
        ]
    }


def _log_truth(windows: Windows, _: np.random.Generator) -> Maps:
    positive = each(
        windows, truth=lambda one: np.maximum(one.truth, LEAST), mean=lambda one: np.maximum(one.mean, LEAST)
    )
    return _changed(positive, truth=lambda one: np.log(one.truth))


def _shifted(windows: Windows, rng: np.random.Generator) -> Maps:
    down, across = ((0, 1), (1, 0), (0, -1), (-1, 0))[rng.integers(4)]
    return {NAME: crop(windows, down, across, "mean")}


def _exchanged(windows: Windows, rng: np.random.Generator) -> Maps:
    """Exchange the predictions of the variable and of another one on the same pixels."""
    others = forecast(
        int(rng.integers(2**31)), "fraction", tiles=len(windows), shape=windows[0].truth.shape, spread=0.5
    )
    pairs = list(zip(windows, others, strict=True))
    return {
        NAME: [Window(two.mean, two.std, one.truth) for one, two in pairs],
        OTHER: [Window(one.mean, one.std, two.truth) for one, two in pairs],
    }


def _as_std(windows: Windows, _: np.random.Generator) -> Maps:
    return _changed(windows, std=lambda one: np.sqrt(one.std))


def _as_variance(windows: Windows, _: np.random.Generator) -> Maps:
    return _changed(windows, std=lambda one: one.std**2)


def _std_is_mean(windows: Windows, _: np.random.Generator) -> Maps:
    return _changed(windows, std=lambda one: one.mean)


def _std_is_truth(windows: Windows, _: np.random.Generator) -> Maps:
    return _changed(windows, std=lambda one: one.truth)
