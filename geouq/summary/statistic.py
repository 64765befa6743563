"""What every statistic has in common: how it adds, what of it is saved, and which of its pixels or levels are taken.

A Summary is a mapping of statistics by name. Whatever holds for all of them (sums, files, resamples) is a loop over
that mapping; a statistic whose fields are arrays that add needs nothing but its fields.
"""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Spec = Mapping[str, Any]
Dimensions = Mapping[str, tuple[str, ...]]

NONE: Mapping[str, Any] = MappingProxyType({})


S = TypeVar("S", bound="Statistic")


class Running(Protocol[S]):
    """The sum of several statistics of one kind, to which one after another is added."""

    def add(self, more: S) -> None:
        """Add one more."""

    def settled(self) -> S:
        """Return the sum so far."""


class Statistic:
    """Sums over a set of pixels that merge exactly; leading dimensions (cells, resamples) are free.

    A subclass is a frozen dataclass. The methods here serve one whose fields are arrays that add.

    Attributes
    ----------
    required : bool
        Whether a summary that has it and one that lacks it do not add. Else the sum lacks it.
    kept_by_cell : bool
        Whether cells keep it too.
    dimensions : mapping of str to tuple of str
        Dimensions of each saved array, without leading ones. A first dimension that begins with `*` has a length of its
        own in each variable. None is needed where the fields are the arrays.
    explained : mapping of str to str
        What each saved array is, and each dimension that has labels.
    """

    required: ClassVar[bool] = False
    kept_by_cell: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = NONE
    explained: ClassVar[Mapping[str, str]] = NONE

    def __init_subclass__(cls) -> None:
        for name in vars(cls).get("__annotations__", ()):
            if callable(getattr(Statistic, name, None)):
                raise TypeError(f"{cls.__name__}: the field {name} has the name of a method; choose another")
        other = _KINDS.get(cls.__name__, cls)
        if other.__module__ != cls.__module__:  # files name statistics by their class
            raise TypeError(f"{cls.__name__} is also a statistic of {other.__module__}; choose another name")
        _KINDS[cls.__name__] = cls

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the saved arrays."""
        return tuple(cls.dimensions) or tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays that are saved, by name."""
        return {name: np.asarray(getattr(self, name)) for name in self.names()}

    def spec(self) -> dict[str, Any]:
        """Return what else is saved, as plain values."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:  # noqa: ARG003  others have one
        """Return the statistic of saved arrays; empty arrays may be absent."""
        return cls(**arrays)

    def labels(self) -> dict[str, Any]:
        """Return the values of dimensions whose places have names, by dimension."""
        return {}

    def __add__(self, other: Self) -> Self:
        more = other.to_arrays()
        return self.with_arrays({name: own + more[name] for name, own in self.to_arrays().items()})

    def total(self, axis: int = 0) -> Self:
        """Return the sum over one leading axis, counted from the first."""
        return self.with_arrays({name: own.sum(axis) for name, own in self.to_arrays().items()})

    def some(self, places: Any) -> Self:
        """Return what stands at some places along the first leading axis."""
        return self.with_arrays({name: own[places] for name, own in self.to_arrays().items()})

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return the same with other arrays."""
        return self.from_arrays(arrays, self.spec())

    def of_no_cell(self, levels: tuple[float, ...]) -> Self:  # noqa: ARG002  others have some
        """Return what one cell without a pixel keeps of it, with the leading dimension (1)."""
        return self.with_arrays({name: np.zeros((1, *own.shape)) for name, own in self.to_arrays().items()})

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:  # noqa: ARG002  others have some
        """Return the same pixels with some of the levels that were kept."""
        return self

    def running(self) -> Running[Self]:
        """Return a sum to which others are added, and that holds this one."""
        return _Adding(self)


_KINDS: dict[str, type[Statistic]] = {}


class _Adding(Generic[S]):
    """The plain sum."""

    def __init__(self, first: S) -> None:
        self._sum = first

    def add(self, more: S) -> None:
        """Add a statistic to the sum."""
        self._sum = self._sum + more

    def settled(self) -> S:
        """Return the sum."""
        return self._sum


def as_words(statistic: Statistic) -> dict[str, Any]:
    """Return the kind of a statistic and all of it that is no array, as plain values."""
    return {"statistic": type(statistic).__name__, **statistic.spec()}


def of_words(words: Spec, arrays: Mapping[str, Array], levels: tuple[float, ...]) -> Statistic:
    """Return the statistic of these words and arrays.

    Raises
    ------
    KeyError
        Where no statistic of that kind is known.
    """
    return _KINDS[words["statistic"]].from_arrays(arrays, {**words, "levels": levels})


def dimensions_of(words: Spec) -> Dimensions:
    """Return the arrays that a statistic of these words may have, and their dimensions where these have names."""
    kind = _KINDS[words["statistic"]]
    return {name: kind.dimensions.get(name, ()) for name in kind.names()}
