"""Which tiles corrections are fitted on and judged on, and the corrections that fit the pixels of a summary best."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import StatisticsError

import numpy as np
from numpy.typing import NDArray

from geouq.config import ClassRegions, Experiment, Recalibration, Variable
from geouq.core.errors import ConfigError, SummaryError
from geouq.core.gaussian import half_width, quantile
from geouq.recalibration.corrections import (
    Affine,
    ByGroup,
    Conformal,
    Isotonic,
    IsotonicVariance,
    Scale,
    ScaleBias,
    Single,
    Unchanged,
)
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import RunningTotal, Summary

REST = "tiles in no region"
Floats = NDArray[np.float64]
MOST_BINS, PIXELS_IN_BIN = 100, 200
ROUNDS, CLOSE = 200, 1e-12
PREFERRED_LEVEL = 0.9
Corrections = Mapping[str, Mapping[str, Single | ByGroup]]  # by variable and method


@dataclass(frozen=True)
class Fold:
    """Tiles that are judged, and those that their correction is fitted on; ConfigError where they share one."""

    name: str
    judged: tuple[str, ...]
    fitted: tuple[str, ...]

    def __post_init__(self) -> None:
        if common := sorted(set(self.judged) & set(self.fitted)):
            raise ConfigError(f"fold {self.name}: {', '.join(common)} would be fitted on and judged; that is refused")


def leave_one_region_out(tiles: Sequence[str], regions: Mapping[str, Iterable[str]]) -> tuple[Fold, ...]:
    """Return a fold for each region, fitted on all tiles outside it; none where there are not two.

    Regions that share a tile are one fold, so that no correction has seen a tile of any region that it is judged on.
    Tiles in no region are a fold of their own.

    >>> [(fold.name, fold.judged) for fold in leave_one_region_out("abcd", {"west": "ab", "east": "c"})]
    [('west', ('a', 'b')), ('east', ('c',)), ('tiles in no region', ('d',))]
    """
    parts: list[tuple[list[str], set[str]]] = []
    for name, members in regions.items():
        names, own = [name], set(members) & set(tiles)
        if not own:
            continue
        for other in [part for part in parts if part[1] & own]:
            parts.remove(other)
            names, own = [*other[0], *names], own | other[1]
        parts.append((names, own))
    rest = set(tiles).difference(*(own for _, own in parts))
    order = list(regions)
    named = [(" and ".join(sorted(names, key=order.index)), own) for names, own in parts]
    return _folds(tiles, [*named, (REST, rest)] if rest else named)


def k_fold(tiles: Sequence[str], folds: int) -> tuple[Fold, ...]:
    """So many folds of every k-th tile, at most one a tile; none where there is one tile alone.

    >>> [fold.judged for fold in k_fold("abcde", 2)]
    [('a', 'c', 'e'), ('b', 'd')]
    """
    count = min(folds, len(tiles))
    return _folds(tiles, [(f"fold {k + 1} of {count}", set(tiles[k::count])) for k in range(count)])


def _folds(tiles: Sequence[str], parts: Sequence[tuple[str, set[str]]]) -> tuple[Fold, ...]:
    if len(parts) < 2:
        return ()
    return tuple(
        Fold(name, tuple(t for t in tiles if t in own), tuple(t for t in tiles if t not in own)) for name, own in parts
    )


def fit(method: str, summary: Summary) -> Single:
    """Return the correction of that method that fits the pixels of a summary best.

    Raises SummaryError if nothing can be fitted: there is no pixel, errors are all 0, or numbers overflow.
    """
    if not summary.n:
        raise SummaryError(f"{method} cannot be fitted: there is no valid pixel")
    overflow = f"{method} cannot be fitted: a number that it needs exceeds the largest float"
    spread = summary.moments.product("z", "z")
    if np.isnan(spread):
        raise SummaryError(overflow)
    if spread <= 0:
        raise SummaryError(f"{method} cannot be fitted: z = (truth - mean) / std is the same everywhere")
    try:
        found = FITTED[method](summary)
    except (ArithmeticError, StatisticsError, np.linalg.LinAlgError) as error:
        raise SummaryError(overflow) from error
    if not all(np.isfinite(value).all() for value in vars(found).values()):
        raise SummaryError(overflow)
    return found


def scale(summary: Summary) -> Scale:
    """Return the factor of the variance that minimises the NLL, mean z^2 (Laves 2021, arXiv 2104.12376)."""
    return Scale(float(summary.moments.mean_square("z")))


def scale_bias(summary: Summary) -> ScaleBias:
    """Return the mean error, and the factor that makes the mean variance the variance of the errors.

    The factor that minimises the NLL would need sums of error / variance, which no summary keeps.
    """
    factor = summary.moments.product("error", "error") / summary.moments.mean("variance")
    return ScaleBias(float(summary.moments.mean("error")), float(factor))


def affine(summary: Summary) -> Affine:
    """Slope and intercept, neither below 0, that minimise the NLL, to the profile's resolution of 1/512 in variance."""
    variance, squared_error = (summary.variance.sums[:, column] for column in (0, 1))
    weight = summary.variance.sums[:, -1]
    v, m = summary.moments.mean("variance"), summary.moments.mean_square("error")
    x, y = variance / weight / v, squared_error / weight / m
    found = [(float((weight * y / x).sum() / weight.sum()), 0.0), (0.0, 1.0)]
    if len(x) > 1:
        found.insert(1, _line(x, y, weight))
    slope, intercept = min(found, key=lambda line: _loss(line, x, y, weight))
    return Affine(float(slope * m / v), float(intercept * m))


