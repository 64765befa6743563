"""NetCDF-4 files through h5py alone: dimensions, coordinates, variables that say what they are, and a checksum.

A NetCDF-4 file is HDF5 whose dimensions are dimension scales. Small files are made of many small parts, and the low
level of h5py writes these in a fraction of the time that its own high level or any other writer takes.

HDF5 ends the whole process if it cannot write what it holds when a file is closed. Here the first refusal of the file
system, such as a full disk (ENOSPC), a quota (EDQUOT) or the largest size of a file (EFBIG), is recorded, and all later
bytes stay in memory: HDF5 reads back what it wrote and closes the file in order. Then the refusal is raised.

A file ends with a checksum, the SHA-256 of all bytes before it. HDF5 ignores what follows its own end of file, so any
program opens such a file. Here none is opened whose content does not match: HDF5 may return other numbers for a damaged
file, or end the process.
"""

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import h5py
import numpy as np
from h5py import h5a, h5d, h5ds, h5p, h5s, h5t
from isal import isal_zlib
from numpy.typing import DTypeLike, NDArray

from geouq.core.atomic import commit, require_room, temporary
from geouq.core.errors import SummaryError
from geouq.core.interrupts import deferred_interrupts

Array = NDArray[Any]
Floats = NDArray[np.float64]

COMPRESSION: Mapping[str, Any] = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
OF_COUNTS = 6  # zlib's level of integers of at most 16 bits; other arrays are mostly noise, which no level makes small
FAST = 2  # isal's level of other arrays: about as small as zlib makes them, in a seventh of the time
WORTHWHILE = 4096  # bytes
NOISE = 0.97  # share that is left of the bytes of noise where they are deflated; such bytes are stored
FIELDS = 8  # on the last axis: at most so many are stored apart
PIECE = 1 << 19  # bytes of an array that are read at once where an array is written in pieces
HELD_AS = "held_as"  # attribute: the type of the values of an array that is stored in a smaller one
STEP = "scale_factor"  # attribute of the CF conventions: what whole numbers are multiplied by
MANTISSA = 53  # bits of a float
EXACT = 1 << MANTISSA  # integers below are floats without loss
EXACT_STEPS = 1 << 31  # whole numbers below are int32
ZLIB_HEADER = b"\x78\x01"
EMPTY_LAST_BLOCK = b"\x03\x00"
# What the standard calls a dimension scale that holds no values
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:>10}"


