"""A folder of results has one owner at a time: two runs that write to it would spoil each other's work."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from geouq.core.errors import RunLockedError

LOCK, OWNER = ".geouq.lock", ".geouq.owner"


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Own the folder, which is made where it is not there; RunLockedError that names the process that owns it.

    The system ends the ownership of a process that is killed. A file system without locks has no owners.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock, owner = FileLock(folder / LOCK), folder / OWNER
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RunLockedError(
            f"{folder} is being written to by {_named(owner)}; wait for it, or name another folder by --out"
        ) from None
    except NotImplementedError:
        yield
        return
    try:
        owner.write_text(json.dumps({"process": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def _named(owner: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        found = json.loads(owner.read_text(encoding="utf-8"))
        return f"process {found['process']} of {found['host']}"
    return "another process"
