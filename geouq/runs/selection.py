"""What of an experiment is done: the tiles and regions that are chosen, and what a sweep of them measures."""

from collections.abc import Sequence

from geouq.config import Experiment, suggestion
from geouq.errors import ConfigError
from geouq.rasters.catalog import Catalog
from geouq.rasters.tile_names import natural_order
from geouq.sweep.settings import Settings, cell_size_for


def restricted(experiment: Experiment, catalog: Catalog, only: Sequence[str]) -> tuple[Experiment, Catalog]:
    """Return the experiment and catalog restricted to these tiles and regions; raise ConfigError for unknown names."""
    if not only:
        return experiment, catalog
    tiles = {tile.name for tile in catalog.tiles} | {failure.tile for failure in catalog.failures}
    known = {
        **{name: {name} for name in sorted(tiles, key=natural_order)},
        **{name: set(own) for name, own in experiment.tile_lists.items()},
    }
    for name in only:
        if name not in known:
            raise ConfigError(f"--only {name}: there is no such tile or region{suggestion(name, known)}")
    chosen = set().union(*(known[name] for name in only))
    cut = {name: tuple(tile for tile in own if tile in chosen) for name, own in experiment.tile_lists.items()}
    regions = {name: cut.get(name, region) for name, region in experiment.regions.items() if cut.get(name, region)}
    names = tuple(name for name in sorted(tiles) if name in chosen)
    sides = {side: cut[side] for side in experiment.splits or () if cut[side]}
    if len(sides) < 2:  # a side alone is a region like any other
        regions, sides = regions | dict(sides), {}
    return experiment.model_copy(update={"tiles": names, "regions": regions, "splits": sides or None}), Catalog(
        tuple(tile for tile in catalog.tiles if tile.name in chosen),
        tuple(failure for failure in catalog.failures if failure.tile in chosen),
        (
            *catalog.notes,
            f"tables, figures and pages are of {', '.join(only)} alone, also where a region holds more tiles",
        ),
    )


def settings_for(experiment: Experiment, catalog: Catalog) -> Settings:
    """Return what the sweep is to measure."""
    if not catalog.form.has_variance:
        return Settings(experiment.levels, _cell_size(experiment, catalog), tail=0, groups=(), form=catalog.form)
    widths = [scheme.count for scheme in experiment.bins.schemes if scheme.scheme == "equal-width"]
    return Settings(
        experiment.levels,
        _cell_size(experiment, catalog),
        max(widths, default=0),
        experiment.variance.negative,
        experiment.groupings,
        experiment.ordering,
        classes=tuple(experiment.data.classes),
        form=catalog.form,
    )


def _cell_size(experiment: Experiment, catalog: Catalog) -> int:
    return experiment.cell_size or cell_size_for(tile.grid for tile in catalog.tiles)
