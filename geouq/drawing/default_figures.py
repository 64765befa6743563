"""Which figures a run draws unless it is asked for others: all of the whole, of regions as many as time allows."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from geouq.config import Variable
from geouq.drawing.figure_context import DRAWERS
from geouq.regions import EvaluationUnit

OF_REGIONS = ("reliability", "pit", "ranks", "calibration", "correlogram", "error_by_std")
MOST = 240  # figures: a minute or two


@dataclass(frozen=True)
class Wanted:
    """One figure of one variable of one pool."""

    pool: EvaluationUnit
    variable: Variable
    figure: str


def by_default(
    shown: Sequence[EvaluationUnit], variables: Sequence[Variable], figures: Collection[str]
) -> tuple[list[Wanted], int]:
    """Return the figures to draw, the whole first, then one kind after the other of the regions; and how many not.

    figures : those that the experiment asks for.
    """
    everything = [one for one in _in_order(shown, variables) if one.figure in figures]
    chosen = list(islice(everything, MOST))
    return chosen, len(everything) - len(chosen)


def _in_order(shown: Sequence[EvaluationUnit], variables: Sequence[Variable]) -> Iterator[Wanted]:
    wholes = [pool for pool in shown if pool.level == "all"]
    yield from (Wanted(pool, variable, figure) for figure in DRAWERS for pool in wholes for variable in variables)
    regions = [pool for pool in shown if pool.level != "all"]
    yield from (Wanted(pool, variable, figure) for figure in OF_REGIONS for pool in regions for variable in variables)
