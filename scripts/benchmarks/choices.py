"""What is asked for on the command line."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Choice:
    """Sizes are sides in pixels; data : folder of the rasters."""

    data: Path
    size: int
    kernel_size: int
    rounds: int
    threads: int
