"""Counts of z between normal quantiles: coverage, PIT histogram and calibration curve are read off, not estimated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.core.gaussian import quantile
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

FINE = 200
COMPACT = 20


def edge_probabilities(levels: Sequence[float], grid: int) -> Floats:
    """Cumulative probabilities of the edges: a regular grid joined with the two ends of each level's central interval.

    >>> edge_probabilities([0.9], grid=4)
    array([0.05, 0.25, 0.5 , 0.75, 0.95])
    """
    return _edge_probabilities(tuple(levels), grid)


@lru_cache(maxsize=16)
def _edge_probabilities(levels: tuple[float, ...], grid: int) -> Floats:
    ends = [(1 + side * level) / 2 for level in levels for side in (-1, 1)]
    found = np.unique(np.round([*(k / grid for k in range(1, grid)), *ends], 12))
    found.setflags(write=False)  # as all share it
    return found


@dataclass(frozen=True)
class ZHistogram(Statistic):
    """Exact counts of z = (truth - mean) / std between the quantiles of `probabilities`; leading dimensions are free.

    probabilities : float64 (edges), cumulative probabilities of the edges, increasing.
    counts : int64 (..., edges + 1). Central intervals are closed: z equal to an edge counts on the side nearer to 0,
        and z = 0
        below the median, as PIT <= p asks.
    """

    probabilities: Floats
    counts: Counts
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {"counts": ("z_bin",)}
    explained: ClassVar[Mapping[str, str]] = {
        "counts": "counts of z = (truth - mean) / std between the normal quantiles of z_edge",
        "z_edge": "cumulative normal probabilities of the edges between which z is counted",
    }

    def spec(self) -> dict[str, Any]:
        """Return the number of regular bins."""
        return {"grid": self._grid}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the counts that were saved, between the edges of the levels that were kept."""
        return cls(edge_probabilities(spec["levels"], int(spec["grid"])), arrays["counts"])

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return other counts between the same edges."""
        return type(self)(self.probabilities, arrays["counts"])

    def labels(self) -> dict[str, Any]:
        """Return the probabilities of the edges."""
        return {"z_edge": self.probabilities} if self._grid == FINE else {}

    def of_no_cell(self, levels: tuple[float, ...]) -> Self:
        """Return the counts of a cell without a pixel, (1, edges of a cell + 1)."""
        probabilities = edge_probabilities(levels, COMPACT)
        return type(self)(probabilities, np.zeros((1, len(probabilities) + 1), np.int64))

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:  # noqa: ARG002  edges tell
        """Return the same counts between the edges of fewer levels."""
        return self.at(edge_probabilities(levels, self._grid))

    def below(self, probability: float) -> Counts:
        """Return the number of pixels with PIT at most `probability` (below it, for probabilities under 1/2).

        Raises SummaryError where that probability is no edge.
        """
        return self.counts[..., : self._edge(probability) + 1].sum(-1)

    def above(self, probability: float) -> Counts:
        """Return the number of pixels beyond the quantile of `probability`."""
        return self.counts[..., self._edge(probability) + 1 :].sum(-1)

    def regular(self, bins: int) -> Counts:
        """Return counts of the PIT histogram of that many bins of equal width, (..., bins)."""
        return np.add.reduceat(self.counts, [0, *(self._edges(np.arange(1, bins) / bins) + 1)], axis=-1)

    def __add__(self, other: Self) -> Self:
        if not np.array_equal(self.probabilities, other.probabilities):
            message = "these summaries count z between different levels; evaluate both with the same levels"
            raise SummaryError(message)
        return type(self)(self.probabilities, self.counts + other.counts)

    def at(self, probabilities: Floats) -> Self:
        """Return the same counts between fewer edges; SummaryError where one of these is no edge."""
        starts = [0, *(self._edges(probabilities) + 1)]
        return type(self)(probabilities, np.add.reduceat(self.counts, starts, axis=-1))

    @property
    def _grid(self) -> int:
        """Number of regular bins: `FINE` in a tile, `COMPACT` in a cell."""
        return _grid_of(self.probabilities.tobytes())

    def _edge(self, probability: float) -> int:
        return int(self._edges(np.array([probability]))[0])

    def _edges(self, probabilities: Floats) -> Counts:
        index, missing = _places_of_edges(self.probabilities.tobytes(), np.asarray(probabilities, np.float64).tobytes())
        if missing is not None:
            raise SummaryError(
                f"no count was kept at probability {missing:.12g}, an end of the interval of level "
                f"{abs(1 - 2 * missing):.12g}; add that level to the configured levels"
            )
        return index


@lru_cache(maxsize=256)
def _grid_of(edges: bytes) -> int:
    """Return the number of regular bins between edges, which are float64."""
    return FINE if np.isin(edge_probabilities((), FINE), np.frombuffer(edges)).all() else COMPACT


@lru_cache(maxsize=256)
def _places_of_edges(edges: bytes, probabilities: bytes) -> tuple[Counts, float | None]:
    """Return the place of each probability among the edges, and the first that is no edge; all are float64."""
    known, wanted = np.frombuffer(edges), np.round(np.frombuffer(probabilities), 12)
    index = np.searchsorted(known, wanted)
    index.setflags(write=False)  # as all share it
    missing = wanted[known[np.minimum(index, len(known) - 1)] != wanted]
    return index, float(missing[0]) if len(missing) else None


def edge_quantiles(probabilities: Floats) -> Floats:
    """Return the standard normal quantiles of the edges."""
    return np.array([quantile(float(p)) for p in probabilities])
