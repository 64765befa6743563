"""Which tiles corrections are fitted on, and on which others they are judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from geouq.errors import ConfigError

REST = "tiles in no region"


@dataclass(frozen=True)
class Fold:
    """Tiles that are judged, and those that their correction is fitted on; ConfigError where they share one."""

    name: str
    judged: tuple[str, ...]
    fitted: tuple[str, ...]

    def __post_init__(self) -> None:
        if common := sorted(set(self.judged) & set(self.fitted)):
            raise ConfigError(f"fold {self.name}: {', '.join(common)} would be fitted on and judged; that is refused")


def leave_one_region_out(tiles: Sequence[str], regions: Mapping[str, Iterable[str]]) -> tuple[Fold, ...]:
    """Return a fold for each region, fitted on all tiles outside it; none where there are not two.

    Regions that share a tile are one fold, so that no correction has seen a tile of any region that it is judged on.
    Tiles in no region are a fold of their own.

    >>> [(fold.name, fold.judged) for fold in leave_one_region_out("abcd", {"west": "ab", "east": "c"})]
    [('west', ('a', 'b')), ('east', ('c',)), ('tiles in no region', ('d',))]
    """
    parts: list[tuple[list[str], set[str]]] = []
    for name, members in regions.items():
        names, own = [name], set(members) & set(tiles)
        if not own:
            continue
        for other in [part for part in parts if part[1] & own]:
            parts.remove(other)
            names, own = [*other[0], *names], own | other[1]
        parts.append((names, own))
    rest = set(tiles).difference(*(own for _, own in parts))
    order = list(regions)
    named = [(" and ".join(sorted(names, key=order.index)), own) for names, own in parts]
    return _folds(tiles, [*named, (REST, rest)] if rest else named)


def k_fold(tiles: Sequence[str], folds: int) -> tuple[Fold, ...]:
    """So many folds of every k-th tile, at most one a tile; none where there is one tile alone.

    >>> [fold.judged for fold in k_fold("abcde", 2)]
    [('a', 'c', 'e'), ('b', 'd')]
    """
    count = min(folds, len(tiles))
    return _folds(tiles, [(f"fold {k + 1} of {count}", set(tiles[k::count])) for k in range(count)])


def _folds(tiles: Sequence[str], parts: Sequence[tuple[str, set[str]]]) -> tuple[Fold, ...]:
    if len(parts) < 2:
        return ()
    return tuple(
        Fold(name, tuple(t for t in tiles if t in own), tuple(t for t in tiles if t not in own)) for name, own in parts
    )
