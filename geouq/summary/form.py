"""How a forecast is given: by mean and variance, as an ensemble, as quantiles, as probabilities of classes.

A form names its sums. They are the columns of a array of float64, in which counts are whole numbers. One addition,
one layout of files and one bootstrap therefore serve all forms.
"""

import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.core.sending import Sendable
from geouq.summary.joint_sample import JointSample
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]
Values = NDArray[np.floating]
Fields = Mapping[str, tuple[int, ...]]

PIT_BINS = 20  # of the mixture of an ensemble
TAU = 10  # observations whose joint log-loss is taken
IN_ORDER: NDArray[np.uint8] = np.empty(0, np.uint8)


class Prepared(NamedTuple):
    """Mean, variance and truth of the pixels of a form, (pixels) each.

    status : reason + 1 of each excluded pixel and 0 elsewhere; empty if no pixel is excluded. more : layers
    (layers, pixels) that replace the layers of variances; None keeps these.
    """

    mean: Values
    variance: Values
    truth: Values
    status: NDArray[np.uint8] = IN_ORDER
    more: Values | None = None


@dataclass(frozen=True)
class Form(Sendable, ABC):
    """The form of a forecast. A subclass is a frozen dataclass; two forecasts have one form if its fields are equal.

    Attributes
    ----------
    key : str
        Name of the form. Saved files contain it.
    layer_name : str
        What the layers are, such as members.
    has_variance : bool
        Whether the forecast has a mean and a variance. If it has, all metrics of these are computed.
    fields_of_levels : tuple of str
        Names of the sums whose last dimension is `interval_levels`.
    how_to_give : str
        For messages: the forecasts of this form, and the keys that give them in a configuration.
    summarized_by : str
        For messages: the function that summarizes arrays of this form.
    """

    key: ClassVar[str]
    layer_name: ClassVar[str] = "layers"
    has_variance: ClassVar[bool] = True
    fields_of_levels: ClassVar[tuple[str, ...]] = ()
    how_to_give: ClassVar[str] = "another form"
    summarized_by: ClassVar[str] = "geouq.summarize_form"

    @classmethod
    def names_in_records(cls) -> tuple[str, ...]:
        """Return all names of this form in the records of metrics and maps."""
        return (cls.key,)

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums of this form, without the sums of mean and variance."""
        return {}

    @property
    def metrics_as(self) -> str:
        """Name of this form in the records of metrics and maps."""
        return self.key

    @property
    def layers(self) -> int:
        """Number of layers of a variable, without layers of variances."""
        return 1

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Name of each of these layers."""
        return tuple(map(str, range(self.layers)))

    @property
    def variance_layers(self) -> int:
        """Number of layers of variances of a variable."""
        return 0

    @property
    def sampled_members(self) -> int:
        """Number of members whose densities are sampled for the joint log-loss; 0 without a sample."""
        return 0

    @property
    def interval_levels(self) -> tuple[float, ...]:
        """Return the levels of the intervals that have sums."""
        return ()

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Return the levels of the given quantiles."""
        return ()

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of the classes whose probabilities are given."""
        return ()

    @property
    def pairs(self) -> Mapping[float, tuple[int, int]]:
        """Level of each central interval between two quantiles, narrow first: the places of the two quantiles."""
        return {}

    def described(self) -> str:
        """Return a description of the form for people."""
        return f"{self.layers} {self.layer_name}"

    def at_levels(self, levels: tuple[float, ...]) -> Self:  # noqa: ARG002  most forms have no levels
        """Return the form with these levels of intervals; a form without levels is returned unchanged."""
        return self

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Return the columns of each of the fields."""
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
class Gaussian(Form):
    """A mean and a variance, std or interval. It has no sums of its own."""

    key: ClassVar[str] = "normal"
    how_to_give: ClassVar[str] = "predictions that have a variance"


GAUSSIAN = Gaussian()
# the class of each form, or the place of the class, which is imported when it is needed
FORMS: dict[str, type[Form] | str] = {
    "normal": Gaussian,
    "ensemble": "geouq.forms.ensemble:Ensemble",
    "split": "geouq.forms.split:Split",
    "quantiles": "geouq.forms.quantiles:Quantiles",
    "classes": "geouq.forms.classes:Classes",
}


def form_class(key: str) -> type[Form]:
    """Return the class of a form; raise SummaryError if no class has this key."""
    if key not in FORMS:
        raise SummaryError(f"there is no form {key!r} here; import the module that defines it, or update geouq")
    found = FORMS[key]
    if isinstance(found, str):
        found = FORMS[key] = resolve_name(found)
    return found


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

    def addends(self) -> dict[str, Array]:
        """Return the sums; a sample does not add to more than itself."""
        return {"sums": self.sums}

    def spec(self) -> dict[str, Any]:
        """Return the form, and whether there is a sample."""
        return {"form": form_as_words(self.form), "sampled": self.sample is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:
        """Return the sums that were saved."""
        form, sample = form_of_words(spec["form"]), None
        if spec["sampled"]:
            empty = JointSample.empty(form.sampled_members)
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

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:  # noqa: ARG002  the form has them
        """Return the same pixels with fewer levels of the mixture's intervals; of other forms, all."""
        form = self.form.at_levels(levels)
        if form == self.form:
            return self
        chosen = [self.form.interval_levels.index(level) for level in form.interval_levels]
        sums = [self.of(name)[..., chosen] if name in form.fields_of_levels else self.of(name) for name in form.fields]
        lead = self.sums.shape[:-1]
        return replace(self, form=form, sums=np.concatenate([one.reshape((*lead, -1)) for one in sums], axis=-1))


def no_sums(form: Form) -> FormSums | None:
    """Return empty sums of a form; None for mean and variance, which have no sums of their own."""
    if form == GAUSSIAN:
        return None
    sample = JointSample.empty(form.sampled_members) if form.sampled_members else None
    return FormSums(form, np.zeros(form.width), sample)


def form_as_words(form: Form) -> dict[str, Any]:
    """Return a form as plain values; `form_of_words` is the inverse."""
    return {"kind": form.key} | asdict(form)


def form_of_words(words: Mapping[str, Any]) -> Form:
    """Return the form that `form_as_words` gave the plain values of."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in words.items()}
    return form_class(values.pop("kind"))(**values)
