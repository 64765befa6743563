"""Whether two values are the same to the last bit, whatever they are made of."""

from dataclasses import fields, is_dataclass

import numpy as np


def same(one, other):
    """Dataclasses field by field, dictionaries in their order, arrays by type, shape and bytes."""
    if is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one == other
