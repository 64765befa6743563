"""Times of files, in their names or in a list of tiles: steps of tiles, like those of the time of an array."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from geouq.config import TILE, Experiment, config_error
from geouq.core.dates import date_in_name
from geouq.core.errors import DataError
from geouq.rasters.array_layout import TIME as ROLE
from geouq.rasters.array_layout import Label, Steps
from geouq.rasters.predictions import is_predicted
from geouq.rasters.tile_names import UNLISTED, Place, natural_order, only_name, path_of

SHOWN = 5
UNLISTED_TIMES = (
    "times cannot be listed on a web server, in an archive or in a Zarr store, where all predictions are; write them, "
    "such as data.select: {time: [2010, 2015]}"
)


class TileTime(NamedTuple):
    """A tile, and the label of a time of it."""

    tile: str
    label: Label


@dataclass(frozen=True)
class FileTimes:
    """The times of all tiles.

    names : of the steps for which a layer has a file, for each layer whose files are listed. steps : tile and time of
    each step, by its name. spelled : of each layer, how names of its files write a time, by the value of its label.
    """

    names: Mapping[str, set[str]]
    steps: Mapping[str, TileTime] = field(default_factory=dict)
    spelled: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def path(self, layer: str, pattern: str, name: str) -> str:
        """Return the path of a layer of a tile, or of a step of it."""
        if name not in self.steps:
            return path_of(pattern, name)
        tile, label = self.steps[name]
        return path_of(pattern, tile, self.spelled.get(layer, {}).get(label.value, label.name))

    def place(self, layer: str, name: str) -> Place:
        """Return the tile of a layer in a list of tiles, and its time if the list has times."""
        if name not in self.steps:
            return Place(name)
        tile, label = self.steps[name]
        return Place(tile, self.spelled.get(layer, {}).get(label.value, ""))

    def tile(self, name: str) -> str:
        """Return the name of the tile of a step."""
        return self.steps[name].tile if name in self.steps else name


def label_of_time(text: str) -> Label:
    """Return the label of a time as the name of a file writes it; its value is a date, or the text if it is none.

    >>> label_of_time("2010_06").text, label_of_time("epoch1").text
    ('2010-06-01T00:00:00', 'epoch1')
    """
    date = date_in_name(text)
    return Label(np.datetime64(date, "s"), date.isoformat(), text) if date else Label(text, text, text)


def file_times(experiment: Experiment, places: Mapping[str, set[Place]]) -> FileTimes:
    """Return the steps of tiles from the files that exist, and which layers have them.

    Times of the prediction are evaluated. A time that another layer has for no tile is left out, with a note.

    Raises
    ------
    ConfigError
        If times are not known, if the labels of `data.select` are not there, or if no time is in all layers.
    """
    dated = experiment.dated
    has_tiles = _has_tiles(experiment, places)
    labels = {layer: dict(_labels(experiment, layer, places[layer])) for layer in dated if layer in places}
    leading = [layer for layer in dated if is_predicted(layer)] or dated
    steps = _steps({layer: labels[layer] for layer in leading if layer in labels}, has_tiles=has_tiles)
    unlisted = [layer for layer in leading if layer not in labels]
    if unlisted == leading:
        steps = _written_steps(experiment, leading[0], has_tiles=has_tiles)
    lacking = {layer: _missing(steps.values(), own.values()) for layer, own in labels.items() if layer not in leading}
    left_out = set().union(*lacking.values())
    kept = {name: step for name, step in steps.items() if step.label.value not in left_out}
    notes = [_note(experiment, layer, own, steps.values()) for layer, own in lacking.items() if own]
    if steps and not kept:
        layer = next(layer for layer, own in lacking.items() if own)
        raise config_error([experiment.problem_of_layer(layer, f"no time is in all layers; {'; '.join(notes)}")])
    names = {layer: _names(own, labels.get(layer), kept, has_tiles=has_tiles) for layer, own in places.items()}
    names |= {layer: names[layer] & kept.keys() for layer in leading if layer in names}
    names |= {layer: set(kept) for layer in unlisted if unlisted == leading}
    spelled = {layer: {label.value: place.time for place, label in own.items()} for layer, own in labels.items()}
    return FileTimes(names, kept, spelled, tuple(notes))


def _labels(experiment: Experiment, layer: str, places: Collection[Place]) -> Iterator[tuple[Place, Label]]:
    """Yield the selected files of a layer with the labels of their times."""
    labels = {text: label_of_time(text) for text in sorted({place.time for place in places}, key=natural_order)}
    by_value: dict[Any, str] = {}
    for text, label in labels.items():
        if (other := by_value.setdefault(label.value, text)) != text:
            message = f"{other} and {text} in the names of files are one time; rename or move the files of one of them"
            if experiment.source_of(layer):
                message = f"{other} and {text} are one time; write it in one way"
            raise config_error([experiment.problem_of_layer(layer, message)])
    steps = Steps("time", ROLE, tuple(labels.values()), tuple(range(len(labels))))
    wanted = (experiment.data.select or {}).get(ROLE)
    if wanted is not None and places:
        try:
            steps = steps.selected(wanted, layer)
        except DataError as error:
            raise config_error([experiment.problem("data", "select", ROLE, message=str(error))]) from None
    chosen = {label.name for label in steps.labels}
    yield from ((place, labels[place.time]) for place in places if place.time in chosen)


def _steps(labels: Mapping[str, Mapping[Place, Label]], *, has_tiles: bool) -> dict[str, TileTime]:
    """Return tile and time of each step of these layers by its name, which is spelled as in the first layer."""
    found: dict[tuple[str, Any], tuple[str, TileTime]] = {}
    for own in labels.values():
        for place, label in own.items():
            found.setdefault(
                (place.tile, label.value), (_name(place, has_tiles=has_tiles), TileTime(place.tile, label))
            )
    return dict(sorted(found.values(), key=lambda named: natural_order(named[0])))


def _has_tiles(experiment: Experiment, places: Mapping[str, Collection[Place]]) -> bool:
    """Return whether a path has {tile}, or a list of tiles has names of tiles."""
    from_lists = {layer for layer in experiment.patterns if experiment.source_of(layer)}
    in_paths = any(TILE in pattern for layer, pattern in experiment.patterns.items() if layer not in from_lists)
    only = only_name(experiment)
    return in_paths or any(place.tile != only for layer in from_lists for place in places[layer])


def _name(place: Place, *, has_tiles: bool) -> str:
    """Return the name of a step: its time alone if there are no names of tiles."""
    return f"{place.tile}_{place.time}" if has_tiles else place.time


def _written_steps(experiment: Experiment, layer: str, *, has_tiles: bool) -> dict[str, TileTime]:
    """Return the steps that the configuration writes, where files cannot be listed."""
    written = (experiment.data.select or {}).get(ROLE, ())
    times = (written,) if isinstance(written, str) else written
    tiles = experiment.tile_names or (() if TILE in experiment.patterns[layer] else (only_name(experiment),))
    if not times or any(".." in text for text in times) or not tiles:
        message = UNLISTED_TIMES if tiles else f"{UNLISTED}; {UNLISTED_TIMES}"
        raise config_error([experiment.problem_of_layer(layer, message)])
    places = [Place(tile, time) for tile in tiles for time in times]
    return {_name(place, has_tiles=has_tiles): TileTime(place.tile, label_of_time(place.time)) for place in places}


def _missing(steps: Collection[TileTime], labels: Collection[Label]) -> set[Any]:
    """Return the values of times of steps that are not among labels; none if there are no labels at all."""
    known = {label.value for label in labels}
    return {step.label.value for step in steps if known and step.label.value not in known}


def _note(experiment: Experiment, layer: str, values: Collection[Any], steps: Collection[TileTime]) -> str:
    names = {step.label.value: step.label.name for step in steps}
    ordered = sorted((names[value] for value in values), key=natural_order)
    shown = ", ".join(ordered[:SHOWN]) + (", ..." if len(ordered) > SHOWN else "")
    source = experiment.source_of(layer)
    lack = f"{source.file} has no {layer}" if source else f"no file matches {experiment.patterns[layer]}"
    return f"{len(values)} of {len(names)} times are left out: {lack} at {shown}"


def _names(
    places: Collection[Place],
    labels: Mapping[Place, Label] | None,
    steps: Mapping[str, TileTime],
    *,
    has_tiles: bool,
) -> set[str]:
    """Return the names of the steps for which a layer has a file; labels : None for a layer without times."""
    if labels is None:
        tiles = {place.tile for place in places}
        return {name for name, step in steps.items() if step.tile in tiles}
    by_value = {(step.tile, step.label.value): name for name, step in steps.items()}
    return {
        by_value.get((place.tile, label.value), _name(place, has_tiles=has_tiles)) for place, label in labels.items()
    }
