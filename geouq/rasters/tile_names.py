"""Names of tiles: which files match the patterns of the layers, and which tiles follow from that."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from geouq.config import (
    IN,
    OUT,
    TILE,
    TIME,
    VARIABLE,
    Experiment,
    FileTiles,
    MosaicTiles,
    Problem,
    Tiles,
    config_error,
    problem_of_name,
    suggestion,
)
from geouq.config.layer_file import is_array
from geouq.core.errors import DataError
from geouq.core.naming import file_in_name
from geouq.core.wording import counted
from geouq.rasters.listing import NAMED, as_listed, is_in_folders, is_in_store, is_listed, path_regex, paths_like
from geouq.rasters.predictions import is_predicted

SHOWN = 5
UNLISTED = (
    "names of tiles cannot be listed on a web server, in an archive or in a Zarr store, where all predictions are; "
    "write them, such as tiles: [t1, t2]"
)


def patterns_of_variables(pattern: str, experiment: Experiment) -> list[str]:
    """Return the pattern of each variable if the pattern contains {variable}; otherwise the pattern alone."""
    if VARIABLE not in pattern:
        return [pattern]
    return [pattern.replace(VARIABLE, variable.name) for variable in experiment.variables or ()]


class Place(NamedTuple):
    """The tile and the time of a file, as its name writes them; time : empty for a path without {time}."""

    tile: str
    time: str = ""


def listed_places(experiment: Experiment, patterns: Mapping[str, str]) -> dict[str, set[Place]]:
    """Return the tiles and times for which a file exists, for each layer whose files are listed.

    A path without {tile} is that of the only tile, which has the name of the experiment unless it is given. Folders on
    this machine are listed. Keys of an object store are listed if the configuration does not name the tiles.
    If the store refuses to list a layer other than a prediction, the files of that layer are found by opening them.

    Raises ConfigError where predictions cannot be listed.
    """
    found: dict[str, set[Place]] = {}
    every = [own for pattern in patterns.values() for own in patterns_of_variables(pattern, experiment)]
    for layer, pattern in patterns.items():
        own = patterns_of_variables(pattern, experiment)
        if not is_listed(pattern):
            there = all(not is_in_folders(one) or Path(file_in_name(one)).exists() for one in own)
            found[layer] = {Place(only_name(experiment))} if there else set()
        elif is_in_folders(pattern) or (_is_needed(experiment, pattern) and is_in_store(pattern)):
            try:
                each = [match_places(one, longer(every, one), hidden=True) for one in own]
                places = set.union(*each) if all(each) else set[Place]()
                found[layer] = {one if one.tile else Place(only_name(experiment), one.time) for one in places}
            except DataError as error:
                if not is_predicted(layer):
                    continue
                raise config_error([experiment.problem_of_layer(layer, str(error))]) from None
    return found


def _is_needed(experiment: Experiment, pattern: str) -> bool:
    """Return whether names of tiles or times are known only from a list of files."""
    return experiment.tile_names is None or TIME in pattern


def longer(patterns: Iterable[str], than: str) -> list[str]:
    """Return the patterns of longer files. A file that matches one of them belongs to that layer."""
    return [text for text in patterns if len(file_in_name(text)) > len(file_in_name(than))]


def has_arrays(experiment: Experiment) -> bool:
    """Return whether a layer is an array, whose steps along other dimensions than those of the map are tiles."""
    of_sources = (own for own in experiment.settings.values() if own.path is None and own.variable is not None)
    return any(map(is_array, experiment.patterns.values())) or any(of_sources)


def has_times(experiment: Experiment) -> bool:
    """Return whether a layer has a file for each time."""
    return bool(experiment.dated)


def has_steps(experiment: Experiment) -> bool:
    """Return whether tiles may be steps of times and other dimensions."""
    return has_arrays(experiment) or has_times(experiment)


def is_of(name: str, tiles: Iterable[str]) -> bool:
    """Return whether a tile, or a step of it, is among those of a configuration."""
    return any(tile == name or tile.startswith(f"{name}_") for tile in tiles)


def only_name(experiment: Experiment) -> str:
    """Return the name of the tile whose paths have no {tile}; of a mosaic that is cut, that of the experiment."""
    if experiment.tiles is None or isinstance(experiment.tiles, Tiles) or has_steps(experiment):
        return experiment.name
    return experiment.tiles[0]


def match_names(pattern: str, claimed: Iterable[str] = (), *, hidden: bool = False) -> set[str]:
    """Return the tile names for which a file matches the pattern, and none of the longer patterns in `claimed`.

    Folders and object stores are listed. For a URL or a path inside an archive, the result is empty.
    hidden : whether names of files and folders may begin with a dot.
    """
    return {place.tile for place in match_places(pattern, claimed, hidden=hidden)}


def match_places(pattern: str, claimed: Iterable[str] = (), *, hidden: bool = False) -> set[Place]:
    """Return the tiles and times for which a file matches, as `match_names` does.

    If some times are dates, files whose times are none are others, such as agb_2010_qa.tif of agb_{time}.tif.
    """
    if not (is_in_folders(pattern) or is_in_store(pattern)):
        return set()
    listed, files = as_listed(pattern), map(as_listed, claimed)
    taken = [path_regex(other) for other in files if other != listed]
    paths = [path for path in paths_like(pattern, hidden=hidden) if not any(regex.fullmatch(path) for regex in taken)]
    for dated in (True, False):
        regex = path_regex(listed, dated=dated)
        matched = [match.groupdict() for path in paths if (match := regex.fullmatch(path))]
        if matched:
            return {Place(own.get("tile", ""), own.get("time", "")) for own in matched}
    return set()


def path_of(pattern: str, name: str, time: str = "") -> str:
    """Return the path of a tile's layer, at a time if there are several."""
    return pattern.replace(TILE, name).replace(TIME, time)


