"""The same numbers by other means: every metric with dask, chunk by chunk, of rasters opened by rioxarray."""

from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from scipy.special import ndtri

from benchmarks.choices import LEVELS
from benchmarks.peers import BINS, SHARES, Numbers, numbers, sums
from benchmarks.tiles import LAYERS, path_of

SIDE = 2048  # of a chunk: four blocks each way


def in_dask(mean: Any, variance: Any, truth: Any, *, gaps: bool, **options: Any) -> Numbers:
    """Every metric with dask.array, in two computations, as edges come first; `gaps`: some pixels are not valid.

    options : of `dask.compute`. Quantiles are dask's approximations.
    """
    error, v, total = mean - truth, variance, da.sum
    known = v.ravel()
    if gaps:
        valid = da.isfinite(error) & (v > 0)
        error, v, total = da.where(valid, error, np.nan), da.where(valid, v, np.nan), da.nansum
        truth, known = da.where(valid, truth, np.nan), v.ravel()[valid.ravel()]
    lowest, highest, inner = dask.compute(
        known.min(), known.max(), da.percentile(known, 100 * SHARES[1:-1], internal_method="default"), **options
    )
    edges = {
        "equal-width-10": np.linspace(lowest, highest, BINS + 1),
        "equal-count-10": np.concatenate([[lowest], inner, [highest]]),
    }
    weights = (None, v.ravel(), (error * error).ravel(), (v * v).ravel())
    bins = {scheme: [da.histogram(v.ravel(), own, weights=w)[0] for w in weights] for scheme, own in edges.items()}
    groups = _groups(error, v, truth, options)
    return numbers(*dask.compute(sums(error, v, truth, total), bins, groups, **options))


def _groups(error: Any, v: Any, truth: Any, options: dict[str, Any]) -> dict[str, list[Any]]:
    """Pixels of each group by truth, and those in the interval of each level, lazily; the edges are computed."""
    z, values = (abs(error) / da.sqrt(v)).ravel(), truth.ravel()
    known = values[da.isfinite(z)]
    (inner,) = dask.compute(da.percentile(known, 100 * SHARES[1:-1], internal_method="default"), **options)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    weights = (da.isfinite(z), *(z <= ndtri((1 + level) / 2) for level in LEVELS))
    return {"truth": [da.histogram(values, edges, weights=w.astype(float))[0] for w in weights]}


def of_tile(folder: Path, name: str, threads: int) -> list[Numbers]:
    """Every metric of each variable of a tile; threads decode at the same time."""
    import rioxarray  # noqa: PLC0415  arrays are measured without it

    chunks = {"band": 1, "y": SIDE, "x": SIDE}
    layers = [rioxarray.open_rasterio(path_of(folder, name, layer), chunks=chunks, lock=False) for layer in LAYERS]
    bands = zip(*(layer.data for layer in layers), strict=True)
    return [in_dask(*band, gaps=True, scheduler="threads", num_workers=threads) for band in bands]
