"""Which keys of the variance profile must be kept whole so that every edge of every bin is exact."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from geouq.metrics import MetricOptions, bin_edges
from geouq.regions import EvaluationUnit
from geouq.summary import TailPixels, TileSummary, VarianceProfile
from geouq.summary.variance_profile import N, key_of

Ints = NDArray[np.int64]


def wanted_keys(
    all_units: Iterable[EvaluationUnit], metric_options: Mapping[str, MetricOptions]
) -> dict[str, dict[str, Ints]]:
    """Return, for each tile and variable, the keys to keep: those that an edge splits in an evaluation unit."""
    wanted: dict[str, dict[str, set[int]]] = {}
    for unit in all_units:
        for variable, summary in unit.variables.items():
            keys = split_keys(summary.variance, metric_options[variable])
            for tile in unit.tiles:
                wanted.setdefault(tile, {}).setdefault(variable, set()).update(keys)
    return {
        tile: {variable: np.array(sorted(keys), np.int64) for variable, keys in by_variable.items()}
        for tile, by_variable in wanted.items()
    }


def split_keys(profile: VarianceProfile, metric_options: MetricOptions) -> set[int]:
    """Keys that an edge falls into, or from whose pixels an equal-count edge is computed, and that are not kept."""
    found: list[Ints] = []
    for scheme in metric_options.schemes:
        shared = (metric_options.shared_edges or {}).get(scheme.name)
        edges = bin_edges(profile, scheme) if shared is None else shared
        found.append(key_of(edges[np.isfinite(edges)], profile.shift))
        if scheme.scheme == "equal-count" and shared is None:
            found.append(_keys_of_quantiles(profile, scheme.count))
        if scheme.scheme == "equal-split" and shared is None:
            found.append(_keys_of_splits(profile, scheme.count))
    candidates = np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)
    present = np.intersect1d(candidates, profile.keys)
    return {int(key) for key in np.setdiff1d(present, profile.complete_keys())}


def _keys_of_quantiles(profile: VarianceProfile, count: int) -> Ints:
    """Return the keys of the two order statistics on either side of each k / count quantile."""
    n = profile.sums[:, N].sum()
    if n == 0:
        return np.empty(0, np.int64)
    below = np.floor(np.arange(1, count) / count * (n - 1))
    ranks = np.concatenate([below, np.minimum(below + 1, n - 1)])
    return profile.keys[np.searchsorted(np.cumsum(profile.sums[:, N]), ranks, side="right")]


def _keys_of_splits(profile: VarianceProfile, count: int) -> Ints:
    """Return the keys of the last pixel of each group of an equal split, and of the first of the next."""
    n = int(profile.sums[:, N].sum())
    if n == 0:
        return np.empty(0, np.int64)
    size, larger = divmod(n, count)
    first = np.arange(1, count) * size + np.minimum(np.arange(1, count), larger)
    ranks = np.concatenate([np.maximum(first - 1, 0), np.minimum(first, n - 1)])
    return profile.keys[np.searchsorted(np.cumsum(profile.sums[:, N]), ranks, side="right")]


def with_kept(summary: TileSummary, kept: Mapping[str, TailPixels]) -> TileSummary:
    """Return the summary with these pixels kept beside those of its tail."""
    variables = {
        name: replace(part, whole=part.whole.having(variance=_keeping(part.whole.variance, kept[name])))
        for name, part in summary.variables.items()
    }
    return replace(summary, variables=variables)


def _keeping(profile: VarianceProfile, more: TailPixels) -> VarianceProfile:
    before = profile.kept or TailPixels()
    if before.every:
        return replace(profile, kept=replace(before, wanted=np.union1d(before.wanted, more.wanted)))
    other = ~np.isin(key_of(before.variance, profile.shift), more.wanted)
    both = TailPixels(pixels=before.pixels[other]).joined([more])
    kept = TailPixels.ordered(before.tail, np.union1d(before.wanted, more.wanted), both.pixels)
    return replace(profile, kept=kept)