def problems_without_files(
    experiment: Experiment, patterns: Mapping[str, str], found: Mapping[str, set[str]]
) -> list[Problem]:
    """Return a problem for each pattern that matches no file, and one if no prediction can be listed."""
    problems = [
        experiment.problem_of_layer(
            layer,
            f"{'no file matches' if is_listed(pattern) else 'there is no file'} {pattern}{_what_is_there(pattern)}",
        )
        for layer, names in found.items()
        if not names
        for pattern in [_without_files(patterns[layer], experiment)]
    ]
    predicted = [layer for layer in patterns if is_predicted(layer)]
    if experiment.tile_names is None and predicted and not any(layer in found for layer in predicted):
        problems.append(experiment.problem_of_layer(predicted[0], UNLISTED))
    return problems


def _without_files(pattern: str, experiment: Experiment) -> str:
    """Return the pattern of the first variable without a file; the pattern unchanged if all have files."""
    for own in patterns_of_variables(pattern, experiment):
        if not (match_names(own, hidden=True) if is_listed(own) else Path(file_in_name(own)).exists()):
            return own
    return pattern


def _what_is_there(pattern: str) -> str:
    if is_in_store(pattern):
        return ""
    folder = Path(NAMED.split(file_in_name(pattern), maxsplit=1)[0] + "x").parent
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except PermissionError:
        return f"; {folder} may not be read"
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    return f"; {folder} holds {shown}" if names else f"; {folder} is empty"


