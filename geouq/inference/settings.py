"""What the inference takes for granted unless told otherwise."""

from geouq.config import Intervals

FEWEST_CELLS = 8
FEWEST_BLOCKS = 8
FEWEST_TILES = 8
FEWEST_EFFECTIVE = 8  # cells: of fewer, intervals of simulated maps hold the number too rarely
FEWEST_CERTAIN = 3  # degrees of freedom: the spread is known to 40 % of itself, as 1 / sqrt(2 n)
DEFAULTS = Intervals()
