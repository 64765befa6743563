"""Files that are whole or not there: written under a temporary name beside their place, then renamed.

A process that is killed leaves its temporary files behind; `remove_leftovers` knows them by their names.
"""

import errno
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

LEFTOVER = re.compile(r"\.geouq-([0-9a-f]{8})-(\d+)\.")
DAY = 86_400  # seconds
SPARE = 16 << 20  # bytes that a disk must have left
NOTHING = bytes(1 << 20)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` if the block ends without an error, and removed otherwise."""
    with temporary(path) as part:
        yield part
        commit(part, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 that is complete or not there."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def temporary(path: Path, purpose: str = "part") -> Iterator[Path]:
    """Yield a temporary path next to `path`, in a folder that exists; remove what is there when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    require_room(path)
    part = path.with_name(f".geouq-{_host()}-{os.getpid()}.{purpose}.{path.name}")
    try:
        yield part
    except OSError as error:
        if error.errno is None:
            _raise_refusal(part, path, error)
        elif error.filename in (None, str(part)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    except Exception as error:
        _raise_refusal(part, path, error)
        raise
    finally:
        part.unlink(missing_ok=True)


def _raise_refusal(part: Path, path: Path, cause: Exception) -> None:
    """Raise the OSError that a write to a temporary file meets now.

    Libraries such as GDAL and SQLite hide its number. The file is removed afterwards, so a further write does no harm.
    """
    if not part.is_file():
        return
    try:
        with part.open("ab", buffering=0) as file:
            for _ in range(SPARE // len(NOTHING)):
                if file.write(NOTHING) < len(NOTHING):
                    file.write(NOTHING)
            os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from cause


def require_room(path: Path) -> None:
    """Raise OSError where the disk on which a file is to stand is all but full."""
    if shutil.disk_usage(path.parent).free < SPARE:
        message = f"{os.strerror(errno.ENOSPC)} ({SPARE >> 20} MiB are needed to go on)"
        raise OSError(errno.ENOSPC, message, str(path))


def commit(part: Path, path: Path) -> None:
    """Rename a file that is written, so that after a crash either all of it is there or what stood there before."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(path)
    _sync_folder(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files in a folder, and in those within it, of processes that have ended.

    Of another host none can tell whether a process has ended: its files go when they are a day old.
    """
    for path in folder.rglob(".geouq-*"):
        found = LEFTOVER.match(path.name)
        if found and _is_left_over(path, found[1], int(found[2])):
            path.unlink(missing_ok=True)


def _is_left_over(path: Path, host: str, process: int) -> bool:
    if host == _host():
        return not _is_running(process)
    try:
        return time.time() - path.stat().st_mtime > DAY
    except FileNotFoundError:
        return False


def _is_running(process: int) -> bool:
    """Return whether a process of this host is there, of whatever user."""
    if os.name == "nt":
        return True  # signal 0 would end it there
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return process != os.getpid()


@cache
def _host() -> str:
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


def _sync_folder(folder: Path) -> None:
    """Let a rename survive a crash; some file systems and Windows cannot, and need not, sync a folder."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
