"""What a user should know of a recalibration: what could not be fitted, and what is not guaranteed."""

from collections.abc import Mapping, Sequence

from geouq.recalibration.corrections import ByGroup, Conformal
from geouq.recalibration.fits import Fits
from geouq.recalibration.recalibrator import Recalibrator


def notes_of(everything: Fits, each: Sequence[Fits]) -> tuple[str, ...]:
    """What could not be fitted on all tiles, and what not on those of a fold alone, so that it is not judged."""
    of_folds = (
        f"{note} (on the {len(own.tiles)} tiles of a fold), so that it is not judged"
        for own in each
        for note in own.notes
        if note not in everything.notes
    )
    return tuple(dict.fromkeys([*everything.notes, *of_folds]))


def doubts_of(recalibrators: Mapping[str, Recalibrator]) -> list[str]:
    """Levels of conformal intervals that were chosen and hold no guarantee."""
    found = []
    for name, own in recalibrators.items():
        whole = own.correction
        parts = [whole.otherwise, *whole.groups.values()] if isinstance(whole, ByGroup) else [whole]
        levels = {
            level
            for one in parts
            if isinstance(one, Conformal)
            for level, guaranteed in zip(one.levels, one.guaranteed, strict=True)
            if not guaranteed
        }
        if levels:
            found.append(
                f"{name}: conformal intervals at {', '.join(f'{level:.6g}' for level in sorted(levels))} lie beyond "
                "the outermost edge of the z histogram and hold no guarantee; a level such as 0.999 in levels moves it"
            )
    return found
