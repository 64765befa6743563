"""From sources to a configuration: the first layout that recognises the files, then what all layouts have."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from geouq.config.load import TODO
from geouq.core.errors import ConfigError
from geouq.core.wording import counted
from geouq.rasters.tile_names import natural_order
from geouq.starting import layers_as_arrays, layers_as_bands, layers_as_files, tile_lists
from geouq.starting.guess import Guess
from geouq.starting.log_scale import transform_of, with_transform
from geouq.starting.look import header_of
from geouq.starting.named_files import DRIVERS, ending, files_of, is_listed, no_pair, some
from geouq.starting.text import as_yaml, said
from geouq.starting.tiles import mixed_words
from geouq.starting.times import with_times
from geouq.starting.truth import with_truth
from geouq.starting.units_and_scales import with_stored_values
from geouq.starting.variables import with_variables

# Each returns the layers of a prediction, or None if the files are not of its layout; the first one counts.
RECOGNISERS: tuple[Callable[[Sequence[str]], Guess | None], ...] = (
    tile_lists.recognise_items,
    tile_lists.recognise_index,
    layers_as_arrays.recognise,
    layers_as_files.recognise,
    layers_as_bands.recognise,
    layers_as_files.recognise_incomplete,
)


@dataclass(frozen=True)
class Starter:
    """A configuration to begin with.

    Parameters
    ----------
    text : str
        YAML, with a comment for each guess.
    said : tuple of str
        The guesses, a line each.
    missing : tuple of str
        Keys that are still TODO.
    """

    text: str
    said: tuple[str, ...]
    missing: tuple[str, ...]


def starter_config(sources: Sequence[str], folder: Path | None = None) -> Starter:
    """Return a configuration for the files that sources name.

    Parameters
    ----------
    sources : sequence of str
        Folders, files, patterns such as ``maps/*_mean.tif``, ZIP archives and addresses.
    folder : Path, optional
        Folder in which the configuration will be, to which paths are relative; by default the current one.

    Raises
    ------
    ConfigError
        If a source does not exist, or names, descriptions and attributes do not say which layer is which.
    """
    guess, paths = _recognised(sources)
    transform, why = transform_of(guess)
    guess = with_variables(with_stored_values(guess, is_transformed=bool(transform)))
    guess = with_transform(guess, transform, why)
    guess = with_times(replace(guess, notes=(*guess.notes, *_notes(guess, paths))))
    text = as_yaml(guess, _name(sources[0]), (folder or Path()).resolve())
    return Starter(text, tuple(said(guess)), tuple(_missing(guess)))


def _recognised(sources: Sequence[str]) -> tuple[Guess, Sequence[str]]:
    """Return the layers of a prediction with its truth, and the files among which they are.

    Where a single file does not tell all layers, the files of its folder are looked at.
    """
    paths = files_of(sources)
    guess = _layers_in(paths)
    if len(paths) == 1 and (guess is None or _missing(guess)) and (beside := _files_beside(paths[0])):
        wider = _layers_in(beside)
        if wider is not None and paths[0] in _taken(wider):
            note = f"looked at the {len(beside)} files in the folder of {PurePosixPath(paths[0]).name}"
            return replace(wider, notes=(*wider.notes, note)), _rasters_or_arrays(beside)
    if guess is None:
        raise ConfigError(
            f"{sources[0]}: {no_pair(_rasters_or_arrays(paths))}; rename the files, or write the configuration by hand"
        )
    return guess, _rasters_or_arrays(paths)


def _layers_in(paths: Sequence[str]) -> Guess | None:
    """Return the layers that files hold, with the truth; None if no layout recognises them."""
    guess = next(filter(None, (recognise(paths) for recognise in RECOGNISERS)), None)
    return guess and layers_as_arrays.with_drivers(with_truth(guess, _rasters_or_arrays(paths)))


def _files_beside(path: str) -> Sequence[str]:
    """Return the rasters in the folder of a raster, with it; none where the folder cannot be listed or has no other."""
    if not is_listed(path) or ending(path) not in DRIVERS:
        return ()
    names = [own.as_posix() for own in Path(path).parent.iterdir() if ending(own.name) in DRIVERS]
    return sorted(names, key=natural_order) if len(names) > 1 else ()


def _rasters_or_arrays(paths: Sequence[str]) -> Sequence[str]:
    return [path for path in paths if ending(path) in DRIVERS]


def _missing(guess: Guess) -> Sequence[str]:
    """Return the keys that the user has to fill in."""
    return [key for key, entry in {**guess.layers, **guess.data}.items() if entry.value == TODO]


def _taken(guess: Guess) -> set[str]:
    """Return the files of the layers of all tiles."""
    patterns = [guess.pattern(key) for key in guess.known()]
    return {pattern.replace("{tile}", tile) for pattern in patterns for tile in guess.tiles or ("",)}


def _notes(guess: Guess, paths: Sequence[str]) -> Iterator[str]:
    """Yield what should be looked at: tiles that may be variables, and files of no layer."""
    if words := mixed_words(guess.tiles):
        yield f"tiles differ in {some(words)}: if these are variables, write a configuration for each"
    elif two := _on_the_same_pixels(guess):
        names = " and ".join(two)
        yield f"tiles {names} lie on the same pixels: if these are variables, write a configuration for each"
    taken = _taken(guess)
    unused = [path for path in paths if path not in taken]
    if unused and not guess.member:
        yield f"{counted(len(unused), 'file')} not used: {some(PurePosixPath(path).name for path in unused)}"


def _on_the_same_pixels(guess: Guess) -> tuple[str, ...]:
    """Return the first two tiles, if their names have no digit and their files have one grid."""
    two, key = guess.tiles[:2], next(iter(guess.known()), "")
    if len(two) < 2 or not all(tile.isalpha() for tile in two) or not guess.layers[key].value.get("path"):
        return ()
    grids = [header_of(replace(guess, first=tile), key).grid for tile in two]
    return two if grids[0] == grids[1] and not grids[0].transform.is_identity else ()


def _name(source: str) -> str:
    """Return the name of the experiment: that of a folder, or of a file without its suffix."""
    path = Path(source)
    return (path.resolve().name if path.is_dir() else path.name.partition(".")[0].replace("*", "")) or "experiment"
