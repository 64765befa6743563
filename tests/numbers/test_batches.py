"""Which numbers one process computes at a time."""

from dataclasses import dataclass

from geouq.numbers.unit_numbers import TOGETHER, batches


@dataclass(frozen=True)
class Unit:
    """What batches ask of an evaluation unit."""

    level: str


@dataclass(frozen=True)
class Part:
    """A stand-in for the sums of a variable."""

    unit: Unit
    number: int


def parts_of(*levels):
    return [Part(Unit(level), number) for number, level in enumerate(levels)]


def test_tiles_come_some_at_a_time_and_regions_alone_in_the_same_order():
    parts = parts_of(*["tile"] * (TOGETHER + 1), "region", "tile", "tile", "all", "region")

    found = [list(batch) for batch in batches(parts)]

    assert [part for batch in found for part in batch] == parts
    assert list(map(len, found)) == [TOGETHER, 1, 1, 2, 1, 1]


def test_no_batch_is_empty():
    assert list(batches([])) == []
