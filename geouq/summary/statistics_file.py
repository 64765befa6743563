"""Statistics in a file: names, dimensions and descriptions of their arrays; and a file that holds one summary.

The name of an array is the name of its statistic and its own, such as `moments_sums`. Arrays whose length differs
between variables are joined; `..._variable` holds the number of the variable of each element.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from geouq.core.errors import SummaryError
from geouq.summary.netcdf import NetCDFWriter, Stored, checksum_of, intact_file, read_variable, sealed_file
from geouq.summary.statistic import Statistic, as_words, dimensions_of, of_words
from geouq.summary.variance_profile import FIELDS, KEPT

FORMAT = "geouq summary 2"
DAMAGED = (OSError, ValueError, KeyError, IndexError, TypeError, RuntimeError)

Array = NDArray[Any]
Statistics = Mapping[str, Statistic]


class Variable(NamedTuple):
    """One array of a file."""

    name: str
    dimensions: tuple[str, ...]
    values: Array
    long_name: str
    is_noise: bool = False


class Coordinate(NamedTuple):
    """The values of a dimension."""

    name: str
    values: Any
    long_name: str


def save_statistics(path: Path, levels: tuple[float, ...], statistics: Statistics) -> None:
    """Write the statistics of one set of pixels to a NetCDF-4 file, which has its name when it is complete."""
    with sealed_file(path, lambda file, _: _Writer(file)) as writer:
        writer.write(levels, statistics)


def load_statistics(path: Path) -> tuple[tuple[float, ...], dict[str, Statistic]]:
    """Return levels and statistics of a file of `save_statistics`; SummaryError where it is damaged or another."""
    if checksum_of(path) is None:
        raise SummaryError(f"{path} is no intact file of Summary.save: it is missing, damaged or of another kind")
    try:
        with intact_file(path) as file:
            if file.attrs["format"] == FORMAT:
                levels = tuple(map(float, file["level"][()]))
                return levels, saved_statistics(file, levels)[0]
    except DAMAGED as error:
        raise SummaryError(f"{path} cannot be read as a summary: {error}") from error
    raise SummaryError(f"{path} is no summary that this version of geouq has saved")


class _Writer:
    """A file with one summary in the making."""

    def __init__(self, file: h5py.File) -> None:
        self._file, self.finished = file, False

    def write(self, levels: tuple[float, ...], statistics: Statistics) -> None:
        """Write all of it."""
        self._file.attrs.update(format=FORMAT, statistics=as_text([statistics]))
        writer = NetCDFWriter(self._file, compressed=True)
        columns = statistics["variance"].spec()["columns"]
        for coordinate in labels_of(levels, statistics, columns):
            writer.coordinate(*coordinate)
        for variable in arrays_of("", [statistics], (), {}):
            if variable.values.size:
                writer.variable(*variable)
        self.finished = True


def as_text(variables: Iterable[Statistics]) -> str:
    """Return what is no array in the statistics of each variable, as JSON."""
    return json.dumps([{name: as_words(own) for name, own in statistics.items()} for statistics in variables])


def labels_of(levels: tuple[float, ...], statistics: Statistics, columns: int) -> Iterator[Coordinate]:
    """Yield the dimensions of statistics of these levels; `columns` is the number of sums by variance."""
    yield Coordinate("level", np.array(levels), "nominal levels of central intervals")
    weighted = {"field": list(FIELDS[:columns]), "kept_field": list(KEPT if columns == len(FIELDS) else KEPT[:-1])}
    found = {  # once where several statistics have a dimension
        name: Coordinate(name, weighted.get(name, values), own.explained[name])
        for own in statistics.values()
        for name, values in own.labels().items()
    }
    yield from found.values()


def arrays_of(
    prefix: str,
    owners: Sequence[Statistics],
    leading: tuple[str, ...],
    sizes: dict[str, int],
    each: str = "variable",
    *,
    counted: bool = False,
) -> Iterator[Variable]:
    """Yield the arrays of the statistics of each variable.

    leading : dimensions that each statistic has. sizes : of dimensions, to be filled; one of another size has the
    prefix. each : what has statistics. counted : whether joined arrays come with the number of elements of each, which
    takes less room where there are many, or with the owner of each element.
    """
    for name in dict.fromkeys(chain(*owners)):
        having = {i: own[name] for i, own in enumerate(owners) if name in own}
        arrays = [own.to_arrays() for own in having.values()]
        owned = set()
        for field in dict.fromkeys(chain(*arrays)):
            some = {i: own[field] for i, own in zip(having, arrays, strict=True) if field in own}
            kind = next(own for own, array in zip(having.values(), arrays, strict=True) if field in array)
            dims = _dimensions(prefix, name, field, kind, next(iter(some.values())).ndim - len(leading))
            said = kind.explained.get(field, f"{field} of {name}") + (", by cell" if prefix else "")
            if not (dims and dims[0].startswith("*")):
                first = each if len(some) == len(owners) else f"{prefix}{name}_{each}"
                values = np.stack(list(some.values()))
                dims = (first, *leading, *_sized(prefix, dims, values.shape[1 + len(leading) :], sizes))
                yield Variable(f"{prefix}{name}_{field}", dims, values, said)
                continue
            values, entry = _joined(list(some.values())), f"{name}_{dims[0][1:]}"
            dims = (entry, *_sized(prefix, dims[1:], values.shape[1:], sizes))
            yield Variable(f"{prefix}{name}_{field}", dims, values, said, field in kind.noise)
            if entry not in owned:
                owned.add(entry)
                counts = np.array([len(some.get(i, ())) for i in range(len(owners))])
                yield (_counts if counted else _owners)(entry, counts, each)


def _counts(entry: str, counts: NDArray[np.int64], each: str) -> Variable:
    """Return how many elements of joined arrays belong to each part."""
    return Variable(f"{entry}_count", (each,), counts, f"number of these of each {each}, which stand together")


def _owners(entry: str, counts: NDArray[np.int64], each: str) -> Variable:
    """Return to which part each element of joined arrays belongs."""
    owner = np.repeat(np.arange(len(counts), dtype=np.uint16), counts)
    return Variable(f"{entry}_{each}", (entry,), owner, f"number of the {each} of each of these, from 0")


def _dimensions(prefix: str, name: str, field: str, kind: Statistic, count: int) -> tuple[str, ...]:
    """Return the dimensions of an array, made up where the statistic does not name them."""
    return kind.dimensions.get(field) or tuple(f"{prefix}{name}_{field}_{k}" for k in range(count))


def _sized(prefix: str, names: Iterable[str], lengths: Sequence[int], sizes: dict[str, int]) -> tuple[str, ...]:
    """Return the names of dimensions, with the prefix where another dimension of that name has another length."""
    found = []
    for name, length in zip(names, lengths, strict=True):
        own = name if sizes.get(name, length) == length else f"{prefix}{name}"
        sizes[own] = length
        found.append(own)
    return tuple(found)


def _joined(values: Sequence[Array]) -> Array:
    """Return what each variable has, one after the other."""
    return np.concatenate([some for some in values if len(some)] or values[:1])


@dataclass(frozen=True)
class Words(Sequence[Mapping[str, Any]]):
    """What is no array in the statistics of each part; parts that are alike share it.

    of_parts : number of the words of each part.
    """

    distinct: Sequence[Mapping[str, Any]]
    of_parts: NDArray[np.int64]

    @classmethod
    def of_each(cls, words: Sequence[Mapping[str, Any]]) -> Self:
        """Return the words of parts that share none."""
        return cls(words, np.arange(len(words)))

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `distinct_words` gave."""
        return cls(plain["distinct"], np.array(plain["of_parts"], np.int64))

    def __getitem__(self, number: Any) -> Any:
        return self.distinct[self.of_parts[number]]

    def __len__(self) -> int:
        return len(self.of_parts)

    def position(self, name: str, number: int) -> int:
        """Return how many parts before that number have a statistic."""
        having = np.array([name in own for own in self.distinct])
        return int(np.count_nonzero(having[self.of_parts[:number]]))


