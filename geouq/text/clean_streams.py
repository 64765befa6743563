"""Standard output and standard error without credentials, whoever writes to them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
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
