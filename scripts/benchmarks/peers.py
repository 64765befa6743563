"""The same numbers by other means: every metric with vectorised numpy, and what it shares with dask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from benchmarks.choices import CURVE, LEVELS

Floats = NDArray[np.floating]
Numbers = dict[str, float]

BINS = 10
SHARES = np.linspace(0, 1, BINS + 1)


def in_numpy(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Every metric with vectorised numpy in float64."""
    m, v, y = (layer.ravel().astype(np.float64) for layer in (mean, variance, truth))
    valid = np.isfinite(m) & np.isfinite(v) & np.isfinite(y) & (v > 0)
    m, v, y = m[valid], v[valid], y[valid]
    squares, bins = (m - y) ** 2, {}
    edges = {"equal-width-10": np.linspace(v.min(), v.max(), BINS + 1), "equal-count-10": np.quantile(v, SHARES)}
    for scheme, own in edges.items():
        place = np.clip(np.searchsorted(own, v, side="right") - 1, 0, BINS - 1)
        bins[scheme] = [np.bincount(place, weights, BINS) for weights in (None, v, squares, v * v)]
    z = abs(m - y) / np.sqrt(v)
    place = np.searchsorted(np.quantile(y, SHARES[1:-1]), y, side="right")
    hits = (None, *(z <= ndtri((1 + level) / 2) for level in LEVELS))
    groups = {"truth": [np.bincount(place, weights, BINS) for weights in hits]}
    return numbers(sums(m - y, v, y, np.sum), bins, groups)


def sums(error: Any, v: Any, truth: Any, total: Any) -> dict[str, Any]:
    """Return what metrics without bins are made of, by a function that adds up; arrays of numpy or dask."""
    s = np.sqrt(v)
    z = -error / s
    size = abs(error)
    found = {
        "n": total(v > 0), "e": total(error), "ae": total(size), "e2": total(error * error), "v": total(v),
        "s": total(s), "aes": total(size * s), "z": total(z), "z2": total(z * z), "log_v": total(np.log(v)),
        "y": total(truth), "y2": total(truth * truth), "crps": total(s * _crps(z)),
        "pit": total(ndtr(z)), "pit2": total(ndtr(z) ** 2),
    }  # fmt: skip
    for level in LEVELS:
        h = ndtri((1 + level) / 2)
        found[f"above_{level}"], found[f"below_{level}"] = total(z > h), total(z < -h)
        found[f"outside_{level}"] = total(np.maximum(size - h * s, 0))
    distance = abs(z)
    for level in CURVE:
        found[f"up_to_{level}"] = total(z <= ndtri(level))
        found[f"inside_{level}"] = total(distance <= ndtri((1 + level) / 2))
    return found


def _crps(z: Any) -> Any:
    """CRPS of a standard normal forecast."""
    return z * (2 * ndtr(z) - 1) + np.sqrt(2 / np.pi) * np.exp(-z * z / 2) - 1 / np.sqrt(np.pi)


def numbers(
    found: Mapping[str, float], bins: Mapping[str, Sequence[Floats]], groups: Mapping[str, Sequence[Floats]]
) -> Numbers:
    """Metrics from sums, named as in the tables; those of bins end in the scheme, of groups in what these are by."""
    n = found["n"]
    m = {name: value / n for name, value in found.items()}
    rmse, rmv, var_s = m["e2"] ** 0.5, m["v"] ** 0.5, m["v"] - m["s"] ** 2
    spread_of_errors = (m["e2"] - m["ae"] ** 2) ** 0.5
    metrics = {
        "zms": m["z2"], "z_mean": m["z"], "z_std": (m["z2"] - m["z"] ** 2) ** 0.5, "rce": (rmv - rmse) / rmv,
        "cv": (var_s * n / (n - 1)) ** 0.5 / m["s"], "sharpness": m["v"], "sharpness_rms": rmv, "mean_std": m["s"],
        "bias": m["e"], "mae": m["ae"], "rmse": rmse, "nbias": m["e"] / m["y"], "nmae": m["ae"] / m["y"],
        "nrmse": rmse / m["y"], "r2": 1 - m["e2"] / (m["y2"] - m["y"] ** 2),
        "error_width_corr": (m["aes"] - m["ae"] * m["s"]) / (spread_of_errors * var_s**0.5),
        "nll": 0.5 * (m["z2"] + m["log_v"] + np.log(2 * np.pi)), "crps": m["crps"],
        "pit_mean": m["pit"], "pit_std": (m["pit2"] - m["pit"] ** 2) ** 0.5,
    }  # fmt: skip
    for level in LEVELS:
        name, width = f"{100 * level:g}", 2 * ndtri((1 + level) / 2) * m["s"]
        above, below = m[f"above_{level}"], m[f"below_{level}"]
        metrics |= {f"coverage_{name}": 1 - above - below, f"coverage_above_{name}": above}
        metrics |= {f"coverage_below_{name}": below, f"width_{name}": width}
        metrics[f"interval_score_{name}"] = width + 2 / (1 - level) * m[f"outside_{level}"]
    for suffix, kept in (("", "up_to"), ("_interval", "inside")):
        curve = _of_curve(np.array([m[f"{kept}_{level}"] for level in CURVE]))
        metrics |= {f"{name}{suffix}": value for name, value in curve.items()}
    for scheme, columns in bins.items():
        metrics |= {f"{name} {scheme}": value for name, value in _of_bins(*columns).items()}
    for by, (n_of_group, *hits) in groups.items():
        for level, hit in zip(LEVELS, hits, strict=True):
            of_groups = _of_groups(hit / n_of_group, level)
            metrics |= {f"{name}_{100 * level:g} {by}": value for name, value in of_groups.items()}
    return {name: float(value) for name, value in metrics.items()}


def _of_groups(coverage: Floats, level: float) -> Numbers:
    away = coverage - level
    under = away[away < 0]
    return {
        "rmscd": (away**2).mean() ** 0.5, "rmscd_under": (under**2).mean() ** 0.5 if len(under) else 0.0,
        "lowest_group_coverage": coverage.min(),
    }  # fmt: skip


def _of_curve(observed: Floats) -> Numbers:
    gap = observed - CURVE
    left, right = np.r_[0, gap], np.r_[gap, 0]
    size = np.maximum(abs(left) + abs(right), np.finfo(float).tiny)
    height = np.where(left * right < 0, (left**2 + right**2) / size, size)
    return {
        "calibration_error": (gap**2).sum(), "mace": abs(gap).mean(), "rmsce": (gap**2).mean() ** 0.5,
        "miscalibration_area": (np.diff([0, *CURVE, 1]) * height).sum() / 2,
    }  # fmt: skip


def _of_bins(n: Floats, v: Floats, squares: Floats, v2: Floats) -> Numbers:
    used = n > 0
    n, v, squares, v2 = n[used], v[used], squares[used], v2[used]
    gaps = abs(v - squares) / n
    relative = abs(1 - np.sqrt(squares / v))
    uce, ence, null = (gaps * n).sum() / n.sum(), relative.mean(), (np.sqrt(v2 / np.pi) / v).mean()
    return {
        "uce": uce, "ence": ence, "uce_normalized": uce / gaps.max(), "ence_normalized": ence / relative.max(),
        "ence_null": null, "ence_excess": ence - null,
    }  # fmt: skip
