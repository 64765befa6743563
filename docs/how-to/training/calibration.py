"""Metrics of an epoch from batches of means and variances, over any number of processes: a file to copy.

It needs geouq. Arrays of numpy and tensors of torch are taken alike; torch is used only if it is there.
"""

import sys
from typing import Any

import numpy as np

import geouq

METRICS = ("bias", "rmse", "sharpness_rms", "z_mean", "z_std", "coverage_90", "uce", "ence", "crps", "nll")
BINS = "equal-count-10"


class Calibration:
    """Adds batches to a geouq.Summary, which takes a few megabytes for any number of pixels.

    Parameters
    ----------
    metrics : sequence of str
        Names of metrics as in `metrics.csv`.
    """

    def __init__(self, metrics: tuple[str, ...] = METRICS) -> None:
        self.metrics = metrics
        self.summary: geouq.Summary | None = None

    def update(self, mean: Any, variance: Any, truth: Any, valid: Any = None) -> None:
        """Add a batch; arrays or tensors of one shape.

        A pixel does not count if it is not finite, if its variance is not positive, or if `valid` is False there.
        """
        m, v, y = (as_array(layer) for layer in (mean, variance, truth))
        if valid is not None:
            y = np.where(as_array(valid).astype(bool), y, np.nan)
        batch = geouq.summarize(m, v, y)
        self.summary = batch if self.summary is None else self.summary + batch

    def gather(self) -> None:
        """Add the batches of all processes of torch.distributed; every process then has the sum, in the same order."""
        torch = sys.modules.get("torch")
        if torch is None or not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            return
        parts = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(parts, self.summary)
        there = [part for part in parts if part is not None]
        self.summary = sum(there[1:], there[0]) if there else None

    def compute(self) -> dict[str, float]:
        """Return the metrics of all batches since the last reset; nothing if there was no batch."""
        if self.summary is None:
            return {}
        table = geouq.table(self.summary, bins=[BINS])
        table = table[table.group == ""].set_index("metric")["value"]
        return {name: float(table[name]) for name in self.metrics}

    def reset(self) -> None:
        """Begin the next epoch."""
        self.summary = None


def as_array(values: Any) -> np.ndarray:
    """Return values as an array of numpy; half precision becomes float32."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        return (tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor).numpy()
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype == np.float16 else array
