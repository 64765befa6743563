"""Names of tiles in the names of files, and the paths with {tile} that follow."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from geouq.config import TILE
from geouq.starting.words import ALONE, tokens

BETWEEN = r"(?:[^\w/]|_)+"


def tile_names(keys: Sequence[str]) -> dict[str, str]:
    """Return the name of the tile of each file, by what is left of its name: the words that differ.

    Words that all names begin or end with are not part of it. A single name is that of its tile.

    >>> tile_names(["GCH_2020_N00E006_v1", "GCH_2020_N03E006_v1"])
    {'GCH_2020_N00E006_v1': 'N00E006', 'GCH_2020_N03E006_v1': 'N03E006'}
    >>> tile_names(["n1"])
    {'n1': 'n1'}
    """
    words = [tokens(key) for key in keys]
    if len(keys) < 2:
        return {key: "_".join(own) for key, own in zip(keys, words, strict=True)}
    shortest = min(map(len, words))
    first = _alike([own[:shortest] for own in words])
    last = _alike([own[first:][::-1][: shortest - first] for own in words])
    return {key: "_".join(own[first : len(own) - last]) for key, own in zip(keys, words, strict=True)}


def _alike(words: Sequence[Sequence[str]]) -> int:
    """Return how many words all of them begin with."""
    return len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))


def pattern_of(paths: Mapping[str, Iterable[str]]) -> tuple[str, tuple[str, ...]]:
    """Return the path with {tile} that most tiles have, and these tiles; "" where no path holds the name of its tile.

    Of several, the shortest path counts.

    Parameters
    ----------
    paths : mapping
        Paths that may be those of a tile, by the name of the tile.
    """
    found: dict[str, list[str]] = {}
    for tile, own in paths.items():
        for pattern in dict.fromkeys(pattern for path in own for pattern in _patterns(path, tile)):
            found.setdefault(pattern, []).append(tile)
    if not found:
        return "", ()
    best = min(found, key=lambda pattern: (-len(found[pattern]), pattern.count(TILE), len(pattern), pattern))
    return best, tuple(found[best])


def paths_of_tiles(tiles: Iterable[str], paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths that hold all words of each tile.

    >>> paths_of_tiles(["N00_E010", "b"], ["t/N00-E010.tif", "t/N00-E020.tif", "b.tif"])
    {'N00_E010': ['t/N00-E010.tif'], 'b': ['b.tif']}
    """
    holding: dict[str, dict[str, None]] = {}
    for path in paths:
        for word in tokens(path):
            holding.setdefault(word, {})[path] = None
    found = {}
    for tile in tiles:
        rare, *others = sorted((holding.get(word, {}) for word in tokens(tile)), key=len) or [{}]
        found[tile] = [path for path in rare if all(path in other for other in others)]
    return found


def _patterns(path: str, tile: str) -> list[str]:
    """Return the paths in which {tile} stands for the name of a tile: everywhere, last, or first."""
    if not tile:
        return []
    places = [found.span() for found in _spelled(tile).finditer(path)]
    same = Counter(path[start:end] for start, end in places)
    if not places or len(same) > 1 or next(iter(same)) != tile:
        places = [place for place in places if path[slice(*place)] == tile]
    choices = [places, places[-1:], places[:1]] if places else []
    return list(dict.fromkeys(_replaced(path, choice) for choice in choices))


def _replaced(path: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in reversed(places):
        path = f"{path[:start]}{TILE}{path[end:]}"
    return path


def as_spelled(tile: str, path: str) -> str:
    """Return the name of a tile as a path spells it, with what stands between its words.

    >>> as_spelled("00N_010E", "gfc-00N-010E_mean.tif")
    '00N-010E'
    """
    found = _spelled(tile).search(path)
    return found[0] if found and tile else ""


def _spelled(tile: str) -> re.Pattern[str]:
    """Return an expression for the words of a tile, whatever stands between them."""
    return re.compile(ALONE.format(BETWEEN.join(map(re.escape, tokens(tile)))))


def mixed_words(tiles: Sequence[str]) -> tuple[str, ...]:
    """Return words without digits that tiles differ in besides other words: they may be variables.

    >>> (
    ...     mixed_words(["agb_N10", "agb_N20", "height_N10"]),
    ...     mixed_words(["2010_N10", "2017_N10"]),
    ...     mixed_words(["a", "b"]),
    ... )
    (('agb', 'height'), (), ())
    """
    words = [tokens(tile) for tile in tiles]
    if len({len(own) for own in words}) != 1 or len(words[0]) < 2:
        return ()
    columns = [dict.fromkeys(column) for column in zip(*words, strict=True)]
    return next((tuple(own) for own in columns if len(own) > 1 and all(word.isalpha() for word in own)), ())
