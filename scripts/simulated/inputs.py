"""Simulated predictions and truth in windows, calibrated or with one change."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from geouq.checks import Known, Patch
from simulated.fields import gaussian_field

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Change = Callable[["Window"], Floats | Flags]
Layers = tuple[Floats, Floats, Floats]  # mean, std, truth


@dataclass(frozen=True)
class Draw:
    """Standard normal signal and errors of one window; spread : of the errors, per spread of the signal."""

    signal: Floats
    error: Floats
    spread: float
    rng: np.random.Generator


@dataclass(frozen=True)
class Window:
    """Mean, std and truth of one window, and where a mask hides pixels."""

    mean: Floats
    std: Floats
    truth: Floats
    hidden: Flags | bool = False


def field(rng: np.random.Generator, shape: tuple[int, int], scale: float) -> Floats:
    """Return a field of mean 0 and variance 1 with a Gaussian correlation; white where scale is 0."""
    if scale == 0:
        return rng.standard_normal(shape)
    side = max(*shape, round(3 * scale))  # cut from a larger one, as fields are periodic
    return gaussian_field(rng, (side, side), scale, "gauss")[: shape[0], : shape[1]]


def _errors(rng: np.random.Generator, shape: tuple[int, int], smooth: float, scale: float) -> Floats:
    """Return standard normal errors, a share of whose variance is as smooth as `scale`."""
    return np.sqrt(smooth) * field(rng, shape, scale) + np.sqrt(1 - smooth) * rng.standard_normal(shape)


def height(draw: Draw) -> Layers:
    """Return normal errors of a std that varies; in metres."""
    mean, std = 20 + 5 * draw.signal, 5 * draw.spread * np.exp(0.3 * field(draw.rng, draw.signal.shape, 10))
    return mean, std, mean + std * draw.error


def kelvin(draw: Draw) -> Layers:
    """Return temperatures in kelvin."""
    mean, std, truth = height(draw)
    return mean + 265, std, truth + 265


def celsius(draw: Draw) -> Layers:
    """Return temperatures about 0."""
    mean, std, truth = height(draw)
    return mean - 18, std, truth - 18


def biomass(draw: Draw) -> Layers:
    """Return a log-normal variable, so that the errors are skewed."""
    width = 0.8 * draw.spread
    centre = 4.4 + 0.8 * draw.signal
    mean = np.exp(centre + width**2 / 2)
    return mean, mean * np.sqrt(np.expm1(width**2)), np.exp(centre + width * draw.error)


def _phi(x: Floats) -> Floats:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def rain(draw: Draw) -> Layers:
    """Return a normal variable cut at 0, where most of the truth is."""
    centre, width = 4 * draw.signal - 2, 4 * draw.spread
    a = centre / width
    mean = centre * ndtr(a) + width * _phi(a)
    square = (centre**2 + width**2) * ndtr(a) + centre * width * _phi(a)
    return mean, np.sqrt(np.maximum(square - mean**2, 1e-6)), np.maximum(centre + width * draw.error, 0)


def fraction(draw: Draw) -> Layers:
    """Return a variable between 0 and 1."""
    width = 0.7 * draw.spread
    centre = 0.7 * draw.signal
    mean = ndtr(centre / np.sqrt(1 + width**2))
    return mean, np.maximum(_phi(centre) * width, 0.01), ndtr(centre + width * draw.error)


def counts(draw: Draw) -> Layers:
    """Return Poisson counts: the variance is the mean."""
    mean = np.exp(1.0 + 0.7 * draw.signal)
    return mean, np.sqrt(mean), draw.rng.poisson(mean).astype(float)


VARIABLES: Mapping[str, Callable[[Draw], Layers]] = {
    "height": height,
    "kelvin": kelvin,
    "celsius": celsius,
    "biomass": biomass,
    "rain": rain,
    "fraction": fraction,
    "counts": counts,
}


def forecast(
    seed: int | Sequence[int],
    variable: str = "height",
    *,
    tiles: int = 4,
    shape: tuple[int, int] = (200, 200),
    scale: float = 12,
    spread: float = 0.5,
    smooth: float = 0.5,
) -> list[Window]:
    """Return windows of a calibrated forecast.

    scale : of the correlation of signal and errors, in pixels. spread : of the errors, per spread of the signal.
    smooth : share of the error's variance that is correlated.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(tiles):
        signal = field(rng, shape, scale)
        found.append(Window(*VARIABLES[variable](Draw(signal, _errors(rng, shape, smooth, scale), spread, rng))))
    return found


def patches_of(
    windows: Sequence[Window], name: str = "height", *, ends: Callable[[Window], tuple[Floats, ...]] | None = None
) -> list[Patch]:
    """Return what the checks take, as if these windows had been read from files of float32."""
    found = []
    for i, one in enumerate(windows):
        mean, std, truth = (values.astype(np.float32).astype(float) for values in (one.mean, one.std, one.truth))
        variance = std * np.abs(std)
        hidden = np.broadcast_to(one.hidden, mean.shape)
        bounds = ends(one) if ends else ()
        found.append(Patch.of(f"t{i}", name, 0, Known(mean, variance, truth, hidden, bounds)))
    return found


def each(windows: Sequence[Window], **changes: Change) -> list[Window]:
    """Return the same windows with layers changed by functions of a window."""
    return [replace(one, **{layer: change(one) for layer, change in changes.items()}) for one in windows]


def crop(windows: Sequence[Window], down: int, across: int, layer: str) -> list[Window]:
    """Return windows in which one layer is taken from so many pixels lower and to the right, all within the border."""
    margin = max(abs(down), abs(across))
    inner = np.s_[margin : -margin or None, margin : -margin or None]

    def cut(values: Floats, name: str) -> Floats:
        if name == layer:
            values = np.roll(values, (-down, -across), (0, 1))
        return values[inner]

    names = ("mean", "std", "truth")
    return [Window(*(cut(getattr(one, name), "mean" if name == "std" else name) for name in names)) for one in windows]
