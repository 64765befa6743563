"""Whether maps lie on each other, as maps of several dates do: only one of them can be seen at a time."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TypeVar

Box = tuple[float, float, float, float]  # west, south, east, north
Key = TypeVar("Key")

HIDDEN = 0.5  # share of the smaller box from which on one hides the other; margins of tiles overlap by less


def hides(one: Box, other: Box) -> bool:
    """Return whether boxes share more than half of the smaller one.

    >>> hides((0, 0, 2, 2), (0, 0, 2, 2)), hides((0, 0, 2, 2), (1.5, 0, 3.5, 2)), hides((0, 0, 2, 2), (9, 9, 11, 11))
    (True, False, False)
    """
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width > 0 and height > 0 and width * height > HIDDEN * min(_area(one), _area(other))


def lie_on_each_other(boxes: Iterable[Box]) -> bool:
    """Return whether any box hides another one."""
    return any(hides(one, other) for one, other in combinations(boxes, 2))


def visible_together(boxes: Mapping[Key, Box | None]) -> list[Key]:
    """Return the keys of boxes of which none hides another one, in their order; boxes that are unknown hide nothing.

    >>> visible_together({"jan": (0, 0, 2, 2), "feb": (0, 0, 2, 2), "east": (2, 0, 4, 2), "somewhere": None})
    ['jan', 'east', 'somewhere']
    """
    seen: list[Box] = []
    found = []
    for key, box in boxes.items():
        if box is not None and any(hides(box, other) for other in seen):
            continue
        found.append(key)
        seen += [] if box is None else [box]
    return found


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
