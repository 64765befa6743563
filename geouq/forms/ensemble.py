"""Ensembles: members, each a mean and perhaps a variance, of equal weight."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import FormFiles
from geouq.core.errors import DataError
from geouq.forms.kernel_form import Box, KernelForm, gathered, sorting_pairs
from geouq.kernel import CellSums, Sampled, Totals
from geouq.kernel.ensemble import WORK, Wanted, add_ensemble, fair_crps_of, mixed, wanted_of
from geouq.kernel.gather import Layers
from geouq.summary.form import PIT_BINS, Fields, Prepared, Values


@dataclass(frozen=True)
class Ensemble(KernelForm):
    """Members, each a mean, with a variance of its own where `densities`; levels : of the mixture's intervals.

    Its mean and variance are those of the mixture.

    aleatoric : mean of the members' variances. epistemic : population variance of their means. crps : of the mixture
    where `densities`, else the fair one of the means. log_loss : -log of the mixture's density. below, above : truth
    outside the mixture's central interval. ranks : truth by the number of members below it, in equal shares of all
    ranks that it may have where it equals members; rank_residues : what shares are more than multiples of 2^-20.
    pit : the mixture's distribution function at the truth, in 20 bins. member_errors : of each member, without
    `densities`; its mean over an area follows, however the errors of pixels are correlated.
    """

    members: int
    levels: tuple[float, ...]
    densities: bool
    key: ClassVar[str] = "ensemble"
    layer_name: ClassVar[str] = "members"
    how_to_give: ClassVar[str] = "ensembles; give members"
    fields_of_levels: ClassVar[tuple[str, ...]] = ("below", "above")
    work: ClassVar[int] = WORK

    @classmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:
        """Return the form if the files have it."""
        return None if files.members is None else cls(members, levels, files.member_variance is not None)

    @classmethod
    def names_in_records(cls) -> tuple[str, ...]:
        """Return the names in the records of metrics and maps."""
        return "members", "densities"

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums."""
        levels, ranks = (len(self.levels),), (self.members + 1,)
        one = dict.fromkeys(("aleatoric", "epistemic", "crps", "log_loss"), ())
        counts = {"below": levels, "above": levels, "ranks": ranks, "rank_residues": ranks, "pit": (PIT_BINS,)}
        return {**one, **counts, "member_errors": (0 if self.densities else self.members,)}

    @property
    def metrics_as(self) -> str:
        """Name in the records: whether members have variances."""
        return "densities" if self.densities else "members"

    @property
    def layers(self) -> int:
        """Number of members."""
        return self.members

    @property
    def variance_layers(self) -> int:
        """Number of layers of variances."""
        return self.sampled_members

    @property
    def sampled_members(self) -> int:
        """Number of members if they have variances."""
        return self.members if self.densities else 0

    @property
    def interval_levels(self) -> tuple[float, ...]:
        """Return the levels of the intervals of the mixture."""
        return self.levels

    def at_levels(self, levels: tuple[float, ...]) -> Self:
        """Return the ensemble with these levels of intervals."""
        return replace(self, levels=levels)

    def described(self) -> str:
        """Return a description of the form for people."""
        return f"{self.members} members, {'each with' if self.densities else 'without'} a variance"

    def prepared(self, values: Values, more: Values, truth: Values, missing: int, rounding: float = 0.0) -> Prepared:  # noqa: ARG002
        """Return mean, variance and truth of the pixels."""
        mean, variance = np.empty(truth.shape), np.empty(truth.shape)
        mixed(values, more, mean, variance)
        return Prepared(mean, variance, truth)

    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:  # noqa: ARG002
        """Add the pixels of a box to the sums of its cells."""
        add_ensemble(*box, _wanted(self), gathered(self, box[-1]), cells.form, sampled)


@lru_cache(maxsize=8)
def _wanted(form: Ensemble) -> Wanted:
    at = np.array([form.places[name].start for name in form.fields])
    return wanted_of(at, form.members, form.levels, sorting_pairs(form.members), densities=form.densities)


def fair_crps(members: Values, truth: Values) -> NDArray[np.float64]:
    """Fair CRPS of each pixel, members (K, ...) and truth (...), in the variable's unit; NaN where one of them is.

    Raises DataError for fewer than two members, or other shapes.

    >>> fair_crps(np.array([[0.0], [2.0], [3.0]]), np.array([1.0])).tolist()
    [0.333333333333]
    """
    members, truth = np.asarray(members), np.asarray(truth)
    if len(members) < 2 or members.shape[1:] != truth.shape:
        raise DataError(
            f"members have the shape {members.shape} and truth {truth.shape}; give two members or more along the first "
            "dimension, each of the shape of truth"
        )
    rows: Values = np.ascontiguousarray(members, np.float32 if members.dtype == np.float32 else np.float64)
    rows = rows.reshape(len(rows), -1)
    out, none = np.empty(truth.size), np.empty((0, truth.size), rows.dtype)
    into = gathered(Ensemble(len(rows), (), densities=False), Layers(rows, none, np.empty(0, np.uint64)))
    fair_crps_of(rows, np.ascontiguousarray(truth).ravel(), sorting_pairs(len(rows)), into, out)
    return out.reshape(truth.shape)
