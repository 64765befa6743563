"""Gaussian fields whose correlation is known."""

import math
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = Literal["gauss", "exp"]
APART = {"gauss": 2.5, "exp": 4.0}  # a field is cut from a periodic one, which is longer by so many scales


def gaussian_field(rng: np.random.Generator, shape: tuple[int, int], scale: float, kind: Shape) -> Floats:
    """Return a field of mean 0, variance 1 and correlation exp(-(distance / scale)^2), or without the square.

    shape : rows and columns; scale : in pixels. White noise is filtered by the root of the spectrum.
    """
    rows, columns = (_even(side + APART[kind] * scale) for side in shape)
    root, size = _root_of_spectrum((rows, columns), scale, kind)
    noise = np.fft.rfft2(rng.standard_normal((rows, columns)))
    return np.fft.irfft2(noise * root, s=(rows, columns))[: shape[0], : shape[1]] / size


def _even(length: float) -> int:
    """Return the next multiple of 64, whose Fourier transform is fast."""
    return 64 * math.ceil(length / 64)


@cache
def _root_of_spectrum(shape: tuple[int, int], scale: float, kind: Shape) -> tuple[Floats, float]:
    """Root of the spectrum up to a factor, and the standard deviation of the field that it makes."""
    squared = np.fft.fftfreq(shape[0])[:, np.newaxis] ** 2 + np.fft.rfftfreq(shape[1]) ** 2
    if kind == "gauss":
        root = np.exp(-((np.pi * scale) ** 2) * squared / 2)
    else:
        root = (1 + (2 * np.pi * scale) ** 2 * squared) ** -0.75
    return root, float(np.sqrt(np.fft.irfft2(root**2, s=shape)[0, 0]))
