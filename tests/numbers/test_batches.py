"""Which numbers one process computes at a time."""

from dataclasses import dataclass

from geouq.numbers.unit_numbers import MANY, TOGETHER, batches


@dataclass(frozen=True)
class Unit:
    """What batches ask of an evaluation unit."""

    level: str
    name: str = ""
    zone: bool = False


@dataclass(frozen=True)
class Part:
    """A stand-in for the sums of a variable."""

    unit: Unit
    number: int


def parts_of(*levels):
    return [Part(Unit(level), number) for number, level in enumerate(levels)]


def test_tiles_come_some_at_a_time_and_regions_alone_in_the_same_order():
    parts = parts_of(*["tile"] * (TOGETHER + 1), "region", "tile", "tile", "all", "region")

    found = [list(batch) for batch in batches(parts, 0)]

    assert [part for batch in found for part in batch] == parts
    assert list(map(len, found)) == [TOGETHER, 1, 1, 2, 1, 1]


def test_variables_of_a_zone_come_together_if_zones_are_many():
    parts = [Part(Unit("region", name, zone=True), number) for name in ("a", "b") for number in range(TOGETHER + 1)]

    for zones, lengths in ((MANY, [TOGETHER, 1, TOGETHER, 1]), (MANY - 1, [1] * len(parts))):
        found = [list(batch) for batch in batches(parts, zones)]
        assert [part for batch in found for part in batch] == parts
        assert list(map(len, found)) == lengths


def test_no_batch_is_empty():
    assert list(batches([], 0)) == []
