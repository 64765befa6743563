"""A calibrated forecast on a map, and what shows how far another one is from it; pages of faults begin with it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import geouq

SHOWN = ("bias", "z_mean", "z_std", "ence", "error_width_corr", "crps")
_rng = np.random.default_rng(1)


def smooth(side: int = 256, scale: float = 20.0) -> np.ndarray:
    """Return a smooth field of mean 0 and std 1."""
    frequency = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    spectrum = np.fft.rfft2(_rng.standard_normal((side, side))) * np.exp(-((scale * frequency) ** 2))
    field = np.fft.irfft2(spectrum, s=(side, side))
    return (field - field.mean()) / field.std()


mean, std = 20 + 4 * smooth(), 1.5 * np.exp(0.5 * smooth())
variance = std**2
noise = _rng.standard_normal(mean.shape)
truth = mean + std * noise


def show(mean: np.ndarray, variance: np.ndarray, truth: np.ndarray) -> pd.DataFrame:
    """Draw the three diagrams of a forecast; return its numbers beside those of the calibrated one."""
    _, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for draw, ax in zip((geouq.plot.reliability, geouq.plot.calibration, geouq.plot.pit), axes, strict=True):
        draw(mean, variance, truth, ax=ax)
    return pd.DataFrame({"calibrated": numbers(*calibrated), "here": numbers(mean, variance, truth)}).round(3)


def numbers(mean: np.ndarray, variance: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return some numbers of a forecast."""
    found = {name: float(getattr(geouq, name)(mean, variance, truth)) for name in SHOWN}
    return {"coverage of 90 %": float(geouq.coverage(mean, variance, truth, level=0.9)), **found}


calibrated = mean, variance, truth
