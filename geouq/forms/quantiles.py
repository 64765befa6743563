"""Quantiles of any levels. There is no variance; the error is the error of the median."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import FormFiles
from geouq.forms.kernel_form import Box, KernelForm, gathered, no_variance, sorting_pairs
from geouq.kernel import CellSums, Sampled, Totals
from geouq.kernel.gather import mark_not_finite
from geouq.kernel.quantiles import WORK, add_losses, add_quantiles
from geouq.summary.form import Fields, Prepared, Values


@dataclass(frozen=True)
class Quantiles(KernelForm):
    """Quantiles of these levels, in their order.

    above : truth - quantile. over : what the quantile lies above the truth by, 0 elsewhere. at_most, below : truth
    that is not above the quantile, and truth that is below it. crossing : pixels whose quantiles were not in order.
    integral : CRPS by integration.
    """

    levels: tuple[float, ...]
    key: ClassVar[str] = "quantiles"
    layer_name: ClassVar[str] = "quantiles"
    how_to_give: ClassVar[str] = "quantiles; give these"
    summarized_by: ClassVar[str] = "geouq.quantiles.summarize"
    has_variance: ClassVar[bool] = False
    work: ClassVar[int] = WORK

    @classmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:  # noqa: ARG003
        """Return the form if the files have it."""
        return None if files.quantiles is None else cls(tuple(sorted(files.quantiles)))

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums."""
        of_level = dict.fromkeys(("above", "over", "at_most", "below"), (len(self.levels),))
        return {**of_level, "crossing": (), "integral": ()}

    @property
    def layers(self) -> int:
        """Number of quantiles."""
        return len(self.levels)

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Return the levels of the quantiles."""
        return self.levels

    @property
    def pairs(self) -> Mapping[float, tuple[int, int]]:
        """Return the places of the two quantiles of each central interval."""
        places = {round(level, 12): i for i, level in enumerate(self.levels)}
        found = {}
        for level, low in places.items():
            high = places.get(round(1 - level, 12))
            if level < 0.5 and high is not None:
                found[round(1 - 2 * level, 12)] = low, high
        return dict(sorted(found.items()))

    def described(self) -> str:
        """Return a description of the form for people."""
        return f"quantiles {', '.join(f'{level:g}' for level in self.levels)}"

    def prepared(self, values: Values, more: Values, truth: Values, missing: int, rounding: float = 0.0) -> Prepared:  # noqa: ARG002
        """Return mean, variance and truth of the pixels."""
        status, middle = np.zeros(truth.shape, np.uint8), len(self.levels) // 2
        mark_not_finite(values, status, missing + 1)
        mean = values[middle] if len(self.levels) % 2 else (values[middle - 1] + values[middle]) / 2
        return Prepared(mean, no_variance(len(truth)), truth, status)

    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:  # noqa: ARG002
        """Add the pixels of a box to the sums of its cells."""
        levels, into = np.array(self.levels), gathered(self, box[-1])
        add_quantiles(*box, levels, sorting_pairs(len(levels)), into, cells, totals)


def pinball_losses(values: Values, levels: Values, truth: Values) -> NDArray[np.float64]:
    """Mean pinball loss of each quantile over all pixels, values (levels, pixels); NaN where one says nothing."""
    above, over = np.zeros(len(levels)), np.zeros(len(levels))
    add_losses(values, truth, above, over)
    return (levels * above + over) / len(truth)
