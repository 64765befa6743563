"""Steps of arrays as tiles: one for each label of time, lead, level and other dimensions besides those of the map."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geouq.config import Experiment, MosaicTiles, StepRegions, config_error
from geouq.config.layer_file import Selected
from geouq.config.values import TILE
from geouq.core.errors import DataError
from geouq.core.failures import Failure
from geouq.core.grid import SQUARE
from geouq.rasters.array_layout import DEEP, LEAD, MONTHS, SEASONS, TIME, ArrayLayout, Label, Steps
from geouq.rasters.predictions import is_predicted
from geouq.rasters.raster import Raster
from geouq.rasters.tile_names import natural_order, problems_of_names

if TYPE_CHECKING:
    from geouq.rasters.catalog import Catalog, Tile
WITHIN_A_STEP = (
    "blocks of the bootstrap lie within a step: where errors of several steps are correlated, intervals are too narrow"
)


class StepLabel(NamedTuple):
    """The label of a step along a dimension."""

    dimension: str
    role: str
    label: Label


def with_selection(
    rasters: Mapping[str, Raster], select: Mapping[str, Selected] | None, in_names: Collection[str] = ()
) -> dict[str, Raster]:
    """Return layers at the labels that `data.select` gives; a dimension that a layer does not have is left out.

    in_names : dimensions whose labels are parts of names of files, which are selected before.

    Raises DataError for a dimension that no layer has.
    """
    found = dict(rasters)
    for dimension, wanted in (select or {}).items():
        having = {key: raster for key, raster in found.items() if raster.array and raster.array.has(dimension)}
        if not having and dimension not in in_names:
            known = {one.dimension for raster in found.values() if raster.array for one in raster.array.steps}
            raise DataError(
                f"data.select: no layer has a dimension {dimension}; there are {', '.join(sorted(known)) or 'none'}"
            )
        for key, raster in having.items():
            if raster.array is not None:
                own = raster.array.selected({dimension: wanted}, f"{raster.path}: data.select")
                found[key] = raster.changed(array=own)
    return found


def steps_of_tiles(
    tiles: Sequence["Tile"], experiment: Experiment, failed: Collection[str] = ()
) -> tuple[list["Tile"], list[Failure], list[str]]:
    """Return a tile for each step of the arrays of tiles, failures, and notes on steps that are left out.

    Tiles that are steps already, whose times are in names of files, may be divided further. failed : names of tiles
    that have failed before.

    Raises ConfigError where the configuration names a tile that there is not.
    """
    dated = experiment.dated
    has_names = isinstance(experiment.tiles, MosaicTiles) or any(TILE in path for path in experiment.patterns.values())
    alone = not (dated or has_names)
    found, failures, notes = list[tuple[str, "Tile"]](), list[Failure](), list(dict.fromkeys(map(_of_depth, tiles)))
    for tile in tiles:
        try:
            own = steps_of(tile, alone=alone, dated=dated)
        except DataError as error:
            failures.append(Failure(tile.name, "header", "DataError", str(error)))
            continue
        found += [(name_without_step(tile) or tile.name, step) for step in own.tiles]
        notes += own.notes
    notes += _other_times(tiles, dated)
    wanted = experiment.tile_names
    if alone and wanted is not None and len(wanted) == len(found) == 1:
        found = [(wanted[0], replace(found[0][1], name=wanted[0]))]
    known = {name for whole, step in found for name in (whole, name_without_step(step), step.name) if name}
    if found and not (failed or failures) and (problems := problems_of_names(experiment, known)):
        raise config_error(problems)
    chosen = known if wanted is None else set(wanted)
    if len(found) > len(tiles) or len({tile.labels for tile in tiles}) > 1:
        notes.append(WITHIN_A_STEP)
    chosen_steps = [step for name, step in found if {name, name_without_step(step), step.name} & chosen]
    return chosen_steps, failures, list(dict.fromkeys(filter(None, notes)))


def _other_times(tiles: Sequence["Tile"], dated: Collection[str]) -> Iterator[str]:
    """Yield a note on each array of a prediction some of whose times are not in the names of files of other layers."""
    known = {step.label.value for tile in tiles for step in tile.labels if step.role == TIME}
    for key, raster in tiles[0].rasters.items() if known else ():
        steps = raster.array.steps if raster.array and is_predicted(key) and key not in dated else ()
        own = next((one for one in steps if one.role == TIME), None)
        if own and (others := [label for label in own.labels if label.value not in known]):
            yield (
                f"{len(others)} of {len(own.labels)} times of {_named(tiles[0], key)} are left out: names of files of "
                "other layers have none of them"
            )


def _of_depth(tile: "Tile") -> str:
    """Return a note where chunks hold so many steps that they do not stay in memory until the last one; '' if not."""
    deep = {
        r.path: (r, r.array.depth) for r in tile.rasters.values() if r.array and r.array.depth > 1 and r.array.steps
    }
    values = sum(depth * np.dtype(raster.bands[0].dtype).itemsize for raster, depth in deep.values())
    if values * tile.grid.pixels <= DEEP:
        return ""
    path, (_, depth) = next(iter(deep.items()))
    side = max(SQUARE, int((DEEP / values) ** 0.5) // SQUARE * SQUARE)
    return (
        f"a chunk of {path} holds {depth} steps, and the map exceeds the memory limit, so that "
        f"chunks are decoded again for each step; tiles: {{grid: {side}}} avoids it"
    )


class StepTiles(NamedTuple):
    """The steps of a tile, and notes on those that are left out."""

    tiles: list["Tile"]
    notes: list[str]


def steps_of(tile: "Tile", *, alone: bool, dated: Collection[str] = ()) -> StepTiles:
    """Return the steps of a tile.

    alone : whether they are called by their labels without the name of the tile. dated : layers with a time in the
    names of their files; dates along an array in such a file hold in its place.
    """
    layouts = {key: raster.array for key, raster in tile.rasters.items() if raster.array is not None}
    has_dates = any(layouts[key].has(TIME) for key in dated if key in layouts)
    before = () if has_dates else tile.labels
    steps = _steps_of_prediction(tile, layouts, [own.role for own in before])
    found, left_out = list["Tile"](), Counter[str]()
    count = math.prod(len(one.labels) for one in steps)
    for labels in product(*(one.labels for one in steps)):
        own_labels = [StepLabel(one.dimension, one.role, label) for one, label in zip(steps, labels, strict=True)]
        step = (*before, *own_labels)
        places = {key: _places(layout, step) for key, layout in layouts.items()}
        if missing := next((key for key, own in places.items() if own is None), ""):
            left_out[missing] += 1
            continue
        rasters = tile.rasters | {
            key: tile.rasters[key].placed_at(layouts[key].at(own)) for key, own in places.items() if own is not None
        }
        names = [label.name for label in labels] if count > 1 else []
        name = "_".join(names if alone and names else [tile.name, *names])
        found.append(replace(tile.with_rasters(rasters), name=name, labels=step))
    notes = [
        f"{number} of {count} steps of {tile.name} are left out: {_named(tile, key)} has none of them"
        for key, number in left_out.items()
    ]
    if not found:
        raise DataError(f"no step is in all layers; {'; '.join(notes)}")
    return StepTiles(found, notes)


def _named(tile: "Tile", key: str) -> str:
    return f"{key} ({tile.rasters[key].path})"


def _steps_of_prediction(tile: "Tile", layouts: Mapping[str, ArrayLayout], before: Collection[str]) -> list[Steps]:
    """Return the dimensions of the prediction; DataError where another layer has other ones.

    before : roles of dimensions along which the place of the tile is known.
    """
    own = next((layout.steps for key, layout in layouts.items() if is_predicted(key)), ())
    steps = [one for one in own if one.role not in before]
    roles = [*before, *(one.role for one in steps)]
    for key, layout in layouts.items():
        for one in layout.steps:
            if one.role not in roles and len(one.labels) > 1:
                raise DataError(
                    f"{_named(tile, key)} has a dimension {one.dimension} that the prediction does not have; write one "
                    f"of its labels below this layer, such as select: {{{one.dimension}: {one.labels[0].text}}}"
                )
    return steps


def _places(layout: ArrayLayout, step: Sequence[StepLabel]) -> dict[str, int] | None:
    """Return the place of a step along each dimension of a layer, by its role; None where the layer has not that step.

    A layer with times but without leads is taken at the time that a forecast is for: its time and its lead.
    """
    known, found = {own.role: own.label.value for own in step}, dict[str, int]()
    roles = [one.role for one in layout.steps]
    for one in layout.steps:
        if one.role not in known:
            found[one.role] = 0  # its only label
            continue
        value = known[one.role]
        if one.role == TIME and LEAD in known and LEAD not in roles:
            if isinstance(value, str):
                raise DataError(f"times of another calendar, such as {value}, cannot be added to leads")
            if not isinstance(known[LEAD], np.timedelta64):
                raise DataError(f"lead {known[LEAD]} has no unit of time, so that it cannot be added to times")
            value = value + known[LEAD]
        place = one.place_by_value.get(value)
        if place is None:
            return None
        found[one.role] = place
    return found


def with_step_regions(experiment: Experiment, catalog: "Catalog") -> Experiment:
    """Return the experiment with lists of tiles in the place of regions that follow from a dimension.

    Lists of tiles may name a file or square of several steps; the names of its steps replace it.

    Raises ConfigError where no tile has that dimension, or a name is one of another region.
    """
    experiment = _with_steps_in_lists(experiment, catalog.tiles)
    if not any(isinstance(region, StepRegions) for region in experiment.regions.values()):
        return experiment
    regions: dict[str, Any] = {}
    for key, region in experiment.regions.items():
        own: Mapping[str, Any] = {key: region}
        if isinstance(region, StepRegions):
            if odd := _without_group(region, catalog.tiles):
                raise config_error([experiment.problem("regions", key, "by", message=odd)])
            if not (own := _lists_of(region, catalog.tiles)):
                unknown = _unknown(region.dimension, catalog.tiles)
                raise config_error([experiment.problem("regions", key, message=unknown)])
        if twice := next((name for name in own if name in regions or (name != key and name in experiment.regions)), ""):
            message = f"{twice} names another region already; rename that one"
            raise config_error([experiment.problem("regions", key, message=message)])
        regions |= own
    return experiment.model_copy(update={"regions": regions})


def _with_steps_in_lists(experiment: Experiment, tiles: Sequence["Tile"]) -> Experiment:
    steps: dict[str, list[str]] = {}
    for tile in tiles:
        if whole := name_without_step(tile):
            steps.setdefault(whole, []).append(tile.name)
    if not steps:
        return experiment

    def of_steps(names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of tiles, with each file or square of several steps replaced by its steps."""
        return tuple(dict.fromkeys(step for name in names for step in steps.get(name, [name])))

    regions = {key: of_steps(own) if isinstance(own, tuple) else own for key, own in experiment.regions.items()}
    splits = {side: of_steps(own) for side, own in experiment.splits.items()} if experiment.splits else None
    training = of_steps(experiment.training_tiles) if experiment.training_tiles else experiment.training_tiles
    return experiment.model_copy(update={"regions": regions, "splits": splits, "training_tiles": training})