class NetCDFWriter:
    """A file, or a group of one, being written; a dimension comes to be with the first variable that has it.

    compressed : whether variables that are large enough for that are. narrowed : whether values are stored in the
    smallest type that holds them without loss; `read_widened` gives them their own. in_pieces : whether a part of a
    compressed variable can be read without most of the others.
    """

    def __init__(
        self, group: h5py.Group, *, compressed: bool = False, narrowed: bool = False, in_pieces: bool = False
    ) -> None:
        self._file, self._compressed, self._narrowed, self._in_pieces = group, compressed, narrowed, in_pieces
        self._scales: dict[str, tuple[Any, int]] = {}

    def attributes(self, attributes: Mapping[str, Any]) -> None:
        """Write what the file says of itself."""
        for name, value in attributes.items():
            self._file.attrs[name] = value

    def coordinate(self, name: str, values: Array | Sequence[str], long_name: str) -> None:
        """Write the dimension `name` with a value for each of its places; text, or numbers."""
        kind = None if isinstance(values, np.ndarray) else h5py.string_dtype()
        made = self._file.create_dataset(name, data=values, dtype=kind).id
        h5ds.set_scale(made, name.encode())
        _describe(made, long_name)
        self._scales[name] = made, len(values)

    def variable(
        self,
        name: str,
        dimensions: Sequence[str],
        values: Array,
        long_name: str,
        is_noise: bool = False,  # noqa: FBT001, FBT002  a field
    ) -> None:
        """Write a variable with all its values; noise is not compressed."""
        own = np.asarray(values, order="C")
        values, step = in_steps(narrowed(own)) if self._narrowed else (own, None)
        if self._compressed and values.nbytes > WORTHWHILE and not is_noise:
            chunks = piece_of(values) if self._in_pieces else _part_of(values)
            shape: Any = {"shape": values.shape, "dtype": values.dtype, "chunks": chunks}
            made = self._file.create_dataset(name, **shape, **COMPRESSION).id
            for start, piece in _pieces(values, chunks):
                made.write_direct_chunk(start, deflated(piece))
        else:
            space = h5s.create_simple(values.shape) if values.ndim else h5s.create(h5s.SCALAR)
            kind = h5t.py_create(values.dtype)
            made = h5d.create(self._file.id, name.encode(), kind, space, dcpl=_without_times())
            made.write(h5s.ALL, h5s.ALL, values)
        self._label(made, dimensions, values.shape, long_name)
        if values.dtype != own.dtype:
            _attach(made, HELD_AS, np.array(own.dtype.name.encode("ascii")))
        if step is not None:
            _attach(made, STEP, np.array(step))

    def growing(self, name: str, dtype: DTypeLike, columns: tuple[int, ...], chunk: int, *, compressed: bool) -> Any:
        """Return a dataset without rows, to be resized; `label_grown` gives it its dimensions when it is complete."""
        how = COMPRESSION if compressed else {}
        shape = {"shape": (0, *columns), "maxshape": (None, *columns), "chunks": (chunk, *columns)}
        return self._file.create_dataset(name, dtype=dtype, **shape, **how)

    def label_grown(self, dataset: Any, dimensions: Sequence[str], long_name: str) -> None:
        """Write the dimensions of a complete dataset; the first is unlimited."""
        self._scale(dimensions[0], len(dataset), unlimited=True)
        self._label(dataset.id, dimensions, dataset.shape, long_name)

    def _label(self, made: Any, dimensions: Sequence[str], shape: Sequence[int], long_name: str) -> None:
        for axis, (dimension, size) in enumerate(zip(dimensions, shape, strict=True)):
            h5ds.attach_scale(made, self._scale(dimension, size), axis)
        _describe(made, long_name)

    def _scale(self, name: str, size: int, *, unlimited: bool = False) -> Any:
        if name not in self._scales:
            limits = {"maxshape": (None,), "chunks": (1024,)} if unlimited else {}
            made = self._file.create_dataset(name, shape=(size,), dtype=">f4", **limits).id
            h5ds.set_scale(made, NO_VARIABLE.format(size).encode())
            self._scales[name] = made, size
        scale, length = self._scales[name]
        if length != size:
            raise ValueError(f"the dimension {name} has the lengths {length} and {size}")
        return scale


def read_variable(file: h5py.Group, name: str) -> Array:
    """Return all values of a variable of numbers; KeyError where the file has none of that name."""
    variable = h5d.open(file.id, name.encode())
    values = np.empty(variable.shape, variable.dtype)
    variable.read(h5s.ALL, h5s.ALL, values)
    return values


@dataclass(frozen=True)
class Stored:
    """A variable of numbers in an open file; places of its first dimension take half of h5py's time."""

    file: h5py.Group
    name: str

    def __getitem__(self, place: Any) -> Any:
        if place == ():
            return read_variable(self.file, self.name)
        variable = h5d.open(self.file.id, self.name.encode())
        length, *others = variable.shape
        first, stop, _ = place.indices(length) if isinstance(place, slice) else (place, place + 1, 1)
        shape = (stop - first, *others)
        values = np.empty(shape, variable.dtype)
        if values.size:
            there = variable.get_space()
            there.select_hyperslab((first, *[0] * len(others)), shape)
            variable.read(h5s.create_simple(shape), there, values)
        return values if isinstance(place, slice) else values[0]


@dataclass(frozen=True)
class Widened:
    """An array as it is stored; what is taken of it has the type in which it was given."""

    stored: Array
    dtype: np.dtype[Any]
    step: float | None = None

    @classmethod
    def of(cls, file: h5py.Group, name: str) -> Self:
        """Return a variable of numbers."""
        attributes, values = file[name].attrs, read_variable(file, name)
        own = attributes.get(HELD_AS)
        return cls(values, values.dtype if own is None else np.dtype(own.decode()), attributes.get(STEP))

    def __getitem__(self, place: Any) -> Any:
        values = self.stored[place].astype(self.dtype)
        return values if self.step is None else values * self.step


