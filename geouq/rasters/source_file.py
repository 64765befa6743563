"""The file of a source of tiles: its checksum, and rows of Parquet."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geouq.config import suggestion
from geouq.core.errors import DataError
from geouq.rasters.files import Stamp, require_regular

PARQUET = b"PAR1"  # how such a file begins
INSTALL = "Parquet needs pyarrow: pip install 'geouq[parquet]'"


def stamp_of_source(path: str) -> Stamp:
    """Return a file with its checksum; DataError where it cannot be read."""
    with _said_plainly(path):
        require_regular(path)
        with Path(path).open("rb") as file:
            status, digest = os.fstat(file.fileno()), hashlib.file_digest(file, "sha256")
    return Stamp(path, status.st_size, status.st_mtime_ns, digest.hexdigest())


def is_parquet(path: str) -> bool:
    """Return whether a file begins as Parquet does."""
    with _said_plainly(path), Path(path).open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


@contextmanager
def _said_plainly(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def rows_of_parquet(path: str, columns: Sequence[str], *, all_of: bool = False) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file with those of the columns that it has.

    Raises
    ------
    DataError
        If the file cannot be read, or one of the columns is missing (`all_of`).
    """
    try:
        from pyarrow import ArrowException  # noqa: PLC0415  an optional extra
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415
    except ImportError:
        raise DataError(f"{path}: {INSTALL}") from None
    try:
        with ParquetFile(path) as file:
            known = file.schema_arrow.names
            if missing := next((name for name in columns if all_of and name not in known), None):
                raise DataError(f"{path} has no attribute {missing!r}{suggestion(missing, known)}")
            rows: list[dict[str, Any]] = file.read([name for name in columns if name in known]).to_pylist()
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {' '.join(str(error).split())}") from None
    return rows
