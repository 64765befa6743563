"""What is asked for on the command line."""

from dataclasses import dataclass
from pathlib import Path

LEVELS = (0.5, 0.8, 0.9, 0.95)
CURVE = tuple(k / 20 for k in range(1, 20))
COUNTS = (100, 400, 1600)


@dataclass(frozen=True)
class Choice:
    """What a section is to measure; None leaves size and rounds to the section.

    data : folder of the rasters. size, kernel_size : sides in pixels. tiles : of the configuration that is checked.
    counts : of small tiles of a run.
    """

    data: Path
    size: int | None
    kernel_size: int
    tiles: int
    rounds: int | None
    threads: int
    counts: tuple[int, ...] = COUNTS

    def side(self, default: int = 4096) -> int:
        """Side in pixels."""
        return self.size or default

    def times(self, default: int = 5) -> int:
        """Return the number of rounds."""
        return self.rounds or default
