"""The tiles in and out of the distribution of the training data, whose numbers are set against each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from geouq.config.base import Names
from geouq.config.regions import tile_lists, written_names
from geouq.config.validation_errors import Steps, quoted, suggestion

IN, OUT = "in", "out"
Splits = dict[Literal["in", "out"], Annotated[Names, Field(min_length=1)]]


def split_lists(splits: Mapping[Any, Sequence[str]] | None, regions: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the tiles of either side, of which names of regions stand for theirs.

    >>> split_lists({"in": ["west", "c"], "out": ["d"]}, {"west": ("a", "b")})
    {'in': ('a', 'b', 'c'), 'out': ('d',)}
    """
    lists = tile_lists(regions)
    return {
        side: tuple(dict.fromkeys(tile for name in names for tile in lists.get(name, (name,))))
        for side, names in (splits or {}).items()
    }


def faults_of_splits(
    splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any], tiles: Sequence[str] | None
) -> Iterator[tuple[Steps, str]]:
    """Yield what is wrong with splits in the configuration; `tiles` is None if the rasters give their names."""
    for side in (IN, OUT):
        if side not in splits:
            yield (), f"missing key {quoted(side)}: names of tiles, or of regions that are lists of tiles"
        if side in written_names(regions):
            yield (side,), f"there is a region {quoted(side)} already; rename that region"
    yield from _unknown(splits, regions, tiles)
    yield from _on_both_sides(splits, regions)


def _unknown(
    splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any], tiles: Sequence[str] | None
) -> Iterator[tuple[Steps, str]]:
    lists = tile_lists(regions)
    for side, names in splits.items():
        for i, name in enumerate(names):
            if name in lists:
                continue
            if name in regions or name in written_names(regions):
                yield (side, i), f"region {quoted(name)} is no list of tiles; name tiles, or regions that are lists"
            elif tiles is not None and name not in tiles:
                yield (side, i), f"{quoted(name)} is not one of the tiles{suggestion(name, [*tiles, *lists])}"


def _on_both_sides(splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    inside = split_lists(splits, regions).get(IN, ())
    for i, name in enumerate(splits.get(OUT, ())):
        for tile in split_lists({OUT: [name]}, regions)[OUT]:
            if tile in inside:
                told = quoted(tile) if tile == name else f"{quoted(tile)} of region {quoted(name)}"
                yield (OUT, i), f"tile {told} is in {IN} too; leave it on one side"