def wanted_names(
    experiment: Experiment,
    found: Mapping[str, set[str]],
    known: set[str],
    steps: Mapping[str, str],
) -> tuple[list[str], list[str]]:
    """Return the names of the tiles to evaluate, in order, and notes on files that are left out.

    known : tiles of the source, if there is one, also those without files of some layers. steps : names of the steps
    of times, each with the name of its tile.
    """
    if isinstance(experiment.tiles, MosaicTiles):
        return list(steps) or [only_name(experiment)], []
    if experiment.tile_names is not None and not has_steps(experiment):
        return list(experiment.tile_names), []
    if isinstance(experiment.tiles, FileTiles):
        names, notes = _with_every_layer(found, known)
        wanted = experiment.tile_names
        chosen = [name for name in names if wanted is None or steps.get(name) in wanted or is_of(name, wanted)]
        return chosen, notes
    in_regions = {name for tiles in experiment.tile_lists.values() for name in tiles}
    hidden = {name for own in found.values() for name in own if name.startswith(".")} - in_regions
    predicted = set().union(*(names for layer, names in found.items() if is_predicted(layer)), steps)
    names = sorted((predicted - hidden) | (set() if has_steps(experiment) else in_regions), key=natural_order)
    if experiment.tile_names is not None:
        wanted = experiment.tile_names
        return [name for name in names if steps.get(name) in wanted or is_of(name, wanted)] or names, []
    tiles = set(names)
    idle = {name for name in found.get("truth", set()) - hidden if not _belongs_to(name, tiles)}
    notes = []
    if idle:
        notes.append(f"{len(idle)} truth files have no prediction and are left aside: {_some(idle)}")
    if hidden:
        notes.append(
            f"tiles whose names begin with a dot are left out: {len(hidden)} ({_some(hidden)}); "
            "list the tiles in `tiles` to evaluate them"
        )
    return names, notes


def _with_every_layer(found: Mapping[str, set[str]], known: set[str]) -> tuple[list[str], list[str]]:
    """Return the tiles of a source that have every layer, and notes on the others."""
    names = known.intersection(*found.values())
    notes = [
        f"left aside: {counted(len(missing), 'tile')} without {layer} ({_some(missing)})"
        for layer, own in found.items()
        if (missing := known - own)
    ]
    return sorted(names, key=natural_order), notes


def missing_in_tables(experiment: Experiment, names: Iterable[str]) -> list[Problem]:
    """Return a problem for each tile with a name that programs read as a missing value, such as NA."""
    wrong = [(name, problem) for name in names if (problem := problem_of_name(name))]
    return [
        experiment.problem(
            "tiles", list(experiment.tile_names or [name]).index(name), message=f"rename the files: {problem}"
        )
        for name, problem in wrong
    ]


def _some(names: Iterable[str]) -> str:
    """Return the first names in their order."""
    ordered = sorted(names, key=natural_order)
    return ", ".join(ordered[:SHOWN]) + (", ..." if len(ordered) > SHOWN else "")


def _belongs_to(name: str, tiles: AbstractSet[str]) -> bool:
    """Return whether a name is a tile, or another file of a tile, such as e1_members of e1."""
    return any(name[:end] in tiles and not name[end : end + 1].isalnum() for end in range(1, len(name) + 1))


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts tile 9 before tile 10.

    >>> sorted(["t10", "t9", "a"], key=natural_order)
    ['a', 't9', 't10']
    """
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part)


def unknown_tiles(experiment: Experiment, found: Mapping[str, set[str]], of_steps: Iterable[str] = ()) -> list[Problem]:
    """Return a problem for each configured tile without a file in any layer; parts of a mosaic have none.

    of_steps : names of tiles with steps of times.
    """
    known = set().union(*found.values(), of_steps)
    if not known or isinstance(experiment.tiles, MosaicTiles) or has_arrays(experiment):
        return []
    return problems_of_names(experiment, known)


def problems_of_names(experiment: Experiment, known: set[str]) -> list[Problem]:
    """Return a problem for each tile that the configuration names and that is not known."""
    regions = set(experiment.tile_lists) - {IN, OUT}
    problems = [
        experiment.problem("regions", region, index, message=_unknown(name, known))
        if region in experiment.regions
        else experiment.problem("splits", region, message=_unknown(name, known | regions))
        for region, tiles in experiment.tile_lists.items()
        for index, name in enumerate(tiles)
        if name not in known
    ]
    problems += [
        experiment.problem("tiles", index, message=_unknown(name, known))
        for index, name in enumerate(experiment.tile_names or ())
        if name not in known
    ]
    return problems


def _unknown(name: str, known: set[str]) -> str:
    return f"no layer has a file for tile {name!r}{suggestion(name, sorted(known, key=natural_order))}"