def piece_of(values: Array) -> tuple[int, ...]:
    """Return the shape of the pieces of an array; a piece has at most `PIECE` bytes.

    A place of the first dimension, such as a variable, is read alone if it is large. Few fields of many floats are
    apart: they get smaller, and in less time, than where they alternate.

    >>> piece_of(np.zeros((5, 80_000, 4))), piece_of(np.zeros((5, 9000, 4))), piece_of(np.zeros((5, 40), np.int64))
    ((1, 65536, 1), (1, 9000, 1), (5, 40))
    """
    left = PIECE // values.dtype.itemsize
    shape: list[int] = []
    for axis in reversed(range(values.ndim)):
        length = 1 if not shape and _has_fields(values) else values.shape[axis]
        shape.append(max(1, min(length, left)))
        left //= shape[-1]
    return min(shape[-1], _part_of(values)[0]), *reversed(shape[:-1])


def _part_of(values: Array) -> tuple[int, ...]:
    """Return the shape of parts of an array that are read alone: of each variable, its first dimension, if large."""
    return (1 if values[0].nbytes > WORTHWHILE else len(values), *values.shape[1:])


def _has_fields(values: Array) -> bool:
    few = values.ndim > 1 and values.shape[-1] <= FIELDS
    return few and values.dtype.kind == "f" and values[..., 0].nbytes >= WORTHWHILE


