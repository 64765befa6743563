"""What a prediction adds up to that is not given as mean and variance: as an ensemble, quantiles, or probabilities.

Each form names its sums; all of them stand side by side in one array of float64, in which counts are whole numbers, so
that one law of addition, one layout of files and one bootstrap serve all forms.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from geouq.errors import SummaryError
from geouq.summary.joint_sample import JointSample
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]
Kind = Literal["normal", "ensemble", "split", "quantiles", "classes"]
Fields = Mapping[str, tuple[int, ...]]

PIT_BINS = 20
BINS = 10  # of a probability
TAU = 10  # observations whose joint log-loss is taken
BY_BIN = 5  # sums of each bin: n, p, p^2, o, p o, where o is 1 for the class of the truth and 0 for others


@dataclass(frozen=True)
class _Layout(ABC):
    """Where the sums of a form stand."""

    @property
    @abstractmethod
    def fields(self) -> Fields:
        """Names of the sums and the shape of each."""

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Columns of each of the fields."""
        found, first = {}, 0
        for name, shape in self.fields.items():
            found[name] = slice(first, first + math.prod(shape))
            first = found[name].stop
        return found

    @property
    def columns(self) -> list[str]:
        """Name of each column, such as crps, or rank_below[3]."""
        return [name + "".join(f"[{i}]" for i in place) for name, s in self.fields.items() for place in np.ndindex(s)]

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(math.prod(shape) for shape in self.fields.values())


@dataclass(frozen=True)
class Ensemble(_Layout):
    """Members, each a mean, with a variance of its own where `densities`; levels : of the mixture's intervals.

    aleatoric : mean of the members' variances. epistemic : population variance of their means. crps : of the mixture
    where `densities`, else the fair one of the means. log_loss : -log of the mixture's density. below, above : truth
    outside the mixture's central interval. ranks : truth by the number of members below it, in equal shares of all
    ranks that it may have where it equals members; rank_residues : what shares are more than multiples of 2^-20.
    pit : the mixture's distribution function at the truth, in 20 bins.
    """

    members: int
    levels: tuple[float, ...]
    densities: bool
    kind: ClassVar[Kind] = "ensemble"
    alone: ClassVar[bool] = False

    @property
    def fields(self) -> Fields:  # noqa: D102
        levels, ranks = (len(self.levels),), (self.members + 1,)
        one = dict.fromkeys(("aleatoric", "epistemic", "crps", "log_loss"), ())
        return {**one, "below": levels, "above": levels, "ranks": ranks, "rank_residues": ranks, "pit": (PIT_BINS,)}


@dataclass(frozen=True)
class Split(_Layout):
    """A mean with an aleatoric and an epistemic variance; joint : half the joint log-loss of `TAU` observations."""

    kind: ClassVar[Kind] = "split"
    alone: ClassVar[bool] = False

    @property
    def fields(self) -> Fields:  # noqa: D102
        return dict.fromkeys(("aleatoric", "epistemic", "joint"), ())


@dataclass(frozen=True)
class Quantiles(_Layout):
    """Quantiles of these levels, in their order.

    above : truth - quantile. over : what the quantile lies above the truth by, 0 elsewhere. at_most, below : truth
    that is not above the quantile, and truth that is below it. crossing : pixels whose quantiles were not in order.
    integral : CRPS by integration.
    """

    levels: tuple[float, ...]
    kind: ClassVar[Kind] = "quantiles"
    alone: ClassVar[bool] = True

    @property
    def fields(self) -> Fields:  # noqa: D102
        of_level = dict.fromkeys(("above", "over", "at_most", "below"), (len(self.levels),))
        return {**of_level, "crossing": (), "integral": ()}

    @property
    def pairs(self) -> Mapping[float, tuple[int, int]]:
        """Levels of the central intervals between two quantiles, narrow first, and which quantiles these are."""
        places = {round(level, 12): i for i, level in enumerate(self.levels)}
        found = {}
        for level, low in places.items():
            high = places.get(round(1 - level, 12))
            if level < 0.5 and high is not None:
                found[round(1 - 2 * level, 12)] = low, high
        return dict(sorted(found.items()))

    @property
    def median(self) -> int | None:
        """Place of the median, None where it is not given."""
        return self.levels.index(0.5) if 0.5 in self.levels else None


@dataclass(frozen=True)
class Classes(_Layout):
    """Probabilities of classes, in the order of their codes.

    brier : sum over classes of (p - o)^2. log_loss : -log p of the true class. impossible : pixels whose true class was
    given no probability at all. by_class : `BY_BIN` sums in ten bins of
    the probability of each class. top : n, probability and hits of the most probable class, in ten bins of the former.
    """

    codes: tuple[int, ...]
    names: tuple[str, ...]
    kind: ClassVar[Kind] = "classes"
    alone: ClassVar[bool] = True

    @property
    def fields(self) -> Fields:  # noqa: D102
        one = dict.fromkeys(("brier", "log_loss", "impossible"), ())
        return {**one, "by_class": (len(self.codes), BINS, BY_BIN), "top": (BINS, 3)}


