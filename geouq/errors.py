"""Every error that a user can cause.

GeouqError
├── ConfigError        the YAML or the command line is wrong (exit code 2)
├── GridError          two rasters do not lie on the same pixels
├── DataError          a raster cannot be read or holds what it must not
│   └── ChangedError   a file is not the one whose header was read
├── SummaryError       saved summaries are absent, damaged or of another kind
├── OwnedError         another process writes to the folder
└── ClusterError       the dask scheduler has gone

Each carries one message that names the file, the key or the pixel, and says what to do.
"""

from geouq.text.redaction import without_secrets


class GeouqError(Exception):
    """Anything that the user can mend; never shown with a traceback, and without the credentials of addresses."""

    def __init__(self, message: str) -> None:
        super().__init__(without_secrets(message))


class ConfigError(GeouqError):
    """The configuration is wrong; the message lists every fault found, a line each."""


class GridError(GeouqError):
    """Two rasters that should cover the same pixels do not."""


class DataError(GeouqError):
    """A raster cannot be read, or holds values that no uncertainty map may hold."""


class ChangedError(DataError):
    """A file changed while it was read; the next look at it may go well."""


class SummaryError(GeouqError):
    """Saved summaries are absent, damaged, or were made with other settings."""


class OwnedError(GeouqError):
    """Another process writes to the folder of the results."""


class ClusterError(GeouqError):
    """The dask scheduler that the work was given to is no longer there."""
