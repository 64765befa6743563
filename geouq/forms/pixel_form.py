"""Forms whose sums are computed with numpy. Any package can define one with one class."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import FormFiles
from geouq.summary.form import FORMS, Fields, Form, Prepared, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PixelForm(Form):
    """A forecast whose mean and variance are computed from layers.

    A subclass is registered when it is defined. Configurations use it with `form: <key>` and `layers`, arrays with
    `geouq.summarize_form`, and metrics with `forms=("<key>",)`.

    Attributes
    ----------
    key : str
        Name of the form.
    layer_files : mapping of str to str
        Description of each layer, by its key below `layers` in a configuration.
    pixel_fields : mapping of str to tuple of int
        Names and shapes of the numbers that are summed over pixels; the shape of a single number is ().
    """

    layer_files: ClassVar[Mapping[str, str]]
    pixel_fields: ClassVar[Fields] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.key in FORMS and FORMS[cls.key] is not cls:
            raise ValueError(f"{cls.__name__}: the key {cls.key!r} belongs to another form; choose another one")
        FORMS[cls.key] = cls

    @classmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:  # noqa: ARG003
        """Return the form if these files have it."""
        return cls() if files.form == cls.key else None

    @property
    def fields(self) -> Fields:
        """Return the names and shapes of the sums."""
        return self.pixel_fields

    @property
    def layers(self) -> int:
        """Number of layers of a variable."""
        return len(self.layer_files)

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Return the keys of the layers."""
        return tuple(self.layer_files)

    def described(self) -> str:
        """Return a description of the form for people."""
        return f"{self.key}: {', '.join(self.layer_files)}"

    def prepared(self, values: Values, more: Values, truth: Values, missing: int) -> Prepared:  # noqa: ARG002
        """Return mean and variance of the pixels, NaN where a layer has no data."""
        mean, variance = self.moments(values)
        there = np.isfinite(values).all(0)
        return Prepared(np.where(there, mean, np.nan), np.where(there, variance, np.nan), truth)

    @abstractmethod
    def moments(self, values: Values) -> tuple[Values, Values]:
        """Return mean and variance, (pixels) each, from the layers (layers, pixels)."""

    @abstractmethod
    def numbers(self, values: Values, truth: Values) -> Mapping[str, Floats]:
        """Return the numbers to sum, (pixels, *shape) for each name in `pixel_fields`."""

    def sums_by_cell(self, values: Values, truth: Values, weight: Floats, cell: NDArray[np.int64], n: int) -> Floats:
        """Return the weighted sums of n cells, (n, width); cell : number of the cell of each pixel."""
        if not self.fields:
            return np.zeros((n, 0))
        numbers = self.numbers(values, truth)
        columns = np.concatenate([np.reshape(numbers[name], (len(cell), -1)) for name in self.fields], axis=1)
        return np.stack([np.bincount(cell, weight * column, n) for column in columns.T], axis=1)
