"""Summaries side by side: one for each place along the dimensions that were kept, such as variable and time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary import Summary, add_all
from geouq.summary.equality import are_equal

Coordinates = Mapping[str, tuple[tuple[str, ...], NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class SummaryArray:
    """Summaries along named dimensions; it adds and compares like a Summary.

    Parameters
    ----------
    dims : tuple of str
        Names of the dimensions; dim_0, dim_1, ... for numpy and dask arrays.
    summaries : object array (dims)
        Summaries without leading dimensions.
    coords : mapping of names to (dims, values), optional
        Coordinates of the DataArrays that were summarised.
    """

    dims: tuple[str, ...]
    summaries: NDArray[np.object_]
    coords: Coordinates | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the length of each dimension."""
        return self.summaries.shape

    @property
    def n(self) -> NDArray[np.int64]:
        """Number of pixels of each."""
        return np.asarray(self.map(lambda summary: summary.n), np.int64)

    def __iter__(self) -> Iterator[Summary]:
        return iter(self.summaries.ravel().tolist())

    def map(self, number: Callable[[Summary], Any]) -> NDArray[Any]:
        """Return a number of each summary, (dims)."""
        return np.array([number(summary) for summary in self]).reshape(self.shape)

    def total(self) -> Summary:
        """Return the sum of all of them, in the order of the dimensions; SummaryError where there are none."""
        if not self.summaries.size:
            raise SummaryError(f"there is no summary in an array of shape {self.shape}")
        return add_all(self)

    def isel(self, **places: int) -> "Summary | SummaryArray":
        """Return the summaries at places along dimensions; raise SummaryError for an unknown dimension or place."""
        if unknown := [name for name in places if name not in self.dims]:
            raise SummaryError(f"there is no dimension {unknown[0]!r}; the dimensions are {', '.join(self.dims)}")
        try:
            found = self.summaries[tuple(places.get(dim, slice(None)) for dim in self.dims)]
        except IndexError as error:
            raise SummaryError(f"{places}: {error}") from None
        if isinstance(found, Summary):
            return found
        left = tuple(dim for dim in self.dims if dim not in places)
        coords = self.coords
        if coords is not None:
            coords = {
                name: (tuple(d for d in dims if d in left), values[tuple(places.get(d, slice(None)) for d in dims)])
                for name, (dims, values) in coords.items()
            }
        return replace(self, dims=left, summaries=found, coords=coords)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SummaryArray):
            return NotImplemented
        alike = (self.dims, self.shape) == (other.dims, other.shape)
        return alike and are_equal(self.coords, other.coords) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal ones need not be one

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, SummaryArray):
            return NotImplemented
        if self.dims != other.dims or self.shape != other.shape:
            raise SummaryError(f"summaries along {_sizes(self)} and along {_sizes(other)} do not add")
        for name in set(self.coords or ()) & set(self.dims):
            if not np.array_equal(self.coords[name][1], (other.coords or self.coords)[name][1]):  # type: ignore[index]
                raise SummaryError(f"summaries with different coordinates along {name} do not add")
        return replace(self, summaries=self.summaries + other.summaries)

    def __repr__(self) -> str:
        return f"<Summaries along {_sizes(self)}, {int(self.n.sum()):,} pixels in all>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


def _sizes(array: SummaryArray) -> str:
    return ", ".join(f"{dim}: {size}" for dim, size in zip(array.dims, array.shape, strict=True))
