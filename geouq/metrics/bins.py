"""Bins of the predicted variance: where a scheme puts its edges, and what falls between them."""

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.summary import Binned, Summary, VarianceProfile

Floats = NDArray[np.float64]


def bin_edges(profile: VarianceProfile, scheme: BinScheme) -> Floats:
    """Return the edges (..., bins + 1) of a scheme over the pixels of a profile; NaN where there are none.

    equal-width: linspace from the lowest to the highest variance; log-width: the same in the logarithm; equal-count:
    the k/M quantiles; equal-split: the lowest variance of each group.
    """
    if scheme.edges is not None:
        return np.broadcast_to(scheme.edges, (*profile.lowest.shape, scheme.count + 1))
    some = np.isfinite(profile.lowest)
    lowest, highest = np.where(some, profile.lowest, np.nan), np.where(some, profile.highest, np.nan)
    if scheme.scheme == "equal-count":
        edges = profile.quantiles([k / scheme.count for k in range(scheme.count + 1)])
        edges[..., 0], edges[..., -1] = lowest, highest
        return edges
    if scheme.scheme == "equal-split":
        edges = profile.split(scheme.count).edges.copy()
        edges[..., 0], edges[..., -1] = lowest, highest
        return edges
    if scheme.scheme == "equal-width":
        return np.linspace(lowest, highest, scheme.count + 1, axis=-1)
    edges = np.exp(np.linspace(np.log(lowest), np.log(highest), scheme.count + 1, axis=-1))
    edges[..., 0], edges[..., -1] = lowest, highest
    return edges


def binned(summary: Summary, scheme: BinScheme, edges: Floats | None = None) -> Binned:
    """Return the sums of the summary's pixels by bin: of the scheme's own edges, or of the edges given."""
    if edges is None and scheme.scheme == "equal-split":
        return summary.variance.split(scheme.count)
    return summary.variance.binned(bin_edges(summary.variance, scheme) if edges is None else edges)
