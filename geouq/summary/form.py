"""How a forecast is given: by mean and variance, as an ensemble, as quantiles, as probabilities of classes.

A form names its sums. All of them stand side by side in one array of float64, in which counts are whole numbers, so
that one law of addition, one layout of files and one bootstrap serve all forms.
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

from geouq.errors import SummaryError
from geouq.summary.joint_sample import JointSample
from geouq.summary.statistic import Array, Dimensions, Spec, Statistic

Floats = NDArray[np.float64]
Values = NDArray[np.floating]
Fields = Mapping[str, tuple[int, ...]]

PIT_BINS = 20  # of the mixture of an ensemble
TAU = 10  # observations whose joint log-loss is taken
IN_ORDER: NDArray[np.uint8] = np.empty(0, np.uint8)


class Prepared(NamedTuple):
    """Pixels (pixels) of a form: what stands for mean and variance, and which pixels do not count.

    status : reason + 1 of each pixel that does not count, 0 elsewhere; empty where all are in order. more : layers
    (layers, pixels) that take the place of those given; None to keep these.
    """

    mean: Values
    variance: Values
    truth: Values
    status: NDArray[np.uint8] = IN_ORDER
    more: Values | None = None


@dataclass(frozen=True)
class Form(ABC):
    """How a forecast is given; a subclass is a frozen dataclass, and its fields are what distinguishes two forecasts.

    Attributes
    ----------
    key : str
        Name of the form, in saved files too.
    layer_name : str
        What one layer is, in the plural.
    has_variance : bool
        Whether it has a mean and a variance, so that everything that is told of these is told of it.
    fields_of_levels : tuple of str
        Names of the sums whose last dimension is `interval_levels`.
    how_to_give : str
        Whose maps and numbers a configuration asks for in vain, and which keys it has to give for them.
    """

    key: ClassVar[str]
    layer_name: ClassVar[str] = "layers"
    has_variance: ClassVar[bool] = True
    fields_of_levels: ClassVar[tuple[str, ...]] = ()
    how_to_give: ClassVar[str] = "another form"

    @classmethod
    def names_in_records(cls) -> tuple[str, ...]:
        """Return every name by which records of metrics and maps say that they are of this form."""
        return (cls.key,)

    @property
    def fields(self) -> Fields:
        """Names of the sums that it has beside those of mean and variance, and the shape of each."""
        return {}

    @property
    def metrics_as(self) -> str:
        """Name by which records of metrics say that they are of this form."""
        return self.key

    @property
    def layers(self) -> int:
        """Number of layers of a variable that are no variances."""
        return 1

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Name of each of these layers."""
        return tuple(map(str, range(self.layers)))

    @property
    def variance_layers(self) -> int:
        """Number of layers of a variable that are variances beside those."""
        return 0

    @property
    def sampled_members(self) -> int:
        """Number of members whose densities are sampled for the joint log-loss; 0 where nothing is."""
        return 0

    @property
    def interval_levels(self) -> tuple[float, ...]:
        """Levels of the intervals of which there are sums."""
        return ()

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Levels of the quantiles that are given."""
        return ()

    @property
    def pairs(self) -> Mapping[float, tuple[int, int]]:
        """Levels of the central intervals between two quantiles, narrow first, and which quantiles these are."""
        return {}

    def described(self) -> str:
        """Return in words how the prediction is given."""
        return f"{self.layers} {self.layer_name}"

    def at_levels(self, levels: tuple[float, ...]) -> Self:  # noqa: ARG002  a form without such levels stays
        """Return the form with these levels of intervals."""
        return self

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
class Gaussian(Form):
    """A mean and a variance, std or interval; all of its statistics are those of every form with a variance."""

    key: ClassVar[str] = "normal"
    how_to_give: ClassVar[str] = "predictions that have a variance"


GAUSSIAN = Gaussian()
# the class of each form, or where it is defined
FORMS: dict[str, type[Form] | str] = {
    "normal": Gaussian,
    "ensemble": "geouq.forms.ensemble:Ensemble",
    "split": "geouq.forms.split:Split",
    "quantiles": "geouq.forms.quantiles:Quantiles",
    "classes": "geouq.forms.classes:Classes",
}


def form_class(key: str) -> type[Form]:
    """Return the class of a form; raise SummaryError where none has that key."""
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
    """Return the sums of no pixel; None where the forecast is given by mean and variance, which have no others."""
    if form == GAUSSIAN:
        return None
    sample = JointSample.empty(form.sampled_members) if form.sampled_members else None
    return FormSums(form, np.zeros(form.width), sample)


def form_as_words(form: Form) -> dict[str, Any]:
    """Return a form as plain values, of which `form_of_words` makes it again."""
    return {"kind": form.key} | asdict(form)


def form_of_words(words: Mapping[str, Any]) -> Form:
    """Return the form that `form_as_words` gave the plain values of."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in words.items()}
    return form_class(values.pop("kind"))(**values)
