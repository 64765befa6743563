"""The truth: files that are named so, or that have the names of the tiles and no word for another layer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from geouq.config import TIME
from geouq.config.load import TODO
from geouq.starting.guess import Entry, Guess, layer
from geouq.starting.layers_as_arrays import truth_array
from geouq.starting.layers_as_files import Named, named
from geouq.starting.named_files import is_arrays
from geouq.starting.tiles import paths_of_tiles, pattern_of
from geouq.starting.times import epochs_of
from geouq.starting.words import NOISES, WORDS, tokens

MISSING = f"no file is named {', '.join(WORDS['truth'][:5])} ... or like a tile: write its path"


def with_truth(guess: Guess, paths: Sequence[str]) -> Guess:
    """Return the guess with the truth and its own error, or TODO where no file looks like it."""
    if "truth" in guess.layers:
        return guess
    taken = set(_taken(guess))
    files = [one for one in named(paths) if one.path not in taken]
    noises = [role for role in NOISES if any(one.role == role for one in files)]
    may_be_mean = [one for one in files if "mean" in guess.layers and one.mark and (one.mark.value or one.is_weak)]
    like_tiles = [one for one in files if not one.role and _is_plain(one, guess)]
    chosen = ([one for one in files if one.role == "truth"], like_tiles, may_be_mean)
    found = next(filter(None, (_with(guess, "truth", own) for own in chosen)), None)
    guess = found or replace(guess, layers={**guess.layers, "truth": Entry(TODO, _missing(guess))})
    for role in noises[:1]:
        guess = _with(guess, role, [one for one in files if one.role == role]) or guess
    return guess


def _is_plain(one: Named, guess: Guess) -> bool:
    """Return whether the name of a file in a folder of the prediction has no extra word, such as slope."""
    predicted = [PurePosixPath(guess.path(key)) for key in guess.known()]
    path = PurePosixPath(one.path)
    known = {word for own in predicted for word in tokens(own.stem)} | {w for tile in guess.tiles for w in tokens(tile)}
    return all(own.parent != path.parent for own in predicted) or set(tokens(path.stem)) <= known


def _missing(guess: Guess) -> str:
    return f"{MISSING}, with {{tile}}" if guess.tiles else MISSING


def _taken(guess: Guess) -> Iterator[str]:
    """Yield the files of the prediction."""
    for key in guess.known():
        for tile in guess.tiles or ("",):
            yield guess.pattern(key).replace("{tile}", tile)


def _with(guess: Guess, role: str, files: Sequence[Named]) -> Guess | None:
    """Return the guess with a layer from these files; None where none of them belongs to a tile."""
    pattern, tiles = pattern_of(paths_of_tiles(guess.tiles, [one.path for one in files]))
    if not tiles:
        return _alone(guess, role, files)
    first = guess.first if guess.first in tiles else tiles[0]
    path = pattern.replace("{tile}", first)
    one = next(own for own in files if own.path == path)
    return replace(guess, layers={**guess.layers, role: _entry(one, pattern)}, first=first)


def _alone(guess: Guess, role: str, files: Sequence[Named]) -> Guess | None:
    """Return a guess of one tile, whose paths need no {tile}, with the only file that may be a layer."""
    if len(files) == 1 and (epochs := epochs_of(guess.tiles)) and epochs.template == TIME:
        entry = _entry(files[0], files[0].path)
        same = Entry(entry.value, f"{entry.why}; the same at all times: check its date")
        return replace(guess, layers={**guess.layers, role: same})
    if len(guess.tiles) > 1 or len(files) != 1:
        return None
    own = {
        key: entry if entry.value == TODO else Entry({**entry.value, "path": guess.path(key)}, entry.why)
        for key, entry in guess.layers.items()
    }
    return replace(guess, layers={**own, role: _entry(files[0], files[0].path)}, tiles=(), first="")


def _entry(one: Named, pattern: str) -> Entry:
    why = f"named '{one.mark.text}'" if one.mark and one.role.startswith("truth") else "named like the tile"
    if not is_arrays(one.path):
        return layer(pattern, why)
    variable, reason = truth_array(one.path)
    return layer(pattern, f"{why}; {reason}", variable=variable)
