"""Tiles as what they add to the joint log-loss: pairs of pixels of the pool's sample, each of one tile or of two.

Where tiles are drawn, a pair counts as often as its tile is drawn, and a pair of two tiles as often as both are: so the
pool itself is the resample in which each is drawn once, and the share of pairs of one tile stays what it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.inference.bootstrap import draws, left_out_groups
from geouq.metrics.ensemble import joint_losses_of
from geouq.summary import Summary
from geouq.summary.form import TAU
from geouq.summary.joint_sample import JointSample

Floats = NDArray[np.float64]
OfPairs = Callable[[Mapping[int, Floats]], Floats]  # the number of each pair, from its losses
Ints = NDArray[np.int64]

NOBODY = -1


class SampleOwners:
    """To which tile each pixel of the sample of a pool belongs, as tiles are gone through."""

    def __init__(self, whole: Summary) -> None:
        self._sample = None if whole.form is None else whole.form.sample
        self._owner = np.full(0 if self._sample is None else len(self._sample.number), NOBODY)

    def add(self, tile: Summary, number: int) -> None:
        """Take in a tile, or one more that is joined with others under the same number."""
        own = None if tile.form is None else tile.form.sample
        if self._sample is not None and own is not None:
            self._owner[np.isin(self._sample.number, own.number)] = number

    def pairs(self, numbers: Sequence[int]) -> "PairRows | None":
        """Return the pairs of the sample, by the places of their tiles among these numbers; None if there are none."""
        if self._sample is None or len(self._sample.number) < 2:
            return None
        return PairRows.of(self._sample, np.searchsorted(numbers, self._owner))


@dataclass(frozen=True)
class PairRows:
    """Pairs of pixels; tiles : int64 (2, pairs). losses : by the number of observations, float64 (pairs)."""

    tiles: Ints
    losses: dict[int, Floats]

    @classmethod
    def of(cls, sample: JointSample, owner: Ints) -> Self:
        """Return the pairs of a sample, of which each pixel belongs to a tile."""
        losses = {count: joint_losses_of(sample, count) for count in (1, TAU)}
        return cls(np.stack([owner, np.roll(owner, -1)]), losses)

    def resampled(self, name: str, metric: OfPairs, tiles: int, resamples: int, seed: int) -> Floats:
        """Return the metric in each resample of so many tiles, drawn from the seed and the name; NaN without a pair."""
        return np.concatenate([self._means(some, metric) for some in draws(tiles, resamples, seed, name)])

    def left_out(self, metric: OfPairs, tiles: int) -> Floats:
        """Return the metric without each tile, or, of more than 200, without each group of them."""
        group = left_out_groups(tiles)
        groups = int(group[-1]) + 1
        return self._means((np.arange(groups)[:, np.newaxis] != group).astype(np.uint16), metric)

    def _means(self, counts: NDArray[np.uint16], metric: OfPairs) -> Floats:
        """Means over pairs, of which tiles are drawn as often as counts (resamples, tiles) tell."""
        found = np.full(len(counts), np.nan)
        for i, times in enumerate(self._times(counts)):
            total = times.sum()
            if total > 0:
                found[i] = (times * metric(self.losses)).sum() / total
        return found

    def _times(self, counts: NDArray[np.uint16]) -> Iterator[Floats]:
        one, other = self.tiles
        for drawn in counts.astype(np.float64):
            yield np.where(one == other, drawn[one], drawn[one] * drawn[other])
