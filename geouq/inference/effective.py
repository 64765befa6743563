"""Effective numbers of independent pixels in bins of the predicted variance.

Errors of maps are correlated, so that the mean squared error of a bin is less certain than that of as many independent
pixels. The effective number of a bin is that of independent normal errors of the same predicted variances whose mean
square would be as uncertain.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geouq.inference.evaluation_unit import Blocks
from geouq.inference.settings import FEWEST_EFFECTIVE
from geouq.metrics import MetricOptions, binned
from geouq.summary import Summary

Floats = NDArray[np.float64]

RESIDUAL = "squared_error"


def with_effective(choices: MetricOptions, whole: Summary, each: Summary, blocks: Blocks) -> MetricOptions:
    """Return the choices with the effective number of pixels of each bin, for the schemes where it is known.

    Parameters
    ----------
    choices : Choices
        With the shared edges of all schemes.
    whole, each : Summary
        Of all pixels, and of each block.
    blocks : Blocks
        How these are.
    """
    reach = blocks.reaches[RESIDUAL]
    if reach.effective < FEWEST_EFFECTIVE:
        return choices
    found = effective_pixels(choices, whole, each, reach.long_run.ratio)
    return replace(choices, effective=found)


def effective_pixels(choices: MetricOptions, whole: Summary, each: Summary, ratio: float) -> Mapping[str, Floats]:
    """Return effective numbers of pixels, float64 (bins), by scheme; without schemes where a used bin has none.

    Of n independent normal errors with predicted variances v, the relative variance of the mean square is
    2 sum v^2 / (sum v)^2. What each block adds gives that variance, without any draw; `ratio`, of the long-run
    deviation to that of blocks, accounts for the correlation between blocks.
    """
    found = {}
    for scheme in choices.schemes:
        edges = (choices.shared_edges or {})[scheme.name]
        own, part = (binned(summary, scheme, edges) for summary in (whole, each))
        used = own.n > 0
        with np.errstate(all="ignore"):  # what overflows or is not defined leaves the scheme out
            added = part.squared_error[:, used] / own.squared_error[used] - part.weight[:, used] / own.weight[used]
            observed = ratio**2 * np.square(added).sum(axis=0)
            independent = 2 * own.squared_variance[used] / np.square(own.variance[used])
        if np.isfinite(observed).all() and np.isfinite(independent).all() and (observed > 0).all():
            numbers = np.zeros(len(own.n))
            numbers[used] = own.n[used] * np.minimum(1.0, independent / observed)
            found[scheme.name] = numbers
    return found
