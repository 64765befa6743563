"""What a user should know of a recalibration: what could not be fitted, and what is not guaranteed."""

import math
from collections.abc import Iterator, Mapping, Sequence

from geouq.recalibration.corrections import Conformal, singles_of
from geouq.recalibration.fits import Fits
from geouq.recalibration.recalibrator import Recalibrator


def notes_of(everything: Fits, each: Sequence[Fits]) -> tuple[str, ...]:
    """Return what could not be fitted on all tiles, and what not on those of a fold alone, so that it is not judged."""
    of_folds = (
        f"{note} (on the {len(own.tiles)} tiles of a fold), so that it is not judged"
        for own in each
        for note in own.notes
        if note not in everything.notes
    )
    return tuple(dict.fromkeys([*everything.notes, *of_folds]))


def guarantee_notes_of(recalibrators: Mapping[str, Recalibrator]) -> list[str]:
    """Return what the conformal intervals that were chosen guarantee, and at which levels they do not."""
    found: list[str] = []
    for name, own in recalibrators.items():
        parts = [one for one in singles_of(own.correction) if isinstance(one, Conformal)]
        found += _guarantee(name, own, parts)
        levels = {
            level for one in parts for level, within in zip(one.levels, one.guaranteed, strict=True) if not within
        }
        if levels:
            found.append(
                f"{name}: conformal intervals at {', '.join(f'{level:.6g}' for level in sorted(levels))} lie beyond "
                "the outermost edge of the z histogram and hold no guarantee; a level such as 0.999 in levels moves it"
            )
    return found


def _guarantee(name: str, own: Recalibrator, parts: Sequence[Conformal]) -> Iterator[str]:
    """Say that the guarantee counts tiles, and from which level on there are too few of them."""
    if not parts:
        return
    tiles, levels = len(own.fitted_on.tiles), parts[0].levels
    few = [f"{level:.6g} (needs {fewest_tiles(level)})" for level in levels if tiles < fewest_tiles(level)]
    too_few = f"; they are too few to guarantee {', '.join(few)}" if few else ""
    yield (
        f"{name}: pixels of a tile are not exchangeable, so that the conformal guarantee counts the {tiles} tiles "
        f"fitted on, and not their {own.fitted_on.n} pixels{too_few}"
    )


def fewest_tiles(level: float) -> int:
    """Return the least number n of exchangeable tiles for which ceil((n + 1) level) <= n.

    >>> fewest_tiles(0.9), fewest_tiles(0.95)
    (9, 19)
    """
    return math.ceil(round(level / (1 - level), 9))
