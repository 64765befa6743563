"""Every error that a user can cause.

GeouqError
├── ConfigError        the YAML, an option or the value of an argument is wrong (exit code 2); a ValueError
├── ArgumentError      an argument has a wrong type; a TypeError
├── GridError          two rasters do not lie on the same pixels; a ValueError
├── DataError          a raster cannot be read, or pixels hold what they must not; a ValueError
│   └── ChangedError   a file is not the one whose header was read
├── SummaryError       saved summaries are absent, damaged or of another kind; a ValueError
│   └── AbsentError    a summary does not keep a statistic; a KeyError
├── RunLockedError         another process writes to the folder; an OSError
├── ClusterError       the dask scheduler has gone, or a worker has other versions; an OSError
└── WorkersLostError   the workers of a task ended again and again; an OSError

Each carries one message that names the file, the key, the argument or the pixel, and says what to do. Those that are
built-in exceptions as well can be caught without importing geouq.
"""

import os
from pathlib import Path
from typing import Any

from geouq.core.redaction import without_secrets

LONGEST_SHOWN = 60  # characters of a value in a message


class GeouqError(Exception):
    """An error that the user can repair; the command line shows it without a traceback and without credentials."""

    def __init__(self, message: str) -> None:
        super().__init__(without_secrets(message))


class ConfigError(GeouqError, ValueError):
    """The configuration, an option or the value of an argument is wrong; the message lists every error, a line each."""


class ArgumentError(GeouqError, TypeError):
    """An argument has a wrong type; the message names the argument and what it takes."""


class GridError(GeouqError, ValueError):
    """Two rasters that should cover the same pixels do not."""


class DataError(GeouqError, ValueError):
    """A raster cannot be read, or arrays do not match or hold invalid values."""


class ChangedError(DataError):
    """A file changed while it was read; the next attempt may succeed."""


class SummaryError(GeouqError, ValueError):
    """Saved summaries are absent, damaged, or were made with other settings."""


class AbsentError(SummaryError, KeyError):
    """A summary does not keep a statistic."""

    __str__ = Exception.__str__  # KeyError puts quotes around the message


class RunLockedError(GeouqError, OSError):
    """Another process writes to the folder of the results."""


class ClusterError(GeouqError, OSError):
    """The dask scheduler is gone, or one of its workers has other versions than this machine."""


class WorkersLostError(GeouqError, OSError):
    """Workers of a cluster ended while they worked on a tile, as often as the scheduler allows."""


def wrong_type(name: str, value: Any, wanted: str) -> ArgumentError:
    """Return the error that an argument has a wrong type.

    >>> str(wrong_type("level", "0.9", "give a number between 0 and 1, such as 0.9"))
    "level='0.9' has the type str; give a number between 0 and 1, such as 0.9"
    """
    shown = repr(value)
    shown = shown if len(shown) <= LONGEST_SHOWN and shown.isprintable() else "..."
    return ArgumentError(f"{name}={shown} has the type {type(value).__name__}; {wanted}")


def require_type(name: str, value: Any, kind: type, wanted: str) -> None:
    """Raise ArgumentError if an argument is not of that type."""
    if not isinstance(value, kind):
        raise wrong_type(name, value, wanted)


def as_path(name: str, value: Any, wanted: str) -> Path:
    """Return an argument that is a path; raise ArgumentError if it is something else."""
    if not isinstance(value, str | os.PathLike):
        raise wrong_type(name, value, wanted)
    return Path(value)
