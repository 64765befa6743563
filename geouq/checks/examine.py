"""From an experiment and its headers to findings about its input."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from geouq.checks.layers import (
    of_copy,
    of_exchange,
    of_masks,
    of_nodata,
    of_order,
    of_training,
    of_unrelated,
    of_wiring,
)
from geouq.checks.placement import SHIFTED, of_overlaps, of_placement
from geouq.checks.relation import of_relation
from geouq.checks.sample import Finding, Patch, joined, take_sample
from geouq.checks.spread import of_reading, of_spread
from geouq.checks.values import of_mask_share, of_nothing, of_signs
from geouq.config import Experiment, Variable
from geouq.core.failures import isolated
from geouq.core.overflow import overflow_is_missing
from geouq.rasters.catalog import Catalog, Tile
from geouq.reading.places import Sampling

CHEAP = Sampling(tiles=4, windows=1)
DEEP = Sampling(tiles=24, windows=5)
CHECKS = "input checks"  # stage of a run


@overflow_is_missing()
def examine(experiment: Experiment, catalog: Catalog, sampling: Sampling) -> list[Finding]:
    """Return what looks wrong in headers and in a sample of the pixels, causes before what may follow from them."""
    patches: list[Patch] = []
    with isolated(CHECKS, "sample of the pixels"):
        patches = take_sample(catalog.tiles, sampling)
    found: list[Finding] = []
    with isolated(CHECKS, "tiles that overlap"):
        found += of_overlaps(catalog.tiles, [patch for patch in patches if patch.n])
    found += of_training([tile.name for tile in catalog.tiles], experiment.training_tiles)
    if catalog.form.has_variance:  # these checks need mean and variance
        found += of_patches(experiment, catalog.tiles, patches)
    if sampling.windows > CHEAP.windows:  # fewer windows may miss all pixels of a sparse truth
        for name in dict.fromkeys(patch.variable for patch in patches):
            own = [patch for patch in patches if patch.variable == name]
            found += [*of_nothing(name, own), *of_mask_share(name, own)]
    return found


def of_patches(experiment: Experiment, tiles: Sequence[Tile], patches: Sequence[Patch]) -> list[Finding]:
    """Return the findings about the variables of all models in a sample."""
    found: list[Finding] = []
    for model, together in _by_model(tiles[0].variables if tiles else ()).items():
        own = {v.name: [patch for patch in patches if patch.variable == v.name] for v in together}
        layer = tiles[0].predictions[model].spread
        for variable, parts in own.items():
            with isolated(CHECKS, variable):
                found += of_signs(variable, parts, layer, experiment.variance.negative)
        found += examine_model(own, layer)
    return found


def examine_model(patches: Mapping[str, Sequence[Patch]], layer: str) -> list[Finding]:
    """Return the findings about the variables of one model.

    Parameters
    ----------
    patches : by variable
    layer : the key of the configuration that gives the variance
    """
    found: list[Finding] = []
    misplaced: set[str] = set()
    with isolated(CHECKS, "order of the variables"):
        for finding, odd in of_order(patches):
            misplaced.update(odd)
            found.append(finding)
    for variable, own in patches.items():
        with isolated(CHECKS, variable):
            found += _of_variable(variable, own, layer, is_misplaced=variable in misplaced)
    return found


def _of_variable(variable: str, patches: Sequence[Patch], layer: str, *, is_misplaced: bool) -> Iterator[Finding]:
    """Yield findings about one variable: where a layer is not what its key says, no others that follow from that."""
    counted = [patch for patch in patches if patch.n]
    wrong = [*of_wiring(variable, patches, layer), *of_masks(variable, patches)]
    wrong = wrong or list(of_exchange(variable, counted, layer))
    yield from wrong
    yield from of_spread(variable, counted, layer)
    if wrong or is_misplaced:
        return
    mean, variance, truth = (joined(counted, name) for name in ("mean", "variance", "truth"))
    kept = np.ones(len(truth), np.bool_)
    for finding, filled in of_nodata(variable, counted, layer):
        kept &= ~filled
        yield finding
    mean, variance, truth = mean[kept], variance[kept], truth[kept]
    relation, placement = list(of_relation(variable, mean, truth)), list(of_placement(variable, counted))
    unrelated = [] if relation or placement or is_misplaced else list(of_unrelated(variable, mean, truth))
    yield from (*relation, *placement, *unrelated, *of_copy(variable, mean, truth))
    if (
        not relation and not unrelated and all(one.kind == SHIFTED for one in placement)
    ):  # errors of a flipped map show nothing about the spread
        yield from of_reading(variable, mean, truth, variance, layer)


def _by_model(variables: Sequence[Variable]) -> Mapping[str, list[Variable]]:
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        found.setdefault(variable.model, []).append(variable)
    return found
