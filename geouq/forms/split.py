"""A mean whose variance has two parts: of the noise, and of what the model does not know."""

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import SPLIT, FormFiles
from geouq.forms.kernel_form import Box, KernelForm, gathered
from geouq.kernel import CellSums, Sampled, Totals
from geouq.kernel.ensemble import add_split
from geouq.summary.form import TAU, Fields, Prepared, Values


@dataclass(frozen=True)
class Split(KernelForm):
    """A mean with an aleatoric and an epistemic variance; joint : half the joint log-loss of `TAU` observations."""

    key: ClassVar[str] = "split"
    layer_name: ClassVar[str] = "means"
    how_to_give: ClassVar[str] = "the two parts of a variance; give variance_aleatoric and variance_epistemic"
    work: ClassVar[int] = 0

    @classmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:  # noqa: ARG003
        """Return the form if the files have it."""
        return cls() if files.given_by == SPLIT else None

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums."""
        return dict.fromkeys(("aleatoric", "epistemic", "joint"), ())

    @property
    def variance_layers(self) -> int:
        """Number of layers of variances."""
        return 2

    def described(self) -> str:
        """Return a description of the form for people."""
        return "mean, and variance in two parts"

    def prepared(self, values: Values, more: Values, truth: Values, missing: int, rounding: float = 0.0) -> Prepared:  # noqa: ARG002
        """Return mean, variance and truth of the pixels."""
        variance = np.where(more[0] > 0, more.sum(0, dtype=np.float64), more[0])
        return Prepared(values[0], np.where(more[1] < 0, more[1], variance), truth)

    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:  # noqa: ARG002
        """Add the pixels of a box to the sums of its cells."""
        add_split(*box, _shares(), gathered(self, box[-1]), cells.form)


@lru_cache(maxsize=1)
def _shares() -> NDArray[np.float64]:
    """Return the probability that k of `TAU` observations belong to the first of two pixels."""
    return np.array([comb(TAU, k) / 2**TAU for k in range(TAU + 1)])
