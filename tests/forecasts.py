"""Simulated forecasts whose faults are known."""

import numpy as np


def heteroscedastic(shape, seed=0, *, missing=0.2, inflate=1.0, bias=0.0):
    """Smooth log-normal variances and errors drawn from them; float32, NaN where missing."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.linspace(0, 3, n) for n in shape)
    field = np.sin(2 * rows)[:, None] + np.cos(3 * columns)[None, :]
    variance = np.exp(0.8 * field + 0.5 * rng.standard_normal(shape))
    mean = 10 + 3 * field + 0.3 * rng.standard_normal(shape)
    truth = mean - bias + np.sqrt(variance) * rng.standard_normal(shape)
    mean[rng.random(shape) < missing / 2] = np.nan
    truth[rng.random(shape) < missing / 2] = np.nan
    return mean.astype(np.float32), (variance * inflate).astype(np.float32), truth.astype(np.float32)
