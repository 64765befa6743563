"""Standard output and standard error without credentials, and without what libraries cannot decode."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import TracebackType
from typing import Any, TextIO

from geouq.text.redaction import without_secrets


class CleanStream:
    """Write to another stream, without the secrets of what is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, and return how long it is."""
        self._stream.write(without_secrets(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines one by one."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def clean_streams() -> Iterator[None]:
    """Remove credentials from all that Python code writes to standard output and standard error."""
    out: Any = CleanStream(sys.stdout)
    error: Any = CleanStream(sys.stderr)
    with redirect_stdout(out), redirect_stderr(error):
        yield


@contextmanager
def undecodable_unsaid() -> Iterator[None]:
    """Print nothing if rasterio cannot decode a message of GDAL on a damaged file, which is refused all the same."""
    before = sys.unraisablehook, sys.excepthook

    def unraisable(told: "sys.UnraisableHookArgs", /) -> None:
        """Drop a UnicodeDecodeError that Python cannot raise."""
        if not isinstance(told.exc_value, UnicodeDecodeError):
            before[0](told)

    def printed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Drop a UnicodeDecodeError that ends nothing."""
        if kind is not UnicodeDecodeError:
            before[1](kind, error, trace)

    sys.unraisablehook, sys.excepthook = unraisable, printed  # Cython calls both
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = before
