"""What every statistic has in common: how it adds, is saved and resampled, and which of its levels are taken.

A Summary is a mapping of statistics by name. Whatever holds for all of them (sums, files, resamples) is a loop over
that mapping; a statistic whose fields are arrays that add needs nothing but its fields.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geouq.core.sending import Sendable

Array = NDArray[Any]
Spec = Mapping[str, Any]
Dimensions = Mapping[str, tuple[str, ...]]

NONE: Mapping[str, Any] = MappingProxyType({})


S = TypeVar("S", bound="Statistic")


class Running(Protocol[S]):
    """A sum that statistics of one kind are added to, one after another."""

    def add(self, more: S) -> None:
        """Add one more."""

    def settled(self) -> S:
        """Return the sum so far."""


class Partition(NamedTuple):
    """The parts of a whole that are resampled.

    Parameters
    ----------
    levels : tuple of float
        Levels of the whole.
    are_cells : bool
        Whether the parts are cells; else they are tiles.
    n : int
        Number of pixels of the whole.
    edges : mapping of str to float64 (bins + 1)
        Edges of the bins of the predicted variance, by the name of their scheme.
    groups : int
        Number of groups of coverage.
    """

    levels: tuple[float, ...]
    are_cells: bool
    n: int
    edges: Mapping[str, NDArray[np.float64]] = NONE
    groups: int = 0


class StatisticBasis(Protocol):
    """What one statistic of the parts of a whole is measured against, so that parts become rows that add.

    A weighted sum of rows is a resample.
    """

    @property
    def width(self) -> int:
        """Number of columns."""

    def to_rows(self, part: Any, count: int) -> NDArray[np.float64]:
        """Return float64 (count, width): of `count` parts, which are the leading dimension, or of one."""

    def from_rows(self, rows: NDArray[np.float64]) -> "Statistic":
        """Return the statistic that sums of rows (R, width) are, with the leading dimension (R)."""


class Statistic(Sendable):
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
    noise : collection of str
        Saved arrays that compression makes little smaller, and slow to write and to read.
    """

    required: ClassVar[bool] = False
    kept_by_cell: ClassVar[bool] = True
    dimensions: ClassVar[Dimensions] = NONE
    explained: ClassVar[Mapping[str, str]] = NONE
    noise: ClassVar[Collection[str]] = ()

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

    def addends(self) -> dict[str, Array]:
        """Return the arrays that add: by default, all that are saved."""
        return self.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], spec: Spec) -> Self:  # noqa: ARG003  others have one
        """Return the statistic of saved arrays; empty arrays may be absent."""
        return cls(**arrays)

    def labels(self) -> dict[str, Any]:
        """Return the values of dimensions whose places have names, by dimension."""
        return {}

    def __add__(self, other: Self) -> Self:
        more = other.addends()
        return self.with_arrays({name: own + more[name] for name, own in self.addends().items()})

    def total(self, axis: int = 0) -> Self:
        """Return the sum over one leading axis, counted from the first."""
        return self.with_arrays({name: own.sum(axis) for name, own in self.addends().items()})

    def some(self, places: Any) -> Self:
        """Return what stands at some places along the first leading axis."""
        return self.with_arrays({name: own[places] for name, own in self.addends().items()})

    def joined(self, parts: Sequence[Self]) -> Self:
        """Return parts of the same kind one after the other along the first leading axis."""
        each = [part.addends() for part in parts]
        return self.with_arrays({name: np.concatenate([own[name] for own in each]) for name in self.addends()})

    def with_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """Return the same with other arrays."""
        return self.from_arrays(arrays, self.spec())

    def of_no_cell(self, levels: tuple[float, ...]) -> Self:  # noqa: ARG002  others have some
        """Return what one cell without a pixel keeps of it, with the leading dimension (1)."""
        return self.with_arrays({name: np.zeros((1, *own.shape)) for name, own in self.addends().items()})

    def at_levels(self, levels: tuple[float, ...], kept: tuple[float, ...]) -> Self:  # noqa: ARG002  others have some
        """Return the same pixels with some of the levels that were kept."""
        return self

    def running(self) -> Running[Self]:
        """Return a sum with this statistic, to add others to."""
        return _Adding(self)

    def basis(self, partition: Partition) -> StatisticBasis:
        """Return what the parts of this whole are measured against; by default, their arrays add as they are."""
        return PlainBasis(self.of_no_cell(partition.levels).total() if partition.are_cells else self)


@dataclass(frozen=True)
class PlainBasis:
    """The basis of a statistic whose arrays add.

    Parameters
    ----------
    like : Statistic
        One of the same kind without leading dimensions, from which all but the arrays is taken.
    """

    like: Statistic

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(array.size for array in self.like.addends().values())

    def to_rows(self, part: Statistic, count: int) -> NDArray[np.float64]:
        """Return the arrays next to each other, float64 (count, width)."""
        arrays = part.addends()
        columns = [arrays[name].reshape(count, own.size) for name, own in self.like.addends().items()]
        return np.concatenate([np.empty((count, 0)), *columns], axis=1)

    def from_rows(self, rows: NDArray[np.float64]) -> Statistic:
        """Return the statistic of these arrays."""
        shapes = {name: array.shape for name, array in self.like.addends().items()}
        ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
        parts = zip(shapes.items(), np.split(rows, ends[:-1], axis=-1), strict=True) if shapes else ()
        return self.like.with_arrays({name: part.reshape(len(rows), *shape) for (name, shape), part in parts})


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
