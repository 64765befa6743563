"""HDF5 files that end with a checksum: the SHA-256 of all bytes before it.

HDF5 ignores what follows its own end of file, so any program opens such a file. Here none is opened whose content does
not match: HDF5 may return other numbers for a damaged file, or end the process.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

import h5py

from geouq.atomic import commit, temporary
from geouq.errors import SummaryError
from geouq.interrupts import deferred_interrupts
from geouq.summary.hdf5_target import Hdf5Target

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
            _seal(part)
            commit(part, path)


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
    status = path.stat()
    return _checksum(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@lru_cache(REMEMBERED)
def _checksum(path: Path, size: int, *_signature: int) -> str | None:
    """Read a file once for as long as its size, times and inode stay the same."""
    with path.open("rb") as file:
        digest = _digest(file, size - LENGTH)
        return digest.decode("ascii") if file.read() == MARK + digest else None


def _seal(path: Path) -> None:
    """Append the checksum of a file to it."""
    with path.open("r+b") as file:
        digest = _digest(file, path.stat().st_size)
        file.write(MARK + digest)


def _digest(file: BinaryIO, length: int) -> bytes:
    """Return the SHA-256 of the next bytes of a file, as hexadecimal digits."""
    digest, left = hashlib.sha256(), length
    while left > 0 and (chunk := file.read(min(CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk)
    return digest.hexdigest().encode("ascii")
