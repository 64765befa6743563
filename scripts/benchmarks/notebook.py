"""The same numbers by other means: a notebook that loads everything and loops over bins."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import rasterio

from benchmarks.peers import BINS, Floats, Numbers
from benchmarks.tiles import LAYERS, path_of


def notebook_bins(mean: Sequence[Floats], variance: Sequence[Floats], truth: Sequence[Floats]) -> list[Numbers]:
    """Share, mean variance and mean squared error of each bin: a mask a bin over all pixels of all tiles."""
    means, variances, truths = (np.concatenate([tile.ravel() for tile in tiles]) for tiles in (mean, variance, truth))
    valid = np.isfinite(means) & np.isfinite(variances) & np.isfinite(truths)
    variances, squares = variances[valid], (means[valid] - truths[valid]) ** 2
    edges, bins = np.linspace(variances.min(), variances.max(), BINS + 1), []
    for number, (lower, upper) in enumerate(pairwise(edges), 1):
        inside = (variances >= lower) & ((variances < upper) if number < BINS else (variances <= upper))
        if inside.any():
            mv, mse = variances[inside].mean(), squares[inside].mean()
            bins.append({"share": inside.sum() / inside.size, "mv": float(mv), "mse": float(mse)})
    return bins


def notebook_uce(*layers: Sequence[Floats], normalized: bool = False) -> float:
    """UCE as a notebook computes it, or that by the largest gap."""
    bins = notebook_bins(*layers)
    gaps = [abs(one["mv"] - one["mse"]) for one in bins]
    uce = sum(one["share"] * gap for one, gap in zip(bins, gaps, strict=True))
    return uce / max(gaps) if normalized else uce


def notebook_ence(*layers: Sequence[Floats], normalized: bool = False) -> float:
    """ENCE as a notebook computes it, or that by the largest relative gap."""
    gaps = [abs(one["mv"] ** 0.5 - one["mse"] ** 0.5) / one["mv"] ** 0.5 for one in notebook_bins(*layers)]
    ence = sum(gaps) / len(gaps)
    return ence / max(gaps) if normalized else ence


def in_notebook(*layers: Sequence[Floats]) -> Numbers:
    """Return the notebook's four calls, each over all pixels of lists of tiles: means, variances, truths."""
    return {
        "uce": notebook_uce(*layers),
        "ence": notebook_ence(*layers),
        "uce_normalized": notebook_uce(*layers, normalized=True),
        "ence_normalized": notebook_ence(*layers, normalized=True),
    }


def of_tile(folder: Path, name: str, _threads: int) -> list[Numbers]:
    """Run the four calls for each variable of a tile, whose files are loaded whole and stay in memory."""
    loaded = [_loaded(path_of(folder, name, layer)) for layer in LAYERS]
    valid = [_without_missing(*bands) for bands in zip(*loaded, strict=True)]
    return [in_notebook(*([pixels] for pixels in layers)) for layers in valid]


def _without_missing(*layers: Floats) -> list[Floats]:
    there = np.logical_and.reduce([np.isfinite(layer) for layer in layers])
    return [layer[there] for layer in layers]


def _loaded(path: Path) -> Floats:
    with rasterio.open(path) as file:
        return file.read()