def _pieces(values: Array, shape: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield the start of each piece and its values; zeros follow where the array ends within a piece."""
    for start in product(*(range(0, length, step) for length, step in zip(values.shape, shape, strict=True))):
        piece = values[tuple(slice(first, first + step) for first, step in zip(start, shape, strict=True))]
        missing = [(0, step - length) for step, length in zip(shape, piece.shape, strict=True)]
        yield start, np.pad(piece, missing) if any(map(sum, missing)) else piece


def deflated(values: Array) -> bytes:
    """Return values as the filters of `COMPRESSION` store them; other threads go on meanwhile, as HDF5 stops them.

    It is one zlib stream. Each plane of bytes has blocks of its own, stored where it is noise, as the lowest bits of
    floats are: a search for repeats takes most of the time there, and finds none.
    """
    bytes_of = np.ascontiguousarray(values).view(np.uint8).reshape(-1, values.dtype.itemsize)
    planes = np.ascontiguousarray(bytes_of.T)
    is_count = values.dtype.kind in "iu" and values.dtype.itemsize <= 2
    parts = [ZLIB_HEADER]
    for plane in planes:
        parts += _blocks_of(plane.data, is_count=is_count)
    return b"".join([*parts, EMPTY_LAST_BLOCK, isal_zlib.adler32(planes.data).to_bytes(4, "big")])


def _blocks_of(plane: memoryview, *, is_count: bool) -> tuple[bytes, bytes]:
    """Return raw deflate blocks that end at a whole byte, without a last one, in two parts."""
    start = max(0, (len(plane) - WORTHWHILE) // 2)
    sample = plane[start : start + WORTHWHILE]
    deflate = _compressor(sample, is_count=is_count)
    return deflate.compress(plane), deflate.flush(zlib.Z_FULL_FLUSH)


def _compressor(sample: memoryview, *, is_count: bool) -> Any:
    """Return what makes raw deflate blocks of bytes like these."""
    if len(isal_zlib.compress(sample, FAST)) > NOISE * len(sample):
        return zlib.compressobj(zlib.Z_NO_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    if is_count:
        return zlib.compressobj(OF_COUNTS, zlib.DEFLATED, -zlib.MAX_WBITS)
    return isal_zlib.compressobj(FAST, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)


def _without_times() -> Any:
    """Return how a dataset is created that does not record when: the same values give the same bytes."""
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_obj_track_times(False)
    return created


def _describe(made: Any, long_name: str) -> None:
    _attach(made, "long_name", np.array(long_name.encode("ascii")))


def _attach(made: Any, name: str, value: Array) -> None:
    h5a.create(made, name.encode(), h5t.py_create(value.dtype), h5s.create(h5s.SCALAR)).write(value)


def narrowed(values: Array) -> Array:
    """Return values in the smallest type that holds each of them bit by bit.

    >>> narrowed(np.array([0.0, 300.0])).dtype, narrowed(np.array([0.5, 300.0])).dtype, narrowed(np.array([0.1])).dtype
    (dtype('uint16'), dtype('float32'), dtype('float64'))
    """
    kinds: list[np.dtype[Any]] = []
    if values.size and values.dtype.kind in "iuf":
        low, high = values.min(), values.max()
        if -EXACT < low <= high < EXACT:  # neither is NaN
            kinds.append(np.result_type(np.min_scalar_type(int(low)), np.min_scalar_type(int(high))))
        kinds += [np.dtype(np.float32)] if values.dtype.kind == "f" else []
    for kind in kinds:
        if kind.itemsize < values.dtype.itemsize and _holds(kind, values.ravel()[:WORTHWHILE]) and _holds(kind, values):
            return values.astype(kind)
    return values


def in_steps(values: Array) -> tuple[Array, float | None]:
    """Return float64 values as int32, and the power of two to multiply them by; as they are where that is not exact.

    Differences of float32 values of about the same size are such values, and take half of the room.

    >>> in_steps(np.array([0.1, 0.75], np.float32).astype(np.float64) - 0.5)
    (array([-53687091,  33554432], dtype=int32), 7.450580596923828e-09)
    """
    if values.dtype == np.float64 and values.size:
        step = _step_of(values)
        with np.errstate(over="ignore"):
            most = np.abs(values).max() / step
        if most < EXACT_STEPS:
            found = (values / step).astype(np.int32)
            if (found * step).tobytes() == values.tobytes():
                return found, step
    return values, None


def _step_of(values: Floats) -> float:
    """Return the largest power of two of which all values are multiples; NaN where one is not finite, or all are 0."""
    mantissa, exponent = np.frexp(values[values != 0])
    if not (len(mantissa) and np.isfinite(mantissa).all()):
        return np.nan
    whole = np.ldexp(mantissa, MANTISSA).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1 + exponent
    return float(np.ldexp(1.0, int(lowest.min()) - MANTISSA))


def _holds(kind: np.dtype[Any], values: Array) -> bool:
    with np.errstate(over="ignore"):
        back = values.astype(kind).astype(values.dtype)
    return back.tobytes() == values.tobytes()


class Hdf5Target(io.RawIOBase):
    """A file for the driver `fileobj` of h5py; the block around it raises OSError if a write was refused."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = path.open("w+b", buffering=0)
        self._place = 0
        self._refusal: OSError | None = None
        self._in_memory: list[tuple[int, bytes]] = []  # after a refusal: places and bytes, in the order of writing

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None or isinstance(error, Exception):
            self._raise_refusal(error)

    def require_room(self) -> None:
        """Raise OSError if a write was refused, or if the disk is all but full."""
        self._raise_refusal(None)
        require_room(self._path)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the place of the next bytes."""
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: os.fstat(self._file.fileno()).st_size}
        self._place = starts[whence] + offset
        return self._place

    def tell(self) -> int:
        """Return the place of the next bytes."""
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Read the bytes at this place; zeros where nothing was written."""
        view = memoryview(buffer).cast("B")
        first, count = self._place, 0
        if not self._file.closed:
            self._file.seek(first)
            count = self._file.readinto(view) or 0
        view[count:] = bytes(len(view) - count)
        for place, content in self._in_memory:
            start, end = max(place, first), min(place + len(content), first + len(view))
            if start < end:
                view[start - first : end - first] = content[start - place : end - place]
        self._place += len(view)
        return len(view)

    def write(self, content: Any) -> int:
        """Write all bytes, or record the reason why they are refused."""
        view = memoryview(content).cast("B")
        if self._refusal is None:
            try:
                self._write_all(view)
            except OSError as error:
                self._refusal = error
        if self._refusal is not None:
            self._in_memory.append((self._place, bytes(view)))
        self._place += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Change the size of the file."""
        size = self._place if size is None else size
        if self._refusal is None:
            try:
                self._file.truncate(size)
            except OSError as error:
                self._refusal = error
        return size

    def _write_all(self, view: memoryview) -> None:
        self._file.seek(self._place)
        while view:
            view = view[self._file.write(view) :]

    def _raise_refusal(self, cause: BaseException | None) -> None:
        if self._refusal is not None:
            raise OSError(self._refusal.errno, os.strerror(self._refusal.errno or 0), str(self._path)) from cause


MARK = b"\ngeouq sha256 "
LENGTH = len(MARK) + 2 * hashlib.sha256().digest_size
CHUNK = 1 << 20  # bytes
REMEMBERED = 1 << 14  # files


class Writer(Protocol):
    """What writes a file, and knows whether the file is complete."""

    finished: bool


W = TypeVar("W", bound=Writer)


@contextmanager
def sealed_file(path: Path, writer_of: Callable[[h5py.File, Callable[[], None]], W]) -> Iterator[W]:
    """Create a file and append its checksum.

    The file takes its name when the block ends well with a finished writer; otherwise there is none.

    Parameters
    ----------
    writer_of : callable
        Makes the writer from the open file and a function to call before more is written: it raises OSError if the
        file system refuses to store the file.
    """
    with temporary(path) as part:
        with Hdf5Target(part) as target, _closed_at_once(h5py.File(target, "w")) as file:
            writer = writer_of(file, target.require_room)
            yield writer
        if writer.finished:
            digest = _seal(part)
            commit(part, path)
            _remember(path, _signature(path), digest.decode("ascii"))


@contextmanager
def _closed_at_once(file: h5py.File) -> Iterator[h5py.File]:
    """Close a file at the end of the block and defer interrupts meanwhile, as HDF5 would keep it open."""
    try:
        yield file
    finally:
        with deferred_interrupts():
            file.close()


@contextmanager
def intact_file(path: Path) -> Iterator[h5py.File]:
    """Open a file for reading; raise SummaryError where its content does not match its checksum."""
    require_intact(path)
    with h5py.File(path) as file:
        yield file


def require_intact(path: Path) -> None:
    """Raise SummaryError where the content of a file does not match its checksum."""
    if not path.exists():
        raise SummaryError(f"saved summaries are gone: there is no {path}; run the experiment again")
    if checksum_of(path) is None:
        raise SummaryError(
            f"{path} cannot be read as saved summaries: its content does not match its checksum, or it is of an "
            "earlier version; run the experiment again, which sweeps its tile anew"
        )


def checksum_of(path: Path) -> str | None:
    """Return the checksum of an intact file; None where its content does not match, or it cannot be read."""
    try:
        return _checksum_as_it_is(path)
    except OSError:
        return None


def _checksum_as_it_is(path: Path) -> str | None:
    """Read a file once for as long as its size, times and inode stay the same; one that was written here is known."""
    signature = _signature(path)
    try:
        return _known[path, signature]
    except KeyError:
        found = _read_checksum(path, signature[0])
        _remember(path, signature, found)
        return found


_known: dict[tuple[Path, tuple[int, ...]], str | None] = {}


def _signature(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _remember(path: Path, signature: tuple[int, ...], checksum: str | None) -> None:
    """Remember the checksum of a file, and forget the file that has been known longest where they are many."""
    _known[path, signature] = checksum
    if len(_known) > REMEMBERED:
        with suppress(KeyError, RuntimeError):  # another thread was faster
            del _known[next(iter(_known))]


def _read_checksum(path: Path, size: int) -> str | None:
    with path.open("rb") as file:
        digest = _digest(file, size - LENGTH)
        return digest.decode("ascii") if file.read() == MARK + digest else None


def _seal(path: Path) -> bytes:
    """Append the checksum of a file to it, and return it."""
    with path.open("r+b") as file:
        digest = _digest(file, path.stat().st_size)
        file.write(MARK + digest)
    return digest


def _digest(file: BinaryIO, length: int) -> bytes:
    """Return the SHA-256 of the next bytes of a file, as hexadecimal digits."""
    digest, left = hashlib.sha256(), length
    while left > 0 and (chunk := file.read(min(CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode("ascii")