def name_without_step(tile: "Tile") -> str:
    """Return the name of the file or square of a step; "" if it has no such name."""
    whole = tile.name.removesuffix("_" + "_".join(step.label.name for step in tile.labels))
    return whole if tile.labels and whole != tile.name else ""


def _lists_of(region: StepRegions, tiles: Sequence["Tile"]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for tile in tiles:
        for step in tile.labels:
            if region.dimension in (step.role, step.dimension):
                found.setdefault(step.label.group(region.by), []).append(tile.name)
    return {name: tuple(found[name]) for name in sorted(found, key=_order)}


def _without_group(region: StepRegions, tiles: Sequence["Tile"]) -> str:
    """Return why steps have no season, month, year or hour; '' if they have."""
    labels = (s.label for tile in tiles for s in tile.labels if region.dimension in (s.role, s.dimension))
    odd = next((label for label in labels if not label.has_group(region.by)), None)
    if odd is None:
        return ""
    what = "is a year without months" if odd.is_date else "is no date"
    return f"{odd.name} {what}, so that its {region.by} is not known; leave out by, which gives a region for each label"


def _order(name: str) -> tuple[int, Any]:
    calendar = (*SEASONS, *MONTHS)
    return (calendar.index(name), ()) if name in calendar else (len(calendar), natural_order(name))


def _unknown(dimension: str, tiles: Sequence["Tile"]) -> str:
    known = ", ".join(dict.fromkeys(step.role for tile in tiles for step in tile.labels)) or "none"
    return f"no layer is evaluated at several labels of a dimension {dimension}; there are {known}"