Form = Ensemble | Split | Quantiles | Classes
_FORMS: Mapping[str, type[Form]] = {form.kind: form for form in (Ensemble, Split, Quantiles, Classes)}


@dataclass(frozen=True)
class FormSums(Statistic):
    """Sums of a form over a set of pixels, weighted where these have weights; leading dimensions are free.

    sums : float64 (..., form.width), in the order of `form.fields`. sample : of pixels for the joint log-loss; None
    where the form needs none, and for cells.
    """

    form: Form
    sums: Floats
    sample: JointSample | None = None
    required: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = {
        "sums": ("form_sum",),
        "sample_number": ("*sampled",),
        "sample_log_density": ("*sampled", "member"),
    }
    explained: ClassVar[Mapping[str, str]] = {
        "sums": "sums over the valid pixels of a forecast that is given as an ensemble, quantiles or probabilities",
        "sample_number": "hashed number of a pixel that is sampled for the joint log-loss",
        "sample_log_density": "logarithm of the density of each member at the truth",
        "form_sum": "what is summed of an ensemble, quantiles or probabilities, and its place",
    }

    def to_arrays(self) -> dict[str, Array]:
        """Return the sums, and the sample where there is one."""
        if self.sample is None:
            return {"sums": self.sums}
        number, density = self.sample.number, self.sample.log_density
        return {"sums": self.sums, "sample_number": number, "sample_log_density": density}

    def spec(self) -> dict[str, Any]:
        """Return the form, and whether there is a sample."""
        return {"form": form_as_words(self.form), "sampled": self.sample is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the sums that were saved."""
        form, sample = form_of_words(spec["form"]), None
        if spec["sampled"] and isinstance(form, Ensemble):
            empty = JointSample.empty(form.members)
            number = arrays.get("sample_number", empty.number)
            sample = JointSample(number, arrays.get("sample_log_density", empty.log_density))
        return cls(form, arrays["sums"], sample)

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return other sums of the same form, without a sample."""
        return type(self)(self.form, arrays["sums"])

    def labels(self) -> dict[str, Any]:
        """Return what is summed."""
        return {"form_sum": self.form.columns}

    def of(self, name: str) -> Floats:
        """One of the sums, (..., and its own shape)."""
        own = self.sums[..., self.form.places[name]]
        return own.reshape((*self.sums.shape[:-1], *self.form.fields[name]))

    def __add__(self, other: Self) -> Self:
        if self.form != other.form:
            raise SummaryError(f"summaries of {self.form} and of {other.form} do not add")
        sample = None if self.sample is None or other.sample is None else self.sample + other.sample
        return type(self)(self.form, self.sums + other.sums, sample)

    def total(self, axis: int = 0) -> Self:
        """Sum over one leading axis."""
        return type(self)(self.form, self.sums.sum(axis))

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:  # noqa: ARG002  the form has them
        """Return the same pixels with fewer levels of the mixture's intervals; of other forms, all."""
        form = at_levels(self.form, levels)
        if not isinstance(self.form, Ensemble) or form == self.form:
            return self
        chosen = [self.form.levels.index(level) for level in levels]
        lead = self.sums.shape[:-1]
        columns = [
            (own[..., chosen] if name in ("below", "above") else own).reshape((*lead, -1))
            for name, own in ((name, self.of(name)) for name in self.form.fields)
        ]
        return replace(self, form=form, sums=np.concatenate(columns, axis=-1))


def at_levels(form: Form, levels: tuple[float, ...]) -> Form:
    """Return the form with these levels of the mixture's intervals, if it is an ensemble."""
    return replace(form, levels=levels) if isinstance(form, Ensemble) else form


def kind_of(form: Form | None) -> Kind:
    """Return the kind of a form; mean and variance alone are the normal one."""
    return "normal" if form is None else form.kind


def no_sums(form: Form) -> FormSums:
    """Return the sums of no pixel."""
    sample = JointSample.empty(form.members) if isinstance(form, Ensemble) and form.densities else None
    return FormSums(form, np.zeros(form.width), sample)


def form_as_words(form: Form) -> dict[str, Any]:
    """Return a form as plain values, of which `form_of_words` makes it again."""
    return {"kind": form.kind} | asdict(form)


def form_of_words(words: Mapping[str, Any]) -> Form:
    """Return the form that `form_as_words` gave the plain values of."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in words.items()}
    kind = values.pop("kind")
    return _FORMS[kind](**values)
