"""What the inference takes for granted unless told otherwise."""

from geouq.config import Intervals

FEWEST_CELLS = 8
FEWEST_BLOCKS = 8
DEFAULTS = Intervals()
