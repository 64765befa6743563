"""The metrics restated on whole arrays in plain numpy and scipy, sharing no code with the package."""

import numpy as np
from scipy.stats import norm


def valid(mean, variance, truth):
    """float64 copies of the pixels that count."""
    mean, variance, truth = (np.asarray(a).ravel().astype(np.float64) for a in (mean, variance, truth))
    ok = np.isfinite(mean) & np.isfinite(truth) & np.isfinite(variance) & (variance > 0)
    return mean[ok], variance[ok], truth[ok]


def edges(variance, scheme, count):
    if scheme == "equal-width":
        return np.linspace(variance.min(), variance.max(), count + 1)
    if scheme == "equal-count":
        return np.quantile(variance, np.arange(count + 1) / count)
    logs = np.linspace(np.log(variance.min()), np.log(variance.max()), count + 1)
    found = np.exp(logs)
    found[0], found[-1] = variance.min(), variance.max()
    return found


def bins(mean, variance, truth, bin_edges):
    """n, mean variance, mean squared error and mean squared variance of each used bin, the last bin closed."""
    squared = (mean - truth) ** 2
    rows = []
    for k in range(len(bin_edges) - 1):
        inside = (variance >= bin_edges[k]) & (variance < bin_edges[k + 1])
        if k == len(bin_edges) - 2:
            inside |= variance == bin_edges[k + 1]
        if inside.any():
            rows.append((inside.sum(), variance[inside].mean(), squared[inside].mean(), np.mean(variance[inside] ** 2)))
    return np.array(rows).T


def binned_metrics(mean, variance, truth, scheme, count):
    n, mv, mse, mv2 = bins(mean, variance, truth, edges(variance, scheme, count))
    gap = np.abs(mv - mse)
    relative = np.abs(np.sqrt(mv) - np.sqrt(mse)) / np.sqrt(mv)
    uce, ence = np.sum(n / n.sum() * gap), relative.mean()
    null = np.mean(np.sqrt(n * mv2 / np.pi) / (n * mv))
    return {
        "ence_null": null,
        "ence_excess": relative.mean() - null,
        "uce": uce,
        "ence": ence,
        "uce_normalized": uce / gap.max() if gap.max() > 0 else 0.0,
        "ence_normalized": ence / relative.max() if relative.max() > 0 else 0.0,
    }


def plain_metrics(mean, variance, truth, reference_mean=None):
    e, s = mean - truth, np.sqrt(variance)
    z = (truth - mean) / s
    reference = truth.mean() if reference_mean is None else reference_mean
    return {
        "pit_mean": norm.cdf(z).mean(),
        "pit_std": norm.cdf(z).std(),
        "zms": np.mean(z**2),
        "z_mean": z.mean(),
        "z_std": z.std(),
        "rce": (np.sqrt(variance.mean()) - np.sqrt(np.mean(e**2))) / np.sqrt(variance.mean()),
        "cv": s.std(ddof=1) / s.mean() if len(s) > 1 else np.nan,
        "sharpness": variance.mean(),
        "sharpness_rms": np.sqrt(variance.mean()),
        "mean_std": s.mean(),
        "bias": e.mean(),
        "mae": np.abs(e).mean(),
        "rmse": np.sqrt(np.mean(e**2)),
        "nbias": e.mean() / reference,
        "nmae": np.abs(e).mean() / reference,
        "nrmse": np.sqrt(np.mean(e**2)) / reference,
        "r2": 1 - np.sum(e**2) / np.sum((truth - truth.mean()) ** 2),
        "error_width_corr": np.corrcoef(np.abs(e), s)[0, 1],
        "nll": -norm.logpdf(truth, mean, s).mean(),
        "crps": np.mean(s * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))),
    }


def curves(mean, variance, truth, levels):
    """Observed shares below each quantile and inside each central interval, closed as z alone tells."""
    z = ((truth - mean) / np.sqrt(variance))[:, None]
    below = norm.cdf(z) <= levels
    return below.mean(0), (np.abs(z) <= norm.ppf((1 + np.asarray(levels)) / 2)).mean(0)


def area_to_the_diagonal(x, y):
    """Area between the diagonal and a line of points, cut into pieces where they cross."""
    gap = y - x
    i = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    grid = np.sort(np.concatenate([x, x[i] + np.diff(x)[i] * gap[i] / (gap[i] - gap[i + 1])]))
    away = np.abs(np.interp(grid, x, gap))
    return np.sum((away[1:] + away[:-1]) / 2 * np.diff(grid))


def calibration_metrics(mean, variance, truth, levels, weights="equal"):
    p = np.asarray(levels)
    numbers = {}
    for suffix, observed in zip(("", "_interval"), curves(mean, variance, truth, levels), strict=True):
        w = np.ones(len(p)) if weights == "equal" else observed / observed.mean()
        numbers |= {
            f"calibration_error{suffix}": np.sum(w * (p - observed) ** 2),
            f"mace{suffix}": np.mean(np.abs(p - observed)),
            f"rmsce{suffix}": np.sqrt(np.mean((p - observed) ** 2)),
            f"miscalibration_area{suffix}": area_to_the_diagonal(np.r_[0, p, 1], np.r_[0, observed, 1]),
        }
    return numbers


def level_metrics(mean, variance, truth, level):
    s = np.sqrt(variance)
    half = norm.ppf((1 + level) / 2) * s
    lower, upper = mean - half, mean + half
    below, above = np.maximum(lower - truth, 0), np.maximum(truth - upper, 0)
    return {
        "width": np.mean(upper - lower),
        "coverage": np.mean((truth >= lower) & (truth <= upper)),
        "coverage_above": np.mean(truth > upper),
        "coverage_below": np.mean(truth < lower),
        "interval_score": np.mean(upper - lower + 2 / (1 - level) * (below + above)),
    }


def group_metrics(mean, variance, truth, level, by, count):
    """Coverage deviations over groups of equal numbers of pixels in the order of a value; equal ones are shared."""
    values = {"truth": truth, "variance": variance, "mean": mean}[by]
    inside = np.abs(truth - mean) <= norm.ppf((1 + level) / 2) * np.sqrt(variance)
    _, place = np.unique(values, return_inverse=True)
    of_equals = np.bincount(place, inside) / np.bincount(place)
    ranks = [-(-k * (len(values) - 1) // count) for k in range(1, count)]
    groups = np.split(of_equals[np.sort(place)], ranks)
    coverage = np.array([group.mean() for group in groups if len(group)])
    away = coverage - level
    under = away[away < 0]
    return {
        "rmscd": np.sqrt(np.mean(away**2)),
        "rmscd_under": np.sqrt(np.mean(under**2)) if len(under) else 0.0,
        "lowest_group_coverage": coverage.min(),
    }