def _line(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """Return the slope and intercept >= 0 by Fisher scoring, each step halved until the loss falls."""
    line = np.array([0.5, 0.5])
    for _ in range(ROUNDS):
        fitted = line[0] * x + line[1]
        root = np.sqrt(weight) / fitted
        wanted, *_ = np.linalg.lstsq(np.stack([root * x, root], axis=-1), root * y, rcond=None)
        before, step = _loss((line[0], line[1]), x, y, weight), 1.0
        while step > CLOSE:
            tried = np.maximum(line + step * (wanted - line), 0.0)
            if tried.any() and _loss((tried[0], tried[1]), x, y, weight) <= before:
                break
            step /= 2
        else:
            break
        moved, line = np.abs(tried - line).max(), tried
        if moved < CLOSE:
            break
    return float(line[0]), float(line[1])


def _loss(line: tuple[float, float], x: Floats, y: Floats, weight: Floats) -> float:
    """Return twice the NLL of squared errors y of variance line(x), but for a constant."""
    fitted = line[0] * x + line[1]
    return float((weight * (np.log(fitted) + y / fitted)).sum() / weight.sum())


def isotonic_variance(summary: Summary) -> IsotonicVariance:
    """Isotonic regression of the mean squared error in 100 equal-count bins of the variance, of 200 pixels at least."""
    bins = min(MOST_BINS, max(1, int(summary.n) // PIXELS_IN_BIN))
    per_bin = summary.variance.binned(summary.variance.quantiles([k / bins for k in range(bins + 1)]))
    used = per_bin.weight > 0
    variance, error, weight = per_bin.mean_variance[used], per_bin.mse[used], per_bin.weight[used]
    knots = [
        (float(variance[end]), float(np.average(error[block], weights=weight[block])))
        for block in pooled(error, weight)
        for end in sorted({block.start, block.stop - 1})
    ]
    variances, errors = zip(*((v, e) for v, e in knots if e > 0), strict=True)
    return IsotonicVariance(variances, errors)


def isotonic(summary: Summary) -> Isotonic:
    """Return the r(p) = share of PIT <= p at every edge of the z histogram: the isotonic regression of Kuleshov 2018.

    The empirical distribution function increases already, so that there is nothing to pool.
    """
    moments, counts = summary.moments, summary.z.counts
    shares = np.cumsum(counts)[:-1] / counts.sum()
    new = np.diff(shares, prepend=0.0) > 0
    knots = [
        (quantile(float(p)), quantile(float(share)))
        for p, share, is_new in zip(summary.z.probabilities, shares, new, strict=True)
        if is_new and 0 < share < 1
    ]
    z, scores = zip(*knots, strict=True) if knots else ((), ())
    return Isotonic(z, scores, float(moments.mean("z")), float(np.sqrt(moments.product("z", "z"))))


def conformal(summary: Summary) -> Conformal:
    """Return the smallest edge of the z histogram that holds the ceil((n + 1) level)-th smallest |z|, for each level.

    Edges lie 1 % of a standard normal apart, so that coverage exceeds the level by as much as the pixels between two.
    """
    found = [_multiple(summary, level) for level in summary.levels]
    multiples, guaranteed = zip(*found, strict=True)
    return Conformal(summary.levels, multiples, guaranteed, nearest_level(summary.levels))


def nearest_level(levels: Sequence[float]) -> float:
    """Return the level next to 0.9, whose interval stands for a conformal forecast where one is needed."""
    return min(levels, key=lambda one: abs(one - PREFERRED_LEVEL))


def _multiple(summary: Summary, level: float) -> tuple[float, bool]:
    """Half width in std of the conformal interval, and whether it is guaranteed to cover enough."""
    n, weight = int(summary.n), float(summary.moments.weight)
    rank = math.ceil((n + 1) * level)
    if rank > n:
        raise SummaryError(f"conformal cannot be fitted at level {level}: that needs more than {n} pixels")
    upper = summary.z.probabilities[summary.z.probabilities > 0.5]
    inside = [weight - float(summary.z.below(1 - p) + summary.z.above(p)) for p in upper.tolist()]
    for p, count in zip(upper.tolist(), inside, strict=True):
        if count >= rank * weight / n:
            return quantile(p), True
    held = inside[-1] / weight
    if held > 0:
        return quantile(float(upper[-1])) * half_width(level) / half_width(held), False
    return float(np.sqrt(summary.moments.mean_square("z"))) * half_width(level), False


FITTED: Mapping[str, Callable[[Summary], Single]] = {
    "none": lambda _: Unchanged(),
    "scale": scale,
    "scale_bias": scale_bias,
    "affine": affine,
    "isotonic_variance": isotonic_variance,
    "isotonic": isotonic,
    "conformal": conformal,
}


def pooled(values: Floats, weights: Floats) -> list[slice]:
    """Blocks whose weighted means increase strictly: neighbours that violate that are pooled (Ayer et al. 1955).

    Giving each block its mean is the isotonic regression of the values.

    >>> pooled(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4))
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
    """
    blocks: list[tuple[int, int, float, float]] = []
    for i, (value, weight) in enumerate(zip(values.tolist(), weights.tolist(), strict=True)):
        start, total, sum_ = i, weight, weight * value
        while blocks and blocks[-1][3] * total >= sum_ * blocks[-1][2]:
            start, _, more, before = blocks.pop()
            total, sum_ = total + more, sum_ + before
        blocks.append((start, i + 1, total, sum_))
    return [slice(start, stop) for start, stop, _, _ in blocks]


@dataclass(frozen=True)
class Fits:
    """Corrections fitted on some tiles, by variable and method; n : pixels of each variable in these tiles."""

    tiles: tuple[str, ...]
    corrections: Corrections
    n: Mapping[str, int]
    notes: tuple[str, ...]


def methods_for(wanted: Recalibration) -> tuple[str, ...]:
    """Return the methods that are fitted and judged."""
    if wanted.method != "best":
        return (wanted.method,)
    return (*(name for name in FITTED if name != "none"), *([ByGroup.method] if wanted.by else []))


def fit_all(
    experiment: Experiment,
    variables: Sequence[Variable],
    summaries: SavedSummaries,
    wanted: Recalibration,
    sets: Iterable[tuple[str, ...]],
) -> list[Fits]:
    """Return what each set of tiles gives; every summary is read once."""
    sets, names = list(sets), [variable.name for variable in variables]
    totals = _totals(summaries, names, [(tiles, summaries.part(tile)) for tile in summaries.tiles for tiles in sets])
    groups: dict[str, dict[tuple[str, ...], dict[str, Summary]]] = {}
    if wanted.by is not None:
        zones = replace(summaries, layers=(wanted.by,)).zones()
        groups = {
            zone: _totals(summaries, names, [(tiles, part) for part in parts for tiles in sets])
            for zone, parts in zones.items()
        }
    codes = _codes(experiment, wanted.by)
    return [
        _fits(tiles, totals[tiles], {zone: own[tiles] for zone, own in groups.items() if tiles in own}, wanted, codes)
        for tiles in sets
    ]


def _totals(
    summaries: SavedSummaries, names: Sequence[str], parts: Sequence[tuple[tuple[str, ...], Part]]
) -> dict[tuple[str, ...], dict[str, Summary]]:
    """Return sums of the parts that lie in tiles of each set, by variable."""
    found: dict[tuple[str, ...], dict[str, RunningTotal]] = {}
    last, whole = None, None
    for tiles, part in parts:
        if part.tile in tiles:
            if part is not last and part != last:
                last, whole = part, summaries.whole(part)
            own = found.setdefault(tiles, {name: RunningTotal(summaries.levels) for name in names})
            for name in names:
                own[name].add(whole.variables[name].whole)  # type: ignore[union-attr]
    return {tiles: {name: total.summary() for name, total in own.items()} for tiles, own in found.items()}


def _fits(
    tiles: tuple[str, ...],
    totals: Mapping[str, Summary],
    groups: Mapping[str, Mapping[str, Summary]],
    wanted: Recalibration,
    codes: Mapping[int, str],
) -> Fits:
    found: dict[str, dict[str, Single | ByGroup]] = {}
    notes = []
    for name, whole in totals.items():
        found[name] = {}
        for method in methods_for(wanted):
            try:
                if method == ByGroup.method:
                    own = {zone: of[name] for zone, of in groups.items()}
                    found[name][method] = _by_group(wanted, whole, own, codes)
                else:
                    found[name][method] = fit(method, whole)
            except SummaryError as error:
                notes.append(f"{name}: {error}")
    return Fits(tiles, found, {name: int(whole.n) for name, whole in totals.items()}, tuple(notes))


def _by_group(
    wanted: Recalibration, whole: Summary, groups: Mapping[str, Summary], codes: Mapping[int, str]
) -> ByGroup:
    """Return a correction for each group with enough pixels; the other groups get the correction of all pixels."""
    own = {}
    for zone, summary in groups.items():
        try:
            own[zone] = fit(wanted.within, summary)
        except SummaryError:
            continue  # pixels of it are corrected like all together
    return ByGroup(wanted.by or "", own, fit(wanted.within, whole), codes)


def _codes(experiment: Experiment, layer: str | None) -> dict[int, str]:
    """Return the names of the codes of a layer of classes; none of polygons."""
    region = None if layer is None else experiment.regions.get(layer)
    return dict(region.names) if isinstance(region, ClassRegions) else {}


def sets_of(tiles: Sequence[str], folds: Mapping[str, Sequence[Fold]]) -> list[tuple[str, ...]]:
    """Return the sets of tiles that are fitted on: all, and those of each fold."""
    return list(dict.fromkeys([tuple(tiles), *(fold.fitted for own in folds.values() for fold in own)]))
