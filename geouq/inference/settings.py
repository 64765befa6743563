"""What the inference takes for granted unless told otherwise."""

from geouq.config import Intervals

FEWEST_CELLS = 8
FEWEST_BLOCKS = 8
FEWEST_TILES = 8
FEWEST_EFFECTIVE = 8  # cells: of 8 normal means, the spread is known to 27 % of itself, as 1 / sqrt(2 (n - 1))
FEWEST_CERTAIN = 3  # blocks: the spread is known to half of itself
DEFAULTS = Intervals()
