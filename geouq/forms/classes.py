"""Probabilities of classes. The error is the probability of the true class less 1."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from geouq.config import FormFiles
from geouq.forms.kernel_form import Box, KernelForm, gathered, no_variance
from geouq.kernel import CellSums, Sampled, Totals
from geouq.kernel.classes import BINS, BY_BIN, TOLERANCE, WORK, add_classes, matched
from geouq.summary.form import Fields, Prepared, Values


@dataclass(frozen=True)
class Classes(KernelForm):
    """Probabilities of classes, in the order of their codes.

    brier : sum over classes of (p - o)^2. log_loss : -log p of the true class. impossible : pixels whose true class was
    given no probability at all. by_class : `BY_BIN` sums in ten bins of the probability of each class. top : n,
    probability and hits of the most probable class, in ten bins of the former. share_std : std sqrt(p (1 - p)) of
    belonging to each class.
    """

    codes: tuple[int, ...]
    names: tuple[str, ...]
    key: ClassVar[str] = "classes"
    layer_name: ClassVar[str] = "classes"
    how_to_give: ClassVar[str] = "class probabilities; give probabilities"
    summarized_by: ClassVar[str] = "geouq.classes.summarize"
    has_variance: ClassVar[bool] = False
    truth_is_code: ClassVar[bool] = True
    work: ClassVar[int] = WORK

    @classmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:  # noqa: ARG003
        """Return the form if the files have it."""
        codes = files.class_codes
        return None if codes is None else cls(tuple(codes.values()), tuple(codes))

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums."""
        one = dict.fromkeys(("brier", "log_loss", "impossible"), ())
        return {**one, "by_class": (len(self.codes), BINS, BY_BIN), "top": (BINS, 3), "share_std": (len(self.codes),)}

    @property
    def layers(self) -> int:
        """Number of classes."""
        return len(self.codes)

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Return the names of the classes."""
        return self.names

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes."""
        return self.names

    def described(self) -> str:
        """Return a description of the form for people."""
        return f"classes {', '.join(f'{name} ({code})' for name, code in zip(self.names, self.codes, strict=True))}"

    def prepared(self, values: Values, more: Values, truth: Values, missing: int, rounding: float = 0.0) -> Prepared:  # noqa: ARG002
        """Return mean, variance and truth of the pixels."""
        status = np.zeros(truth.shape, np.uint8)
        mean, number_of_class = np.empty(truth.shape, values.dtype), np.empty((1, len(truth)), values.dtype)
        matched(values, truth, np.array(self.codes), TOLERANCE + rounding, status, mean, number_of_class[0])
        return Prepared(mean, no_variance(len(truth)), truth * 0 + 1, status, number_of_class)

    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:  # noqa: ARG002
        """Add the pixels of a box to the sums of its cells."""
        by_class, top, share_std = (
            self.places["by_class"].start,
            self.places["top"].start,
            self.places["share_std"].start,
        )
        add_classes(*box, by_class, top, share_std, gathered(self, box[-1]), cells, totals)
