"""How certain the numbers are to be: settings of the spatial bootstrap."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from geouq.config.base import Section, Text
from geouq.config.prediction import Level
from geouq.config.validation_errors import quoted

Unit = Literal["m", "px"]


def length(text: str) -> tuple[float, Unit]:
    """Return a length and its unit, metres or pixels.

    >>> length("5 km"), length("512 px")
    ((5000.0, 'm'), (512.0, 'px'))
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(m|km|px)\s*", text)
    if not found or not float(found[1]):
        raise ValueError(f'{quoted(text)} is no side of blocks; write auto, tile, or a length such as "5 km", "512 px"')
    number, unit = float(found[1]), found[2]
    return (number * 1000, "m") if unit == "km" else (number, "m" if unit == "m" else "px")


def _block(text: str) -> str:
    if text not in ("auto", "tile"):
        length(text)
    return text


class Intervals(Section):
    """The spatial bootstrap of the intervals and tests: blocks of cells are drawn with replacement."""

    resamples: int = Field(default=1000, ge=100, le=100_000, description="number of resamples")
    block: Annotated[Text, AfterValidator(_block)] = Field(
        default="auto",
        description="side of the blocks: `auto` (from the correlation of the residuals), `tile`, or a length such as "
        "`5 km` or `512 px`",
    )
    level: Level = Field(default=0.95, description="level of the intervals")
    method: Literal["bca", "percentile"] = Field(
        default="bca", description="`bca` (bias-corrected and accelerated) or `percentile`"
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="seed of the random numbers")
