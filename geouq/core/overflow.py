"""Numbers that exceed the largest float are missing, which tables say; numpy need not warn of each step to them."""

import numpy as np


def overflow_is_missing() -> np.errstate:
    """Return a context in which infinity and NaN follow from overflow without a warning."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")
