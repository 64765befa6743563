"""How intervals are made."""

import re
from dataclasses import dataclass
from typing import Literal

from geouq.errors import ConfigError

Method = Literal["bca", "percentile"]
FEWEST_CELLS = 8
FEWEST_BLOCKS = 8


@dataclass(frozen=True)
class Intervals:
    """Settings of the bootstrap; ConfigError where one of them means nothing.

    resamples : number of resamples, at least 100. block : side of the blocks, "auto" (from the correlation of the
    residuals), "tile", or a length such as "5000 m", "5 km" or "512 px". level : of the intervals. method : "bca" or
    "percentile". seed : of the draws.
    """

    resamples: int = 1000
    block: str = "auto"
    level: float = 0.95
    method: Method = "bca"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 100:
            raise ConfigError(f"resamples: {self.resamples} are too few for an interval; give 100 or more")
        if not 0 < self.level < 1:
            raise ConfigError(f"level: {self.level} is none; give a number between 0 and 1, such as 0.95")
        if self.method not in ("bca", "percentile"):
            raise ConfigError(f"method: {self.method!r} is not known; write bca or percentile")
        if self.seed < 0:
            raise ConfigError(f"seed: {self.seed} is negative; give 0 or more")
        if self.block not in ("auto", "tile"):
            length(self.block)


DEFAULTS = Intervals()


def length(text: str) -> tuple[float, Literal["m", "px"]]:
    """A length and its unit, metres or pixels; ConfigError where it is none.

    >>> length("5 km"), length("512 px")
    ((5000.0, 'm'), (512.0, 'px'))
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(m|km|px)\s*", text)
    if not found or not float(found[1]):
        raise ConfigError(
            f'block: {text!r} is no side of blocks; write auto, tile, or a length such as "5 km", "512 px"'
        )
    number, unit = float(found[1]), found[2]
    return (number * 1000, "m") if unit == "km" else (number, "m" if unit == "m" else "px")