def distinct_words(parts: Sequence[Statistics]) -> dict[str, Any]:
    """Return what is no array in the statistics of each part as plain values; of parts that are alike, once."""
    words = [json.dumps({name: as_words(own) for name, own in part.items()}) for part in parts]
    distinct = {text: number for number, text in enumerate(dict.fromkeys(words))}
    return {"distinct": [json.loads(text) for text in distinct], "of_parts": [distinct[text] for text in words]}


def saved_statistics(file: h5py.Group, levels: tuple[float, ...], prefix: str = "") -> list[dict[str, Statistic]]:
    """Return the statistics of each variable of an open file; prefix : `CELL` for those of the cells."""
    saved = SavedArrays(words_of(file, prefix), set(file), cache(partial(read_variable, file)), levels, prefix)
    return [saved.statistics(number) for number in range(len(saved.words))]


def statistics_of(file: h5py.Group, number: int, levels: tuple[float, ...], prefix: str) -> dict[str, Statistic]:
    """Return the statistics of a variable, without reading those of the others."""
    return SavedArrays(words_of(file, prefix), set(file), partial(Stored, file), levels, prefix).statistics(number)


@dataclass(frozen=True)
class SavedArrays:
    """The arrays that `arrays_of` gave.

    words : what is no array in the statistics of each. there : names of the arrays. read : gives an array, or what
    slices it. prefix, each : as `arrays_of` has them. span_of : where the elements of joined arrays of a part are,
    by the name of their dimension and the number of the part; None where their owners are saved.
    """

    words: Words
    there: Collection[str]
    read: Callable[[str], Any]
    levels: tuple[float, ...]
    prefix: str = ""
    each: str = "variable"
    span_of: Callable[[str, int], slice] | None = None

    def statistics(self, number: int) -> dict[str, Statistic]:
        """Return the statistics of that number."""
        return {name: self.statistic(name, number) for name in self.words[number]}

    def some(self, names: Iterable[str], number: int) -> dict[str, Statistic]:
        """Return some of them, by name; SummaryError where one was not kept."""
        if missing := [name for name in names if name not in self.words[number]]:
            raise SummaryError(f"a summary does not keep {missing[0]}; run again with --fresh")
        return {name: self.statistic(name, number) for name in names}

    def statistic(self, name: str, number: int) -> Statistic:
        """Return one of these."""
        words = self.words[number][name]
        position = self.words.position(name, number)
        arrays = {}
        for field, dimensions in dimensions_of(words).items():
            if (full := f"{self.prefix}{name}_{field}") not in self.there:
                continue
            place: int | slice = position
            if dimensions and dimensions[0].startswith("*"):
                place = self._span(f"{name}_{dimensions[0][1:]}", number)
            arrays[field] = self.read(full)[place]
        return of_words(words, arrays, self.levels)

    def _span(self, entry: str, number: int) -> slice:
        if self.span_of is not None:
            return self.span_of(entry, number)
        return span(self.read(f"{entry}_{self.each}")[()], number)


def span(owner: NDArray[np.uint16], number: int) -> slice:
    """Return where the elements of an owner are; owners do not decrease."""
    own = owner.dtype.type(number)
    return slice(int(owner.searchsorted(own)), int(owner.searchsorted(own, "right")))


def words_of(file: h5py.Group, prefix: str = "") -> Words:
    """Return what is no array in the statistics of each variable."""
    return Words.of_each(json.loads(file.attrs[f"{prefix}statistics"]))
