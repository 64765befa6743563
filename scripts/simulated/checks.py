"""How often the input checks report clean maps, and how often they report each fault of the input."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from geouq.checks import Patch, examine_model
from simulated.inputs import VARIABLES, Window, forecast, patches_of

Floats = NDArray[np.float64]
Size = tuple[int, int, int]  # tiles, rows and columns of a window
Maps = Mapping[str, Sequence[Window]]  # by variable
Alter = Callable[[Sequence[Window], np.random.Generator], Maps]

SIZES: tuple[Size, ...] = ((4, 96, 96), (2, 160, 160), (6, 50, 70), (12, 64, 64))
SMALL: tuple[Size, ...] = ((1, 24, 24), (1, 40, 30), (2, 32, 32), (6, 22, 53))
LARGE: tuple[Size, ...] = ((4, 256, 256),)
SPREADS = (0.3, 0.5, 0.8, 1.2, 2.0)
NAME = "x"


@dataclass(frozen=True)
class Case:
    """A row of the table: what its maps are drawn from, how they are changed, and which finding is right.

    scales : of the correlation in pixels. spreads : of the errors, per spread of the signal. right : kind of the
    finding, '' for clean maps. layer : key of the variance, '' for either.
    """

    name: str
    alter: Alter
    right: str = ""
    variables: tuple[str, ...] = tuple(VARIABLES)
    scales: tuple[float, ...] = (0, 2, 5, 12, 30, 60)
    spreads: tuple[float, ...] = SPREADS
    smooth: tuple[float, ...] = (0.0, 0.5, 1.0)
    sizes: tuple[Size, ...] = SIZES
    layer: str = ""


@dataclass(frozen=True)
class Row:
    """All maps of a case: the kinds of the findings of each."""

    case: Case
    findings: Sequence[tuple[str, ...]]

    @property
    def share(self) -> float:
        """Share of the maps with any finding, or with the right one."""
        return float(np.mean([self._counts(kinds) for kinds in self.findings]))

    @property
    def error(self) -> float:
        """Standard error of the share; that of one finding where there is none."""
        share, n = self.share, len(self.findings)
        return float(np.sqrt(max(share * (1 - share), 1 / n * (1 - 1 / n)) / n))

    @property
    def others(self) -> Counter[str]:
        """Number of maps with each finding that is not the right one."""
        return Counter(kind for kinds in self.findings for kind in set(kinds) - {self.case.right})

    def _counts(self, kinds: tuple[str, ...]) -> bool:
        return self.case.right in kinds if self.case.right else bool(kinds)


def simulate(case: Case, seed: int, number: int) -> tuple[str, ...]:
    """Return the kinds found in the map of that number; it follows from the seed, the case's name and the number."""
    name = int.from_bytes(hashlib.sha256(case.name.encode()).digest()[:8], "little")
    rng = np.random.default_rng([seed, name, number])
    tiles, *shape = case.sizes[rng.integers(len(case.sizes))]
    variable, scale, spread, smooth = (
        options[rng.integers(len(options))]  # type: ignore[index]
        for options in (case.variables, case.scales, case.spreads, case.smooth)
    )
    windows = forecast(
        int(rng.integers(2**31)),
        str(variable),
        tiles=tiles,
        shape=(shape[0], shape[1]),
        scale=float(scale),
        spread=float(spread),
        smooth=float(smooth),
    )
    patches = {name: patches_of(own, name) for name, own in case.alter(windows, rng).items()}
    return kinds_in(patches, case.layer or ("std", "variance")[rng.integers(2)])


def kinds_in(patches: Mapping[str, Sequence[Patch]], layer: str) -> tuple[str, ...]:
    """Return the kinds of the findings about these variables."""
    return tuple(found.kind for found in examine_model(patches, layer))


def measured(cases: Iterable[Case], maps: int, seed: int, workers: int) -> Iterator[Row]:
    """Yield the rows of the cases; `workers` processes simulate, or this one alone where there is 1."""
    if workers == 1:
        for case in cases:
            yield Row(case, [simulate(case, seed, number) for number in range(maps)])
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for case in cases:
            yield Row(case, list(pool.map(partial(simulate, case, seed), range(maps), chunksize=10)))
