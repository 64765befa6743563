"""The file to which HDF5 writes, so that no refusal of the file system reaches HDF5.

HDF5 ends the whole process if it cannot write what it holds when a file is closed. Here the first refusal, such as a
full disk (ENOSPC), a quota (EDQUOT) or the largest size of a file (EFBIG), is recorded, and all later bytes stay in
memory: HDF5 reads back what it wrote and closes the file in order. Then the refusal is raised as an OSError.
"""

import io
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from geouq.atomic import require_room


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
