"""How often intervals of means of areas hold, on simulated maps whose errors are correlated in known ways."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from geouq.aggregates.area import AreaPairs, Certainty, half_width
from geouq.aggregates.cells import AreaCells
from geouq.aggregates.estimation import error_correlation
from geouq.aggregates.means import LEAST_FREEDOM
from simulated.fields import gaussian_field

Floats = NDArray[np.float64]
LEVEL = 0.9
TARGET = 0.87, 0.93
PIXELS = 4  # along the side of a cell
CELLS = 24  # along the side of a tile
TILES = 3, 4
SIDE = 100.0  # of a cell, in metres
SHAPE = TILES[0] * CELLS * PIXELS, TILES[1] * CELLS * PIXELS
PARTS = {"tiles": 1, "quarters": 2}  # areas, by how often the side of a tile is cut


@dataclass(frozen=True)
class Map:
    """A simulated map: z, weights and which pixels are valid; whether its areas above a threshold are predicted.

    noise : std of the truth's own error, relative to the predicted std. is_removed : whether it is known and removed.
    """

    z: Floats
    weight: Floats
    valid: NDArray[np.bool_]
    is_above: bool = False
    noise: Floats | None = None
    is_removed: bool = True


@dataclass(frozen=True)
class Held:
    """Areas of all maps of a field: how many, how many have an interval, and shares that hold.

    Parameters
    ----------
    name, areas : str
        Field, and kind of area.
    count : int
        Number of areas.
    given : float
        Share of the areas that have an interval.
    held : float
        Share of these intervals that hold the true mean.
    independent, full : float
        Share of the intervals that would hold if errors were taken as independent, or as fully correlated.
    """

    name: str
    areas: str
    count: int
    given: float
    held: float
    independent: float
    full: float


def _field(rng: np.random.Generator, cells: float) -> Floats:
    return gaussian_field(rng, SHAPE, cells * PIXELS, "exp")


def _mixed(rng: np.random.Generator, *parts: tuple[float, float]) -> Floats:
    """Return independent errors and fields with a share of the variance and a range in cells each."""
    own = 1 - sum(share for share, _ in parts)
    fields = sum(np.sqrt(share) * _field(rng, reach) for share, reach in parts)
    return np.asarray(np.sqrt(own) * rng.standard_normal(SHAPE) + fields, np.float64)


def _per_tile(rng: np.random.Generator) -> Floats:
    constant = np.kron(rng.standard_normal(TILES), np.ones((CELLS * PIXELS, CELLS * PIXELS)))
    return np.asarray(0.6 * rng.standard_normal(SHAPE) + 0.8 * constant, np.float64)


def _everywhere(z: Callable[[np.random.Generator], Floats]) -> Callable[[np.random.Generator], Map]:
    return lambda rng: Map(z(rng), np.ones(SHAPE), np.ones(SHAPE, np.bool_))


def _above(*parts: tuple[float, float]) -> Callable[[np.random.Generator], Map]:
    return lambda rng: Map(_mixed(rng, *parts), np.ones(SHAPE), np.ones(SHAPE, np.bool_), is_above=True)


def _with_gaps(rng: np.random.Generator) -> Map:
    return Map(_mixed(rng, (0.5, 5)), np.ones(SHAPE), _field(rng, 8) > -0.3)


def _by_latitude(rng: np.random.Generator) -> Map:
    rows = np.cos(np.radians(np.linspace(0, 65, SHAPE[0])))
    return Map(_mixed(rng, (0.5, 5)), np.broadcast_to(rows[:, np.newaxis], SHAPE), np.ones(SHAPE, np.bool_))


def _measured(size: float, *, is_removed: bool, z: Callable[[np.random.Generator], Floats]) -> Callable[..., Map]:
    """Return a map whose truth has an error of that size relative to the predicted std, twice as large at one side."""
    noise = np.broadcast_to(size * np.linspace(0.67, 1.33, SHAPE[1]), SHAPE)
    return lambda rng: Map(z(rng), np.ones(SHAPE), np.ones(SHAPE, np.bool_), noise=noise, is_removed=is_removed)


def _unlike(rng: np.random.Generator) -> Floats:
    return np.asarray(_mixed(rng, (0.5, 5)) * np.linspace(0.7, 1.3, SHAPE[1]), np.float64)


FIELDS: Mapping[str, Callable[[np.random.Generator], Map]] = {
    "independent": _everywhere(_mixed),
    "range of 5 cells": _everywhere(lambda rng: _mixed(rng, (1.0, 5))),
    "range of 20 cells": _everywhere(lambda rng: _mixed(rng, (1.0, 20))),
    "range of 100 cells": _everywhere(lambda rng: _mixed(rng, (1.0, 100))),
    "a constant for each tile": _everywhere(_per_tile),
    "nugget of 70 %": _everywhere(lambda rng: _mixed(rng, (0.3, 5))),
    "ranges of 2 and 15 cells": _everywhere(lambda rng: _mixed(rng, (0.35, 2), (0.25, 15))),
    "std too small by a third": _everywhere(lambda rng: 1.5 * _mixed(rng, (0.5, 5))),
    "errors growing eastwards": _everywhere(_unlike),
    "missing patches": _with_gaps,
    "areas by latitude": _by_latitude,
    "truth with an error": _measured(1.0, is_removed=True, z=lambda rng: _mixed(rng, (0.5, 5))),
    "truth with an error, not removed": _measured(1.0, is_removed=False, z=lambda rng: _mixed(rng, (0.5, 5))),
    "truth with a large error": _measured(2.0, is_removed=True, z=lambda rng: _mixed(rng, (0.5, 5))),
    "truth with a large error, not removed": _measured(2.0, is_removed=False, z=lambda rng: _mixed(rng, (0.5, 5))),
    "truth with an error, std too small by a third": _measured(
        1.0, is_removed=True, z=lambda rng: 1.5 * _mixed(rng, (0.5, 5))
    ),
    "above a threshold, independent": _above(),
    "above a threshold, range of 5 cells": _above((1.0, 5)),
    "above a threshold, range of 20 cells": _above((1.0, 20)),
    "above a threshold, nugget of 70 %": _above((0.3, 5)),
}


def _sums(values: Floats) -> Floats:
    """Return the sum of each cell."""
    return np.asarray(values.reshape(TILES[0] * CELLS, PIXELS, TILES[1] * CELLS, PIXELS).sum((1, 3)).ravel())


def cells_of(simulated: Map, std: Floats) -> AreaCells:
    """Return the cells of a map with these predicted stds."""
    rows, columns = TILES[0] * CELLS, TILES[1] * CELLS
    a = np.where(simulated.valid, simulated.weight, 0.0)

    row, column = np.mgrid[:rows, :columns].reshape(2, -1)
    position = np.column_stack([column * SIDE, -row * SIDE, 0.0 * row])
    z, weight = simulated.z, _sums(a)
    cells = AreaCells(
        row // CELLS * TILES[1] + column // CELLS, row % CELLS, column % CELLS, position,
        _sums(1.0 * simulated.valid), weight, weight * (SIDE / PIXELS) ** 2, _sums(a * 10), _sums(-a * z * std),
        _sums(a * std), _sums(a**2 * std**2), _sums(a**2), 0 * weight, _sums(a * z), _sums(a**2 * z**2), weight,
        _sums(a**2), 0 * weight, np.ones_like(weight),
    )  # fmt: skip
    return cells.some(cells.n > 0)


def cells_above(simulated: Map, std: Floats, mean: Floats) -> AreaCells:
    """Return the cells of the probability that the truth of such a map is above 0, with these means and stds."""
    p = 0.5 * erfc(-mean / std / np.sqrt(2))
    own = np.sqrt(p * (1 - p))
    residual = p - (mean + std * simulated.z > 0)
    away = np.divide(residual, own, out=np.zeros_like(own), where=own > 0)  # z of the probability
    cells, a = cells_of(replace(simulated, z=-away), own), np.where(simulated.valid, simulated.weight, 0.0)
    z, z_square = (_sums(values)[_sums(1.0 * simulated.valid) > 0] for values in (a * residual, a**2 * residual**2))
    return replace(cells, z=z, z_square=z_square, z_weight=cells.std, z_weight_square=cells.variance)


def cells_measured(simulated: Map, std: Floats, rng: np.random.Generator) -> AreaCells:
    """Return the cells of such a map with the errors that a truth with an error shows."""
    if simulated.noise is None:
        return cells_of(simulated, std)
    own = simulated.noise * std
    error, total = own * rng.standard_normal(SHAPE) - simulated.z * std, std**2 + own**2
    if not simulated.is_removed:
        return cells_of(replace(simulated, z=-error / np.sqrt(total)), np.sqrt(total))
    a, share = np.where(simulated.valid, simulated.weight, 0.0), std**2 / total
    sums = {
        "error": a * error,
        "noise": a**2 * own**2,
        "z": -a * error * std / total,
        "z_square": (a * error * std / total) ** 2,
        "z_weight": a * share,
        "z_weight_square": (a * share) ** 2,
        "z_noise": a**2 * share * (1 - share),
    }
    known = _sums(1.0 * simulated.valid) > 0
    return replace(cells_of(simulated, std), **{name: _sums(each)[known] for name, each in sums.items()})


def simulate(field: str, seed: int, number: int) -> Mapping[str, Floats]:
    """Return for each kind of area whether intervals hold, float64 (areas, 4).

    The columns tell whether there is an interval, and whether the intervals with the fitted, no and full correlation
    hold. The model of an area is fitted to the folds in which it does not lie.
    """
    name = int.from_bytes(hashlib.sha256(field.encode()).digest()[:8], "little")
    rng = np.random.default_rng([seed, name, number])
    simulated, std = FIELDS[field](rng), np.exp(0.4 * _field(rng, 10))
    if simulated.is_above:
        cells = cells_above(simulated, std, 2 * _field(rng, 20))
        correlation = error_correlation(cells, SIDE)
    else:
        cells = cells_of(simulated, std)
        correlation = error_correlation(cells_measured(simulated, std, rng), SIDE)
    if correlation is None:
        raise ValueError("a map has too few cells for a model")
    certainty, half = Certainty.of(correlation), half_width(LEVEL, np.inf)
    found: dict[str, Floats] = {}
    for kind, parts in PARTS.items():
        side = CELLS // parts
        area = (cells.tile * parts + cells.row // side) * parts + cells.column // side
        rows = []
        for own in np.unique(area):
            some = cells.some(area == own)
            folds = np.unique(correlation.folds_of(some))
            model = correlation.without(folds.tolist())
            if len(some) < side**2 / 2 or model is None:
                continue
            pairs = AreaPairs.of(some, SIDE)
            freedom = certainty.freedom(pairs, model, correlation.each_left_out)
            error = abs(some.error.sum() / pairs.weight)
            std = np.sqrt(model.zms * pairs.variance(model))
            held = (
                error <= half_width(LEVEL, freedom) * std,
                *(error <= half * np.sqrt([pairs.independent, pairs.full])),
            )
            rows.append((freedom >= LEAST_FREEDOM, *held))
        found[kind] = np.array(rows, np.float64).reshape(-1, 4)
    return found


def studied(fields: Iterable[str], simulations: int, seed: int, workers: int) -> Iterable[Held]:
    """Yield the shares of each field and kind of area, simulated by `workers` processes, or this one if 1."""
    if workers == 1:
        for field in fields:
            yield from _held(field, [simulate(field, seed, number) for number in range(simulations)])
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for field in fields:
            yield from _held(field, list(pool.map(partial(simulate, field, seed), range(simulations), chunksize=5)))


def _held(field: str, maps: Sequence[Mapping[str, Floats]]) -> Iterable[Held]:
    for kind in PARTS:
        given, held, independent, full = np.concatenate([one[kind] for one in maps]).T
        share = float(held[given > 0].mean()) if given.any() else np.nan
        yield Held(field, kind, len(held), float(given.mean()), share, float(independent.mean()), float(full.mean()))


def markdown(rows: Iterable[Held]) -> str:
    """Return the table of the documentation."""
    lines = ["| errors | areas | with an interval | intervals that hold | if independent | if fully correlated |"]
    lines.append("|---|---|---|---|---|---|")
    lines += [
        f"| {row.name} | {row.areas} | {row.given:.0%} | {row.held:.1%} | {row.independent:.0%} | {row.full:.0%} |"
        for row in rows
    ]
    return "\n".join(lines).replace("nan%", "") + "\n"
